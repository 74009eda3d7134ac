// Golden cases through the C++ API: every output and every byte of both caches. All cases of the shared folder, or
// where that is absent the committed ones.
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "mla_prolog/convert.hpp"
#include "mla_prolog/plan.hpp"
#include "test/catch.hpp"
#include "test/support/guarded_memory.hpp"
#include "test/support/options.hpp"
#include "tools/cases/golden_case.hpp"
#include "tools/io/digest.hpp"
#include "tools/io/mapped_file.hpp"
#include "tools/io/safetensors.hpp"
#include "tools/io/storage.hpp"

namespace mla_prolog::test {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> cases_in(const fs::path& folder) {
  std::vector<fs::path> files;
  if (!fs::is_directory(folder)) return files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

class GoldenRun {
 public:
  explicit GoldenRun(const fs::path& json)
      : expected_(fs::path(json).replace_extension(".safetensors").string()),
        golden_(tools::parse_golden_case(tools::MappedFile(json.string()).text(), json.string())),
        problem_(tools::golden_problem(golden_, expected_.find("query_norm") != nullptr, json.string())) {
    for (const TensorId id : all_tensors()) {
      if (problem_[id].present()) tensor(id) = GuardedTensor(problem_[id]);
      if (is_output(id)) tensor(id).fill(std::byte{0xA5});
      if (golden_.input(id)) generate(id, *golden_.input(id));
    }
    put(TensorId::cache_index, golden_.cache_index);
    std::vector<std::int32_t> sums;
    if (golden_.actual_seq_len) sums.assign(golden_.actual_seq_len->begin(), golden_.actual_seq_len->end());
    if (golden_.actual_seq_len) put(TensorId::actual_seq_len, std::optional(sums));
    if (golden_.k_nope_clip_alpha) {
      put(TensorId::k_nope_clip_alpha,
          std::optional(std::vector<float>{static_cast<float>(*golden_.k_nope_clip_alpha)}));
    }
  }

  const tools::GoldenCase& golden() const { return golden_; }
  const std::string& input_error() const { return input_error_; }

  Result<Plan> plan() const {
    PlanOptions options = options_under_test();
    options.profile = golden_.profile;
    return make_plan(problem_, options);
  }

  Status run(const Plan& plan) const {
    Tensors tensors;
    for (const TensorId id : all_tensors()) {
      if (problem_[id].numel() > 0) tensors.set(id, tensor(id).data());
    }
    const GuardedMemory workspace(plan.workspace_bytes(), Plan::kWorkspaceAlignment);
    return mla_prolog::run(plan, tensors, workspace.data(), workspace.size());
  }

  // What differs from the expected tensors; empty when nothing does. Counts the tensors compared.
  std::string differences(std::size_t* compared) const {
    std::ostringstream text;
    for (const tools::StoredTensor& stored : expected_.tensors()) {
      const auto id = parse<TensorId>(stored.name);
      if (!id) return "no tensor is called " + stored.name;
      const auto actual = tensor(*id).bytes();
      ++*compared;
      if (actual.size() != stored.bytes.size()) {
        text << stored.name << " has " << actual.size() << " bytes, expected " << stored.bytes.size() << "; ";
      } else if (!actual.empty() && std::memcmp(actual.data(), stored.bytes.data(), actual.size()) != 0) {
        const auto [a, e] = std::mismatch(actual.begin(), actual.end(), stored.bytes.begin());
        text << stored.name << " byte " << a - actual.begin() << " is " << std::to_integer<int>(*a) << ", expected "
             << std::to_integer<int>(*e) << "; ";
      }
      if (!tensor(*id).intact()) text << "bytes around " << stored.name << " were written; ";
    }
    return text.str();
  }

  // Outputs and caches with elements that the file says nothing about.
  std::size_t unstated() const {
    std::size_t count = 0;
    for (const TensorId id : all_tensors()) {
      const bool written = is_output(id) || is_cache(id);
      if (written && problem_[id].numel() > 0 && expected_.find(std::string(to_string(id))) == nullptr) ++count;
    }
    return count;
  }

