#include "runtime/backend/cpu/executor.hpp"

#include <algorithm>
#include <utility>

#include "runtime/backend/arena.hpp"
#include "runtime/backend/cpu/matmul.hpp"
#include "runtime/backend/cpu/rows.hpp"
#include "runtime/scheduler/schedule.hpp"
#include "runtime/scheduler/team.hpp"

namespace mla_prolog {
namespace {

using cpu::CompressedQuery;
using cpu::LeftRows;
using cpu::MatmulPlan;
using cpu::Matrix;
using cpu::RowScratch;
using cpu::Run;
using kernels::bf16_t;

constexpr std::int64_t round_down(std::int64_t value, std::int64_t to) { return value / to * to; }
constexpr std::int64_t round_up(std::int64_t value, std::int64_t to) { return (value + to - 1) / to * to; }

// [begin, end) of piece i when `count` units of `unit` are divided among n.
std::pair<std::int64_t, std::int64_t> share(std::int64_t count, std::int64_t unit, int i, int n) {
  const std::int64_t units = (count + unit - 1) / unit;
  return {std::min(count, units * i / n * unit), std::min(count, units * (i + 1) / n * unit)};
}

// What a crew shares while it works on a block of tokens.
struct CrewSpace {
  void* m;  // results of weight_dq and weight_dkv_kr, float32 or int32 [tokens][Hcq + 576]
  CompressedQuery cq;
};

struct ThreadSpace {
  std::byte* left;     // packed left operand of stage A (a span) or C
  void* scratch;       // of the matmul kernels
  void* head;          // results of one head's columns
  bf16_t* qc;          // q^C of one head [tokens][D]
  std::byte* qc_left;  // the same as left operand
  float* qn;           // results of weight_uk
  bf16_t* qn_rounded;  // [tokens][512], per-tensor caches
  RowScratch rows;
};

// A thread's place in the team.
struct Place {
  int group;
  int groups;
  int member;
  int crew;
};

class CpuExecutor final : public Executor {
 public:
  CpuExecutor(const Layer& layer, const kernels::KernelSet& set, int threads, const CpuOptions& options)
      : layer_(layer),
        rows_(*set.rows),
        schedule_(
            make_schedule(layer, *set.gemm, MachineModel::of(set.isa), threads, options.block_tokens, options.groups)),
        tokens_(schedule_.max_block_tokens()),
        stage_a_(*set.gemm, layer.x_operand, tokens_, layer.he),
        stage_c_(*set.gemm, layer.cq_operand, tokens_, layer.hcq),
        stage_d_(*set.gemm, Operand::bf16, tokens_, layer.d),
        qn_columns_(stage_d_.packed() ? kPackedQueryColumns : kHckv) {
    Arena crew(nullptr);
    carve_crew(crew);
    crew_bytes_ = crew.used();
    Arena thread(nullptr);
    carve_thread(thread);
    thread_bytes_ = thread.used();
  }

  std::size_t workspace_bytes() const noexcept override {
    return crew_bytes_ * static_cast<std::size_t>(schedule_.groups) +
           thread_bytes_ * static_cast<std::size_t>(schedule_.threads);
  }

  void execute(const Tensors& tensors, const std::int64_t* slot, std::byte* workspace) const noexcept override {
    const Run run{layer_, tensors, rows_, slot};
    const int team = team_size(schedule_.threads);
#if defined(_OPENMP)
    if (team > 1) {
#pragma omp parallel num_threads(team)
      work(run, workspace, omp_get_thread_num(), omp_get_num_threads());
      return;
    }
#else
    static_cast<void>(team);
#endif
    work(run, workspace, 0, 1);
  }

  std::string describe() const override { return schedule_.to_string(); }

 private:
  static constexpr std::int64_t kPackedQueryColumns = 128;  // of weight_uk at a time, so that results stay in cache

  std::int64_t m_columns() const { return layer_.hcq + kDkvColumns; }
  // Columns of a head, widened to whole panels.
  std::int64_t head_columns() const { return round_up(layer_.d + kDr + 2 * (stage_c_.panel_columns() - 1), 16); }

  CrewSpace carve_crew(Arena& arena) const {
    CrewSpace space{};
    space.m = arena.take<float>(tokens_ * m_columns());
    space.cq.codes = arena.take<std::uint8_t>(tokens_ * layer_.hcq * cpu::code_bytes(layer_.cq_operand));
    space.cq.scales = arena.take<float>(tokens_);
    space.cq.mx_scales =
        arena.take<std::uint8_t>(layer_.cq_operand == Operand::mx ? tokens_ * (layer_.hcq / kMxBlock) : 0);
    return space;
  }

