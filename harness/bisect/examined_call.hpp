#pragma once
#include <optional>
#include <string>
#include <vector>

#include "harness/bisect/watched_arithmetic.hpp"
#include "harness/ladder/backend.hpp"
#include "harness/ladder/replay.hpp"

namespace parity {

struct Cause {
  CauseKind kind = CauseKind::none;
  std::string evidence;
};

/// What a call made of what it was given, where a result of it is not finite.
struct ExaminedCall {
  /// The call made it: of its inputs its references make something finite, or one of its operations made a
  /// NaN or Inf of finite operands. Otherwise it only passed on what its inputs hold.
  bool producer = false;
  Cause cause;
  std::int64_t element = 0;   ///< row-major; the first that the call is to blame for
  std::int64_t elements = 0;  ///< how many
  double got = 0;
  std::uint64_t got_bits = 0;
  double exact = 0;                ///< of the fp64 reference for the same inputs
  double hard = 0;                 ///< its certain bound in the path's arithmetic, before the store
  std::optional<double> emulated;  ///< in the path's declared arithmetic; absent: that is not known
};

/// A result that is finite and outside its contract, by its worst element. `judgement` is no pass.
ExaminedCall examine_judgement(const Judgement& judgement, const Tensor& got);

/// Row-major `index` as a place in `shape`.
std::vector<std::int64_t> place_in(const Shape& shape, std::int64_t index);

/// `call.got` holds NaN or Inf. Errors: the references refuse the inputs (an index out of range).
Result<ExaminedCall> examine_nonfinite(const CallResult& call, const Implementation& implementation);

/// Why a kernel may come to NaN or Inf where the reference does not, read off its inputs: the argument an
/// unshifted softmax would have, a row whose keys are all masked, a row of zeros under a root. Empty: nothing
/// of the kind.
std::optional<Cause> hint_for(const CallResult& call, std::int64_t element);

}  // namespace parity
