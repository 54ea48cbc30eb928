#pragma once
#include <functional>
#include <map>
#include <set>
#include <vector>

#include "harness/bisect/program_bisection.hpp"
#include "harness/ladder/assignment.hpp"
#include "harness/ladder/execution.hpp"

namespace parity {

/// A traced program on its device: runs it step by step and counts what that costs.
class TraceSession {
 public:
  static Result<TraceSession> load(const BisectTarget& target, const BisectOptions& options);

  const Program& program() const { return program_; }  ///< as it is without scans
  const TracedProgram& trace() const { return trace_; }
  const Assignment& assignment() const { return assignment_; }  ///< of the calls of program()
  const BisectCost& cost() const { return cost_; }

  /// One run of the current step. Returns the scan of every point. An error of kind device_failed where the
  /// step does not begin with the state that the one before left.
  Result<std::vector<TensorScan>> run();
  /// The state that the run left becomes that of the next step, whose inputs are written.
  Result<void> advance();
  std::int64_t step() const { return step_; }

  /// The states as they were when the current step began, to come back to.
  Result<std::map<TensorId, Tensor>> states();
  /// Back to the start of `step` with its states.
  Result<void> rewind(std::int64_t step, const std::map<TensorId, Tensor>& states);

  /// The given tensors of the last run: read once each, inputs come from the host. `as_stored`: views with
  /// their strides, as a kernel meets them; else their elements alone, which is quicker.
  Result<std::map<TensorId, Tensor>> tensors(const std::set<TensorId>& ids, bool as_stored = false);
  /// Scans of inputs and states that hold NaN or Inf at the start.
  std::vector<std::pair<TensorId, TensorScan>> bad_inputs() const;

 private:
  TraceSession(const BisectTarget& target, Execution execution)
      : target_(target), execution_(std::move(execution)) {}
  Result<void> write(const std::map<TensorId, Tensor>& inputs);
  Result<const Tensor*> hold(TensorId root);

  BisectTarget target_;
  Execution execution_;
  const Stage* stage_ = nullptr;
  std::function<void(std::int64_t)> before_run_;
  Program program_;
  TracedProgram trace_;
  Assignment assignment_;
  std::map<TensorId, Tensor> given_;  ///< inputs of the current step, states of step 0
  std::map<TensorId, Tensor> held_;   ///< what was read since the last run
  std::vector<TensorScan> left_;      ///< by the step before, as points; empty: none was
  std::vector<TensorScan> made_;      ///< by the last run
  std::int64_t step_ = 0;
  BisectCost cost_;
};

}  // namespace parity
