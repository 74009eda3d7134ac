#include "test/support/oracle_formats.hpp"

#include <algorithm>
#include <bit>
#include <bitset>
#include <cmath>
#include <limits>
#include <string>

namespace mla_prolog::test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

double power_of_two(int exponent) {
  double value = 1;
  for (; exponent > 0; --exponent) value *= 2;
  for (; exponent < 0; ++exponent) value /= 2;
  return value;
}

// Sign, exponent and fraction fields of an IEEE-like format.
struct Fields {
  double sign;
  int exponent;
  int fraction;
};
Fields split(unsigned code, int exponent_bits, int fraction_bits) {
  return {(code >> (exponent_bits + fraction_bits)) % 2 == 1 ? -1.0 : 1.0,
          static_cast<int>((code >> fraction_bits) % (1U << exponent_bits)),
          static_cast<int>(code % (1U << fraction_bits))};
}

double finite(const Fields& f, int fraction_bits, int bias) {
  const double fraction = f.fraction / power_of_two(fraction_bits);
  return f.exponent == 0 ? f.sign * fraction * power_of_two(1 - bias)
                         : f.sign * (1 + fraction) * power_of_two(f.exponent - bias);
}

double ieee(unsigned code, int exponent_bits, int fraction_bits) {
  const Fields f = split(code, exponent_bits, fraction_bits);
  const int top = (1 << exponent_bits) - 1;
  if (f.exponent == top) return f.fraction == 0 ? f.sign * kInfinity : kNan;
  return finite(f, fraction_bits, top / 2);
}

template <typename Code, typename Decode>
CodeTable make_table(unsigned codes, Decode decode) {
  CodeTable table;
  for (unsigned code = 0; code < codes; ++code) {
    const double value = decode(static_cast<Code>(code));
    if (std::isfinite(value) && value >= 0 && !std::signbit(value)) {
      table.entries.push_back({value, static_cast<std::uint16_t>(code)});
    }
  }
  std::sort(table.entries.begin(), table.entries.end(), [](auto& a, auto& b) { return a.value < b.value; });
  return table;
}

CodeTable with_infinity(CodeTable table, double next_value, std::uint16_t code) {
  table.entries.push_back({next_value, code});
  return table;
}

std::int8_t saturate(double v) { return static_cast<std::int8_t>(std::min(std::max(v, -128.0), 127.0)); }

double round_half_even(double v) {
  const double below = std::floor(v);
  const double rest = v - below;
  if (rest != 0.5) return rest < 0.5 ? below : below + 1;
  return std::fmod(below, 2) == 0 ? below : below + 1;
}

double round_half_away(double v) { return v < 0 ? -std::floor(-v + 0.5) : std::floor(v + 0.5); }

}  // namespace

double oracle_decode_bf16(std::uint16_t code) { return ieee(code, 8, 7); }
double oracle_decode_fp16(std::uint16_t code) { return ieee(code, 5, 10); }

double oracle_decode_e4m3(std::uint8_t code) {
  const Fields f = split(code, 4, 3);
  return f.exponent == 15 && f.fraction == 7 ? kNan : finite(f, 3, 7);
}

double oracle_decode_hif8(std::uint8_t code) {
  const std::string bits = std::bitset<8>(code).to_string();
  const double sign = bits[0] == '1' ? -1 : 1;
  const std::string body = bits.substr(1);
  if (body == "0000000") return sign < 0 ? kNan : 0;
  if (body == "1101111") return sign * kInfinity;
  if (body.starts_with("0000")) return sign * power_of_two(std::stoi(body.substr(4), nullptr, 2) - 23);
  if (body.starts_with("0001")) return sign * (1 + std::stoi(body.substr(4), nullptr, 2) / 8.0);
  // The prefix tells how many exponent bits follow the exponent's sign; their leading one is not stored.
  const std::size_t prefix = body.starts_with("001") ? 3 : 2;
  const std::size_t exponent_bits =
      prefix == 3 ? 0 : static_cast<std::size_t>(std::stoi(body.substr(0, 2), nullptr, 2));
  std::string stored_exponent = body.substr(prefix, exponent_bits + 1);
  stored_exponent[0] = '1';
  const int magnitude = std::stoi(stored_exponent, nullptr, 2);
  const std::string fraction = body.substr(prefix + 1 + exponent_bits);
  const int exponent = body[prefix] == '1' ? -magnitude : magnitude;
  return sign * power_of_two(exponent) *
         (1 + std::stoi(fraction, nullptr, 2) / power_of_two(static_cast<int>(fraction.size())));
}

double oracle_decode_e8m0(std::uint8_t code) { return code == 0xFF ? kNan : power_of_two(code - 127); }

const CodeTable& bf16_table() {
  static const CodeTable table =
      with_infinity(make_table<std::uint16_t>(0x10000, oracle_decode_bf16), power_of_two(128), 0x7F80);
  return table;
}
const CodeTable& fp16_table() {
  static const CodeTable table =
      with_infinity(make_table<std::uint16_t>(0x10000, oracle_decode_fp16), power_of_two(16), 0x7C00);
  return table;
}
const CodeTable& e4m3_table() {
  static const CodeTable table = make_table<std::uint8_t>(0x100, oracle_decode_e4m3);
  return table;
}
const CodeTable& hif8_table() {
  static const CodeTable table = make_table<std::uint8_t>(0x100, oracle_decode_hif8);
  return table;
}
const CodeTable& e8m0_table() {
  static const CodeTable table = make_table<std::uint8_t>(0x100, oracle_decode_e8m0);
  return table;
}

