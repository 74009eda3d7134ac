// The number formats once more, from their definitions: decoders by arithmetic in double, encoders by search for the
// nearest entry of the decoded table. Slow and free of bit tricks, so that they share no mistake with the library's.
#pragma once

#include <cstdint>
#include <vector>

namespace mla_prolog::test {

double oracle_decode_bf16(std::uint16_t code);
double oracle_decode_fp16(std::uint16_t code);
double oracle_decode_e4m3(std::uint8_t code);
double oracle_decode_hif8(std::uint8_t code);
double oracle_decode_e8m0(std::uint8_t code);

/// A format's non-negative finite values, ascending. IEEE formats end with the infinity's code at the value it would
/// have if the exponent range went on, which is what IEEE overflow rounds by.
struct CodeTable {
  struct Entry {
    double value;
    std::uint16_t code;
  };
  std::vector<Entry> entries;
};
const CodeTable& bf16_table();
const CodeTable& fp16_table();
const CodeTable& e4m3_table();
const CodeTable& hif8_table();
const CodeTable& e8m0_table();

/// What to take when not exactly representable: the nearest (ties to the even code, or to the larger value), or the
/// odd code of the two neighbours.
enum class Rounding { nearest_even, nearest_away, to_odd };

/// The entry for a >= 0. Beyond the last entry: the last.
std::uint16_t round_to_table(const CodeTable& table, double a, Rounding rounding);

std::uint16_t oracle_bf16(float v, Rounding rounding = Rounding::nearest_even);  ///< BF; nearest_away: BFA
std::uint16_t oracle_fp16(float v, Rounding rounding = Rounding::nearest_even);
std::uint8_t oracle_e4m3(float v);  ///< F8
std::uint8_t oracle_hif8(float v);  ///< H8
std::uint8_t oracle_e8m0(float v);

/// The chains of conversions to int8, step by step.
std::int8_t oracle_int8_chain_a(float v);
std::int8_t oracle_int8_chain_b(float v);
std::int8_t oracle_int8_chain_c(float v);

/// Values at which an encoder can go wrong: for each two neighbours of the table both of them, their midpoint, and the
/// float32 neighbours of all three; the limits; subnormals; infinity; of both signs. NaN of several payloads.
std::vector<float> boundary_values(const CodeTable& table);
/// Both signs and NaN payloads, subnormals, limits of float32 itself.
std::vector<float> special_floats();

}  // namespace mla_prolog::test
