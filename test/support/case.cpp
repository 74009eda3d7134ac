#include "test/support/case.hpp"

#include <algorithm>
#include <cstring>
#include <sstream>

#include "test/catch.hpp"

namespace mla_prolog::test {
namespace {

std::size_t index_of(TensorId id) { return static_cast<std::size_t>(id); }

bool is_input(TensorId id) { return !is_output(id) && !is_cache(id); }

std::size_t round_up(std::size_t bytes, std::size_t unit) { return (bytes + unit - 1) / unit * unit; }

}  // namespace

std::string difference(const TensorBytes& actual, const TensorBytes& expected) {
  for (const TensorId id : all_tensors()) {
    const auto& a = actual[index_of(id)];
    const auto& e = expected[index_of(id)];
    if (a == e) continue;
    std::ostringstream text;
    text << to_string(id);
    if (a.size() != e.size()) {
      text << " has " << a.size() << " bytes, expected " << e.size();
      return text.str();
    }
    std::size_t first = a.size();
    std::size_t count = 0;
    for (std::size_t i = a.size(); i-- > 0;) {
      if (a[i] == e[i]) continue;
      first = i;
      ++count;
    }
    text << " byte " << first << " of " << a.size() << ": " << std::hex << std::to_integer<int>(a[first])
         << ", expected " << std::to_integer<int>(e[first]) << std::dec << " (" << count << " bytes differ)";
    return text.str();
  }
  return {};
}

Case::Case(const CaseSpec& spec) : spec_(spec) {
  describe_problem();
  allocate_all();
  fill_case(*this);
}

void Case::describe_problem() {
  problem_ = describe(spec_.config);
  Attributes& attributes = problem_.attributes;
  attributes.rmsnorm_epsilon_cq = spec_.rmsnorm_epsilon_cq;
  attributes.rmsnorm_epsilon_ckv = spec_.rmsnorm_epsilon_ckv;
  attributes.qc_qr_scale = spec_.qc_qr_scale;
  attributes.kc_scale = spec_.kc_scale;

  TensorDesc& x = problem_.token_x;
  const std::int64_t row = config().he + spec_.token_x_gap;
  x.strides[static_cast<std::size_t>(x.rank - 2)] = row;
  if (x.rank == 3) x.strides[0] = config().seq * row;
  problem_.kv_cache.strides[0] += spec_.kv_gap;
  if (!spec_.per_tile()) problem_.kr_cache.strides[0] += spec_.kr_gap;
  if (!spec_.interleaved) return;
  // Equal distances in bytes, room for a block of each and the gaps.
  const auto kv_bytes = static_cast<std::int64_t>(element_size(problem_.kv_cache.dtype));
  const auto kr_bytes = static_cast<std::int64_t>(element_size(problem_.kr_cache.dtype));
  const std::int64_t both = 2 * (problem_.kv_cache.strides[0] * kv_bytes + problem_.kr_cache.strides[0] * kr_bytes);
  problem_.kv_cache.strides[0] = both / kv_bytes;
  problem_.kr_cache.strides[0] = both / kr_bytes;
}

void Case::allocate(TensorId id) {
  const TensorDesc& desc = problem_[id];
  if (!desc.present()) return;
  const auto side = (spec_.data_seed >> index_of(id)) % 2 == 0 ? GuardedMemory::Side::end : GuardedMemory::Side::begin;
  memory_[index_of(id)] = GuardedMemory(desc.extent_bytes(), element_size(desc.dtype), side);
  data_[index_of(id)] = desc.numel() == 0 ? nullptr : memory_[index_of(id)].data();
}

void Case::allocate_caches() {
  if (!spec_.interleaved || problem_.kv_cache.numel() == 0) {
    allocate(TensorId::kv_cache);
    allocate(TensorId::kr_cache);
    return;
  }
  const TensorDesc& kv = problem_.kv_cache;
  const TensorDesc& kr = problem_.kr_cache;
  TensorDesc kv_block = kv;
  kv_block.shape[0] = 1;
  const std::size_t kr_at =
      round_up(kv_block.extent_bytes() + element_size(kv.dtype) * static_cast<std::size_t>(spec_.kv_gap),
               element_size(kr.dtype));
  GuardedMemory& memory = memory_[index_of(TensorId::kv_cache)];
  memory = GuardedMemory(kr_at + kr.extent_bytes(), 2);
  data_[index_of(TensorId::kv_cache)] = memory.data();
  data_[index_of(TensorId::kr_cache)] = memory.data() + kr_at;
}

void Case::allocate_all() {
  for (const TensorId id : all_tensors()) {
    if (!is_cache(id)) allocate(id);
  }
  allocate_caches();
  fill_outputs(std::byte{0xA5});
}

Tensors Case::tensors() const {
  Tensors tensors;
  for (const TensorId id : all_tensors()) tensors.set(id, data(id));
  return tensors;
}

bool Case::intact() const {
  return std::all_of(memory_.begin(), memory_.end(), [](const GuardedMemory& m) { return m.intact(); });
}

void Case::fill_outputs(std::byte value) const {
  for (const TensorId id : all_tensors()) {
    if (is_output(id)) std::ranges::fill(memory(id), value);
  }
}

TensorBytes Case::outputs_and_caches() const {
  TensorBytes bytes;
  for (const TensorId id : all_tensors()) {
    if (!is_input(id)) bytes[index_of(id)].assign(memory(id).begin(), memory(id).end());
  }
  return bytes;
}

void Case::restore_caches(const TensorBytes& from) const {
  for (const TensorId id : {TensorId::kv_cache, TensorId::kr_cache}) {
    std::ranges::copy(from[index_of(id)], memory(id).begin());
  }
}

TensorBytes Case::inputs() const {
  TensorBytes bytes;
  for (const TensorId id : all_tensors()) {
    if (is_input(id)) bytes[index_of(id)].assign(memory(id).begin(), memory(id).end());
  }
  return bytes;
}

void Case::set_inputs_read_only(bool read_only) const {
  for (const TensorId id : all_tensors()) {
    if (is_input(id)) memory_[index_of(id)].set_read_only(read_only);
  }
}

bool Case::has_token_rows(TensorId id) {
  return id == TensorId::token_x || id == TensorId::rope_sin || id == TensorId::rope_cos ||
         id == TensorId::dequant_scale_x || is_output(id);
}

std::span<std::byte> Case::token_row(TensorId id, std::int64_t t) const {
  const TensorDesc& desc = problem_[id];
  if (desc.numel() == 0) return {};
  const std::int64_t elements = desc.numel() / tokens();
  const std::int64_t stride = id == TensorId::token_x ? config().he + spec_.token_x_gap : elements;
  const std::size_t size = element_size(desc.dtype);
  return {data(id) + static_cast<std::size_t>(t * stride) * size, static_cast<std::size_t>(elements) * size};
}

Addressing Case::addressing() const {
  Addressing addressing;
  const TensorDesc& kv = problem_.kv_cache;
  addressing.mode = config().cache_mode;
  addressing.seq = config().batched ? config().seq : 0;
  addressing.block_size = kv.rank == 4 ? kv.shape[1] : 1;
  addressing.prefix_sums = spec_.prefix_sums;
  const auto index = memory(TensorId::cache_index);
  addressing.index.resize(index.size() / sizeof(std::int64_t));
  if (!index.empty()) std::memcpy(addressing.index.data(), index.data(), index.size());
  return addressing;
}

CacheLayout Case::cache_layout(TensorId id) const {
  const TensorDesc& desc = problem_[id];
  return {.mode = config().cache_mode,
          .element_bytes = element_size(desc.dtype),
          .block_size = desc.rank == 4 ? desc.shape[1] : 1,
          .block_stride = desc.strides[0],
          .width = desc.shape[static_cast<std::size_t>(desc.rank - 1)]};
}

void Case::copy_token(std::int64_t to, const Case& source, std::int64_t from) const {
  for (const TensorId id : all_tensors()) {
    if (is_input(id) && has_token_rows(id)) std::ranges::copy(source.token_row(id, from), token_row(id, to).begin());
  }
}

Case Case::single() const {
  Case one = *this;
  one.spec_.config.cache_mode = CacheMode::tnd;
  one.spec_.config.batched = false;
  one.spec_.config.tokens = 1;
  one.spec_.prefix_sums.clear();
  one.spec_.token_x_gap = one.spec_.kv_gap = one.spec_.kr_gap = 0;
  one.spec_.interleaved = false;
  one.describe_problem();
  for (const TensorId id : all_tensors()) {
    if (!one.problem_[id].present()) one.memory_[index_of(id)] = {};
    if (is_cache(id) || has_token_rows(id)) one.allocate(id);
  }
  one.data_[index_of(TensorId::cache_index)] = nullptr;
  one.data_[index_of(TensorId::actual_seq_len)] = nullptr;
  return one;
}

Case Case::part(std::span<const std::int64_t> tokens) const {
  Case part = *this;
  ProblemConfig& c = part.spec_.config;
  c.cache_mode = is_nz_cache(config().cache_mode) ? CacheMode::pa_nz : CacheMode::pa_bsnd;
  c.batched = false;
  c.tokens = static_cast<std::int64_t>(tokens.size());
  c.block_num = problem_.kv_cache.shape[0];
  c.block_size = addressing().block_size;
  part.spec_.prefix_sums.clear();
  part.describe_problem();
  // The caches are this case's, row for row.
  part.problem_.kv_cache.strides[0] = problem_.kv_cache.strides[0];
  part.problem_.kr_cache.strides[0] = problem_.kr_cache.strides[0];
  for (const TensorId id : all_tensors()) {
    if (has_token_rows(id) || id == TensorId::cache_index) part.allocate(id);
  }
  part.memory_[index_of(TensorId::actual_seq_len)] = {};
  part.data_[index_of(TensorId::actual_seq_len)] = nullptr;
  const Addressing where = addressing();
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    part.copy_token(static_cast<std::int64_t>(i), *this, tokens[i]);
    std::int64_t index = -1;
    if (problem_.kv_cache.numel() > 0) {
      const Slot slot = oracle_slot(where, tokens[i]);
      if (slot.block >= 0) index = slot.block * where.block_size + slot.offset;
    }
    std::memcpy(part.data(TensorId::cache_index) + i * sizeof index, &index, sizeof index);
  }
  part.fill_outputs(std::byte{0xA5});
  return part;
}