std::uint16_t round_to_table(const CodeTable& table, double a, Rounding rounding) {
  const auto above = std::lower_bound(table.entries.begin(), table.entries.end(), a,
                                      [](const CodeTable::Entry& e, double v) { return e.value < v; });
  if (above == table.entries.end()) return table.entries.back().code;
  if (above->value == a || above == table.entries.begin()) return above->code;
  const auto below = above - 1;
  if (rounding == Rounding::to_odd) return below->code % 2 == 1 ? below->code : above->code;
  const double down = a - below->value;
  const double up = above->value - a;
  if (down != up) return down < up ? below->code : above->code;
  if (rounding == Rounding::nearest_away) return above->code;
  return below->code % 2 == 0 ? below->code : above->code;
}

namespace {

template <typename Code>
Code with_sign(std::uint16_t code, float v) {
  constexpr unsigned kSign = sizeof(Code) == 1 ? 0x80 : 0x8000;
  return static_cast<Code>(std::signbit(v) ? code | kSign : code);
}

}  // namespace

std::uint16_t oracle_bf16(float v, Rounding rounding) {
  if (std::isnan(v)) return 0x7FC0;
  return with_sign<std::uint16_t>(round_to_table(bf16_table(), std::fabs(v), rounding), v);
}

std::uint16_t oracle_fp16(float v, Rounding rounding) {
  if (std::isnan(v)) return 0x7E00;
  return with_sign<std::uint16_t>(round_to_table(fp16_table(), std::fabs(v), rounding), v);
}

std::uint8_t oracle_e4m3(float v) {
  if (std::isnan(v)) return 0;
  return with_sign<std::uint8_t>(round_to_table(e4m3_table(), std::fabs(v), Rounding::nearest_even), v);
}

std::uint8_t oracle_hif8(float v) {
  if (std::isnan(v)) return 0;
  const std::uint16_t code = round_to_table(hif8_table(), std::fabs(v), Rounding::nearest_away);
  return code == 0 ? std::uint8_t{0} : with_sign<std::uint8_t>(code, v);  // there is no negative zero
}

std::uint8_t oracle_e8m0(float v) {
  if (std::isnan(v) || v <= 0) return 0xFF;
  return static_cast<std::uint8_t>(round_to_table(e8m0_table(), v, Rounding::nearest_away));
}

std::int8_t oracle_int8_chain_a(float v) {
  if (std::isnan(v)) return 0;
  const double as_int32 = std::min(std::max(round_half_even(v), -2147483648.0), 2147483647.0);
  const double as_fp16 = oracle_decode_fp16(oracle_fp16(static_cast<float>(as_int32)));
  return saturate(std::trunc(as_fp16));
}

std::int8_t oracle_int8_chain_b(float v) {
  if (std::isnan(v)) return 0;
  return saturate(round_half_away(oracle_decode_fp16(oracle_fp16(v, Rounding::nearest_away))));
}

std::int8_t oracle_int8_chain_c(float v) {
  if (std::isnan(v)) return 0;
  return saturate(round_half_even(oracle_decode_fp16(oracle_fp16(v, Rounding::to_odd))));
}

std::vector<float> special_floats() {
  std::vector<float> values;
  for (const std::uint32_t bits : {0x00000000U, 0x00000001U, 0x00000002U, 0x00400000U, 0x007FFFFFU, 0x00800000U,
                                   0x00800001U, 0x00FFFFFFU, 0x3F7FFFFFU, 0x3F800000U, 0x3F800001U, 0x7F7FFFFFU,
                                   0x7F800000U, 0x7F800001U, 0x7FBFFFFFU, 0x7FC00000U, 0x7FC00001U, 0x7FFFFFFFU}) {
    values.push_back(std::bit_cast<float>(bits));
    values.push_back(std::bit_cast<float>(bits | 0x80000000U));
  }
  return values;
}

std::vector<float> boundary_values(const CodeTable& table) {
  std::vector<float> values = special_floats();
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const auto add_around = [&](double exact) {
    const auto v = static_cast<float>(exact);
    for (const float near : {std::nextafter(v, -kInf), v, std::nextafter(v, kInf)}) {
      values.push_back(near);
      values.push_back(-near);
    }
  };
  for (std::size_t i = 0; i < table.entries.size(); ++i) {
    const double value = table.entries[i].value;
    add_around(value);
    if (i > 0) add_around((table.entries[i - 1].value + value) / 2);
  }
  // Where the next value would be, and half way to it.
  const double last = table.entries.back().value;
  const double before_last = table.entries[table.entries.size() - 2].value;
  add_around(last + (last - before_last));
  add_around(last + (last - before_last) / 2);
  return values;
}

}  // namespace mla_prolog::test
