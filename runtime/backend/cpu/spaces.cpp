#include "runtime/backend/cpu/spaces.hpp"

#include <algorithm>

namespace mla_prolog::cpu {
namespace {

using kernels::bf16_t;

constexpr std::int64_t kPackedAbsorbColumns = 128;

std::int64_t signed_size(std::size_t n) { return static_cast<std::int64_t>(n); }

// Of a head, widened to whole panels.
std::int64_t head_columns(const Layer& layer, const MatmulPlan& query) {
  return round_up(layer.d + kDr + 2 * (query.panel_columns() - 1), 16);
}

}  // namespace

// What a crew packs or sums chunk by chunk has the chunks of contract.md section 2.
Matmuls::Matmuls(const Layer& layer, const kernels::GemmKernels& kernels, const Schedule& schedule)
    : project(kernels, layer.x_operand, schedule.max_block_tokens(), layer.he,
              schedule.planes() > 1 || schedule.has(Stage::pack_x) ? kernels::kGemmChunk : 0),
      query(kernels, layer.cq_operand, schedule.max_block_tokens(), layer.hcq,
            schedule.has(Stage::pack_cq) ? kernels::kGemmChunk : 0),
      absorb(kernels, Operand::bf16, schedule.max_block_tokens(), layer.d),
      absorb_columns(absorb.packed() ? kPackedAbsorbColumns : kHckv) {}

CrewSpace carve_crew(Arena& arena, const Layer& layer, const Schedule& schedule, const Matmuls& matmuls) {
  const std::int64_t tokens = schedule.max_block_tokens();
  CrewSpace space{};
  space.m = arena.take<float>(schedule.planes() * tokens * projected_columns(layer));
  space.cq.codes = arena.take<std::uint8_t>(tokens * layer.hcq * code_bytes(layer.cq_operand));
  space.cq.scales = arena.take<float>(tokens);
  space.cq.mx_scales = arena.take<std::uint8_t>(layer.cq_operand == Operand::mx ? tokens * (layer.hcq / kMxBlock) : 0);
  if (schedule.has(Stage::pack_x)) space.x_left = arena.take<std::byte>(signed_size(matmuls.project.all_bytes()));
  if (schedule.has(Stage::pack_cq)) space.cq_left = arena.take<std::byte>(signed_size(matmuls.query.all_bytes()));
  if (schedule.has(Stage::query)) {
    space.query = arena.take<float>(tokens * layer.uq_columns());
    space.qc = arena.take<bf16_t>(layer.n * tokens * layer.d);
    space.qn_rounded = arena.take<bf16_t>(layer.quantised_query() ? layer.n * tokens * kHckv : 0);
  }
  return space;
}

ThreadSpace carve_thread(Arena& arena, const Layer& layer, const Schedule& schedule, const Matmuls& matmuls) {
  const std::int64_t tokens = schedule.max_block_tokens();
  ThreadSpace space{};
  space.left =
      arena.take<std::byte>(std::max(schedule.has(Stage::pack_x) ? 0 : signed_size(matmuls.project.span_bytes()),
                                     schedule.has(Stage::pack_cq) ? 0 : signed_size(matmuls.query.all_bytes())));
  space.scratch = arena.take<std::byte>(signed_size(
      std::max({matmuls.project.scratch_bytes(), matmuls.query.scratch_bytes(), matmuls.absorb.scratch_bytes()})));
  if (schedule.has(Stage::heads)) {
    space.head = arena.take<float>(tokens * head_columns(layer, matmuls.query));
    space.qc = arena.take<bf16_t>(tokens * layer.d);
    space.qn_rounded = arena.take<bf16_t>(layer.quantised_query() ? tokens * kHckv : 0);
  }
  space.qc_left = arena.take<std::byte>(signed_size(matmuls.absorb.all_bytes()));
  space.qn = arena.take<float>(tokens * matmuls.absorb_columns);
  const std::int64_t width = row_scratch_width(layer);
  space.rows = {.projected = arena.take<float>(width),
                .normed = arena.take<float>(std::max(layer.hcq, kHckv)),
                .row = arena.take<bf16_t>(width),
                .cache_row = arena.take<std::uint8_t>(kPerTileRow)};
  return space;
}

}  // namespace mla_prolog::cpu
