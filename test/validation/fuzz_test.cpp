// Random descriptions: no crash, no undefined behaviour, and reports that agree with themselves and with each other.
#include <algorithm>
#include <limits>
#include <random>

#include "test/catch.hpp"
#include "test/validation/sample.hpp"

using namespace mla_prolog;
using namespace mla_prolog::test;

namespace {

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  std::size_t below(std::size_t count) { return std::uniform_int_distribution<std::size_t>(0, count - 1)(engine_); }
  bool once_in(std::size_t n) { return below(n) == 0; }
  template <typename T>
  T pick(const std::vector<T>& from) {
    return from[below(from.size())];
  }
  std::int64_t size() {
    static const std::vector<std::int64_t> kSizes = {INT64_MIN,
                                                     INT64_MIN + 1,
                                                     -(std::int64_t{1} << 62),
                                                     -1,
                                                     0,
                                                     1,
                                                     2,
                                                     3,
                                                     15,
                                                     16,
                                                     31,
                                                     32,
                                                     63,
                                                     64,
                                                     65,
                                                     127,
                                                     128,
                                                     192,
                                                     512,
                                                     656,
                                                     1024,
                                                     1536,
                                                     2048,
                                                     7168,
                                                     65536,
                                                     65537,
                                                     (std::int64_t{1} << 31) - 1,
                                                     std::int64_t{1} << 31,
                                                     std::int64_t{1} << 32,
                                                     (std::int64_t{1} << 32) + 1,
                                                     std::int64_t{1} << 62,
                                                     INT64_MAX - 1,
                                                     INT64_MAX};
    return once_in(3) ? static_cast<std::int64_t>(engine_()) : pick(kSizes);
  }

 private:
  std::mt19937_64 engine_;
};

TensorDesc random_desc(Random& random) {
  static const auto dtypes = all_dtypes();
  static const auto formats = all_formats();
  std::vector<std::int64_t> shape(random.below(11));
  for (auto& size : shape) size = random.size();
  return TensorDesc::dense(random.pick(dtypes), shape, random.pick(formats));
}

void mutate(Problem& problem, Random& random) {
  static const auto dtypes = all_dtypes();
  static const auto formats = all_formats();
  const auto id = static_cast<TensorId>(random.below(kTensorCount));
  TensorDesc& desc = problem[id];
  switch (random.below(8)) {
    case 0:
      desc = {};
      break;
    case 1:
      desc = random_desc(random);
      break;
    case 2:
      desc.dtype = random.pick(dtypes);
      break;
    case 3:
      desc.format = random.pick(formats);
      break;
    case 4:
      desc.rank = static_cast<std::int32_t>(random.below(12)) - 1;
      break;
    case 5: {
      Attributes& attributes = problem.attributes;
      std::int64_t* const values[] = {&attributes.weight_quant_mode,     &attributes.kv_cache_quant_mode,
                                      &attributes.query_quant_mode,      &attributes.ckvkr_repo_mode,
                                      &attributes.quant_scale_repo_mode, &attributes.tile_size};
      *values[random.below(6)] = random.once_in(2) ? static_cast<std::int64_t>(random.below(6)) : random.size();
      break;
    }
    case 6:
      problem.attributes.cache_mode = random.pick<std::string>(
          {"PA_BSND", "PA_NZ", "PA_BLK_BSND", "PA_BLK_NZ", "BSND", "TND", "", "BNSD", std::string(1000, 'x')});
      break;
    default:
      if (desc.rank > 0)
        desc.shape[random.below(static_cast<std::size_t>(std::min(desc.rank, kMaxRank)))] = random.size();
      break;
  }
}

void check_agreement(const Problem& problem, const std::string& what) {
  for (const ApiVersion api : {ApiVersion::v1, ApiVersion::v2, ApiVersion::v3}) {
    bool accepted_somewhere = false;
    for (const Soc soc : {Soc::automatic, Soc::ascend910b, Soc::ascend910_93, Soc::ascend950}) {
      const CheckReport report = strict(problem, soc, api);
      INFO(what << " on " << to_string(soc) << ": " << show(report));
      const bool accepted = report.code == StatusCode::success;
      accepted_somewhere = accepted_somewhere || accepted;
      REQUIRE(report.message.empty() == accepted);
      REQUIRE((accepted || report.cann_workspace_bytes == 0));
      REQUIRE(report.message.find('\n') == std::string::npos);
      if (accepted) REQUIRE((report.cann_workspace_bytes == 0 || report.cann_workspace_bytes >= 16777216));
    }
    const CheckReport wide = check(problem, {.domain = Domain::relaxed, .soc = Soc::automatic, .api = api});
    INFO(what << " relaxed: " << show(wide));
    REQUIRE(wide.message.empty() == (wide.code == StatusCode::success));
    // What a device takes the library takes, but for calls without outputs, the width of V1 and V2 caches, sizes that
    // a device counts modulo 2^32 or never looks at, and tokens that no sequence owns.
    const bool has_output = strict(problem, Soc::automatic, api).cann_workspace_bytes > 0;
    if (api == ApiVersion::v3 && accepted_somewhere && has_output && wide.code != StatusCode::success) {
      const bool excused = wide.message.find("negative") != std::string::npos ||
                           wide.message.find("2^63") != std::string::npos ||
                           wide.message.find("at least one sequence") != std::string::npos ||
                           problem.token_x.numel() > std::numeric_limits<std::uint32_t>::max();
      REQUIRE(excused);
    }
  }
}

}  // namespace

TEST_CASE("random descriptions") {
  Random random(seed());
  for (int i = 0; i < 10'000; ++i) {
    Problem problem;
    for (const TensorId id : all_tensors()) {
      if (!random.once_in(4)) problem[id] = random_desc(random);
    }
    problem.attributes.weight_quant_mode = static_cast<std::int64_t>(random.below(6));
    problem.attributes.kv_cache_quant_mode = static_cast<std::int64_t>(random.below(4));
    check_agreement(problem, "random " + std::to_string(i));
  }
}

TEST_CASE("good calls with a few random changes") {
  Random random(seed() + 1);
  const auto samples = all_samples();
  for (int i = 0; i < 30'000; ++i) {
    Sample sample = random.pick(samples);
    if (random.once_in(8)) sample.t = sample.s = 0;
    if (random.once_in(8)) sample.block_num = 0;
    Problem problem = make(sample);
    for (std::size_t changes = random.below(4); changes > 0; --changes) mutate(problem, random);
    check_agreement(problem, sample.to_string() + " " + std::to_string(i));
  }
}

TEST_CASE("good dtypes and formats with absurd sizes") {
  Random random(seed() + 2);
  const auto samples = all_samples();
  for (int i = 0; i < 20'000; ++i) {
    Sample sample = random.pick(samples);
    Problem problem = make(sample);
    const std::size_t one_in = 1 + random.below(20);
    for (const TensorId id : all_tensors()) {
      for (int d = 0; d < problem[id].rank; ++d) {
        if (random.once_in(one_in)) problem[id].shape[static_cast<std::size_t>(d)] = random.size();
      }
    }
    check_agreement(problem, "absurd " + sample.to_string() + " " + std::to_string(i));
  }
}
