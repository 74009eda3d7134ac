// The runtime functions behind the C interface, one each. The exported functions add nothing but the call site.
#pragma once

#include <cstddef>
#include <cstdint>

#include "acl/acl.h"
#include "cann/runtime/checker.hpp"

namespace mla_prolog::cann::api {

std::size_t data_type_size(aclDataType dtype) noexcept;
float float16_to_float(aclFloat16 value) noexcept;
aclFloat16 float_to_float16(float value) noexcept;

aclError init(const Site& site, const char* config) noexcept;
aclError finalize(const Site& site) noexcept;
const char* recent_error() noexcept;
std::uint64_t findings() noexcept;
aclError cann_version(const Site& site, aclCANNPackageName name, aclCANNPackageVersion* version) noexcept;
aclError version_text(const Site& site, const char* package, char* text) noexcept;
aclError version_number(const Site& site, const char* package, std::int32_t* number) noexcept;

aclError set_device(const Site& site, std::int32_t device) noexcept;
aclError reset_device(const Site& site, std::int32_t device, bool force) noexcept;
aclError get_device(const Site& site, std::int32_t* device) noexcept;
aclError device_count(const Site& site, std::uint32_t* count) noexcept;
aclError synchronize_device(const Site& site, std::int32_t timeout_ms) noexcept;
aclError execution_limit(const Site& site, std::uint64_t timeout, std::uint64_t* actual) noexcept;
aclError run_mode(const Site& site, aclrtRunMode* mode) noexcept;
const char* soc_name() noexcept;
aclError interface_version(const Site& site, std::int32_t* major, std::int32_t* minor, std::int32_t* patch) noexcept;

aclError create_context(const Site& site, aclrtContext* context, std::int32_t device) noexcept;
aclError destroy_context(const Site& site, aclrtContext context) noexcept;
aclError set_current_context(const Site& site, aclrtContext context) noexcept;
aclError get_current_context(const Site& site, aclrtContext* context) noexcept;
aclError set_option(const Site& site, bool per_context, aclSysParamOpt option, std::int64_t value) noexcept;
aclError get_option(const Site& site, bool per_context, aclSysParamOpt option, std::int64_t* value) noexcept;

aclError create_stream(const Site& site, aclrtStream* stream) noexcept;
aclError destroy_stream(const Site& site, aclrtStream stream, bool force) noexcept;
aclError synchronize_stream(const Site& site, aclrtStream stream, std::int32_t timeout_ms) noexcept;
aclError query_stream(const Site& site, aclrtStream stream, aclrtStreamStatus* status) noexcept;
aclError stream_wait_event(const Site& site, aclrtStream stream, aclrtEvent event, std::int32_t timeout) noexcept;
aclError set_failure_mode(const Site& site, aclrtStream stream, std::uint64_t mode) noexcept;
aclError subscribe(const Site& site, std::uint64_t thread, aclrtStream stream) noexcept;
aclError unsubscribe(const Site& site, std::uint64_t thread, aclrtStream stream) noexcept;
aclError process_report(const Site& site, std::int32_t timeout_ms) noexcept;
aclError launch_callback(const Site& site, aclrtCallback function, void* data, aclrtCallbackBlockType type,
                         aclrtStream stream) noexcept;

aclError create_event(const Site& site, aclrtEvent* event) noexcept;
aclError destroy_event(const Site& site, aclrtEvent event) noexcept;
aclError record_event(const Site& site, aclrtEvent event, aclrtStream stream) noexcept;
aclError reset_event(const Site& site, aclrtEvent event, aclrtStream stream) noexcept;
aclError query_event(const Site& site, aclrtEvent event, bool* complete) noexcept;
aclError synchronize_event(const Site& site, aclrtEvent event, std::int32_t timeout_ms) noexcept;
aclError elapsed_time(const Site& site, float* ms, aclrtEvent start, aclrtEvent end) noexcept;

aclError malloc_device(const Site& site, void** pointer, std::size_t bytes,
                       const aclrtMallocConfig* config = nullptr) noexcept;
aclError malloc_host(const Site& site, void** pointer, std::size_t bytes,
                     const aclrtMallocConfig* config = nullptr) noexcept;
aclError free_device(const Site& site, void* pointer) noexcept;
aclError free_host(const Site& site, void* pointer) noexcept;
aclError copy(const Site& site, void* dst, std::size_t dst_max, const void* src, std::size_t count,
              aclrtMemcpyKind kind) noexcept;
aclError copy_async(const Site& site, void* dst, std::size_t dst_max, const void* src, std::size_t count,
                    aclrtMemcpyKind kind, aclrtStream stream) noexcept;
aclError fill(const Site& site, void* pointer, std::size_t max, std::int32_t value, std::size_t count) noexcept;
aclError fill_async(const Site& site, void* pointer, std::size_t max, std::int32_t value, std::size_t count,
                    aclrtStream stream) noexcept;
aclError check_device_range(const Site& site, void* pointer, std::size_t bytes) noexcept;
aclError memory_info(const Site& site, std::size_t* free, std::size_t* total) noexcept;

}  // namespace mla_prolog::cann::api