  ThreadSpace carve_thread(Arena& arena) const {
    const auto bytes = [](std::size_t n) { return static_cast<std::int64_t>(n); };
    ThreadSpace space{};
    space.left = arena.take<std::byte>(bytes(std::max(stage_a_.span_bytes(), stage_c_.all_bytes())));
    space.scratch = arena.take<std::byte>(
        bytes(std::max({stage_a_.scratch_bytes(), stage_c_.scratch_bytes(), stage_d_.scratch_bytes()})));
    space.head = arena.take<float>(tokens_ * head_columns());
    space.qc = arena.take<bf16_t>(tokens_ * layer_.d);
    space.qc_left = arena.take<std::byte>(bytes(stage_d_.all_bytes()));
    space.qn = arena.take<float>(tokens_ * qn_columns_);
    space.qn_rounded = arena.take<bf16_t>(layer_.quantised_query() ? tokens_ * kHckv : 0);
    const std::int64_t width = cpu::row_scratch_width(layer_);
    space.rows = {.projected = arena.take<float>(width),
                  .normed = arena.take<float>(std::max(layer_.hcq, kHckv)),
                  .row = arena.take<bf16_t>(width),
                  .cache_row = arena.take<std::uint8_t>(kPerTileRow)};
    return space;
  }

  // A team of another size than planned (a nested region, a fork, a thread limit) works as one crew.
  Place place_of(int thread, int team) const {
    const int groups = team == schedule_.threads ? schedule_.groups : 1;
    const int crew = team / groups;
    return {thread / crew, groups, thread % crew, crew};
  }

  static void barrier(const Place& place) {
#if defined(_OPENMP)
    if (place.crew > 1) {
#pragma omp barrier
    }
#else
    static_cast<void>(place);
#endif
  }

  void work(const Run& run, std::byte* workspace, int thread, int team) const {
    const Place place = place_of(thread, team);
    Arena crew_arena(workspace + crew_bytes_ * static_cast<std::size_t>(place.group));
    const CrewSpace shared = carve_crew(crew_arena);
    Arena thread_arena(workspace + crew_bytes_ * static_cast<std::size_t>(schedule_.groups) +
                       thread_bytes_ * static_cast<std::size_t>(thread));
    const ThreadSpace own = carve_thread(thread_arena);
    // Every thread passes the same barriers, with or without a block of its own.
    for (std::int64_t round = 0; round * place.groups < schedule_.blocks; ++round) {
      const std::int64_t block = round * place.groups + place.group;
      const std::int64_t first = schedule_.first_token(std::min(block, schedule_.blocks));
      const std::int64_t count = block < schedule_.blocks ? schedule_.first_token(block + 1) - first : 0;
      if (count > 0) project_tokens(run, place, first, count, shared, own);
      barrier(place);
      if (count > 0) finish_rows(run, place, first, count, shared, own);
      barrier(place);
      if (count > 0) query_heads(run, place, first, count, shared, own);
    }
  }

  // Stage A: this member's columns of x . [weight_dq | weight_dkv_kr].
  void project_tokens(const Run& run, const Place& place, std::int64_t first, std::int64_t count,
                      const CrewSpace& shared, const ThreadSpace& own) const {
    const std::int64_t columns = layer_.hcq + (run.slot != nullptr ? kDkvColumns : 0);
    const std::int64_t unit = stage_a_.packed() ? 64 : stage_a_.panel_columns();
    const auto [begin, end] = share(columns, unit, place.member, place.crew);
    const auto* x = static_cast<const std::byte*>(run.tensors.token_x) +
                    first * layer_.token_x_stride * cpu::code_bytes(layer_.x_operand);
    const bool mx = layer_.x_operand == Operand::mx;
    const LeftRows rows{
        x, layer_.token_x_stride,
        mx ? static_cast<const std::uint8_t*>(run.tensors.dequant_scale_x) + first * (layer_.he / kMxBlock) : nullptr};
    const Matrix dq = Matrix::nz(run.tensors.weight_dq, layer_.he, mx ? run.tensors.dequant_scale_w_dq : nullptr);
    const Matrix dkv =
        Matrix::nz(run.tensors.weight_dkv_kr, layer_.he, mx ? run.tensors.dequant_scale_w_dkv_kr : nullptr);
    auto* m = static_cast<float*>(shared.m);
    for (std::int64_t k0 = 0; k0 < layer_.he; k0 += stage_a_.span()) {
      const std::int64_t k1 = std::min(layer_.he, k0 + stage_a_.span());
      stage_a_.pack(rows, count, k0, k1, own.left);
      const std::int64_t dq_end = std::min(end, layer_.hcq);
      if (begin < dq_end) {
        stage_a_.multiply(dq, begin, dq_end, count, k0, k1, own.left, m + begin, m_columns(), own.scratch);
      }
      const std::int64_t dkv_begin = std::max(begin, layer_.hcq);
      if (dkv_begin < end) {
        stage_a_.multiply(dkv, dkv_begin - layer_.hcq, end - layer_.hcq, count, k0, k1, own.left, m + dkv_begin,
                          m_columns(), own.scratch);
      }
    }
  }

