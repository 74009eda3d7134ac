#include "kernels/reference/matmul.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "kernels/formats/bf16.hpp"
#include "kernels/formats/e4m3.hpp"
#include "kernels/formats/e8m0.hpp"
#include "kernels/formats/hif8.hpp"

namespace mla_prolog::kernels::reference {
namespace {

// Columns [begin, end) of a weight whose column n of row k lies at w[n + k * row_stride]: the chunked fma order.
template <auto Decode, typename T>
void chunked_columns(const T* a, const T* w, std::int64_t k, std::int64_t row_stride, std::int64_t columns, float* c) {
  constexpr std::int64_t kMaxColumns = 32;
  for (std::int64_t first = 0; first < columns; first += kMaxColumns) {
    const std::int64_t width = std::min(kMaxColumns, columns - first);
    std::array<float, kMaxColumns> sum{};
    for (std::int64_t k0 = 0; k0 < k; k0 += kChunk) {
      std::array<float, kMaxColumns> acc{};
      for (std::int64_t i = k0; i < std::min(k0 + kChunk, k); ++i) {
        const float x = Decode(a[i]);
        const T* row = w + i * row_stride + first;
        for (std::int64_t j = 0; j < width; ++j) {
          const auto lane = static_cast<std::size_t>(j);
          acc[lane] = std::fma(x, Decode(row[j]), acc[lane]);
        }
      }
      for (std::size_t j = 0; j < sum.size(); ++j) sum[j] = k0 == 0 ? acc[j] : sum[j] + acc[j];
    }
    std::copy_n(sum.begin(), width, c + first);
  }
}

// Calls use(panel, column_in_panel, width, c) for each NZ column group that [n_begin, n_end) touches.
template <std::int64_t W0, typename T, typename C, typename Use>
void for_each_panel(const T* w_nz, std::int64_t k, std::int64_t n_begin, std::int64_t n_end, C* c, Use use) {
  for (std::int64_t n = n_begin; n < n_end;) {
    const std::int64_t in_panel = n % W0;
    const std::int64_t width = std::min(W0 - in_panel, n_end - n);
    use(w_nz + (n / W0) * k * W0 + in_panel, n, width, c + (n - n_begin));
    n += width;
  }
}

template <auto Decode, std::int64_t W0, typename T>
void matmul_chunked(const T* a, const T* w_nz, std::int64_t k, std::int64_t n_begin, std::int64_t n_end, float* c) {
  for_each_panel<W0>(w_nz, k, n_begin, n_end, c, [&](const T* w, std::int64_t, std::int64_t width, float* out) {
    chunked_columns<Decode>(a, w, k, W0, width, out);
  });
}

float mx_scaled(float sum, std::uint8_t a_scale, std::uint8_t w_scale) {
  if (a_scale == kE8m0Nan || w_scale == kE8m0Nan) return std::numeric_limits<float>::quiet_NaN();
  return std::ldexp(sum, int{a_scale} + int{w_scale} - 254);
}

// The 256 values of an 8-bit format, so that the inner loops do not decode bit by bit.
template <auto Decode>
float decode_by_table(std::uint8_t code) {
  static const std::array<float, 256> table = [] {
    std::array<float, 256> values{};
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = Decode(static_cast<std::uint8_t>(i));
    return values;
  }();
  return table[code];
}

}  // namespace

void matmul_bf16(const bf16_t* a, const bf16_t* w_nz, std::int64_t k, std::int64_t n_begin, std::int64_t n_end,
                 float* c) {
  matmul_chunked<float_from_bf16, 16>(a, w_nz, k, n_begin, n_end, c);
}

void matmul_e4m3(const std::uint8_t* a, const std::uint8_t* w_nz, std::int64_t k, std::int64_t n_begin,
                 std::int64_t n_end, float* c) {
  matmul_chunked<decode_by_table<float_from_e4m3>, 32>(a, w_nz, k, n_begin, n_end, c);
}

void matmul_hif8(const std::uint8_t* a, const std::uint8_t* w_nz, std::int64_t k, std::int64_t n_begin,
                 std::int64_t n_end, float* c) {
  matmul_chunked<decode_by_table<float_from_hif8>, 32>(a, w_nz, k, n_begin, n_end, c);
}

void matmul_uk(const bf16_t* a, const bf16_t* w, std::int64_t d, float* c) {
  constexpr std::int64_t kHckv = 512;
  chunked_columns<float_from_bf16>(a, w, d, kHckv, kHckv, c);
}

void matmul_int8(const std::int8_t* a, const std::int8_t* w_nz, std::int64_t k, std::int64_t n_begin,
                 std::int64_t n_end, std::int32_t* c) {
  constexpr std::int64_t kW0 = 32;
  for_each_panel<kW0>(w_nz, k, n_begin, n_end, c,
                      [&](const std::int8_t* w, std::int64_t, std::int64_t width, std::int32_t* out) {
                        std::fill_n(out, width, 0);
                        for (std::int64_t i = 0; i < k; ++i) {
                          for (std::int64_t j = 0; j < width; ++j) out[j] += int{a[i]} * int{w[i * kW0 + j]};
                        }
                      });
}

void matmul_mx(const std::uint8_t* a, const std::uint8_t* a_scale, const std::uint8_t* w_nz,
               const std::uint8_t* w_scale, std::int64_t k, std::int64_t n_begin, std::int64_t n_end, float* c) {
  constexpr std::int64_t kW0 = 32;
  constexpr std::int64_t kBlock = 32;
  constexpr auto kDecode = decode_by_table<float_from_e4m3>;
  for_each_panel<kW0>(w_nz, k, n_begin, n_end, c,
                      [&](const std::uint8_t* w, std::int64_t n, std::int64_t width, float* out) {
                        for (std::int64_t j = 0; j < width; ++j) {
                          const std::uint8_t* column_scale = w_scale + (n + j) * (k / kBlock);
                          float sum = 0;
                          for (std::int64_t k0 = 0; k0 < k; k0 += kChunk) {
                            float acc = 0;
                            for (std::int64_t b = k0; b < std::min(k0 + kChunk, k); b += kBlock) {
                              float block = 0;
                              for (std::int64_t i = b; i < b + kBlock; ++i) {
                                block = std::fma(kDecode(a[i]), kDecode(w[i * kW0 + j]), block);
                              }
                              acc = acc + mx_scaled(block, a_scale[b / kBlock], column_scale[b / kBlock]);
                            }
                            sum = k0 == 0 ? acc : sum + acc;
                          }
                          out[j] = sum;
                        }
                      });
}

}  // namespace mla_prolog::kernels::reference
