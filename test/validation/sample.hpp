// Valid calls, written down tensor by tensor from the documented tables and independent of `describe`, for tests to
// compare with and to break.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mla_prolog/problem.hpp"

namespace mla_prolog::test {

/// DType from CANN's name, with E4M3, E8M0 and HIF8 for short; "-" is `undefined`.
DType dt(const std::string& name);

TensorDesc nd(DType dtype, std::vector<std::int64_t> shape);
/// A weight with its logical 2-D shape as view.
TensorDesc nz2(DType dtype, std::int64_t k, std::int64_t n);

/// A call in a model's terms.
struct Sample {
  int w = 0;
  int kv = 0;
  std::string cache_mode = "PA_BSND";
  bool batched = false;
  std::int64_t b = 2;  ///< also the sequences of fused block tables
  std::int64_t s = 3;
  std::int64_t t = 6;  ///< 2-D tokens
  std::int64_t he = 1024;
  std::int64_t hcq = 1536;
  std::int64_t n = 4;
  std::int64_t d = 128;
  std::int64_t block_num = 5;
  std::int64_t block_size = 16;
  std::int64_t table_entries = 4;  ///< of a fused block table
  bool smooth = false;
  bool query_norm = false;
  bool flat_weights = false;  ///< 2-D weight views

  std::int64_t tokens() const { return batched ? b * s : t; }
  std::string to_string() const;
};

Problem make(const Sample& sample);

/// Every scenario with every token rank and cache mode it allows, without and with the optional tensors.
std::vector<Sample> all_samples();

/// The devices that have the sample's weight mode.
std::vector<Soc> socs(const Sample& sample);

/// All element types and formats that have a name.
std::vector<DType> all_dtypes();
std::vector<Format> all_formats();
/// Formats that a device takes as ND.
bool nd_like(Format format);

bool is_weight(TensorId id);
/// Tensors that may not be null.
bool is_required(TensorId id);
/// Inputs that may be null.
bool is_optional_input(TensorId id);

CheckReport strict(const Problem& problem, Soc soc = Soc::automatic, ApiVersion api = ApiVersion::v3);
CheckReport relaxed(const Problem& problem, Soc soc = Soc::automatic);

/// "561002: text", for messages.
std::string show(const CheckReport& report);

}  // namespace mla_prolog::test
