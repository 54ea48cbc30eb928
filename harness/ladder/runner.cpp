#include "harness/ladder/runner.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>

#include "harness/base/nearest.hpp"
#include "harness/ladder/call_judge.hpp"
#include "harness/ladder/drift.hpp"
#include "harness/ladder/execution.hpp"
#include "harness/ladder/host_memory.hpp"
#include "harness/ladder/order_experiments.hpp"
#include "harness/ladder/power.hpp"
#include "harness/ladder/program_power.hpp"
#include "harness/ladder/reference_check.hpp"
#include "harness/ladder/run_summary.hpp"
#include "harness/ladder/trivial_result.hpp"

namespace parity {

namespace {

/// Beyond this many operations the bounds of a whole program are not derived: they cost some ten times the
/// program.
constexpr double most_tracked_flops = 2e9;

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

Verdict verdict_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::unsupported:
    case ErrorKind::missing_device:
      return Verdict::unsupported;
    case ErrorKind::bad_input:
      return Verdict::untrusted;
    case ErrorKind::timed_out:
      return Verdict::timeout;
    case ErrorKind::device_failed:
    case ErrorKind::internal:
      return Verdict::crash;
  }
  return Verdict::crash;
}

void settle(Record& record, Verdict verdict, const std::string& reason) {
  if (worse(record.verdict, verdict) == verdict && verdict != record.verdict) record.reason = reason;
  record.verdict = worse(record.verdict, verdict);
}

/// A case that would not fit is refused before anything of its size is allocated.
Result<void> check_memory(const Program& program, bool sampled, const RunOptions& options) {
  constexpr double gib = 1024.0 * 1024 * 1024;
  const double needed =
      sampled ? sampled_bytes_needed(program, options.repeats) : host_bytes_needed(program, options.repeats);
  const double available = std::min(options.memory_limit, host_bytes_available());
  if (needed <= available) return {};
  return fail(
      ErrorKind::unsupported,
      fmt::format("needs about {:.3g} GiB of host memory to run and to judge; {:.3g} GiB are available",
                  needed / gib, available / gib));
}

/// Whether every tensor of `b` has the bits it has in `a`.
bool same_bits(const RunResult& a, const RunResult& b) {
  return std::ranges::all_of(b.tensors, [&](const auto& entry) {
    const auto found = a.tensors.find(entry.first);
    return found != a.tensors.end() && std::ranges::equal(found->second.bytes(), entry.second.bytes());
  });
}

/// An error where a reference contradicts itself at an output that it would fail.
Result<void> ask_reference(const OpTable& ops, const FinishedCall& call,
                           const std::vector<OutputRecord>& outputs) {
  for (std::size_t port = 0; port < outputs.size(); ++port) {
    const Verdict verdict = outputs[port].judgement.verdict;
    if (verdict != Verdict::fail && verdict != Verdict::suspect) continue;
    const OpCall& op_call = call.program->calls[call.index];
    CallResult result = result_of(call);
    result.output = port;
    result.got = &call.results->at(op_call.outputs[port]);
    const ReferenceCheck check =
        check_reference(ops, result, *call.implementation, call.op->work(op_call, *call.program).flops / 2);
    if (check.contradiction.empty()) return {};
    return fail(ErrorKind::internal,
                fmt::format("the reference of {} is at fault, so that {} cannot be judged: {}", op_call.op,
                            call.implementation->path, check.contradiction));
  }
  return {};
}

std::string describe(const GuardDamage& damage) {
  return fmt::format("{} bytes at byte {} of '{}' overwritten outside its elements", damage.bytes,
                     damage.byte_offset, damage.tensor);
}

}  // namespace

/// Everything a run of one case on one path needs, made once.
struct Runner::Prepared {
  const Stage* stage = nullptr;
  Program program;
  Assignment assignment;
  std::map<TensorId, Tensor> inputs;
  bool sampled = false;  ///< judged without a full reference
  bool composite() const { return program.calls.size() > 1; }
};

/// What a run has so far.
struct Runner::Progress {
  Execution& execution;
  std::vector<RunResult> runs;             ///< of the first step; the first of them complete
  RunResult last;                          ///< the last step's
  std::map<TensorId, Value> carried;       ///< the exact reference's state
  std::optional<ProgramEvaluation> exact;  ///< of the step being judged
  std::vector<Value> first_reference;      ///< tracked outputs of the last call at step 0
  std::vector<OutputRecord> repeats_not_passing;
};