 private:
  GuardedTensor& tensor(TensorId id) { return tensors_[static_cast<std::size_t>(id)]; }
  const GuardedTensor& tensor(TensorId id) const { return tensors_[static_cast<std::size_t>(id)]; }

  void generate(TensorId id, const tools::GoldenInput& input) {
    if (!input.generator || input.bytes == 0) return;
    const std::string_view name = to_string(id);
    // Weights are made as logical matrices and cast; everything else as it is.
    const bool weight = tools::is_nz_weight(id);
    const GuardedTensor made =
        weight ? GuardedTensor(TensorDesc::dense(problem_[id].dtype, {input.shape[0], input.shape[1]})) : tensor(id);
    tools::generate(*input.generator, golden_.seed ^ tools::fnv1a64(name), made.bytes());
    if (id == TensorId::token_x) {
      const std::size_t row = static_cast<std::size_t>(input.shape.back()) * element_size(problem_[id].dtype);
      for (const std::int64_t token : golden_.zero_rows) {
        std::ranges::fill(made.bytes().subspan(static_cast<std::size_t>(token) * row, row), std::byte{0});
      }
    }
    if (tools::digest(made.bytes()) != input.checksum) input_error_ += std::string(name).append(" ");
    if (weight && !format_cast(made.view(), tensor(id).view()).ok()) input_error_ += "format_cast ";
  }

  template <typename T>
  void put(TensorId id, const std::optional<std::vector<T>>& values) {
    if (!values || values->empty()) return;
    const auto bytes = tensor(id).bytes();
    if (bytes.size() != values->size() * sizeof(T)) {
      input_error_ += std::string(to_string(id)).append(" ");
      return;
    }
    std::memcpy(bytes.data(), values->data(), bytes.size());
  }

  tools::SafetensorsFile expected_;
  tools::GoldenCase golden_;
  Problem problem_;
  std::array<GuardedTensor, kTensorCount> tensors_;
  std::string input_error_;  // inputs that are not what the case states
};

// Runs all cases of a folder and returns their number.
std::size_t check_all(const fs::path& folder) {
  const auto files = cases_in(folder);
  std::set<std::pair<std::int64_t, std::int64_t>> scenarios;
  for (const fs::path& file : files) {
    GoldenRun golden(file);
    INFO(file.string());
    CHECK(golden.input_error() == "");
    const Result<Plan> plan = golden.plan();
    INFO(plan.error().message);
    REQUIRE(plan.ok());
    const Status status = golden.run(*plan);
    INFO(message(status));
    REQUIRE(status.ok());
    std::size_t compared = 0;
    CHECK(golden.differences(&compared) == "");
    CHECK(compared >= 3);  // two queries and at least one cache
    CHECK(golden.unstated() == 0);
    const Attributes& attributes = golden.golden().attributes;
    scenarios.emplace(attributes.weight_quant_mode, attributes.kv_cache_quant_mode);
  }
  INFO(files.size() << " cases, " << scenarios.size() << " scenarios");
  for (std::int64_t w = 0; w <= 5; ++w) {
    const bool covered = std::any_of(scenarios.begin(), scenarios.end(), [&](auto& s) { return s.first == w; });
    CHECK((files.empty() || covered));
  }
  return files.size();
}

}  // namespace

TEST_CASE("the committed golden cases are right to the bit") {
  if (const std::string reason = options_unavailable(); !reason.empty()) MLA_PROLOG_SKIP(reason);
  CHECK(check_all(data_dir() / "golden") > 0);
}

TEST_CASE("all golden cases are right to the bit") {
  if (const std::string reason = options_unavailable(); !reason.empty()) MLA_PROLOG_SKIP(reason);
  const fs::path folder = shared_dir() / "golden";
  if (!fs::is_directory(folder)) MLA_PROLOG_SKIP("no folder " + folder.string());
  CHECK(check_all(folder) > 0);
}

}  // namespace mla_prolog::test
