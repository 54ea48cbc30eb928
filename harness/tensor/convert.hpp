#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "harness/tensor/tensor.hpp"

namespace parity {

/// How a value is rounded to a narrower format.
enum class Rounding : std::uint8_t { nearest_even, toward_zero };

/// Scalar conversions on bit patterns with IEEE 754 semantics: subnormals are kept; a NaN stays a NaN with
/// the upper bits of its payload and is made quiet, as hardware does. Overflow gives infinity for
/// nearest_even and the largest finite number for toward_zero.
std::uint16_t f32_to_f16(float value, Rounding rounding = Rounding::nearest_even);
float f16_to_f32(std::uint16_t bits);
std::uint16_t f32_to_bf16(float value, Rounding rounding = Rounding::nearest_even);
float bf16_to_f32(std::uint16_t bits);

/// One rounding of `value` to `format`, subnormals and overflow included. nearest_even overflows to infinity
/// from max + ulp/2 on; toward_zero never does.
double round_to(const FloatFormat& format, double value, Rounding rounding = Rounding::nearest_even);

/// Bit pattern (zero-extended) of `value` rounded once to `dtype`. An integer type: to the nearest integer
/// (or toward zero), clamped; NaN becomes 0.
std::uint64_t encode(DType dtype, double value, Rounding rounding = Rounding::nearest_even);
/// The number a bit pattern of `dtype` stands for; exact.
double decode(DType dtype, std::uint64_t bits);

/// Logical elements in row-major order, widened; parallel over large tensors. `out` has elements() entries.
void widen(const Tensor& tensor, std::span<double> out);
void widen(const Tensor& tensor, std::span<float> out);  ///< f64 and i32 are rounded to nearest
/// The logical elements begin, begin + 1, ..., as many as `out` holds; the calling thread does the work.
void widen_range(const Tensor& tensor, std::int64_t begin, std::span<double> out);
std::vector<double> to_doubles(const Tensor& tensor);

/// Rounds values (logical row-major order) once into the tensor's dtype. fp64 -> fp16 is a single rounding.
void narrow(std::span<const double> values, Tensor& tensor, Rounding rounding = Rounding::nearest_even);
/// The same for the logical elements begin, begin + 1, ...; the calling thread does the work.
void narrow_range(std::span<const double> values, Tensor& tensor, std::int64_t begin,
                  Rounding rounding = Rounding::nearest_even);

/// The tensor in another dtype (one rounding to nearest), contiguous. The same dtype copies the bits.
Result<Tensor> convert(const Tensor& tensor, DType dtype);

}  // namespace parity
