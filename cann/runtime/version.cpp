// Facts about data types, and version queries. The reported CANN version is MLA_PROLOG_CANN_VERSION:
// "MAJOR.MINOR[.PATCH][.alphaN|.betaN|.rcN]".
#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

#include "cann/runtime/api.hpp"
#include "cann/runtime/runtime.hpp"
#include "mla_prolog/convert.hpp"

namespace mla_prolog::cann {
namespace {

/// The version of the acl interface itself, which is not CANN's. The newest that is known to be published.
constexpr std::array<std::int32_t, 3> kInterfaceVersion{1, 16, 0};

struct Version {
  std::array<int, 3> numbers{};  ///< major, minor, patch
  int stage = 0;                 ///< what a pre-release takes off: alpha 300, beta 200, rc 100
  int stage_number = 0;
  std::string stage_name;  ///< "alpha003"; empty for a release
};

Version parse_version(std::string_view text) {
  Version version;
  std::size_t index = 0;
  while (!text.empty()) {
    const std::size_t dot = std::min(text.find('.'), text.size());
    const std::string part(text.substr(0, dot));
    text.remove_prefix(std::min(dot + 1, text.size()));
    if (!part.empty() && std::isdigit(static_cast<unsigned char>(part[0])) != 0) {
      if (index < version.numbers.size()) version.numbers[index++] = std::atoi(part.c_str());
      continue;
    }
    std::string lower = part;
    std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
    constexpr std::array<std::pair<const char*, int>, 3> kStages{{{"alpha", 300}, {"beta", 200}, {"rc", 100}}};
    for (const auto& [name, weight] : kStages) {
      if (lower.rfind(name, 0) != 0) continue;
      version.stage = weight;
      version.stage_number = std::atoi(lower.c_str() + std::strlen(name));
      version.stage_name = part;
    }
  }
  return version;
}

template <std::size_t N>
void put(char (&target)[N], const std::string& text) {
  std::snprintf(target, N, "%s", text.c_str());
}

/// Packages this tree stands for.
bool known_package(std::string_view name) {
  constexpr std::array<std::string_view, 8> kPackages{"cann",     "runtime", "opbase",  "ops_transformer",
                                                      "ops_math", "ops_nn",  "toolkit", "opp"};
  return std::find(kPackages.begin(), kPackages.end(), name) != kPackages.end();
}

int check_package(const Site& site, const char* package, const void* result) {
  if (package == nullptr || result == nullptr) {
    return refuse(site, ACL_ERROR_INVALID_PARAM, package == nullptr ? "pkgName is null" : "the result pointer is null");
  }
  if (known_package(package)) return ACL_SUCCESS;
  return refuse(site, ACL_ERROR_INVALID_FILE, std::string("package ") + package + " is not installed");
}

}  // namespace

namespace api {

std::size_t data_type_size(aclDataType dtype) noexcept {
  switch (dtype) {
    case ACL_DT_UNDEFINED:
    case ACL_STRING:
      return 0;
    case ACL_UINT1:
    case ACL_INT4:
    case ACL_BOOL:
    case ACL_INT8:
    case ACL_UINT8:
    case ACL_HIFLOAT8:
    case ACL_FLOAT8_E5M2:
    case ACL_FLOAT8_E4M3FN:
    case ACL_FLOAT8_E8M0:
      return 1;
    case ACL_FLOAT16:
    case ACL_BF16:
    case ACL_INT16:
    case ACL_UINT16:
      return 2;
    case ACL_FLOAT:
    case ACL_INT32:
    case ACL_UINT32:
    case ACL_COMPLEX32:
      return 4;
    case ACL_COMPLEX128:
      return 16;
    default:
      return 8;
  }
}

float float16_to_float(aclFloat16 value) noexcept {
  float result = 0;
  decode(DType::float16, &value, 1, &result);
  return result;
}

aclFloat16 float_to_float16(float value) noexcept {
  aclFloat16 result = 0;
  encode(DType::float16, &value, 1, &result);
  return result;
}

const char* recent_error() noexcept { return take_error_message(); }

std::uint64_t findings() noexcept { return finding_count(); }

aclError cann_version(const Site& site, aclCANNPackageName name, aclCANNPackageVersion* version) noexcept {
  return guarded([&]() -> int {
    if (version == nullptr) return refuse(site, ACL_ERROR_INVALID_PARAM, "version is null");
    if (name < ACL_PKG_NAME_CANN || name > ACL_PKG_NAME_DRIVER) {
      return refuse(site, ACL_ERROR_INVALID_PARAM, "name is " + std::to_string(static_cast<int>(name)));
    }
    if (name == ACL_PKG_NAME_HCCL || name == ACL_PKG_NAME_COMPILER || name == ACL_PKG_NAME_DRIVER) {
      return refuse(site, ACL_ERROR_INVALID_FILE, "the package is not installed");
    }
    const Version v = parse_version(settings().cann_version);
    *version = {};
    put(version->version, settings().cann_version);
    put(version->majorVersion, std::to_string(v.numbers[0]));
    put(version->minorVersion, std::to_string(v.numbers[1]));
    put(version->releaseVersion, v.stage_name.empty() ? std::to_string(v.numbers[2]) : v.stage_name);
    put(version->patchVersion, std::to_string(v.numbers[2]));
    return ACL_SUCCESS;
  });
}

aclError version_text(const Site& site, const char* package, char* text) noexcept {
  return guarded([&]() -> int {
    if (const int status = check_package(site, package, text)) return status;
    std::snprintf(text, ACL_PKG_VERSION_MAX_SIZE, "%s", settings().cann_version.c_str());
    return ACL_SUCCESS;
  });
}

aclError version_number(const Site& site, const char* package, std::int32_t* number) noexcept {
  return guarded([&]() -> int {
    if (const int status = check_package(site, package, number)) return status;
    const Version v = parse_version(settings().cann_version);
    *number = v.numbers[0] * 10000000 + v.numbers[1] * 100000 + v.numbers[2] * 1000 - v.stage + v.stage_number;
    return ACL_SUCCESS;
  });
}

aclError interface_version(const Site& site, std::int32_t* major, std::int32_t* minor, std::int32_t* patch) noexcept {
  return guarded([&]() -> int {
    if (major == nullptr || minor == nullptr || patch == nullptr) {
      return refuse(site, ACL_ERROR_INVALID_PARAM, "a result pointer is null");
    }
    *major = kInterfaceVersion[0];
    *minor = kInterfaceVersion[1];
    *patch = kInterfaceVersion[2];
    return ACL_SUCCESS;
  });
}

}  // namespace api
}  // namespace mla_prolog::cann
