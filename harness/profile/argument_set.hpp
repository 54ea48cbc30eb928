#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "harness/tensor/dtype.hpp"

namespace parity {

/// Arguments of a measurement, made piece by piece: numbers of fp32, or of fp16 widened.
struct ArgumentSet {
  std::string text;           ///< "all fp16 numbers"
  DType format = DType::f32;  ///< of the arithmetic they are for
  bool exhaustive = false;    ///< every number of `format`
  std::int64_t count = 0;
  std::function<float(std::int64_t)> at;
};

/// Every number of fp16 or bf16, for arithmetic in `arithmetic`.
ArgumentSet all_numbers(DType of, DType arithmetic);
/// Every number of fp32, NaNs with all their payloads included.
ArgumentSet all_fp32();
/// `each` numbers of every binade of fp32 of either sign, eight times as many of those around 1: its ends,
/// and seeded ones; and neighbours of the places where functions change their course.
ArgumentSet sample_fp32(std::int64_t each, std::uint64_t seed);

/// A partner for one argument of a quotient: a seeded number whose exponent is at most 20 away, so that most
/// quotients are normal.
float partner_of(float divisor, std::uint64_t seed, DType format);

}  // namespace parity
