// convert: matrices of a safetensors file between ND (K, N) and FRACTAL_NZ.
#include <algorithm>
#include <iostream>
#include <memory>
#include <stdexcept>

#include "tools/commands/command.hpp"
#include "tools/io/safetensors.hpp"
#include "tools/run/operands.hpp"

namespace mla_prolog::tools {
namespace {

struct Options {
  std::string input;
  std::string output;
  std::string to;
  std::vector<std::string> tensors;
  bool json = false;
};

constexpr std::int64_t kRows = 16;        // of a fractal
constexpr std::int64_t kGroupBytes = 32;  // of a row of a fractal

std::int64_t group_width(const StoredTensor& tensor) {
  return kGroupBytes / static_cast<std::int64_t>(element_size(tensor.type));
}

// Why a tensor cannot be converted; empty when it can.
std::string obstacle(const StoredTensor& tensor, bool to_nz) {
  if (element_size(tensor.type) == 0 || element_size(tensor.type) > 2)
    return std::string(to_string(tensor.type)) + " has no FRACTAL_NZ form";
  const std::int64_t width = group_width(tensor);
  if (to_nz) {
    if (tensor.shape.size() != 2) return shape_text(tensor.shape) + " is no matrix";
    if (tensor.shape[0] % kRows != 0 || tensor.shape[1] % width != 0) {
      return shape_text(tensor.shape) + ": K must be a multiple of 16 and N of " + std::to_string(width);
    }
    return {};
  }
  if (tensor.shape.size() != 4 || tensor.shape[2] != kRows || tensor.shape[3] != width) {
    return shape_text(tensor.shape) + " is not (N/" + std::to_string(width) + ", K/16, 16, " + std::to_string(width) +
           ")";
  }
  return {};
}

struct Converted {
  TensorToStore tensor;
  Buffer data;
};

Converted convert(const StoredTensor& tensor, bool to_nz) {
  const std::size_t size = element_size(tensor.type);
  const std::int64_t width = group_width(tensor);
  Converted result{{tensor.name, tensor.type, {}, {}}, Buffer(tensor.bytes.size())};
  // Data in the file need not be aligned to its elements.
  const Buffer source = Buffer::copy_of(tensor.bytes);
  if (to_nz) {
    const std::int64_t k = tensor.shape[0];
    const std::int64_t n = tensor.shape[1];
    nd_to_nz(size, k, n, source.data(), result.data.data());
    result.tensor.shape = {n / width, k / kRows, kRows, width};
  } else {
    const std::int64_t k = tensor.shape[1] * kRows;
    const std::int64_t n = tensor.shape[0] * width;
    nz_to_nd(size, k, n, source.data(), result.data.data());
    result.tensor.shape = {k, n};
  }
  result.tensor.bytes = result.data.bytes();
  return result;
}

int execute(const Options& options) {
  const bool to_nz = options.to == "nz";
  const SafetensorsFile file(options.input);
  for (const std::string& name : options.tensors) {
    const StoredTensor* const tensor = file.find(name);
    if (tensor == nullptr) throw InputError(options.input, "has no tensor \"" + name + "\"");
    const std::string why = obstacle(*tensor, to_nz);
    if (!why.empty()) throw InputError(options.input, "tensor \"" + name + "\": " + why);
  }
  std::vector<Buffer> buffers;
  std::vector<TensorToStore> stored;
  auto list = nlohmann::ordered_json::array();
  for (const StoredTensor& tensor : file.tensors()) {
    const bool chosen = options.tensors.empty() ? obstacle(tensor, to_nz).empty()
                                                : std::ranges::count(options.tensors, tensor.name) != 0;
    if (chosen) {
      Converted converted = convert(tensor, to_nz);
      stored.push_back(std::move(converted.tensor));
      buffers.push_back(std::move(converted.data));
    } else {
      stored.push_back({tensor.name, tensor.type, tensor.shape, tensor.bytes});
    }
    if (options.json) {
      list.push_back({{"name", tensor.name},
                      {"dtype", to_string(tensor.type)},
                      {"shape", tensor.shape},
                      {"converted", chosen},
                      {"new_shape", stored.back().shape}});
    } else if (chosen) {
      std::cout << tensor.name << ' ' << to_string(tensor.type) << ' ' << shape_text(tensor.shape) << " -> "
                << shape_text(stored.back().shape) << '\n';
    } else {
      std::cout << tensor.name << ' ' << to_string(tensor.type) << ' ' << shape_text(tensor.shape) << " kept\n";
    }
  }
  write_safetensors(options.output, stored, file.metadata());
  if (options.json) {
    print_json({{"command", "convert"},
                {"input", options.input},
                {"output", options.output},
                {"to", options.to},
                {"tensors", std::move(list)}});
  }
  return kExitFine;
}

}  // namespace

Command add_convert(CLI::App& program) {
  auto options = std::make_shared<Options>();
  CLI::App* const app = program.add_subcommand("convert", "Rearrange matrices between ND (K, N) and FRACTAL_NZ");
  app->add_option("input", options->input, "IN.safetensors")->required();
  app->add_option("output", options->output, "OUT.safetensors")->required();
  app->add_option("--to", options->to, "nz or nd")->required()->check(CLI::IsMember({"nz", "nd"}));
  app->add_option("--tensor", options->tensors, "convert only this one (may be repeated); default: all that can be")
      ->allow_extra_args(false);
  add_json_option(*app, options->json);
  return {app, [options] { return execute(*options); }};
}

}  // namespace mla_prolog::tools
