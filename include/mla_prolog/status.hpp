// How the library says no: a trivially copyable record, with text on request.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "mla_prolog/export.hpp"
#include "mla_prolog/tensor.hpp"

namespace mla_prolog {

/// The numbers are those CANN returns for the same mistake.
enum class StatusCode : std::int32_t {
  success = 0,
  mode_refused = -1,       ///< mode value or combination, or presence of an optional output
  param_nullptr = 161001,  ///< a required tensor or pointer is null
  param_invalid = 161002,  ///< dtype or format fits no kernel; a run-time value is out of range
  runtime_error = 361001,  ///< the operator version does not exist on this SoC; a device failed
  tiling_error = 561002,   ///< shape, rank, cache mode, optional tensor, or attribute is wrong
};

/// What was violated, for checks that `run` and the building blocks make. `problem` covers everything that a
/// plan checks; its text comes with the `Error`.
enum class Rule : std::uint8_t {
  none,
  problem,                ///< refused by phase one: see Error::message
  option_unavailable,     ///< a backend, ISA or numerics choice that this CPU or build lacks
  pointer_null,           ///< a non-empty tensor has a null pointer
  pointer_misaligned,     ///< value: address modulo limit, limit: the size of an element
  workspace_null,         ///< workspace pointer is null though bytes are needed
  workspace_too_small,    ///< value: bytes given, limit: bytes needed
  workspace_misaligned,   ///< value: address modulo limit, limit: required alignment
  cache_index_range,      ///< index: token, value: slot or block id, limit: capacity
  block_table_too_short,  ///< index: token, value: entry needed, limit: entries there are
  prefix_sum_decreasing,  ///< index: batch, value: prefix sum, limit: the one before it
  tensors_overlap,        ///< tensor, or the workspace, overlaps `other`
  argument_dtype,         ///< building blocks: value: the parameter's DType, which the function does not take
  argument_rank,          ///< value: rank, limit: rank needed
  argument_dimension,     ///< index: dimension, value: its size, limit: size needed
  argument_multiple,      ///< index: dimension, value: its size, limit: what it must be a multiple of
  argument_strides,       ///< the parameter is not dense
  argument_format,        ///< value: the parameter's Format
  argument_value,         ///< value: outside the parameter's domain
  out_of_memory,          ///< value: bytes that could not be had
  backend_failed,         ///< value: the backend's own status
  weights_not_prepared,   ///< the plan's engine needs prepared weights; none were given, or of another form
};

/// Result of `run` and of the building blocks.
struct [[nodiscard]] Status {
  StatusCode code = StatusCode::success;
  Rule rule = Rule::none;
  TensorId tensor = TensorId::none;
  TensorId other = TensorId::none;
  const char* parameter = nullptr;  ///< building blocks: the parameter's name (static storage)
  std::int64_t index = 0;
  std::int64_t value = 0;
  std::int64_t limit = 0;

  constexpr bool ok() const noexcept { return code == StatusCode::success; }
};

/// One line naming the parameter, its value and the rule; empty for success.
MLA_PROLOG_API std::string message(const Status& status);

/// A refusal with its text.
struct Error {
  Status status;
  std::string message;
};

/// A value or an error. The value must be asked for only when ok(), the error only when not.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(Error error) : error_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const noexcept { return value_.has_value(); }
  explicit operator bool() const noexcept { return ok(); }
  T& value() & { return *value_; }
  const T& value() const& { return *value_; }
  T&& value() && { return std::move(*value_); }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }
  T& operator*() & { return *value_; }
  const T& operator*() const& { return *value_; }
  const Error& error() const noexcept { return error_; }

 private:
  std::optional<T> value_;
  Error error_;
};

}  // namespace mla_prolog
