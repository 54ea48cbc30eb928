#pragma once
#include <memory>
#include <string>
#include <vector>

#include "harness/numerics/arithmetic.hpp"

namespace parity {

/// Why a number is not finite, in the order in which the causes are tested (docs/numerics.md, section 8).
enum class CauseKind : std::uint8_t {
  none,
  never_written,   ///< the element still holds the poison it had before the run
  stray_read,      ///< a NaN with the payload of a guard zone: read outside a tensor
  store_overflow,  ///< finite before the conversion to a narrower type
  overflow,        ///< beyond fp32 (or the format of the accumulator)
  exp_overflow,    ///< exp of more than 88.7: a softmax that is not shifted
  inf_minus_inf,   ///< a fully masked row
  zero_times_inf,
  zero_over_zero,
  division_by_zero,
  log_of_nonpositive,
  rsqrt_of_nonpositive,
  passed_on,    ///< by an op that must not: the reference has a finite result for the same inputs
  kernel,       ///< none of these: the kernel computes something else
  wrong_value,  ///< finite, but outside its contract
  reference,    ///< the reference contradicts itself: nothing is said of the device
};
std::string_view name_of(CauseKind kind);

/// The first place where an operation made something that is not finite of operands that were.
struct NonfiniteEvent {
  CauseKind kind = CauseKind::none;
  std::int64_t batch = 0, row = 0, col = 0;  ///< in the operation's result
  std::int64_t rows = 0, cols = 0;           ///< of that result
  std::string evidence;                      ///< "fp32 sum of 64 products, largest 3.2e+38"
};

/// Does what `inner` does and writes down every operation that makes NaN or Inf (one event for each row of
/// each result). `inner` and `events` must outlive it.
std::unique_ptr<Arithmetic> make_watched_arithmetic(Arithmetic& inner, std::vector<NonfiniteEvent>& events);

}  // namespace parity
