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

/// Opens the first of several names; libraries stay loaded, CANN does not survive being unloaded.
void* open_first(const std::string& folder, std::initializer_list<const char*> names, std::string& reason) {
  for (const char* name : names) {
    if (void* handle = dlopen((folder + "/" + name).c_str(), RTLD_NOW | RTLD_LOCAL)) return handle;
    const char* error = dlerror();
    if (reason.empty() && error != nullptr) reason = error;
  }
  return nullptr;
}

class Symbols {
 public:
  explicit Symbols(void* handle) : handle_(handle) {}

  template <typename F>
  bool find(F*& function, const char* name) const {
    function = reinterpret_cast<F*>(dlsym(handle_, name));
    return function != nullptr;
  }
  bool find(void*& symbol, const char* name) const { return (symbol = dlsym(handle_, name)) != nullptr; }

 private:
  void* handle_;
};

Loaded missing(const std::string& library, const std::string& symbol) {
  return {nullptr, library + " has no " + symbol};
}

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
  std::string reason;
  void* acl = open_first(folder, {"libascendcl.so", "libacl_rt.so"}, reason);
  void* base = acl == nullptr ? nullptr : open_first(folder, {"libnnopbase.so"}, reason);
  void* op = base == nullptr ? nullptr : open_first(folder, {"libopapi_transformer.so", "libopapi.so"}, reason);
  if (op == nullptr) return {nullptr, reason};

  auto library = std::make_shared<Library>();
  Library& l = *library;
  const Symbols a(acl);
  if (!a.find(l.init, "aclInit")) return missing("libascendcl.so", "aclInit");
  if (!a.find(l.recent_error, "aclGetRecentErrMsg")) return missing("libascendcl.so", "aclGetRecentErrMsg");
  if (!a.find(l.get_device, "aclrtGetDevice")) return missing("libascendcl.so", "aclrtGetDevice");
  if (!a.find(l.set_device, "aclrtSetDevice")) return missing("libascendcl.so", "aclrtSetDevice");
  if (!a.find(l.reset_device, "aclrtResetDevice")) return missing("libascendcl.so", "aclrtResetDevice");
  if (!a.find(l.soc_name, "aclrtGetSocName")) return missing("libascendcl.so", "aclrtGetSocName");
  if (!a.find(l.create_stream, "aclrtCreateStream")) return missing("libascendcl.so", "aclrtCreateStream");
  if (!a.find(l.destroy_stream, "aclrtDestroyStream")) return missing("libascendcl.so", "aclrtDestroyStream");
  if (!a.find(l.synchronize_stream, "aclrtSynchronizeStream")) {
    return missing("libascendcl.so", "aclrtSynchronizeStream");
  }
  if (!a.find(l.malloc, "aclrtMalloc")) return missing("libascendcl.so", "aclrtMalloc");
  if (!a.find(l.free, "aclrtFree")) return missing("libascendcl.so", "aclrtFree");
  if (!a.find(l.memcpy, "aclrtMemcpy")) return missing("libascendcl.so", "aclrtMemcpy");
  a.find(l.version_text, "aclsysGetVersionStr");
  a.find(l.cann_version, "aclsysGetCANNVersion");
  const Symbols b(base);
  if (!b.find(l.create_tensor, "aclCreateTensor")) return missing("libnnopbase.so", "aclCreateTensor");
  if (!b.find(l.destroy_tensor, "aclDestroyTensor")) return missing("libnnopbase.so", "aclDestroyTensor");
  b.find(l.destroy_executor, "aclDestroyAclOpExecutor");
  const Symbols o(op);
  constexpr const char* kPhaseOne = "aclnnMlaPrologV3WeightNzGetWorkspaceSize";
  if (!o.find(l.phase_one, kPhaseOne)) return missing("libopapi_transformer.so", kPhaseOne);
  if (!o.find(l.phase_two, "aclnnMlaPrologV3WeightNz")) {
    return missing("libopapi_transformer.so", "aclnnMlaPrologV3WeightNz");
  }

  void* marker = nullptr;
  l.emulated = a.find(marker, "mla_prolog_is_emulated");
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
