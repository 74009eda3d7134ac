#include "tools/commands/run_report.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <iostream>

#include "tools/io/digest.hpp"
#include "tools/io/storage.hpp"

namespace mla_prolog::tools {
namespace {

using Json = nlohmann::ordered_json;

std::string fixed(double value, int digits) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.*f", digits, value);
  return text.data();
}

std::string tokens_text(const RunSetting& setting) {
  const ProblemConfig& config = setting.config;
  if (!config.batched) return "T " + std::to_string(config.tokens);
  return "B " + std::to_string(config.batch) + " x S " + std::to_string(config.seq);
}

double per_second(double amount, const Timing& timing) {
  return timing.median_seconds > 0.0 ? amount / timing.median_seconds : 0.0;
}

// Nothing to compute has no share.
double share_of_roof(const ScenarioReport& report, const Roof& roof) {
  return report.work.flops > 0.0 ? per_second(ideal_seconds(report.work, roof), report.timing) : 0.0;
}

Json reference_json(const ScenarioReport& report) {
  if (!report.reference) return nullptr;
  Json json{{"tokens", report.reference->tokens}, {"equal", !report.reference->difference}};
  if (report.reference->difference) {
    const Difference& difference = *report.reference->difference;
    json["tensor"] = report.reference->tensor;
    json["index"] = difference.index;
    json["expected"] = difference.expected;
    json["actual"] = difference.actual;
    json["differences"] = difference.count;
  }
  if (report.numerics == Numerics::fast) {
    json["within_bounds"] = report.reference->agrees();
    Json distances = Json::array();
    for (const Agreement& tensor : report.reference->distances) {
      distances.push_back({{"name", tensor.tensor},
                           {"elements", tensor.elements},
                           {"different", tensor.elements - tensor.equal()},
                           {"largest_distance", tensor.largest},
                           {"within_bounds", tensor.within_fast_bounds()}});
    }
    json["distances"] = std::move(distances);
  }
  return json;
}

// "query 3 of 1024 (largest 1)" for each tensor with differences.
std::string distances_text(const std::vector<Agreement>& distances) {
  std::string text;
  for (const Agreement& tensor : distances) {
    if (tensor.equal() == tensor.elements) continue;
    text += text.empty() ? "" : ", ";
    text += tensor.tensor + ' ' + std::to_string(tensor.elements - tensor.equal()) + " of " +
            std::to_string(tensor.elements) + " (largest distance " + std::to_string(tensor.largest) +
            (tensor.within_fast_bounds() ? ")" : ", OUTSIDE)");
  }
  return text;
}

Json scenario_json(const ScenarioReport& report, const Roof& roof) {
  Json outputs = Json::array();
  for (const OutputReport& output : report.outputs) {
    outputs.push_back({{"name", output.name},
                       {"shape", output.shape},
                       {"dtype", to_string(output.dtype)},
                       {"storage", to_string(storage_type(output.dtype))},
                       {"digest", digest_text(output.digest)}});
  }
  return {{"scenario", report.scenario.text()},
          {"profile", to_string(report.profile)},
          {"isa", to_string(report.isa)},
          {"engines", to_string(report.backend)},
          {"numerics", to_string(report.numerics)},
          {"threads", report.threads},
          {"median_seconds", report.timing.median_seconds},
          {"first_seconds", report.timing.first_seconds},
          {"repeats", report.timing.repeats},
          {"bytes", report.work.bytes},
          {"flops", report.work.flops},
          {"int8_ops", report.work.int8},
          {"gb_per_second", per_second(report.work.bytes, report.timing) * 1e-9},
          {"gflop_per_second", per_second(report.work.flops, report.timing) * 1e-9},
          {"share_of_roof", share_of_roof(report, roof)},
          {"outputs", std::move(outputs)},
          {"reference", reference_json(report)}};
}

}  // namespace

std::string dims_text(const RunSetting& setting) {
  const ProblemConfig& config = setting.config;
  return tokens_text(setting) + ", He " + std::to_string(config.he) + ", Hcq " + std::to_string(config.hcq) + ", N " +
         std::to_string(config.n) + ", D " + std::to_string(config.d);
}

std::string cache_text(const RunSetting& setting) {
  std::string text(to_string(setting.config.cache_mode));
  if (setting.paged()) {
    text += ", " + std::to_string(setting.config.block_num) + " blocks of " + std::to_string(setting.config.block_size);
  }
  return text;
}

void print_run_heading(const RunSetting& setting, const RunRequest& request, const Roof& roof) {
  std::cout << setting.source << ": " << dims_text(setting) << "; cache " << cache_text(setting) << "; seed "
            << request.seed << '\n'
            << "roof of this run: read " << fixed(roof.bytes_per_second * 1e-9, 1) << " GB/s, float32 multiply-add "
            << fixed(roof.flops_per_second * 1e-9, 1) << " GFLOP/s\n";
}

