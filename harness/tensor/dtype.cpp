#include "harness/tensor/dtype.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

namespace parity {

std::size_t size_of(DType type) {
  switch (type) {
    case DType::f64:
      return 8;
    case DType::f32:
      return 4;
    case DType::i32:
      return 4;
    case DType::f16:
      return 2;
    case DType::bf16:
      return 2;
    case DType::i8:
      return 1;
  }
  return 0;
}

std::string_view name_of(DType type) {
  switch (type) {
    case DType::f64:
      return "f64";
    case DType::f32:
      return "f32";
    case DType::f16:
      return "f16";
    case DType::bf16:
      return "bf16";
    case DType::i32:
      return "i32";
    case DType::i8:
      return "i8";
  }
  return "?";
}

std::optional<DType> parse_dtype(std::string_view text) {
  static constexpr std::pair<std::string_view, DType> names[] = {
      {"f64", DType::f64},   {"fp64", DType::f64},      {"float64", DType::f64}, {"double", DType::f64},
      {"f32", DType::f32},   {"fp32", DType::f32},      {"float32", DType::f32}, {"float", DType::f32},
      {"f16", DType::f16},   {"fp16", DType::f16},      {"float16", DType::f16}, {"half", DType::f16},
      {"bf16", DType::bf16}, {"bfloat16", DType::bf16}, {"i32", DType::i32},     {"int32", DType::i32},
      {"s32", DType::i32},   {"int", DType::i32},       {"i8", DType::i8},       {"int8", DType::i8},
      {"s8", DType::i8},
  };
  for (const auto& [name, type] : names) {
    if (name == text) return type;
  }
  return std::nullopt;
}

bool is_float(DType type) {
  return type != DType::i32 && type != DType::i8;
}

FloatFormat format_of(DType type) {
  switch (type) {
    case DType::f64:
      return {53, -1022, 1023};
    case DType::f32:
      return {24, -126, 127};
    case DType::f16:
      return {11, -14, 15};
    case DType::bf16:
      return {8, -126, 127};
    case DType::i32:
      return {31, 30, 30};  // spacing 1 everywhere, largest 2^31 - 1
    case DType::i8:
      return {7, 6, 6};
  }
  return {};
}

double unit_roundoff(const FloatFormat& format) {
  return std::ldexp(1.0, -format.precision);
}

double largest_finite(const FloatFormat& format) {
  return std::ldexp(2.0 - std::ldexp(1.0, 1 - format.precision), format.max_exponent);
}

double smallest_normal(const FloatFormat& format) {
  return std::ldexp(1.0, format.min_exponent);
}

double smallest_subnormal(const FloatFormat& format) {
  return std::ldexp(1.0, format.min_exponent - format.precision + 1);
}

std::string_view name_of(const FloatFormat& format) {
  if (format == tf32_format) return "tf32";
  for (const DType type : all_dtypes) {
    if (format == format_of(type)) return name_of(type);
  }
  return "custom";
}

double ulp_at(const FloatFormat& format, double x) {
  if (std::isnan(x)) return x;
  int exponent = format.min_exponent;
  if (std::isinf(x)) {
    exponent = format.max_exponent;
  } else if (x != 0.0) {
    exponent = std::clamp(std::ilogb(x), format.min_exponent, format.max_exponent);
  }
  return std::ldexp(1.0, exponent - format.precision + 1);
}

}  // namespace parity