Case Case::twin() const {
  Case twin = *this;
  for (const TensorId id : all_tensors()) {
    if (is_output(id)) twin.allocate(id);
  }
  twin.allocate_caches();
  twin.fill_outputs(std::byte{0xA5});
  twin.restore_caches(outputs_and_caches());
  return twin;
}

Plan make_test_plan(const Case& c, PlanOptions options) {
  options.profile = c.spec().profile;
  const Result<Plan> plan = make_plan(c.problem(), options);
  INFO(c.spec().to_string() << ": " << plan.error().message);
  REQUIRE(plan.ok());
  return *plan;
}

namespace {

GuardedMemory make_workspace(const Plan& plan) {
  GuardedMemory workspace(plan.workspace_bytes(), Plan::kWorkspaceAlignment);
  std::ranges::fill(workspace.bytes(), std::byte{0x7F});  // NaN as bf16, as float32 and as e4m3
  return workspace;
}

}  // namespace

Status run_quietly(const Plan& plan, const Case& c) {
  const GuardedMemory workspace = make_workspace(plan);
  return run(plan, c.tensors(), workspace.data(), workspace.size());
}

void run_checked(const Plan& plan, const Case& c) {
  const GuardedMemory workspace = make_workspace(plan);
  c.set_inputs_read_only(true);
  const Status status = run(plan, c.tensors(), workspace.data(), workspace.size());
  c.set_inputs_read_only(false);
  INFO(c.spec().to_string() << ": " << message(status));
  REQUIRE(status.ok());
  CHECK(workspace.intact());
  CHECK(c.intact());
}

}  // namespace mla_prolog::test