void print_scenario(const ScenarioReport& report, const RunSetting& setting, const Roof& roof) {
  std::cout << "\nscenario " << report.scenario.text() << ": " << dims_text(setting) << "; profile "
            << to_string(report.profile) << ", isa " << to_string(report.isa) << ", engines "
            << to_string(report.backend) << ", numerics " << to_string(report.numerics) << ", threads "
            << report.threads << '\n';
  std::cout << "  time " << fixed(report.timing.median_seconds * 1e3, 3) << " ms (median of " << report.timing.repeats
            << ", first " << fixed(report.timing.first_seconds * 1e3, 3) << " ms); "
            << fixed(per_second(report.work.bytes, report.timing) * 1e-9, 2) << " GB/s, "
            << fixed(per_second(report.work.flops, report.timing) * 1e-9, 2) << " GFLOP/s, "
            << fixed(share_of_roof(report, roof) * 100, 1) << " % of the roof\n";
  std::size_t width = 0;
  for (const OutputReport& output : report.outputs) width = std::max(width, output.name.size());
  for (const OutputReport& output : report.outputs) {
    std::cout << "  " << output.name << std::string(width - output.name.size(), ' ') << "  " << shape_text(output.shape)
              << ' ' << to_string(output.dtype) << ' ' << digest_text(output.digest) << '\n';
  }
  if (!report.reference) {
    std::cout << "  reference: not compared\n";
  } else if (!report.reference->difference) {
    std::cout << "  reference: " << report.reference->tokens << " tokens, equal\n";
  } else if (report.numerics == Numerics::fast) {
    std::cout << "  reference: " << report.reference->tokens << " tokens, "
              << (report.reference->agrees() ? "within" : "OUTSIDE")
              << " the bounds of fast: " << distances_text(report.reference->distances) << '\n';
  } else {
    const Difference& difference = *report.reference->difference;
    std::cout << "  reference: " << report.reference->tokens << " tokens, DIFFERENT: " << report.reference->tensor
              << " index " << difference.index << " expected " << difference.expected << " actual " << difference.actual
              << " differences " << difference.count << '\n';
  }
}

void print_run_summary(const std::vector<ScenarioReport>& reports) {
  const auto different = std::ranges::count_if(reports, &ScenarioReport::differs);
  const auto equal = std::ranges::count_if(reports, &ScenarioReport::equal);
  const auto near = std::ranges::count_if(reports, [](const ScenarioReport& report) {
    return report.reference.has_value() && !report.equal() && !report.differs();
  });
  std::cout << "\nsummary: " << reports.size() << " scenarios, " << equal << " equal to the reference, " << different
            << " different";
  if (near != 0) std::cout << ", " << near << " within the bounds of fast";
  std::cout << '\n';
}

Json dims_json(const RunSetting& setting) {
  const ProblemConfig& config = setting.config;
  return {{"he", config.he},
          {"hcq", config.hcq},
          {"heads", config.n},
          {"total_heads", setting.total_heads},
          {"nope_dim", config.d},
          {"tokens", setting.tokens()},
          {"batch", config.batched ? Json(config.batch) : Json(nullptr)},
          {"seq", config.batched ? Json(config.seq) : Json(nullptr)}};
}

Json run_json(const RunSetting& setting, const RunRequest& request, const Roof& roof,
              const std::vector<ScenarioReport>& reports) {
  const ProblemConfig& config = setting.config;
  Json scenarios = Json::array();
  for (const ScenarioReport& report : reports) scenarios.push_back(scenario_json(report, roof));
  return {{"command", "run"},
          {"source", setting.source},
          {"dims", dims_json(setting)},
          {"cache_mode", to_string(config.cache_mode)},
          {"block_num", setting.paged() ? Json(config.block_num) : Json(nullptr)},
          {"block_size", setting.paged() ? Json(config.block_size) : Json(nullptr)},
          {"rmsnorm_epsilon_cq", setting.eps_cq},
          {"rmsnorm_epsilon_ckv", setting.eps_ckv},
          {"qc_qr_scale", request.qc_qr_scale},
          {"kc_scale", request.kc_scale},
          {"positions", request.positions},
          {"seed", request.seed},
          {"roof",
           {{"gb_per_second", roof.bytes_per_second * 1e-9},
            {"gflop_per_second", roof.flops_per_second * 1e-9},
            {"int8_gop_per_second", roof.int8_per_second * 1e-9}}},
          {"scenarios", std::move(scenarios)}};
}

}  // namespace mla_prolog::tools
