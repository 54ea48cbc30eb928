#pragma once
#include <span>
#include <string>
#include <vector>

#include "harness/ladder/backend.hpp"

namespace parity {

/// One question about a device's arithmetic, with its answer.
struct ProfileAnswer {
  std::string format;    ///< "fp32": of the arithmetic
  std::string group;     ///< "rounding", "subnormals", "contraction", "NaN", "min and max", "conversion"
  std::string question;  ///< "a + b"
  std::string answer;    ///< "to nearest even"
  std::string promise;   ///< what the device's interface says of it; empty: nothing
  std::string finding;   ///< how the answer breaks it; empty: it does not
};

/// What an interface promises of its arithmetic.
struct ArithmeticPromise {
  bool nearest = false;  ///< add, mul and fma round to nearest even; else to either neighbour
  bool keeps_subnormals = false;
  /// The same of a / b and of functions. Vulkan's DenormPreserve binds neither: OpFDiv, exp, sin and so on
  /// may flush.
  bool functions_keep_subnormals = false;
  bool number_beats_nan = false;  ///< min and max return the other operand
  std::string rounding_text, subnormal_text, minmax_text;
};
/// From the device's facts (the execution modes its kernels declare) for Vulkan; from the programming guide
/// for CUDA; the CPU device does as IEEE 754 says.
ArithmeticPromise arithmetic_promise(const DeviceInfo& device, DType format);

/// A rounding that explains every result, by name; "to either neighbour" when only that holds; "not correctly
/// rounded" with an example otherwise. `exact` must be exact; results of no rounding at all explain nothing.
std::string rounding_of(std::span<const double> exact, std::span<const double> got,
                        const FloatFormat& format);

/// Rounding of add, mul and fma; contraction of a * b + c; subnormals by operation; NaN, signed zeros; min
/// and max: of a path of device_function. Functions that it lacks are left out.
Result<std::vector<ProfileAnswer>> ask_arithmetic(Device& device, const Implementation& implementation);

/// Rounding, overflow, subnormals and NaN of the conversions: the kernels' own (op cast) and the language's.
Result<std::vector<ProfileAnswer>> ask_conversions(Device& device);

/// What adds up the products of each legal GEMM path that stores fp32: bits beside the largest term,
/// rounding, subnormal operands. Descriptions: what a path declares is checked by its revealed tree and its
/// replay.
Result<std::vector<ProfileAnswer>> ask_adders(Device& device);

/// What the answers say of subnormals in a path's arithmetic, all operations alike.
Denormals denormals_of(std::span<const ProfileAnswer> answers, std::string_view format);

}  // namespace parity
