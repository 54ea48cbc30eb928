#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "harness/numerics/aggregates.hpp"
#include "harness/numerics/arithmetic.hpp"
#include "harness/numerics/contract.hpp"
#include "harness/numerics/error_location.hpp"
#include "harness/numerics/error_map.hpp"
#include "harness/numerics/error_statistics.hpp"
#include "harness/numerics/verdict.hpp"

namespace parity {

/// Compares bits with the emulated arithmetic.
struct ReplayResult {
  bool attempted = false;
  std::string model;       ///< the model that fits best, as to_string(ArithmeticModel)
  bool confirmed = false;  ///< this path was seen to follow that model on this device
  bool revealed =
      false;  ///< the device was asked for its order in this very call, and every bit is that order's
  std::int64_t compared = 0, equal = 0;
  std::int64_t elements = 0;  ///< of the whole result; compared < elements: a sample was replayed
  std::string note;           ///< why it was not attempted
  bool all_equal() const { return attempted && compared > 0 && equal == compared; }
};

/// The judgement of one output.
struct Judgement {
  Verdict verdict = Verdict::pass;
  std::vector<std::string> reasons;  ///< for people: why it is not a pass
  ErrorStatistics statistics;
  std::vector<AggregateFinding> aggregates;  ///< beyond the threshold
  double worst_aggregate = 0;
  ErrorLocation location;
  ReplayResult replay;
  // For reports; judge() leaves them empty, add_pictures() fills them.
  std::optional<ErrorMap> map;        ///< of what is not a pass
  std::vector<double> predicted_ulp;  ///< beside statistics.ulp_histogram
};

/// The rows and columns of a larger result that `got` consists of, for naming places; empty: all.
struct JudgedPart {
  std::vector<std::int64_t> rows, cols;
};

/// Judges `got` (any strides; logical [batch, rows, cols] row-major, as `want`) by bounds and aggregates:
/// docs/numerics.md, section 5, steps 2 to 5 and, with contract.exact or an i32 store, the bits. `want` is
/// the tracked value before the store rounding.
/// - Beyond the hard bound, NaN or Inf not in the reference, a reference NaN missing, an element never
/// written: fail.
/// - All zero, and that beyond the hard bound: fail, said first (a gradient that is not there).
/// - Outside the expected spread, inside the hard bound: suspect; pass when the replay gives the same bits;
/// fail
///   when a known order (contract.order_known or replay.confirmed) does not.
/// - `replay` is the finished comparison with the emulated arithmetic: with every bit of every element equal,
///   suspects and aggregate findings are explained; when the model is confirmed, an unequal bit is a failure.
///   Equal bits beyond the hard bound are a failure of the harness's own model and said to be that.
/// - `replay_elements(indices)`, if given, replays single elements (true: equal bits) to decide suspects, up
/// to
///   Measurement::suspect_limit of them.
/// - Aggregate findings that nothing explains (equal bits of a confirmed model over the finding's elements
/// do): fail. A reference without bounds under a contract that needs them, or mostly zeros where the contract
/// limits them: untrusted. A size that differs from the reference's: fail. No elements: pass with elements ==
/// 0.
Judgement judge(
    const Tensor& got, const Value& want, const Contract& contract, const ReplayResult& replay,
    const std::function<std::vector<bool>(const std::vector<std::int64_t>&)>& replay_elements = {},
    const JudgedPart& part = {});

/// What a report draws of a judged result: the predicted histogram, and the map of a fail or a suspect.
void add_pictures(Judgement& judgement, const Tensor& got, const Value& want, const Contract& contract);

}  // namespace parity
