#include "runtime/backend/ascend/device_call.hpp"

#include <array>
#include <cstdlib>
#include <mutex>
#include <new>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mla_prolog::ascend {
namespace {

constexpr int kHostToDevice = 1;
constexpr int kDeviceToHost = 2;
constexpr int kRepeatedInit = 100002;

using T = const void*;
using CurrentPhaseOne = int (*)(T, T, T, T, T, T, T, T, T, void*, void*, T, T, T, T, T, T, T, T, T, T, double, double,
                                char*, std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t,
                                std::int64_t, double, double, T, T, T, T, T, std::uint64_t*, void**);
using LegacyPhaseOne = int (*)(T, T, T, T, T, T, T, T, T, void*, void*, T, T, T, T, T, T, T, T, T, T, double, double,
                               char*, bool, std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t,
                               std::int64_t, double, double, T, T, T, T, T, std::uint64_t*, void**);

/// The device to use: MLA_PROLOG_ASCEND_DEVICE, or 0.
std::int32_t device_number() {
  const char* text = std::getenv("MLA_PROLOG_ASCEND_DEVICE");
  return text == nullptr ? 0 : std::atoi(text);
}

/// The most of CANN's text that is kept.
constexpr std::size_t kTextBytes = 1000;
/// The most different texts that are kept: they may hold times and process ids, so a loop would fill the memory.
constexpr std::size_t kTexts = 1000;

struct Failure {
  const char* function;
  int status;
  std::string text;  ///< what CANN says about it, on one line; may be empty
};

/// CANN forgets the text with the next call that fails, so it is taken at once.
[[noreturn]] void fail(const Library& library, int status, const char* function) {
  const char* said = library.recent_error();
  std::string text(said == nullptr ? std::string_view() : std::string_view(said).substr(0, kTextBytes));
  for (char& c : text) c = static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  text.erase(text.find_last_not_of(' ') + 1);
  throw Failure{function, status, std::move(text)};
}

void require(const Library& library, int status, const char* function) {
  if (status != 0) fail(library, status, function);
}

/// "function (text)" for as long as the process lives, since a Status may be kept anywhere: one of each. The function
/// alone when there are too many.
const char* keep_text(const Failure& failure) noexcept {
  if (failure.text.empty()) return failure.function;
  static std::mutex mutex;
  try {
    std::string text = std::string(failure.function) + " (" + failure.text + ")";
    const std::lock_guard lock(mutex);
    // Never destroyed: the last failure may be told at the end of the process.
    static auto* const kept = new std::set<std::string>;
    if (kept->size() < kTexts) return kept->insert(std::move(text)).first->c_str();
    const auto known = kept->find(text);
    return known == kept->end() ? failure.function : known->c_str();
  } catch (const std::bad_alloc&) {
    return failure.function;
  }
}

/// Initialises CANN once; it is never finalised, since the program may use it, too.
void initialise(const Library& library) {
  static const int status = library.init(nullptr);
  if (status != kRepeatedInit) require(library, status, "aclInit");
}

/// Makes sure the calling thread has a device, and takes back what it set.
class DeviceGuard {
 public:
  explicit DeviceGuard(const Library& library) : library_(library) {
    std::int32_t current = 0;
    if (library.get_device(&current) == 0) return;
    require(library, library.set_device(device_number()), "aclrtSetDevice");
    set_ = true;
  }
  ~DeviceGuard() {
    if (set_) library_.reset_device(device_number());
  }
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;

 private:
  const Library& library_;
  bool set_ = false;
};

/// Everything a call has on the device; gone with it, however the call ends.
class Resources {
 public:
  explicit Resources(const Library& library) : library_(library) {
    require(library, library.create_stream(&stream), "aclrtCreateStream");
  }
  ~Resources() {
    if (executor != nullptr && library_.destroy_executor != nullptr) library_.destroy_executor(executor);
    for (void* tensor : tensors_) library_.destroy_tensor(tensor);
    for (void* memory : memory_) library_.free(memory);
    library_.destroy_stream(stream);
  }
  Resources(const Resources&) = delete;
  Resources& operator=(const Resources&) = delete;