Runner::Runner(const OpTable& ops, const StageTable& stages, Device& device, RunOptions options)
    : ops_(ops),
      stages_(stages),
      device_(device),
      options_(std::move(options)),
      confirmations_(ops, stages, device) {}

Result<std::vector<std::string>> Runner::paths_for(const Case& c, const std::string& only) const {
  const Stage* stage = stages_.find(c.stage);
  if (stage == nullptr) return bad_input(fmt::format("no stage is called '{}'", c.stage));
  auto program = stage->build(c);
  if (!program) return tl::unexpected(program.error());
  if (only.empty()) return assignable_paths(device_, *program);
  for (const Implementation& implementation : device_.implementations())
    if (implementation.path == only &&
        std::ranges::any_of(program->calls, [&](const OpCall& call) { return call.op == implementation.op; }))
      return std::vector{only};
  return std::vector<std::string>{};
}

Result<Runner::Prepared> Runner::prepare(const Case& c, const std::string& path) const {
  Prepared prepared;
  prepared.stage = stages_.find(c.stage);
  if (prepared.stage == nullptr) return bad_input(fmt::format("no stage is called '{}'", c.stage));
  auto program = prepared.stage->build(c);
  if (!program) return tl::unexpected(program.error());
  prepared.program = *std::move(program);
  if (auto ok = check_program(ops_, prepared.program); !ok) return tl::unexpected(ok.error());
  auto assignment = assign(device_, prepared.program, path);
  if (!assignment) return tl::unexpected(assignment.error());
  prepared.assignment = *std::move(assignment);
  prepared.sampled = judges_by_sample(ops_, prepared.program, options_.reference);
  if (auto fits = check_memory(prepared.program, prepared.sampled, options_); !fits)
    return tl::unexpected(fits.error());

  auto inputs = first_inputs(*prepared.stage, c, prepared.program, options_.inputs);
  if (!inputs) return tl::unexpected(inputs.error());
  prepared.inputs = *std::move(inputs);
  return prepared;
}

/// Judges every call of a run, fed with the device's own inputs.
Result<std::vector<OutputRecord>> Runner::judge_calls(const Prepared& prepared, const Case& c,
                                                      Execution& execution, const RunResult& run,
                                                      std::vector<Value>* first_reference,
                                                      double* reference_seconds,
                                                      std::vector<MissedMutant>* missed) {
  const auto held = execution.inputs();
  if (!held) return tl::unexpected(held.error());
  const std::map<TensorId, Tensor>& inputs = **held;
  const bool users_own = !options_.inputs.empty();
  std::vector<OutputRecord> outputs;
  for (std::size_t index = 0; index < prepared.program.calls.size(); ++index) {
    const Implementation& implementation = *prepared.assignment.implementations[index];
    FinishedCall call{&prepared.program, index,   ops_.find(prepared.program.calls[index].op),
                      &implementation,   &inputs, &run.tensors};
    call.exact = !users_own && bits_are_contract(*prepared.stage, c, implementation);
    call.seed = c.seed;
    call.replay_operations = options_.replay_operations;
    // Who asks for a sample asks for its speed.
    if (prepared.sampled && options_.reference == ReferenceKind::sampled)
      call.replay_operations = std::min(call.replay_operations, sampled_replay_operations);
    call.on_output = &options_.on_output;
    call.device = &device_;
    call.reveal = &options_.reveal;
    call.reference_seconds = reference_seconds;
    call.missed = missed;
    auto judged = prepared.sampled ? judge_call_sampled(call, confirmations_)
                                   : judge_call(call, confirmations_, first_reference);
    if (!judged) return tl::unexpected(judged.error());
    if (auto ok = ask_reference(ops_, call, *judged); !ok) return tl::unexpected(ok.error());
    for (OutputRecord& output : *judged) {
      if (users_own) distrust_trivial(output.judgement);
      outputs.push_back(std::move(output));
    }
  }
  return outputs;
}

/// What does not pass in a run that was given what the first was given. The same bits are the same judgement.
Result<std::vector<OutputRecord>> Runner::judge_repeat(const Prepared& prepared, const Case& c,
                                                       Execution& execution, const RunResult& first,
                                                       RunResult& repeat, int number) {
  if (same_bits(first, repeat)) return std::vector<OutputRecord>{};
  RunResult whole = repeat;
  if (auto ok = execution.complete(whole); !ok) return tl::unexpected(ok.error());
  auto outputs = judge_calls(prepared, c, execution, whole, nullptr, nullptr, nullptr);
  if (!outputs) return outputs;
  std::erase_if(*outputs, [](const OutputRecord& o) { return o.judgement.verdict == Verdict::pass; });
  for (OutputRecord& output : *outputs)
    for (std::string& reason : output.judgement.reasons) reason = fmt::format("run {}: {}", number, reason);
  return outputs;
}

