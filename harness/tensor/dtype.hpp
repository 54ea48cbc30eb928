#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace parity {

/// Element types a tensor can be stored in.
enum class DType : std::uint8_t { f64, f32, f16, bf16, i32, i8 };
inline constexpr DType all_dtypes[] = {DType::f64,  DType::f32, DType::f16,
                                       DType::bf16, DType::i32, DType::i8};

/// A binary floating-point format: `precision` significand bits (hidden bit included) and the exponents of
/// its smallest and largest normal numbers (value = 1.f * 2^e).
struct FloatFormat {
  int precision = 24;
  int min_exponent = -126;
  int max_exponent = 127;
  friend bool operator==(const FloatFormat&, const FloatFormat&) = default;
};

/// TensorFloat-32: the range of fp32 with 11 significand bits. A format of multiplication, never of storage.
inline constexpr FloatFormat tf32_format{11, -126, 127};

std::size_t size_of(DType type);                          ///< bytes an element
std::string_view name_of(DType type);                     ///< "f64", "f32", "f16", "bf16", "i32", "i8"
std::optional<DType> parse_dtype(std::string_view text);  ///< also fp32, float32, half, bfloat16, ...
bool is_float(DType type);
FloatFormat format_of(DType type);  ///< of a floating type; i32 counts as 31 bits without a range, i8 as 7

double unit_roundoff(const FloatFormat& format);  ///< 2^-precision
double largest_finite(const FloatFormat& format);
double smallest_normal(const FloatFormat& format);
double smallest_subnormal(const FloatFormat& format);  ///< eta: the spacing of subnormals
/// Name of a format for people: "f32", "tf32", ...
std::string_view name_of(const FloatFormat& format);

/// Spacing of the format's numbers at |x| (eta below the normal range).
double ulp_at(const FloatFormat& format, double x);

}  // namespace parity
