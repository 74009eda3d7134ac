// Executors: what phase one leaves for phase two.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "aclnn/acl_meta.h"
#include "cann/meta/objects.hpp"
#include "cann/meta/pool.hpp"
#include "cann/runtime/checker.hpp"

namespace mla_prolog::cann {

/// A tensor that phase one took in.
struct Operand {
  const aclTensor* handle = nullptr;  ///< identifies it in aclSet*TensorAddr
  const char* name = "";
  void* address = nullptr;  ///< device address of the view's first element
  std::int64_t offset = 0;  ///< of that element from the tensor's data address, in elements
  std::size_t element = 0;  ///< bytes of one
  std::size_t extent = 0;   ///< bytes from there to past the last element; 0: never touched
  bool input = true;
  bool output = false;
};

/// One launch, as the stream's worker gets it.
struct Launch {
  static constexpr std::size_t kMaxOperands = 28;

  aclOpExecutor* executor = nullptr;
  Site site;                               ///< of phase two
  std::array<void*, kMaxOperands> data{};  ///< usable addresses, by operand
  void* workspace = nullptr;
  std::size_t workspace_bytes = 0;
};

/// What an operator does in phase two. Runs on a stream's worker, never twice at a time.
class Operation {
 public:
  Operation() = default;
  virtual ~Operation() = default;
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;

  /// 0, or the status for the next synchronisation; then `error` says why.
  virtual int run(const Launch& launch, std::string& error) = 0;
};

}  // namespace mla_prolog::cann

struct aclOpExecutor {
  const char* family = "";  ///< name of its phase two
  mla_prolog::cann::Site site;
  std::uint64_t workspace_bytes = 0;
  std::array<mla_prolog::cann::Operand, mla_prolog::cann::Launch::kMaxOperands> operands{};
  std::size_t operand_count = 0;
  std::unique_ptr<mla_prolog::cann::Operation> operation;  ///< null: nothing to do
  std::mutex running;

  // Guarded by Runtime::mutex.
  bool repeatable = false;
  bool spent = false;      ///< its only launch is queued
  bool destroyed = false;  ///< ends when no launch is queued any more
  int queued = 0;
  std::uint32_t queued_in = 0;  ///< fork_count() of the process that queued it last

  mla_prolog::cann::Operand& add(const mla_prolog::cann::Operand& operand) {
    return operands[operand_count++] = operand;
  }
};

namespace mla_prolog::cann {

/// An executor that phase one makes: gone again unless it is released to the caller.
struct DropExecutor {
  void operator()(aclOpExecutor* executor) const { Pool<aclOpExecutor>::instance().destroy(executor); }
};
using NewExecutor = std::unique_ptr<aclOpExecutor, DropExecutor>;
NewExecutor make_executor(const Site& site, const char* family, std::uint64_t workspace_bytes);

/// Describes a tensor to an executor; a null tensor gives an operand that is never touched.
Operand make_operand(const aclTensor* tensor, const char* name, std::size_t extent, bool input, bool output);

namespace api {

/// Phase two of every operator.
aclnnStatus launch(const Site& site, const char* family, void* workspace, std::uint64_t workspace_bytes,
                   aclOpExecutor* executor, const void* stream) noexcept;

aclnnStatus set_repeatable(const Site& site, aclOpExecutor* executor) noexcept;
aclnnStatus destroy(const Site& site, aclOpExecutor* executor) noexcept;

enum class Kind { input, output, any };
aclnnStatus set_address(const Site& site, aclOpExecutor* executor, Kind kind, std::size_t index,
                        const aclTensor* tensor, void* address) noexcept;
/// No operator here has tensor lists.
aclnnStatus set_list_address(const Site& site, aclOpExecutor* executor) noexcept;

}  // namespace api
}  // namespace mla_prolog::cann
