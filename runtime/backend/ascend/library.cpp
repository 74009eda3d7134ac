#include "runtime/backend/ascend/library.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <initializer_list>
#include <string_view>
#include <tuple>

#if defined(__unix__)
#include <dlfcn.h>
#endif

namespace mla_prolog::ascend {
namespace {

#if defined(__unix__)

/// A library and what is looked up in it.
class Opened {
 public:
  /// Opens the first of several names. It stays loaded: CANN does not survive being unloaded.
  Opened(const std::string& folder, std::initializer_list<const char*> names) {
    for (const char* name : names) {
      name_ = name;
      handle_ = dlopen((folder + "/" + name).c_str(), RTLD_NOW | RTLD_LOCAL);
      if (handle_ != nullptr) {
        missing_.clear();
        return;
      }
      const char* error = dlerror();
      missing_ += (missing_.empty() ? "" : "; ") + (error == nullptr ? folder + "/" + name : std::string(error));
    }
  }

  template <typename F>
  bool find(F*& symbol, const char* name) const {
    symbol = handle_ == nullptr ? nullptr : reinterpret_cast<F*>(dlsym(handle_, name));
    return symbol != nullptr;
  }
  /// Looks up what the library must have.
  template <typename F>
  void need(F*& symbol, const char* name) {
    if (!find(symbol, name) && missing_.empty()) missing_ = name_ + " has no " + name;
  }

  /// What is missing first, the library itself or a symbol; empty: nothing.
  const std::string& missing() const { return missing_; }

 private:
  std::string name_;
  void* handle_ = nullptr;
  std::string missing_;
};

/// Version of the runtime package, or of the whole CANN where that is all there is.
std::string read_version(const Library& library) {
  std::array<char, 128> text{};
  std::string package = "runtime";
  if (library.version_text != nullptr && library.version_text(package.data(), text.data()) == 0) return text.data();
  struct {
    char version[128];
    char rest[4 * 64 + 128];
  } record{};
  if (library.cann_version != nullptr && library.cann_version(0, &record) == 0) return record.version;
  return {};
}

Loaded load(const std::string& home, bool allow_emulated) {
  const std::string folder = home + "/lib64";
  auto library = std::make_shared<Library>();
  Library& l = *library;

  Opened acl(folder, {"libascendcl.so", "libacl_rt.so"});
  acl.need(l.init, "aclInit");
  acl.need(l.recent_error, "aclGetRecentErrMsg");
  acl.need(l.get_device, "aclrtGetDevice");
  acl.need(l.set_device, "aclrtSetDevice");
  acl.need(l.reset_device, "aclrtResetDevice");
  acl.need(l.soc_name, "aclrtGetSocName");
  acl.need(l.create_stream, "aclrtCreateStream");
  acl.need(l.destroy_stream, "aclrtDestroyStream");
  acl.need(l.synchronize_stream, "aclrtSynchronizeStream");
  acl.need(l.malloc, "aclrtMalloc");
  acl.need(l.free, "aclrtFree");
  acl.need(l.memcpy, "aclrtMemcpy");
  acl.find(l.version_text, "aclsysGetVersionStr");
  acl.find(l.cann_version, "aclsysGetCANNVersion");
  if (!acl.missing().empty()) return {nullptr, acl.missing()};

  Opened base(folder, {"libnnopbase.so"});
  base.need(l.create_tensor, "aclCreateTensor");
  base.need(l.destroy_tensor, "aclDestroyTensor");
  base.find(l.destroy_executor, "aclDestroyAclOpExecutor");
  if (!base.missing().empty()) return {nullptr, base.missing()};

  Opened op(folder, {"libopapi_transformer.so", "libopapi.so"});
  op.need(l.phase_one, "aclnnMlaPrologV3WeightNzGetWorkspaceSize");
  op.need(l.phase_two, "aclnnMlaPrologV3WeightNz");
  if (!op.missing().empty()) return {nullptr, op.missing()};

  void* marker = nullptr;
  l.emulated = acl.find(marker, "mla_prolog_is_emulated");
  if (l.emulated && !allow_emulated) {
    return {nullptr, home + " is the emulated CANN of this project, not a device's"};
  }
  l.version = read_version(l);
  if (l.version.empty())
    return {nullptr, "the version of CANN in " + home + " cannot be told, and its interface differs"};
  l.legacy_interface = has_legacy_interface(l.version);
  return {std::move(library), ""};
}

#else

Loaded load(const std::string&, bool) { return {nullptr, "CANN exists on Linux only"}; }

#endif

}  // namespace

bool has_legacy_interface(const std::string& version) {
  // major.minor.patch, then alpha, beta and rc before the release itself.
  std::array<int, 3> numbers{};
  std::size_t count = 0;
  int stage = 3;
  int stage_number = 0;
  std::string_view rest = version;
  while (!rest.empty()) {
    const std::size_t dot = std::min(rest.find('.'), rest.size());
    std::string part(rest.substr(0, dot));
    rest.remove_prefix(std::min(dot + 1, rest.size()));
    std::transform(part.begin(), part.end(), part.begin(), [](unsigned char c) { return std::tolower(c); });
    if (!part.empty() && std::isdigit(static_cast<unsigned char>(part[0])) != 0) {
      if (count < numbers.size()) numbers[count++] = std::atoi(part.c_str());
      continue;
    }
    constexpr std::array<std::string_view, 3> kStages{"alpha", "beta", "rc"};
    for (std::size_t i = 0; i < kStages.size(); ++i) {
      if (!part.starts_with(kStages[i])) continue;
      stage = static_cast<int>(i);
      stage_number = std::atoi(part.c_str() + kStages[i].size());
    }
  }
  return std::tuple(numbers[0], numbers[1], numbers[2], stage, stage_number) < std::tuple(8, 5, 0, 0, 3);
}

Loaded load_library(const std::string& home, bool allow_emulated) {
  try {
    return load(home, allow_emulated);
  } catch (const std::exception& error) {
    return {nullptr, error.what()};
  }
}

const Loaded& installed_library() {
  static const Loaded loaded = [] {
    const char* home = std::getenv("ASCEND_HOME_PATH");
    const char* allow = std::getenv("MLA_PROLOG_ASCEND_ALLOW_EMULATED");
    return load_library(home == nullptr || *home == '\0' ? "/usr/local/Ascend/cann" : home,
                        allow != nullptr && std::string_view(allow) == "1");
  }();
  return loaded;
}

}  // namespace mla_prolog::ascend
