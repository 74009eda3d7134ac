#include "runtime/backend/cpu/executor.hpp"

#include <algorithm>

#include "runtime/backend/arena.hpp"
#include "runtime/backend/cpu/spaces.hpp"
#include "runtime/backend/cpu/stages.hpp"
#include "runtime/scheduler/team.hpp"

namespace mla_prolog {
namespace {

using cpu::Block;
using cpu::CrewSpace;
using cpu::Run;
using cpu::ThreadSpace;

// A thread's place in the team.
struct Place {
  int group;
  int groups;
  int member;
  int crew;
};

void barrier(const Place& place) {
#if defined(_OPENMP)
  if (place.crew > 1) {
#pragma omp barrier
  }
#else
  static_cast<void>(place);
#endif
}

void compute(Stage stage, const Block& block, const Tile& tile) {
  switch (stage) {
    case Stage::pack_x:
      return cpu::pack_x(block, tile);
    case Stage::project:
      return cpu::project(block, tile);
    case Stage::rows:
      return cpu::finish_rows(block, tile);
    case Stage::pack_cq:
      return cpu::pack_cq(block, tile);
    case Stage::heads:
      return cpu::query_heads(block, tile);
    case Stage::query:
      return cpu::query_columns(block, tile);
    case Stage::split:
      return cpu::split_heads(block, tile);
    case Stage::absorb:
      return cpu::absorb_columns(block, tile);
    case Stage::quantise:
      return cpu::quantise_queries(block, tile);
  }
}

// oneDNN takes a block's tokens and all of k at once, and packs left operands for itself.
ScheduleOptions schedule_for(ScheduleOptions options, const EngineOptions& engine) {
  if (engine.use == onednn::Use::wherever_possible || engine.numerics == Numerics::fast) {
    options.split_k = options.split_tokens = options.share_left = options.split_heads = false;
  }
  return options;
}

class CpuExecutor final : public Executor {
 public:
  CpuExecutor(const Layer& layer, const kernels::KernelSet& set, int threads, const ScheduleOptions& options,
              const EngineOptions& engine)
      : layer_(layer),
        rows_(*set.rows),
        machine_(MachineModel::of(set.isa)),
        kernels_(*set.gemm),
        schedule_(make_schedule(layer, kernels_, machine_, threads, schedule_for(options, engine))),
        matmuls_(layer, kernels_, schedule_),
        engines_(onednn::choose_stages(layer, schedule_.max_block_tokens(), engine.use, engine.numerics)) {
    matmuls_.project.set_engine(engines_[onednn::kStageA]);
    matmuls_.query.set_engine(engines_[onednn::kStageC]);
    matmuls_.absorb.set_engine(engines_[onednn::kStageD]);
    Arena crew(nullptr);
    cpu::carve_crew(crew, layer_, schedule_, matmuls_);
    crew_bytes_ = crew.used();
    Arena thread(nullptr);
    cpu::carve_thread(thread, layer_, schedule_, matmuls_);
    thread_bytes_ = thread.used();
  }

  std::size_t workspace_bytes() const noexcept override {
    return crew_bytes_ * static_cast<std::size_t>(schedule_.groups) +
           thread_bytes_ * static_cast<std::size_t>(schedule_.threads);
  }

  void execute(const Tensors& tensors, const std::int64_t* slot, std::byte* workspace,
               const onednn::PreparedMatrices* prepared) const noexcept override {
    execute({layer_, tensors, rows_, slot, prepared, &engines_}, workspace, nullptr);
  }

  void execute_recorded(const Tensors& tensors, const std::int64_t* slot, std::byte* workspace,
                        const onednn::PreparedMatrices* prepared, Recorder& recorder) const noexcept override {
    recorder.start();
    execute({layer_, tensors, rows_, slot, prepared, &engines_}, workspace, &recorder);
  }

  std::string engine_of(Stage stage) const override {
    switch (stage) {
      case Stage::project:
        return engines_.engine(onednn::kStageA);
      case Stage::heads: {
        const std::string query = engines_.engine(onednn::kStageC);
        const std::string absorb = engines_.engine(onednn::kStageD);
        return query == absorb ? query : "C " + query + ", D " + absorb;
      }
      case Stage::query:
        return engines_.engine(onednn::kStageC);
      case Stage::absorb:
        return engines_.engine(onednn::kStageD);
      case Stage::pack_x:
      case Stage::rows:
      case Stage::pack_cq:
      case Stage::split:
      case Stage::quantise:
        break;
    }
    return {};
  }