/// Judges every call of the step that just ran, then the program end to end.
Result<void> Runner::judge_step(const Prepared& prepared, const Case& c, Progress& progress,
                                std::int64_t step, Record& record) {
  const RunResult& run = step == 0 ? progress.runs.front() : progress.last;
  // What a call proves it proves once: the steps after the first make the same calls.
  const bool ask_power = step == 0 && prepared.composite();
  std::vector<MissedMutant> missed;
  auto outputs =
      judge_calls(prepared, c, progress.execution, run, step == 0 ? &progress.first_reference : nullptr,
                  step == 0 ? &record.reference_seconds : nullptr, ask_power ? &missed : nullptr);
  if (!outputs) return tl::unexpected(outputs.error());
  if (step == 0) std::ranges::move(progress.repeats_not_passing, std::back_inserter(*outputs));
  for (const OutputRecord& output : *outputs) {
    const Judgement& judgement = output.judgement;
    const std::string reason = judgement.reasons.empty() ? "" : judgement.reasons.front();
    settle(record, judgement.verdict,
           prepared.composite() ? fmt::format("{} -> {}: {}", output.op, output.tensor, reason) : reason);
  }
  if (!prepared.composite()) {
    fold(*std::move(outputs), record.outputs);
    return {};
  }
  const auto held = progress.execution.inputs();
  if (!held) return tl::unexpected(held.error());
  const std::map<TensorId, Tensor>& inputs = **held;
  std::optional<ProgramEvaluation> tracked;
  if (step == 0 && record.flops <= most_tracked_flops) {
    auto evaluated = evaluate_tracked(ops_, prepared.program, inputs, prepared.assignment);
    if (!evaluated) return tl::unexpected(evaluated.error());
    tracked = *std::move(evaluated);
  }
  if (ask_power) {
    auto power = measure_program_power(ops_, prepared.program, inputs, *outputs, missed, *progress.exact,
                                       tracked ? &*tracked : nullptr);
    if (!power) return tl::unexpected(power.error());
    std::ranges::move(power->notes, std::back_inserter(record.notes));
    if (!power->untrusted.empty()) settle(record, Verdict::untrusted, power->untrusted);
  }
  fold(*std::move(outputs), record.outputs);
  auto drifts = measure_drift(prepared.program, run.tensors, *progress.exact, tracked ? &*tracked : nullptr);
  for (DriftRecord& drift : drifts) {
    drift.step = step;
    // The bound decides on zeros as well: where it reaches the exact value (a saturated gate passes nothing
    // on in fp32) they are no fault, elsewhere they are; the call that made them is judged by its own bound.
    if (drift.max_bound_ratio.value_or(0) > 1)
      settle(record, Verdict::fail,
             fmt::format("'{}' is {}{:.3g} times its end-to-end bound from the exact result", drift.tensor,
                         drift.all_zero ? "all zero, " : "", *drift.max_bound_ratio));
    record.drift.push_back(std::move(drift));
  }
  return {};
}

