#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "harness/ladder/device_function.hpp"
#include "harness/profile/promise.hpp"
#include "harness/tensor/dtype.hpp"

namespace parity {

/// One argument and what became of it. b: of a quotient only.
struct MeasuredArgument {
  double a = 0, b = 0, got = 0, want = 0;
  double ulp = 0;    ///< error
  double limit = 0;  ///< what is promised there; infinite: nothing
};

/// Largest error among the arguments of one binade, signs apart.
struct BinadeError {
  int exponent = 0;  ///< 2^exponent <= |a| < 2^(exponent + 1)
  bool negative = false;
  double max_ulp = 0;
  double max_absolute = 0;  ///< largest |got - exact|, by the screen
};

/// Arguments that are not judged by ULP alone, and the first of them that is wrong.
struct MeasuredClass {
  std::int64_t arguments = 0;
  std::int64_t kept = 0;       ///< as IEEE 754 has it
  std::int64_t flushed = 0;    ///< as if the subnormal were zero
  std::int64_t undefined = 0;  ///< neither, and nothing is promised there
  std::int64_t wrong = 0;      ///< neither
  MeasuredArgument first_wrong;
};

/// The error of one function over one set of arguments.
struct FunctionMeasure {
  DeviceFunction function{};
  DType format = DType::f32;   ///< of arithmetic and result
  std::string arguments_text;  ///< "all fp16 numbers", "all fp32 numbers", "sample of fp32"
  bool exhaustive = false;     ///< over all numbers of `format`
  std::int64_t arguments = 0;
  /// Normal arguments whose exact value is a normal number of the format (or beyond its largest).
  std::int64_t regular = 0;
  MeasuredArgument worst;             ///< of those, by MPFR
  double max_ratio = 0;               ///< of those: error over what is promised, by the screen
  std::int64_t not_rounded = 0;       ///< of those: not the nearest number
  std::int64_t not_a_number = 0;      ///< of those: NaN
  std::vector<BinadeError> binades;   ///< of those, by MPFR
  MeasuredClass subnormal_arguments;  ///< those where it makes a difference
  MeasuredClass subnormal_results;
  MeasuredClass specials;  ///< NaN and Inf as argument or exact value
  Promise promise;         ///< that binds the device
  bool may_flush = false;  ///< subnormals may become zero
  std::int64_t breaks = 0;
  MeasuredArgument worst_break;  ///< by error over what is promised
  std::int64_t by_mpfr = 0;      ///< evaluations
};

/// Takes results piece by piece. Regular errors are screened in fp64; the worst of every binade and whatever
/// is within screen_margin_ulp of a decision goes to MPFR.
class FunctionMeter {
 public:
  /// `may_flush`: subnormals may become zero without a promise being broken.
  FunctionMeter(DeviceFunction function, DType format, Promise promise, bool may_flush);

  /// Arguments and results as numbers; b is empty but for quotients. Parallel.
  void take(std::span<const float> a, std::span<const float> b, std::span<const float> got);
  /// With MPFR; call once, after the last piece.
  FunctionMeasure finish();

  struct Candidate;
  struct Tally;  ///< of one thread

 private:
  void judge_special(Tally& tally, double a, double b, double want, double got) const;
  void judge_subnormal_argument(Tally& tally, double a, double b, double got) const;
  void judge_subnormal_result(Tally& tally, double a, double b, double want, double got) const;
  void take_range(Tally& tally, std::span<const float> a, std::span<const float> b,
                  std::span<const float> got) const;

  DeviceFunction function_;
  FloatFormat format_;
  bool may_flush_;
  std::shared_ptr<Tally> total_;
  FunctionMeasure measure_;
};

}  // namespace parity
