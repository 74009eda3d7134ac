// The permitted sizes, one by one: every value around them is tried.
#include <set>

#include "test/catch.hpp"
#include "test/validation/sample.hpp"

using namespace mla_prolog;
using namespace mla_prolog::test;

namespace {

// Calls `set` with each value on a valid sample and compares acceptance with the set of permitted values.
template <typename Set>
void only(const std::set<std::int64_t>& permitted, std::int64_t first, std::int64_t last, Sample sample, Set set) {
  sample.flat_weights = true;  // no size then depends on FRACTAL_NZ groups
  for (std::int64_t value = first; value <= last; ++value) {
    set(sample, value);
    const CheckReport report = strict(make(sample));
    INFO(value << " in " << sample.to_string() << " gives " << show(report));
    CHECK(report.code == (permitted.count(value) != 0 ? StatusCode::success : StatusCode::tiling_error));
  }
}

Sample full_int8(const std::string& cache_mode = "PA_BSND", bool batched = false) {
  Sample sample;
  sample.w = 2;
  sample.kv = 1;
  sample.cache_mode = cache_mode;
  sample.batched = batched;
  return sample;
}

}  // namespace

TEST_CASE("strict He") {
  only({1024, 2048, 3072, 4096, 5120, 6144, 7168, 7680, 8192}, 0, 9300, full_int8(),
       [](Sample& c, std::int64_t value) { c.he = value; });
}

TEST_CASE("strict N") {
  only({1, 2, 4, 8, 16, 32, 64, 128}, 0, 300, full_int8(), [](Sample& c, std::int64_t value) { c.n = value; });
}

TEST_CASE("strict Hcq") {
  only({1536, 2048}, 0, 2100, full_int8(), [](Sample& c, std::int64_t value) { c.hcq = value; });
}

TEST_CASE("strict D") {
  only({128, 192}, 0, 260, full_int8(), [](Sample& c, std::int64_t value) { c.d = value; });
}

TEST_CASE("strict BlockSize in every paged mode, and no limit elsewhere") {
  std::set<std::int64_t> permitted;
  for (int size = 16; size <= 1024; size += 16) permitted.insert(size);
  const auto set = [](Sample& c, std::int64_t value) { c.block_size = value; };
  for (const char* mode : {"PA_BSND", "PA_NZ", "PA_BLK_BSND", "PA_BLK_NZ"}) {
    for (const bool batched : {false, true}) only(permitted, 1, 1056, full_int8(mode, batched), set);
  }
  Sample empty = full_int8();
  empty.block_size = 0;
  CHECK(strict(make(empty)).code == StatusCode::tiling_error);

  // S takes BlockSize's place in BSND caches.
  for (const std::int64_t s : {1, 15, 17, 1040, 100000}) {
    Sample sample = full_int8("BSND", true);
    sample.s = s;
    CHECK(strict(make(sample)).code == StatusCode::success);
  }
}

TEST_CASE("strict B is limited where it is known") {
  for (const std::int64_t b : {65535, 65536, 65537}) {
    const StatusCode code = b <= 65536 ? StatusCode::success : StatusCode::tiling_error;
    for (const char* mode : {"PA_BSND", "PA_BLK_BSND", "BSND"}) {
      Sample sample = full_int8(mode, true);
      sample.b = b;
      INFO(b << " " << mode);
      CHECK(strict(make(sample)).code == code);
      CHECK(relaxed(make(sample)).code == code);
    }
    Sample fused = full_int8("PA_BLK_NZ", false);
    fused.b = b;
    CHECK(strict(make(fused)).code == code);
    CHECK(relaxed(make(fused)).code == code);
  }
}

TEST_CASE("strict T, S and BlockNum are not limited") {
  Sample sample = full_int8();
  sample.t = 3'000'000'000;
  sample.block_num = 4'000'000'000;
  CHECK(strict(make(sample)).code == StatusCode::success);
  sample = full_int8("TND");
  sample.t = 70'000;
  CHECK(strict(make(sample)).code == StatusCode::success);
  sample = full_int8("PA_BLK_BSND", true);
  sample.b = 1;
  sample.s = 2'000'000'001;
  CHECK(strict(make(sample)).code == StatusCode::success);
}

TEST_CASE("Hckv, Dr, Nkv and Dtile have one value") {
  for (const Sample& sample : all_samples()) {
    const Problem valid = make(sample);
    const auto refused = [&](auto change) {
      Problem problem = valid;
      change(problem);
      for (const CheckReport& report : {strict(problem), relaxed(problem)}) {
        INFO(sample.to_string() << " gives " << show(report));
        CHECK(report.code == StatusCode::tiling_error);
      }
    };
    // Consistent everywhere, and still not the one value.
    refused([](Problem& p) {
      p.rope_sin.shape[std::size_t(p.rope_sin.rank - 1)] = 32;
      p.rope_cos.shape[std::size_t(p.rope_cos.rank - 1)] = 32;
    });
    refused([](Problem& p) {
      p.weight_uk.shape[2] = 256;
      p.rmsnorm_gamma_ckv.shape[0] = 256;
      p.query.shape[std::size_t(p.query.rank - 1)] = 256;
      p.weight_dkv_kr = nz2(p.weight_dkv_kr.dtype, p.token_x.shape[std::size_t(p.token_x.rank - 1)], 320);
    });
    refused([](Problem& p) { p.kv_cache.shape[std::size_t(p.kv_cache.rank - 2)] = 2; });
    for (const std::int64_t width : {511, 513, 512, 640, 656, 655}) {
      if (width == (sample.kv == 3 ? 656 : 512)) continue;
      refused([width](Problem& p) { p.kv_cache.shape[std::size_t(p.kv_cache.rank - 1)] = width; });
    }
  }
}
