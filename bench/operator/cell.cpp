#include "bench/operator/cell.hpp"

#include <algorithm>
#include <cstdio>
#include <vector>

#include "bench/support/clock.hpp"
#include "bench/support/row_steps.hpp"
#include "kernels/gemm/gemm_kernels.hpp"

namespace mla_prolog::bench {
namespace {

constexpr int kFirstCalls = 3;  // plans made anew, for the median of their first calls
constexpr int kLeastRounds = 3;

double median_of(const std::vector<Roofs>& all, double Roofs::*roof) {
  std::vector<double> values;
  values.reserve(all.size());
  for (const Roofs& roofs : all) values.push_back(roofs.*roof);
  return median(values);
}

}  // namespace

Cell measure_cell(Subject& subject, ColdWeights& weights, const std::string& scenario, const Effort& effort) {
  const Layer layer = subject.layer();  // a copy: the plan is made anew
  Cell cell{.scenario = scenario,
            .tokens = layer.tokens,
            .isa = subject.plan().isa(),
            .engine = subject.plan().backend(),
            .threads = subject.plan().threads(),
            .work = work_of(layer)};
  const kernels::KernelSetChoice set = kernels::choose_kernel_set(cell.isa);
  const kernels::GemmFunctions& bf16 = (*set.set->gemm)[kernels::GemmType::bf16];
  cell.bf16_pairs = bf16.packed_gain > 1 && cell.tokens >= bf16.packed_from;
  const RowSteps row_steps(layer, *set.set, cell.threads, subject.tensors());
  std::vector<double> seconds, ideals, shares, firsts, row_shares;
  std::vector<Roofs> roofs;
  const double begin = now();
  const int first_calls = std::min(kFirstCalls, effort.rounds);
  for (int round = 0; round < first_calls + effort.rounds; ++round) {
    const bool steady = round >= first_calls;
    if (steady && cell.rounds >= kLeastRounds && now() - begin > effort.seconds) break;
    weights.turn();
    const Roofs now_roofs = measure_roofs(layer, cell.isa, cell.threads, weights.bytes());
    if (!steady) subject.plan_again();
    const double call = subject.run();
    if (!steady) {
      firsts.push_back(call);
      continue;
    }
    const double rows = seconds_of([&] {
      row_steps.finish_rows();
      row_steps.finish_heads();
    });
    ++cell.rounds;
    roofs.push_back(now_roofs);
    seconds.push_back(call);
    ideals.push_back(cell.work.ideal_seconds(now_roofs));
    shares.push_back(ideals.back() / call);
    row_shares.push_back(rows / call);
  }
  cell.seconds = median(seconds);
  cell.fastest_seconds = *std::min_element(seconds.begin(), seconds.end());
  cell.roof_seconds = median(ideals);
  cell.share = median(shares);
  cell.first_over_median = median(firsts) / cell.seconds;
  cell.row_share = median(row_shares);
  for (const auto roof : {&Roofs::read_bytes, &Roofs::float_ops, &Roofs::int8_ops, &Roofs::decoded_ops}) {
    cell.roofs.*roof = median_of(roofs, roof);
  }
  return cell;
}

nlohmann::ordered_json to_json(const Cell& cell) {
  nlohmann::ordered_json json;
  json["scenario"] = cell.scenario;
  json["tokens"] = cell.tokens;
  json["isa"] = to_string(cell.isa);
  json["engine"] = engine_name(cell.engine);
  json["threads"] = cell.threads;
  json["rounds"] = cell.rounds;
  json["bf16_pairs"] = cell.bf16_pairs;
  json["median_seconds"] = cell.seconds;
  json["fastest_seconds"] = cell.fastest_seconds;
  json["roof_seconds"] = cell.roof_seconds;
  json["share_of_roof"] = cell.share;
  json["first_over_median"] = cell.first_over_median;
  json["row_share"] = cell.row_share;
  json["gb_per_second"] = cell.work.weight_bytes / cell.seconds / 1e9;
  json["gflop_per_second"] = cell.work.ops() / cell.seconds / 1e9;
  json["work"] = {{"weight_bytes", cell.work.weight_bytes},
                  {"float_ops", cell.work.float_ops},
                  {"int8_ops", cell.work.int8_ops},
                  {"decoded_ops", cell.work.decoded_ops}};
  json["roofs"] = {{"read_bytes_per_second", cell.roofs.read_bytes},
                   {"float_ops_per_second", cell.roofs.float_ops},
                   {"int8_ops_per_second", cell.roofs.int8_ops},
                   {"decoded_ops_per_second", cell.roofs.decoded_ops}};
  return json;
}

std::string table_head() {
  char line[160];
  std::snprintf(line, sizeof line, "%-8s %6s %-12s %-7s %4s %11s %11s %6s %6s %6s", "scenario", "T", "isa", "engine",
                "thr", "median ms", "roof ms", "share", "first", "rows");
  return line;
}

std::string table_line(const Cell& cell) {
  char line[160];
  std::snprintf(line, sizeof line, "%-8s %6lld %-12s %-7s %4d %11.3f %11.3f %6.2f %6.2f %6.3f", cell.scenario.c_str(),
                static_cast<long long>(cell.tokens), std::string(to_string(cell.isa)).c_str(),
                engine_name(cell.engine).c_str(), cell.threads, cell.seconds * 1e3, cell.roof_seconds * 1e3, cell.share,
                cell.first_over_median, cell.row_share);
  return line;
}

}  // namespace mla_prolog::bench