  // Stage B: the rows of c^Q and c^KV, two items a token.
  void finish_rows(const Run& run, const Place& place, std::int64_t first, std::int64_t count, const CrewSpace& shared,
                   const ThreadSpace& own) const {
    const auto [begin, end] = share(2 * count, 1, place.member, place.crew);
    for (std::int64_t item = begin; item < end; ++item) {
      const std::int64_t i = item / 2;
      const std::int64_t t = first + i;
      const float* m = static_cast<const float*>(shared.m) + i * m_columns();
      if (item % 2 == 0) {
        cpu::compress_query(run, t, m, own.rows, i, shared.cq);
      } else if (run.slot != nullptr && run.slot[t] >= 0) {
        cpu::store_latent(run, t, m + layer_.hcq, own.rows);
      }
    }
  }

  // Stages C and D: this member's heads.
  void query_heads(const Run& run, const Place& place, std::int64_t first, std::int64_t count, const CrewSpace& shared,
                   const ThreadSpace& own) const {
    const bool mx = layer_.cq_operand == Operand::mx;
    stage_c_.pack({shared.cq.codes, layer_.hcq, mx ? shared.cq.mx_scales : nullptr}, count, 0, layer_.hcq, own.left);
    const Matrix uq =
        Matrix::nz(run.tensors.weight_uq_qr, layer_.hcq, mx ? run.tensors.dequant_scale_w_uq_qr : nullptr);
    const auto [begin, end] = share(layer_.n, 1, place.member, place.crew);
    for (std::int64_t h = begin; h < end; ++h) {
      query_head(run, h, h + 1 < end, uq, first, count, shared, own);
    }
  }

  void query_head(const Run& run, std::int64_t h, bool another, const Matrix& uq, std::int64_t first,
                  std::int64_t count, const CrewSpace& shared, const ThreadSpace& own) const {
    const std::int64_t columns = layer_.d + kDr;
    // A head need not begin on a panel boundary.
    const auto panels_begin = [&](std::int64_t head) { return round_down(head * columns, stage_c_.panel_columns()); };
    const auto panels_end = [&](std::int64_t head) { return round_up((head + 1) * columns, stage_c_.panel_columns()); };
    const std::int64_t c0 = panels_begin(h);
    const std::int64_t c1 = panels_end(h);
    const Matrix uk =
        Matrix::row_major(static_cast<const bf16_t*>(run.tensors.weight_uk) + h * layer_.d * kHckv, layer_.d, kHckv);
    stage_c_.multiply(uq, c0, c1, count, 0, layer_.hcq, own.left, own.head, c1 - c0, own.scratch,
                      stage_d_.first_read(uk, 0, kHckv));
    for (std::int64_t i = 0; i < count; ++i) {
      const float* m = static_cast<const float*>(own.head) + i * (c1 - c0) + (h * columns - c0);
      cpu::split_head(run, first + i, h, m, shared.cq.scales + i, own.rows, own.qc + i * layer_.d);
    }
    stage_d_.pack({own.qc, layer_.d, nullptr}, count, 0, layer_.d, own.qc_left);
    const kernels::GemmPrefetch next_head =
        another ? stage_c_.first_read(uq, panels_begin(h + 1), panels_end(h + 1)) : kernels::GemmPrefetch{};
    for (std::int64_t n = 0; n < kHckv; n += qn_columns_) {
      const bool last = n + qn_columns_ >= kHckv;
      stage_d_.multiply(uk, n, n + qn_columns_, count, 0, layer_.d, own.qc_left, own.qn, qn_columns_, own.scratch,
                        last ? next_head : stage_d_.first_read(uk, n + qn_columns_, kHckv));
      for (std::int64_t i = 0; i < count; ++i) {
        bf16_t* row = layer_.quantised_query()
                          ? own.qn_rounded + i * kHckv
                          : static_cast<bf16_t*>(run.tensors.query) + ((first + i) * layer_.n + h) * kHckv;
        run.rows.round_to_bf16(own.qn + i * qn_columns_, qn_columns_, row + n);
      }
    }
    if (!layer_.quantised_query()) return;
    for (std::int64_t i = 0; i < count; ++i) {
      cpu::quantise_query(run, first + i, h, own.qn_rounded + i * kHckv);
    }
  }

  Layer layer_;
  const kernels::RowKernels& rows_;
  Schedule schedule_;
  std::int64_t tokens_;  // of the largest block
  MatmulPlan stage_a_;
  MatmulPlan stage_c_;
  MatmulPlan stage_d_;
  std::int64_t qn_columns_;
  std::size_t crew_bytes_ = 0;
  std::size_t thread_bytes_ = 0;
};

}  // namespace

std::unique_ptr<const Executor> make_cpu_executor(const Layer& layer, const kernels::KernelSet& set, int threads,
                                                  const CpuOptions& options) {
  return std::make_unique<CpuExecutor>(layer, set, threads, options);
}

}  // namespace mla_prolog
