#include "harness/bisect/trace_session.hpp"

#include <fmt/format.h>

namespace parity {
namespace {

bool is_given(const TensorSpec& spec) {
  return !spec.is_view() && (spec.role == TensorSpec::Role::input || spec.role == TensorSpec::Role::state);
}

std::int64_t bytes_of(const Tensor& tensor) {
  return static_cast<std::int64_t>(tensor.bytes().size());
}

}  // namespace

Result<TraceSession> TraceSession::load(const BisectTarget& target, const BisectOptions& options) {
  const Stage* stage = target.stage();
  if (stage == nullptr) return bad_input(fmt::format("no stage is called '{}'", target.c.stage));
  auto program = stage->build(target.c);
  if (!program) return tl::unexpected(program.error());
  auto trace = traced(target.ops, *program);
  if (!trace) return tl::unexpected(trace.error());
  auto assignment = assign(target.device, *program, target.path);
  if (!assignment) return tl::unexpected(assignment.error());
  const auto whole = assign(target.device, trace->program, target.path);
  if (!whole) return tl::unexpected(whole.error());
  auto given = first_inputs(*stage, target.c, *program, options.inputs);
  if (!given) return tl::unexpected(given.error());
  auto execution = Execution::load(target.device, trace->program, whole->paths(), *given);
  if (!execution) return tl::unexpected(execution.error());

  TraceSession session(target, *std::move(execution));
  session.stage_ = stage;
  session.before_run_ = options.before_run;
  session.program_ = *std::move(program);
  session.trace_ = *std::move(trace);
  session.assignment_ = *std::move(assignment);
  session.given_ = *std::move(given);
  for (const auto& [id, tensor] : session.given_) session.cost_.bytes_written += bytes_of(tensor);
  // Poison once: what is never written shows in the first step, later steps overwrite their own results.
  for (const TensorSpec& spec : session.trace_.program.tensors) {
    if (spec.is_view() || is_given(spec)) continue;
    auto elements = static_cast<std::int64_t>(size_of(spec.dtype));
    for (const std::int64_t size : spec.shape) elements *= size;
    session.cost_.bytes_written += elements;
  }
  if (auto ok = session.execution_.poison(); !ok) return tl::unexpected(ok.error());
  return session;
}

Result<std::vector<TensorScan>> TraceSession::run() {
  held_.clear();
  if (before_run_) before_run_(step_);
  if (auto timing = execution_.run_only(); !timing) return tl::unexpected(timing.error());
  ++cost_.runs;
  auto scans = execution_.read(trace_.scans);
  if (!scans) return tl::unexpected(scans.error());
  cost_.bytes_read += bytes_of(*scans);
  cost_.scan_bytes += bytes_of(*scans);
  TraceScans seen = trace_.read(*scans);
  for (std::size_t i = 0; !left_.empty() && i < seen.states.size(); ++i) {
    const StatePoint& state = trace_.states[i];
    if (seen.states[i] == left_[state.made]) continue;
    return fail(
        ErrorKind::device_failed,
        fmt::format("step {} does not begin with the state that the step before left: '{}' is not '{}'",
                    step_, program_.spec(state.to).name, program_.spec(state.from).name));
  }
  made_ = seen.points;
  return std::move(seen.points);
}

Result<void> TraceSession::write(const std::map<TensorId, Tensor>& inputs) {
  for (const auto& [id, tensor] : inputs) {
    cost_.bytes_written += bytes_of(tensor);
    given_.insert_or_assign(id, tensor);
  }
  return execution_.write(inputs);
}

Result<void> TraceSession::advance() {
  auto changed = stage_->step_inputs(target_.c, program_, step_ + 1);
  if (!changed) return tl::unexpected(changed.error());
  held_.clear();
  if (auto ok = execution_.carry(); !ok) return ok;
  left_ = made_;
  ++step_;
  return write(*changed);
}

Result<std::map<TensorId, Tensor>> TraceSession::states() {
  std::set<TensorId> ids;
  for (const Carry& carry : program_.carries) ids.insert(carry.to);
  return tensors(ids);
}

Result<void> TraceSession::rewind(std::int64_t step, const std::map<TensorId, Tensor>& states) {
  step_ = step;
  held_.clear();
  left_.clear();
  if (auto ok = write(states); !ok) return ok;
  if (stage_->steps(target_.c) < 2) return {};
  auto inputs = stage_->step_inputs(target_.c, program_, step);
  if (!inputs) return tl::unexpected(inputs.error());
  return write(*inputs);
}

Result<const Tensor*> TraceSession::hold(TensorId root) {
  if (const auto found = held_.find(root); found != held_.end()) return &found->second;
  if (program_.spec(root).role == TensorSpec::Role::input) return &given_.at(root);
  auto tensor = execution_.read(root);
  if (!tensor) return tl::unexpected(tensor.error());
  cost_.bytes_read += bytes_of(*tensor);
  return &held_.emplace(root, *std::move(tensor)).first->second;
}

Result<std::map<TensorId, Tensor>> TraceSession::tensors(const std::set<TensorId>& ids, bool as_stored) {
  std::map<TensorId, Tensor> result;
  for (const TensorId id : ids) {
    const TensorSpec& spec = program_.spec(id);
    const auto root = hold(spec.is_view() ? spec.view_of : id);
    if (!root) return tl::unexpected(root.error());
    if (!spec.is_view()) {
      result.emplace(id, **root);
      continue;
    }
    auto view = as_stored ? view_of(**root, spec) : compact_view_of(**root, spec);
    if (!view) return tl::unexpected(view.error());
    result.emplace(id, *std::move(view));
  }
  return result;
}

std::vector<std::pair<TensorId, TensorScan>> TraceSession::bad_inputs() const {
  std::vector<std::pair<TensorId, TensorScan>> bad;
  for (const auto& [id, tensor] : given_) {
    if (!is_float(tensor.dtype())) continue;
    const TensorScan scan = scan_tensor(tensor);
    if (scan.nonfinite() > 0) bad.emplace_back(id, scan);
  }
  return bad;
}

}  // namespace parity