Result<void> Runner::run_steps(const Prepared& prepared, const Case& c, Record& record) {
  auto execution = Execution::load(device_, prepared.program, prepared.assignment.paths(), prepared.inputs);
  if (!execution) return tl::unexpected(execution.error());
  Progress progress{*execution, {}, {}, {}, {}, {}, {}};
  CallTimes times(prepared.program, prepared.assignment);
  const auto note_timing = [&](const RunTiming& timing) {
    record.host_seconds.push_back(timing.host_seconds);
    if (timing.device_seconds) record.device_seconds.push_back(*timing.device_seconds);
    times.add_device(timing.call_seconds);
  };
  for (int repeat = 0; repeat < std::max(1, options_.repeats); ++repeat) {
    auto run = execution->run(repeat == 0 ? ReadBack::everything : ReadBack::outputs);
    if (!run) return tl::unexpected(run.error());
    note_timing(run->timing);
    if (repeat > 0) {
      const auto judging = Clock::now();
      auto found = judge_repeat(prepared, c, *execution, progress.runs.front(), *run, repeat + 1);
      if (!found) return tl::unexpected(found.error());
      std::ranges::move(*found, std::back_inserter(progress.repeats_not_passing));
      record.judge_seconds += seconds_since(judging);
    }
    progress.runs.push_back(*std::move(run));
  }
  auto damage = execution->damage(progress.runs.front());
  if (!damage) return tl::unexpected(damage.error());
  record.guard_damage = *std::move(damage);
  if (!record.guard_damage.empty())
    settle(record, Verdict::fail, "write outside a tensor: " + describe(record.guard_damage.front()));
  auto modified = execution->modified_inputs();
  if (!modified) return tl::unexpected(modified.error());
  if (!modified->empty())
    settle(record, Verdict::fail, fmt::format("input '{}' was modified", fmt::join(*modified, "', '")));

  const std::int64_t steps = prepared.stage->steps(c);
  // One call is judged with the device's inputs: no third copy of them.
  std::map<TensorId, Tensor> reference_inputs;
  if (prepared.composite()) reference_inputs = prepared.inputs;
  for (std::int64_t step = 0; step < steps; ++step) {
    const bool judged = step == 0 || step + 1 == steps;
    if (step > 0) {
      auto changed = prepared.stage->step_inputs(c, prepared.program, step);
      if (!changed) return tl::unexpected(changed.error());
      const auto lost = execution->advance(*changed);
      if (!lost) return tl::unexpected(lost.error());
      if (!lost->empty())
        settle(record, Verdict::fail,
               fmt::format("step {} does not begin with the state that the step before left: '{}'", step + 1,
                           fmt::join(*lost, "', '")));
      auto run = execution->run(judged ? ReadBack::everything : ReadBack::outputs);
      if (!run) return tl::unexpected(run.error());
      note_timing(run->timing);
      progress.last = *std::move(run);
      for (auto& [id, tensor] : *changed) reference_inputs.insert_or_assign(id, std::move(tensor));
    }
    if (prepared.composite()) {
      auto exact = evaluate_exactly(ops_, prepared.program, reference_inputs, progress.carried);
      if (!exact) return tl::unexpected(exact.error());
      progress.exact = *std::move(exact);
      times.add_reference(progress.exact->call_seconds);
      if (steps > 1)
        extend_trajectories(prepared.program,
                            step == 0 ? progress.runs.front().tensors : progress.last.tensors,
                            *progress.exact, record.trajectories);
    }
    const auto judging = Clock::now();
    if (judged)
      if (auto ok = judge_step(prepared, c, progress, step, record); !ok) return ok;
    record.judge_seconds += seconds_since(judging);
    if (prepared.composite()) progress.carried = carried_values(prepared.program, *progress.exact);
  }
  record.call_times = times.summary();

  if (!options_.order_effects) return {};
  if (record.verdict != Verdict::pass) {
    record.order.notes.emplace_back("not measured: the case does not pass");
    return {};
  }
  const OrderSubject subject{device_,
                             ops_,
                             prepared.program,
                             prepared.assignment,
                             prepared.inputs,
                             progress.first_reference,
                             record.outputs.back().contract,
                             c.seed,
                             prepared.sampled};
  record.order = measure_order_effects(subject, progress.runs, measured_orders_);
  return {};
}

Record Runner::run(const Case& c, const std::string& path) {
  Record record;
  record.case_text = print_case(c, stages_);
  record.stage = c.stage;
  record.path = path;
  record.device = device_.info();
  record.provenance = options_.provenance;
  record.repro = fmt::format("parity run --case '{}' --device {} --path {}{}", record.case_text,
                             record.device.id, path, options_.repro_suffix);
  if (const Stage* stage = stages_.find(c.stage)) record.rung = stage->rung();
  const auto stop = [&](const Error& error) {
    settle(record, verdict_of(error.kind), error.message);
    return record;
  };
  auto prepared = prepare(c, path);
  if (!prepared) return stop(prepared.error());
  for (const auto& [id, tensor] : prepared->inputs)
    record.input_hashes[prepared->program.spec(id).name] = fmt::format("{:016x}", content_hash(tensor));
  for (const OpCall& call : prepared->program.calls) {
    const Work work = ops_.find(call.op)->work(call, prepared->program);
    record.flops += work.flops;
    record.bytes += work.bytes;
  }
  if (auto ok = run_steps(*prepared, c, record); !ok) return stop(ok.error());
  return record;
}

void Runner::pass_over(const Case& c, const std::string& path) {
  const Stage* stage = stages_.find(c.stage);
  if (!options_.order_effects || stage == nullptr) return;
  const auto program = stage->build(c);
  if (!program || !check_program(ops_, *program) || judges_by_sample(ops_, *program, options_.reference))
    return;
  if (const auto assignment = assign(device_, *program, path))
    note_measured(ops_, *program, *assignment, measured_orders_);
}

}  // namespace parity