  void* allocate(std::size_t bytes) {
    memory_.reserve(memory_.size() + 1);
    void* memory = nullptr;
    require(library_, library_.malloc(&memory, bytes, 0), "aclrtMalloc");
    memory_.push_back(memory);
    return memory;
  }

  void* make_tensor(const TensorDesc& desc, void* data) {
    tensors_.reserve(tensors_.size() + 1);
    const auto rank = static_cast<std::uint64_t>(desc.rank);
    std::array<std::int64_t, 4> nz{};
    const std::int64_t* storage = desc.shape.data();
    std::uint64_t storage_rank = rank;
    if (desc.format == Format::fractal_nz && desc.rank == 2) {
      const std::int64_t width = nz_width(desc.dtype);
      nz = {desc.shape[1] / width, desc.shape[0] / 16, 16, width};
      storage = nz.data();
      storage_rank = nz.size();
    }
    void* tensor = library_.create_tensor(desc.shape.data(), rank, static_cast<int>(desc.dtype), desc.strides.data(), 0,
                                          static_cast<int>(desc.format), storage, storage_rank, data);
    if (tensor == nullptr) fail(library_, -1, "aclCreateTensor");
    tensors_.push_back(tensor);
    return tensor;
  }

  void* stream = nullptr;
  void* executor = nullptr;

 private:
  const Library& library_;
  std::vector<void*> memory_;
  std::vector<void*> tensors_;
};

int phase_one(const Library& library, const Problem& problem, const std::array<void*, kTensorCount>& t,
              std::uint64_t& workspace_bytes, void*& executor) {
  const Attributes& a = problem.attributes;
  std::vector<char> mode(a.cache_mode.c_str(), a.cache_mode.c_str() + a.cache_mode.size() + 1);
  const auto call = [&](auto function, auto... flag) {
    return function(t[0], t[1], t[2], t[3], t[4], t[5], t[6], t[7], t[8], t[9], t[10], t[11], t[12], t[13], t[14],
                    t[15], t[16], t[17], t[18], t[19], t[20], a.rmsnorm_epsilon_cq, a.rmsnorm_epsilon_ckv, mode.data(),
                    flag..., a.weight_quant_mode, a.kv_cache_quant_mode, a.query_quant_mode, a.ckvkr_repo_mode,
                    a.quant_scale_repo_mode, a.tile_size, a.qc_qr_scale, a.kc_scale, t[21], t[22], t[23], t[24], t[25],
                    &workspace_bytes, &executor);
  };
  if (!library.legacy_interface) return call(reinterpret_cast<CurrentPhaseOne>(library.phase_one));
  return call(reinterpret_cast<LegacyPhaseOne>(library.phase_one), problem.query_norm.present());
}

/// The older interface wants a tensor for every optional output, wanted or not; callers of it pass one of shape [1].
void add_placeholders(const Problem& problem, Resources& resources, std::array<void*, kTensorCount>& tensors) {
  for (const TensorId id : {TensorId::dequant_scale_q_nope, TensorId::query_norm, TensorId::dequant_scale_q_norm}) {
    void*& tensor = tensors[static_cast<std::size_t>(id)];
    if (tensor != nullptr) continue;
    const DType dtype = id == TensorId::query_norm ? problem.weight_uq_qr.dtype : DType::float32;
    tensor = resources.make_tensor(TensorDesc::dense(dtype, {1}), resources.allocate(sizeof(float)));
  }
}

/// Where each tensor is on the device: where it was, or in a copy.
std::array<void*, kTensorCount> to_device(const Library& library, const Problem& problem, const Tensors& tensors,
                                          Memory memory, Resources& resources) {
  std::array<void*, kTensorCount> data{};
  for (const TensorId id : all_tensors()) {
    const std::size_t bytes = problem[id].extent_bytes();
    if (!problem[id].present() || bytes == 0) continue;
    void*& there = data[static_cast<std::size_t>(id)];
    if (memory == Memory::device) {
      there = const_cast<void*>(tensors.get(id));  // CANN has no const
      continue;
    }
    there = resources.allocate(bytes);
    if (!is_output(id) && tensors.get(id) != nullptr) {
      require(library, library.memcpy(there, bytes, tensors.get(id), bytes, kHostToDevice), "aclrtMemcpy");
    }
  }
  return data;
}

void to_host(const Library& library, const Problem& problem, const std::array<void*, kTensorCount>& data,
             const Tensors& tensors) {
  for (const TensorId id : all_tensors()) {
    const std::size_t bytes = problem[id].extent_bytes();
    if (!(is_output(id) || is_cache(id)) || !problem[id].present() || bytes == 0) continue;
    // Outputs and caches are what tensors.get() may write through.
    require(library,
            library.memcpy(const_cast<void*>(tensors.get(id)), bytes, data[static_cast<std::size_t>(id)], bytes,
                           kDeviceToHost),
            "aclrtMemcpy");
  }
}

void compute(const Library& library, const Problem& problem, const Tensors& tensors, Memory memory) {
  initialise(library);
  const DeviceGuard device(library);
  library.recent_error();  // whatever came before is not this call's
  Resources resources(library);
  const std::array<void*, kTensorCount> data = to_device(library, problem, tensors, memory, resources);
  std::array<void*, kTensorCount> handles{};
  for (const TensorId id : all_tensors()) {
    const auto i = static_cast<std::size_t>(id);
    if (problem[id].present()) handles[i] = resources.make_tensor(problem[id], data[i]);
  }
  if (library.legacy_interface) add_placeholders(problem, resources, handles);
  std::uint64_t workspace_bytes = 0;
  require(library, phase_one(library, problem, handles, workspace_bytes, resources.executor),
          "aclnnMlaPrologV3WeightNzGetWorkspaceSize");
  void* workspace = workspace_bytes == 0 ? nullptr : resources.allocate(workspace_bytes);
  require(library, library.phase_two(workspace, workspace_bytes, resources.executor, resources.stream),
          "aclnnMlaPrologV3WeightNz");
  resources.executor = nullptr;  // phase two took it
  require(library, library.synchronize_stream(resources.stream), "aclrtSynchronizeStream");
  if (memory == Memory::host) to_host(library, problem, data, tensors);
}

Status failed(const char* function, int status) {
  StatusCode code = StatusCode::runtime_error;
  for (const StatusCode known : {StatusCode::mode_refused, StatusCode::param_nullptr, StatusCode::param_invalid,
                                 StatusCode::runtime_error, StatusCode::tiling_error}) {
    if (static_cast<int>(known) == status) code = known;
  }
  return {.code = code, .rule = Rule::backend_failed, .parameter = function, .value = status};
}

}  // namespace

