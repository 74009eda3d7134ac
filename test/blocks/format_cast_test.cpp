// ND to FRACTAL_NZ and back: the storage formula element by element, and the round trip.
#include <string>
#include <vector>

#include "mla_prolog/convert.hpp"
#include "test/catch.hpp"
#include "test/support/guarded_memory.hpp"
#include "test/support/random.hpp"

namespace mla_prolog::test {
namespace {

constexpr DType kDTypes[] = {DType::bf16,     DType::float16,       DType::int16,       DType::uint16,
                             DType::int8,     DType::uint8,         DType::float8_e5m2, DType::float8_e8m0,
                             DType::hifloat8, DType::float8_e4m3fn, DType::boolean};

std::string bytes_at(const GuardedTensor& tensor, std::int64_t element, std::size_t size) {
  return {reinterpret_cast<const char*>(tensor.data()) + static_cast<std::size_t>(element) * size, size};
}

void fill_random(const GuardedTensor& tensor, Rng& rng) {
  for (std::byte& b : tensor.bytes()) b = static_cast<std::byte>(rng.next());
}

}  // namespace

TEST_CASE("format_cast puts element (k, n) where the storage formula says, for every dtype") {
  Rng rng(seed());
  for (const DType dtype : kDTypes) {
    const auto size = static_cast<std::int64_t>(element_size(dtype));
    const std::int64_t w0 = 32 / size;
    for (const auto& [k, groups] : {std::pair<std::int64_t, std::int64_t>{16, 1}, {48, 3}, {32, 18}, {96, 2}}) {
      const std::int64_t n = groups * w0;
      const GuardedTensor nd(TensorDesc::dense(dtype, {k, n}));
      fill_random(nd, rng);
      const auto source = nd.snapshot();
      for (const bool four_dimensions : {true, false}) {
        const GuardedTensor nz(four_dimensions ? TensorDesc::nz(dtype, k, n)
                                               : TensorDesc::dense(dtype, {k, n}, Format::fractal_nz));
        nz.fill(std::byte{0xEE});
        REQUIRE(format_cast(nd.view(), nz.view()).ok());
        for (std::int64_t i = 0; i < k; ++i) {
          for (std::int64_t j = 0; j < n; ++j) {
            const std::int64_t at = ((j / w0) * (k / 16) + i / 16) * (16 * w0) + (i % 16) * w0 + j % w0;
            if (bytes_at(nz, at, static_cast<std::size_t>(size)) !=
                bytes_at(nd, i * n + j, static_cast<std::size_t>(size))) {
              FAIL(to_string(dtype) << " (" << i << ", " << j << ") of " << k << " x " << n);
            }
          }
        }
        const GuardedTensor back(nd.desc());
        REQUIRE(format_cast(nz.view(), back.view()).ok());
        CHECK((back.snapshot() == source));
        CHECK((nd.snapshot() == source && nd.intact() && nz.intact() && back.intact()));
      }
    }
  }
}

TEST_CASE("format_cast takes no pair of formats but one ND and one NZ, of equal dtype and matrix") {
  const GuardedTensor nd(TensorDesc::dense(DType::bf16, {32, 48}));
  const GuardedTensor nz(TensorDesc::nz(DType::bf16, 32, 48));
  const auto refused = [&](const ConstTensorView& source, const TensorView& destination) {
    nz.fill(std::byte{0x11});
    const auto before = nz.snapshot();
    const Status status = format_cast(source, destination);
    INFO(message(status));
    CHECK_FALSE(status.ok());
    CHECK(status.parameter != nullptr);
    CHECK((nz.snapshot() == before));
  };
  const GuardedTensor other_nd(nd.desc());
  const GuardedTensor other_nz(nz.desc());
  refused(nd.view(), other_nd.view());
  refused(other_nz.view(), nz.view());
  const auto view_of = [&](const TensorDesc& desc) { return TensorView{desc, nz.data()}; };
  refused(nd.view(), view_of(TensorDesc::nz(DType::float16, 32, 48)));
  refused(nd.view(), view_of(TensorDesc::nz(DType::bf16, 48, 32)));  // transposed
  refused(nd.view(), view_of(TensorDesc::dense(DType::bf16, {48, 32}, Format::fractal_nz)));
  refused(nd.view(), view_of(TensorDesc::dense(DType::bf16, {3, 2, 256}, Format::fractal_nz)));  // three dimensions
  refused(nd.view(), view_of(TensorDesc::dense(DType::bf16, {3, 1, 32, 16}, Format::fractal_nz)));
  const GuardedTensor odd_rows(TensorDesc::dense(DType::bf16, {24, 48}));
  refused(odd_rows.view(), view_of(TensorDesc::dense(DType::bf16, {24, 48}, Format::fractal_nz)));
}

TEST_CASE("format_cast of an empty matrix does nothing") {
  CHECK(format_cast({TensorDesc::dense(DType::bf16, {0, 48}), nullptr}, {TensorDesc::nz(DType::bf16, 0, 48), nullptr})
            .ok());
  CHECK(format_cast({TensorDesc::dense(DType::bf16, {32, 0}), nullptr}, {TensorDesc::nz(DType::bf16, 32, 0), nullptr})
            .ok());
}

}  // namespace mla_prolog::test
