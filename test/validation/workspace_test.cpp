// The workspace CANN reports: the sum written out for each weight mode, and the switches of the formula.
#include <algorithm>

#include "test/catch.hpp"
#include "test/validation/sample.hpp"

using namespace mla_prolog;
using namespace mla_prolog::test;

namespace {

constexpr std::uint64_t kLibrary = 16777216;

// Bytes for each token of a step, in the order of the documented sum.
std::uint64_t bytes_per_token(const Sample& c) {
  const auto n = static_cast<std::uint64_t>(c.n);
  const auto d = static_cast<std::uint64_t>(c.d);
  const auto hcq = static_cast<std::uint64_t>(c.hcq);
  std::uint64_t bytes = c.w >= 2 ? 6 * hcq + 2304 : 4 * hcq + 1152;
  if (c.kv == 1) bytes += 1024 * n;
  bytes += 4 * n * (d + 64) + 2 * n * d;
  if (c.w >= 3 || (c.w >= 1 && n >= 8)) bytes += 32;
  return bytes;
}

}  // namespace

TEST_CASE("workspace of ordinary calls") {
  for (const Sample& base : all_samples()) {
    for (const std::int64_t n : {1, 4, 8, 128}) {
      for (const std::int64_t d : {128, 192}) {
        for (const std::int64_t tokens : {1, 2, 127, 128, 129, 10000}) {
          Sample sample = base;
          sample.n = n;
          sample.d = d;
          sample.hcq = d == 128 ? 1536 : 2048;
          sample.b = sample.batched ? 1 : 2;
          sample.s = tokens;
          sample.t = tokens;
          const CheckReport report = strict(make(sample));
          INFO(sample.to_string() << " N " << n << " D " << d << " T " << tokens << ": " << show(report));
          CHECK(report.code == StatusCode::success);
          CHECK(report.cann_workspace_bytes ==
                kLibrary + static_cast<std::uint64_t>(std::min<std::int64_t>(tokens, 128)) * bytes_per_token(sample));
          CHECK(relaxed(make(sample)).cann_workspace_bytes == report.cann_workspace_bytes);
        }
      }
    }
  }
}

TEST_CASE("workspace of the kernel that splits tokens over 20 cores") {
  for (const int w : {2, 3, 4}) {
    for (const int kv : {0, 1, 3}) {
      for (const std::int64_t he : {6144, 7168, 7680, 8192}) {
        for (const std::int64_t n : {64, 128}) {
          for (const std::int64_t tokens : {8191, 8192, 8193}) {
            Sample sample;
            sample.w = w;
            sample.kv = kv;
            sample.he = he;
            sample.n = n;
            sample.t = tokens;
            std::uint64_t bytes = 128 * bytes_per_token(sample);
            if (w == 3 && (he == 7168 || he == 7680) && n == 128 && tokens >= 8192) {
              if (kv != 3) bytes += 128 * 2 * 128 * 128;
              bytes *= 20;
            }
            const CheckReport report = strict(make(sample), Soc::ascend950);
            INFO(sample.to_string() << " He " << he << " N " << n << " T " << tokens << ": " << show(report));
            CHECK(report.cann_workspace_bytes == kLibrary + bytes);
          }
        }
      }
    }
  }
}

TEST_CASE("workspace of empty calls") {
  for (const Sample& base : all_samples()) {
    Sample sample = base;
    sample.block_num = 0;
    const bool paged = sample.cache_mode.rfind("PA_", 0) == 0;
    if (paged) {
      // No cache, but queries: as ever.
      CHECK(strict(make(sample)).cann_workspace_bytes == kLibrary + 6 * bytes_per_token(sample));
    }
    sample.t = sample.s = 0;
    for (const std::int64_t block_num : {0, 3}) {
      sample.block_num = block_num;
      const CheckReport report = strict(make(sample));
      INFO(sample.to_string() << " BlockNum " << block_num << ": " << show(report));
      CHECK(report.code == StatusCode::success);
      CHECK(report.cann_workspace_bytes == (paged && block_num > 0 ? kLibrary : 0));
      CHECK(relaxed(make(sample)).code == StatusCode::success);
      CHECK(relaxed(make(sample)).cann_workspace_bytes == report.cann_workspace_bytes);
    }
  }
}
