// Text for status records.
#include "mla_prolog/status.hpp"

#include <string>

namespace mla_prolog {

std::string message(const Status& status) {
  const std::string tensor(status.parameter != nullptr ? status.parameter : to_string(status.tensor));
  const std::string index = std::to_string(status.index);
  const std::string value = std::to_string(status.value);
  const std::string limit = std::to_string(status.limit);
  switch (status.rule) {
    case Rule::none:
      return {};
    case Rule::problem:
      return tensor + ": refused by the phase-one check";
    case Rule::option_unavailable:
      return tensor + ": asks for something that this CPU or build lacks";
    case Rule::pointer_null:
      return tensor + ": data pointer is null but the tensor is not empty";
    case Rule::pointer_misaligned:
      return tensor + ": data pointer is " + value + " past a multiple of " + limit + ", the size of an element";
    case Rule::workspace_null:
      return "workspace: null, " + limit + " bytes are needed";
    case Rule::workspace_too_small:
      return "workspace: " + value + " bytes, " + limit + " are needed";
    case Rule::workspace_misaligned:
      return "workspace: address is " + value + " past a multiple of " + limit + ", it must be aligned to that";
    case Rule::cache_index_range:
      return tensor + ": token " + index + " has slot or block " + value + ", must be below the capacity " + limit;
    case Rule::block_table_too_short:
      return tensor + ": token " + index + " needs entry " + value + " of the block table, which has " + limit;
    case Rule::prefix_sum_decreasing:
      return tensor + ": entry " + index + " is " + value + ", less than the one before it, " + limit;
    case Rule::tensors_overlap:
      if (status.other == TensorId::none) return tensor + ": overlaps another argument in memory";
      return tensor + ": overlaps " + std::string(to_string(status.other)) + " in memory";
    case Rule::argument_dtype:
      return tensor + ": dtype " + std::string(to_string(static_cast<DType>(status.value))) + " is not supported here";
    case Rule::argument_rank:
      return tensor + ": has " + value + " dimensions, needs " + limit;
    case Rule::argument_dimension:
      return tensor + ": dimension " + index + " is " + value + ", must be " + limit;
    case Rule::argument_multiple:
      return tensor + ": dimension " + index + " is " + value + ", must be a multiple of " + limit;
    case Rule::argument_strides:
      return tensor + ": strides must be dense";
    case Rule::argument_format:
      return tensor + ": format " + std::string(to_string(static_cast<Format>(status.value))) +
             " is not supported here";
    case Rule::out_of_memory:
      return "out of memory: " + value + " bytes";
    case Rule::argument_value:
      return tensor + ": value " + value + " is outside its domain";
    case Rule::backend_failed:
      return (status.parameter == nullptr ? "the backend" : std::string(status.parameter)) + " failed with status " +
             value;
    case Rule::weights_not_prepared:
      return "prepared weights: needed in the form of this plan (prepare_weights)";
  }
  return {};
}

}  // namespace mla_prolog