Status DeviceCall::run(const Tensors& tensors) const noexcept {
  try {
    compute(*library_, problem_, tensors, memory_);
    return {};
  } catch (const Failure& failure) {
    return failed(keep_text(failure), failure.status);
  } catch (...) {
    return {.code = StatusCode::runtime_error, .rule = Rule::out_of_memory};
  }
}

std::string DeviceCall::describe() const {
  const char* soc = library_->soc_name();
  return "ascend " + std::string(soc == nullptr ? "?" : soc) + ", CANN " + library_->version +
         (library_->legacy_interface ? ", interface before 8.5.0.alpha003" : "") +
         (library_->emulated ? ", emulated" : "") + (memory_ == Memory::device ? ", tensors in device memory" : "") +
         "\n";
}

Profile profile_of(const Library& library) {
  const char* name = library.soc_name();
  return name != nullptr && std::string_view(name).starts_with("Ascend950") ? Profile::ascend950 : Profile::a2;
}

std::string why_unusable(const Library& library, const Problem* problem) {
  const char* name = library.soc_name();
  const std::string_view soc = name == nullptr ? "" : name;
  const bool is_950 = profile_of(library) == Profile::ascend950;
  if (!is_950 && !soc.starts_with("Ascend910B") && !soc.starts_with("Ascend910_93")) {
    return "the operator does not exist on SoC '" + std::string(soc) + "'";
  }
  if (problem != nullptr && problem->attributes.weight_quant_mode >= 3 && !is_950) {
    return "weight_quant_mode " + std::to_string(problem->attributes.weight_quant_mode) + " needs Ascend950, this is " +
           std::string(soc);
  }
  return {};
}

}  // namespace mla_prolog::ascend