  std::string describe() const override {
    const bool pairs = matmuls_.project.by_pairs() || matmuls_.query.by_pairs() || matmuls_.absorb.by_pairs();
    return schedule_.to_string() + (pairs ? "  bf16 matmuls: the CPU's dot products of pairs\n" : "") +
           engines_.describe();
  }
  std::string engine_summary() const override { return engines_.summary(); }
  const onednn::Stages* engines() const noexcept override { return engines_.any() ? &engines_ : nullptr; }
  const Schedule* schedule() const noexcept override { return &schedule_; }
  Simulation simulation() const override { return simulate(schedule_, CostModel(layer_, kernels_, machine_)); }

 private:
  void execute(const Run& run, std::byte* workspace, Recorder* recorder) const noexcept {
    const int team = team_size(schedule_.threads);
#if defined(_OPENMP)
    if (team > 1) {
#pragma omp parallel num_threads(team)
      work(run, workspace, omp_get_thread_num(), omp_get_num_threads(), recorder);
      return;
    }
#else
    static_cast<void>(team);
#endif
    work(run, workspace, 0, 1, recorder);
  }

  // A team of another size than planned (a nested region, a fork, a thread limit) works as one crew.
  Place place_of(int thread, int team) const {
    const int groups = team == schedule_.threads ? schedule_.groups : 1;
    const int crew = team / groups;
    return {thread / crew, groups, thread % crew, crew};
  }

  void work(const Run& run, std::byte* workspace, int thread, int team, Recorder* recorder) const {
    const Place place = place_of(thread, team);
    Recorder::Lane* const lane = recorder == nullptr ? nullptr : &recorder->lane(thread);
    Arena crew_arena(workspace + crew_bytes_ * static_cast<std::size_t>(place.group));
    const CrewSpace shared = cpu::carve_crew(crew_arena, layer_, schedule_, matmuls_);
    Arena thread_arena(workspace + crew_bytes_ * static_cast<std::size_t>(schedule_.groups) +
                       thread_bytes_ * static_cast<std::size_t>(thread));
    const ThreadSpace own = cpu::carve_thread(thread_arena, layer_, schedule_, matmuls_);
    // Every thread passes the same barriers, with or without a block of its own.
    for (std::int64_t round = 0; round * place.groups < schedule_.blocks; ++round) {
      const std::int64_t index = round * place.groups + place.group;
      const std::int64_t first = schedule_.first_token(std::min(index, schedule_.blocks));
      const std::int64_t count = index < schedule_.blocks ? schedule_.first_token(index + 1) - first : 0;
      const Block block{run, schedule_, matmuls_, first, count, shared, own};
      for_each_stage(schedule_, [&](Stage stage) {
        if (count > 0) share_of_stage(stage, block, index, place, lane);
        if (!schedule_.last(stage)) barrier(place);
      });
    }
  }

  static void share_of_stage(Stage stage, const Block& block, std::int64_t index, const Place& place,
                             Recorder::Lane* lane) {
    visit_share(block.schedule.grid(stage, block.count), place.member, place.crew, [&](const Tile& tile) {
      if (lane == nullptr) return compute(stage, block, tile);
      const auto begin = Recorder::Clock::now();
      compute(stage, block, tile);
      lane->note({stage, index, tile, begin, Recorder::Clock::now()});
    });
  }

  Layer layer_;
  const kernels::RowKernels& rows_;
  MachineModel machine_;
  const kernels::GemmKernels& kernels_;
  Schedule schedule_;
  cpu::Matmuls matmuls_;
  onednn::Stages engines_;
  std::size_t crew_bytes_ = 0;
  std::size_t thread_bytes_ = 0;
};

}  // namespace

std::unique_ptr<const Executor> make_cpu_executor(const Layer& layer, const kernels::KernelSet& set, int threads,
                                                  const ScheduleOptions& options, const EngineOptions& engine) {
  return std::make_unique<CpuExecutor>(layer, set, threads, options, engine);
}

}  // namespace mla_prolog
