#include "runtime/backend/onednn/stages.hpp"

#include <algorithm>
#include <cstdio>
#include <optional>

#include "runtime/backend/onednn/cost.hpp"
#include "runtime/backend/onednn/probe.hpp"

namespace mla_prolog::onednn {
namespace {

// Columns of stages A and D that one matmul takes. Stage C takes a head's.
constexpr std::int64_t kColumnsA = 64;
constexpr std::int64_t kColumnsD = 128;

struct Wanted {
  Operand operand;
  std::int64_t k;
  std::int64_t columns;  // of a block
  const char* obstacle;  // why its shapes cannot be had; null: they can
};

std::array<Wanted, kStages> wanted_of(const Layer& layer) {
  const std::int64_t head = layer.d + kDr;
  const std::int64_t panel = layer.cq_operand == Operand::bf16 ? 16 : 32;
  const bool dense_x = layer.tokens == 1 || layer.token_x_stride == layer.he;
  return {{{layer.x_operand, layer.he, kColumnsA, dense_x ? nullptr : "rows of token_x are not dense"},
           {layer.cq_operand, layer.hcq, head, head % panel == 0 ? nullptr : "heads do not begin where panels do"},
           {Operand::bf16, layer.d, kColumnsD, nullptr}}};
}

// Operand types to try, best first.
std::vector<Type> types_for(Operand operand, Numerics numerics) {
  if (operand == Operand::int8) return {Type::s8};
  if (operand == Operand::bf16 && numerics == Numerics::fast) return {Type::bf16, Type::f32};
  return {};
}

const char* why_none(Operand operand) {
  return operand == Operand::bf16 ? "bf16 sums in another order: numerics fast only" : "no such operands in oneDNN";
}

std::string ratio_text(double ratio) {
  char text[64];
  std::snprintf(text, sizeof text, "%.2f of the native time as measured", ratio);
  return text;
}

// One type of operands for a stage: the matmul, or why not, in the note.
Stage try_type(Type type, const Wanted& wanted, std::int64_t tokens, Use use) {
  if (use == Use::where_faster && !may_be_faster(type, tokens)) return {nullptr, "no faster as measured"};
  const MadeMatmul made = make_matmul({.type = type, .k = wanted.k, .columns = wanted.columns, .max_tokens = tokens});
  if (made.matmul == nullptr) return {nullptr, made.reason};
  const std::string reason = unusable(*made.matmul);
  if (!reason.empty()) return {nullptr, reason};
  const std::string& implementation = made.matmul->implementation();
  const std::optional<double> ratio = time_ratio(type, implementation, tokens);
  // A float type has nothing to prove: it is asked for with numerics fast only.
  const std::string probed = type == Type::s8 ? ", exact as probed, " : ", ";
  const std::string note = implementation + probed + (ratio ? ratio_text(*ratio) : "not measured");
  if (use == Use::where_faster && (!ratio || *ratio >= kFaster)) return {nullptr, note};
  return {made.matmul, note};
}

Stage choose_stage(const Wanted& wanted, std::int64_t tokens, Use use, Numerics numerics) {
  const std::vector<Type> types = types_for(wanted.operand, numerics);
  if (types.empty()) return {nullptr, why_none(wanted.operand)};
  if (wanted.obstacle != nullptr) return {nullptr, wanted.obstacle};
  std::string notes;
  for (const Type type : types) {
    Stage stage = try_type(type, wanted, tokens, use);
    stage.note = std::string(name(type)) + " " + stage.note;
    if (stage.matmul != nullptr) return stage;
    notes += (notes.empty() ? "" : "; ") + stage.note;
  }
  return {nullptr, notes};
}

constexpr const char* kStageNames[kStages] = {"A", "C", "D"};

std::string engine_text(const Stage& stage) {
  const std::string engine = stage.matmul == nullptr ? "native" : "oneDNN";
  return stage.note.empty() ? engine : engine + " (" + stage.note + ")";
}

}  // namespace

bool Stages::any() const noexcept {
  return std::ranges::any_of(stages, [](const Stage& stage) { return stage.matmul != nullptr; });
}

std::string Stages::describe() const {
  std::string text;
  for (std::size_t i = 0; i < kStages; ++i) {
    if (stages[i].note.empty()) continue;
    text += std::string("  engine of ") + kStageNames[i] + ": " + engine_text(stages[i]) + "\n";
  }
  return text;
}

std::string Stages::summary() const {
  std::string text;
  for (std::size_t i = 0; i < kStages; ++i) {
    text += std::string(i == 0 ? "" : "; ") + kStageNames[i] + ": " + engine_text(stages[i]);
  }
  return text;
}

std::string Stages::engine(StageIndex i) const {
  const Matmul* const matmul = stages[i].matmul.get();
  if (matmul == nullptr) return "native";
  return std::string("oneDNN ") + name(matmul->shape().type) + " " + matmul->implementation();
}

const std::byte* Stages::block_of_head(const std::byte* weight_uk, std::int64_t head) const noexcept {
  const Matmul* matmul = stages[kStageD].matmul.get();
  if (matmul == nullptr || weight_uk == nullptr) return nullptr;
  return weight_uk + head * (kHckv / kColumnsD) * block_stride(*matmul);
}

Stages choose_stages(const Layer& layer, std::int64_t block_tokens, Use use, Numerics numerics) {
  Stages result;
  if (use == Use::never) return result;
  const std::array<Wanted, kStages> wanted = wanted_of(layer);
  for (std::size_t i = 0; i < kStages; ++i) {
    result.stages[i] = choose_stage(wanted[i], block_tokens, use, numerics);
  }
  return result;
}

}  // namespace mla_prolog::onednn
