// The fetcher alone, over an instruction set that only writes down what it is asked to prefetch.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "test/catch.hpp"

namespace mla_prolog::kernels {
namespace {

std::vector<const std::uint8_t*> prefetched;

struct VectorSet {
  static void prefetch_l2(const void* p) { prefetched.push_back(static_cast<const std::uint8_t*>(p)); }
};

}  // namespace
}  // namespace mla_prolog::kernels

#include "kernels/gemm/fetcher.hpp"

namespace mla_prolog::kernels {
namespace {

// What `steps` steps fetch, as offsets in lines; after each step no more or less than its share.
std::vector<std::ptrdiff_t> fetched_lines(const GemmPrefetch& what, std::int64_t steps, std::size_t lines) {
  prefetched.clear();
  Fetcher fetcher(what, steps);
  for (std::int64_t step = 1; step <= steps; ++step) {
    fetcher.step();
    const double share = static_cast<double>(lines) * static_cast<double>(step) / static_cast<double>(steps);
    CHECK(static_cast<double>(prefetched.size()) <= share + 1);
    CHECK(static_cast<double>(prefetched.size()) >= share - 1);
  }
  std::vector<std::ptrdiff_t> offsets;
  for (const std::uint8_t* p : prefetched) offsets.push_back((p - what.data) / 64);
  return offsets;
}

std::vector<std::uint8_t> memory(1 << 20);

TEST_CASE("a fetcher reads each line of FRACTAL_NZ panels once, the panels side by side") {
  for (const std::int64_t steps : {1, 3, 7, 96, 1000}) {
    INFO(steps << " steps");
    const GemmPrefetch what{memory.data(), 1536 * 32, 32, 3, 512};
    std::vector<std::ptrdiff_t> want;
    for (std::ptrdiff_t line = 0; line < 512 * 32 / 64; ++line) {
      for (std::ptrdiff_t panel = 0; panel < 3; ++panel) want.push_back(panel * 1536 * 32 / 64 + line);
    }
    CHECK(fetched_lines(what, steps, want.size()) == want);
  }
}

TEST_CASE("a fetcher reads each line of one panel, and of whole rows, once, in eight streams") {
  const GemmPrefetch panel{memory.data(), 1536 * 32, 32, 1, 1536};
  const GemmPrefetch rows{memory.data(), 32, 1024, 32, 48};
  for (const GemmPrefetch& what : {panel, rows}) {
    for (const std::int64_t steps : {1, 5, 24, 5000}) {
      INFO(steps << " steps of " << what.panels << " panels");
      std::vector<std::ptrdiff_t> want;
      for (std::ptrdiff_t line = 0; line < 768 / 8; ++line) {
        for (std::ptrdiff_t stream = 0; stream < 8; ++stream) want.push_back(stream * 768 / 8 + line);
      }
      CHECK(fetched_lines(what, steps, want.size()) == want);
    }
  }
}

TEST_CASE("a fetcher reads each line of an odd number once, in order") {
  const GemmPrefetch what{memory.data(), 96 * 32, 32, 1, 90};
  CHECK(fetched_lines(what, 6, 45) == [] {
    std::vector<std::ptrdiff_t> lines(45);
    for (std::size_t i = 0; i < lines.size(); ++i) lines[i] = static_cast<std::ptrdiff_t>(i);
    return lines;
  }());
}

TEST_CASE("a fetcher reads each line of some columns of a row-major matrix once, row by row") {
  for (const std::int64_t steps : {1, 5, 48, 5000}) {
    INFO(steps << " steps");
    const GemmPrefetch what{memory.data(), 32, 1024, 4, 128};
    std::vector<std::ptrdiff_t> want;
    for (std::ptrdiff_t row = 0; row < 128; ++row) {
      for (std::ptrdiff_t line = 0; line < 2; ++line) want.push_back(row * 16 + line);
    }
    CHECK(fetched_lines(what, steps, want.size()) == want);
  }
}

TEST_CASE("a fetcher with nothing to fetch, or no time to, fetches nothing") {
  CHECK(fetched_lines({}, 10, 0).empty());
  CHECK(fetched_lines({memory.data(), 1024, 32, 1, 32}, 0, 0).empty());
}

}  // namespace
}  // namespace mla_prolog::kernels
