// The scalar matmuls of one token, in the one summation order that contract.md section 2 promises.
//
// c[j] = sum over k of a[k] * w(k, n_begin + j), j < n_end - n_begin.
// Weights are FRACTAL_NZ: element (k, n) of a (K, N) matrix lies at (n / w0) * K * w0 + k * w0 + n % w0, w0 = 16 for
// bf16 and 32 for 8-bit types. n_begin and n_end need no alignment.
#pragma once

#include <cstdint>

#include "kernels/row_kernels.hpp"

namespace mla_prolog::kernels::reference {

// k is cut into chunks of 512. Inside a chunk one float32 accumulator starts at 0 and takes fma(a[k], w[k], acc) for
// ascending k; chunk sums are added in ascending order.
inline constexpr std::int64_t kChunk = 512;

void matmul_bf16(const bf16_t* a, const bf16_t* w_nz, std::int64_t k, std::int64_t n_begin, std::int64_t n_end,
                 float* c);
// Exact.
void matmul_int8(const std::int8_t* a, const std::int8_t* w_nz, std::int64_t k, std::int64_t n_begin,
                 std::int64_t n_end, std::int32_t* c);
void matmul_e4m3(const std::uint8_t* a, const std::uint8_t* w_nz, std::int64_t k, std::int64_t n_begin,
                 std::int64_t n_end, float* c);
void matmul_hif8(const std::uint8_t* a, const std::uint8_t* w_nz, std::int64_t k, std::int64_t n_begin,
                 std::int64_t n_end, float* c);
// E4M3 values in blocks of 32 along k, each with an E8M0 scale on both sides: a_scale[k/32], w_scale[n][k/32]. A block
// is summed alone, scaled with one rounding, and added to its chunk's accumulator.
void matmul_mx(const std::uint8_t* a, const std::uint8_t* a_scale, const std::uint8_t* w_nz,
               const std::uint8_t* w_scale, std::int64_t k, std::int64_t n_begin, std::int64_t n_end, float* c);
// One head of weight_uk: a is bf16 [d], w row-major bf16 [d][512], c [512].
void matmul_uk(const bf16_t* a, const bf16_t* w, std::int64_t d, float* c);

}  // namespace mla_prolog::kernels::reference
