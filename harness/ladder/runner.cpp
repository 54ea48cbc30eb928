#include "harness/ladder/runner.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>

#include "harness/base/nearest.hpp"
#include "harness/ladder/execution.hpp"
#include "harness/ladder/host_memory.hpp"
#include "harness/ladder/order_experiments.hpp"
#include "harness/ladder/replay.hpp"
#include "harness/ladder/trivial_result.hpp"

namespace parity {

namespace {

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
Result<void> check_memory(const Program& program, const RunOptions& options) {
  constexpr double gib = 1024.0 * 1024 * 1024;
  const double needed = host_bytes_needed(program, options.repeats);
  const double available = std::min(options.memory_limit, host_bytes_available());
  if (needed <= available) return {};
  return fail(
      ErrorKind::unsupported,
      fmt::format("needs about {:.3g} GiB of host memory to run and to judge; {:.3g} GiB are available",
                  needed / gib, available / gib));
}

/// The contract of one output: what the case and the path's model say, nothing else.
Contract derive_contract(const ArithmeticModel& model, DType store, bool exact) {
  Contract contract;
  contract.store = store;
  contract.exact = exact;
  contract.order_known = model.accumulation.has_value();
  contract.store_rounding_known = model.store_rounding_known;
  contract.store_rounding = model.store_rounding;
  contract.store_rounds = format_of(store).precision < format_of(model.precision.scratch).precision;
  contract.untrusted_zero_fraction = exact ? 0.75 : 1;
  return contract;
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
  std::vector<std::string> paths;                      ///< one per call
  std::vector<const Implementation*> implementations;  ///< one per call
  std::map<TensorId, Tensor> inputs;
};

Runner::Runner(const OpTable& ops, const StageTable& stages, Device& device, RunOptions options)
    : ops_(ops), stages_(stages), device_(device), options_(std::move(options)) {}

Result<std::vector<std::string>> Runner::paths_for(const Case& c, const std::string& only) const {
  const Stage* stage = stages_.find(c.stage);
  if (stage == nullptr) return bad_input(fmt::format("no stage is called '{}'", c.stage));
  auto program = stage->build(c);
  if (!program) return tl::unexpected(program.error());
  std::vector<std::string> paths;
  std::vector<std::string_view> known;
  for (const Implementation& implementation : device_.implementations()) {
    known.push_back(implementation.path);
    if (std::ranges::find(paths, implementation.path) != paths.end()) continue;
    if (!only.empty() && implementation.path != only) continue;
    // A path is listed when it implements the first call's op in the case's precision, or when it is forced.
    const OpCall& call = program->calls.front();
    if (implementation.op != call.op) continue;
    if (only.empty() &&
        matches_precision(implementation, call, *program).kind == Support::Kind::not_applicable)
      continue;
    paths.push_back(implementation.path);
  }
  return paths;
}

Result<Runner::Prepared> Runner::prepare(const Case& c, const std::string& path) const {
  Prepared prepared;
  prepared.stage = stages_.find(c.stage);
  if (prepared.stage == nullptr) return bad_input(fmt::format("no stage is called '{}'", c.stage));
  auto program = prepared.stage->build(c);
  if (!program) return tl::unexpected(program.error());
  prepared.program = *std::move(program);
  if (auto ok = check_program(ops_, prepared.program); !ok) return tl::unexpected(ok.error());

  for (const OpCall& call : prepared.program.calls) {
    const auto found = std::ranges::find_if(device_.implementations(), [&](const Implementation& i) {
      return i.path == path && i.op == call.op;
    });
    if (found == device_.implementations().end())
      return fail(ErrorKind::unsupported,
                  fmt::format("{} has no path '{}' for op '{}'", device_.info().id, path, call.op));
    const Support support = device_.supports(*found, call, prepared.program);
    if (!support.legal()) return fail(ErrorKind::unsupported, support.reason);
    prepared.paths.push_back(path);
    prepared.implementations.push_back(&*found);
  }

  if (auto fits = check_memory(prepared.program, options_); !fits) return tl::unexpected(fits.error());

  for (std::size_t i = 0; i < prepared.program.tensors.size(); ++i) {
    const TensorSpec& spec = prepared.program.tensors[i];
    if (spec.role != TensorSpec::Role::input && spec.role != TensorSpec::Role::state) continue;
    const auto id = static_cast<TensorId>(i);
    const auto own = options_.inputs.find(spec.name);
    auto tensor = own == options_.inputs.end() ? prepared.stage->fill(c, prepared.program, id)
                                               : convert(own->second, spec.dtype);
    if (!tensor) return tl::unexpected(tensor.error());
    if (tensor->shape() != spec.shape)
      return bad_input(fmt::format("input '{}' has shape {}, the case needs {}", spec.name,
                                   to_string(tensor->shape()), to_string(spec.shape)));
    prepared.inputs.emplace(id, *std::move(tensor));
  }
  return prepared;
}

const ConfirmedModels& Runner::confirm(const Implementation& implementation, const Stage& stage,
                                       const Case& c) {
  ConfirmedModels& confirmed = confirmed_[implementation.op + "/" + implementation.path];
  if (confirmed.tried || implementation.knowledge != OrderKnowledge::declared) return confirmed;
  confirmed.tried = true;
  const auto give_up = [&](const std::string& why) -> const ConfirmedModels& {
    confirmed.note = "calibration: " + why;
    return confirmed;
  };
  // The widest store shows most of the accumulator's bits.
  const DType store =
      *std::ranges::max_element(implementation.stores, {}, [](DType d) { return format_of(d).precision; });
  const Case small = stage.calibration(c, store);
  auto program = stage.build(small);
  if (!program) return give_up(program.error().message);
  std::map<TensorId, Tensor> inputs;
  for (std::size_t i = 0; i < program->tensors.size(); ++i) {
    if (program->tensors[i].role != TensorSpec::Role::input) continue;
    auto tensor = stage.fill(small, *program, static_cast<TensorId>(i));
    if (!tensor) return give_up(tensor.error().message);
    inputs.emplace(static_cast<TensorId>(i), *std::move(tensor));
  }
  auto execution = Execution::load(device_, *program, {implementation.path}, inputs);
  if (!execution) return give_up(execution.error().message);
  const auto run = execution->run();
  if (!run) return give_up(run.error().message);

  const OpCall& call = program->calls.front();
  CallResult result{ops_.find(call.op), &call.attributes, {}, 0, &run->tensors.at(call.outputs.front())};
  for (const TensorId id : call.inputs) result.inputs.push_back(id == no_tensor ? nullptr : &inputs.at(id));
  std::string closest;
  std::int64_t most = -1;
  for (const ArithmeticModel& model : implementation.replays) {
    const auto replayed = replay(result, model, {});
    if (!replayed) return give_up(replayed.error().message);
    if (replayed->all_equal()) confirmed.models.push_back(model);
    if (replayed->equal > most) {
      most = replayed->equal;
      closest = fmt::format("closest is {} with {} of {} equal", replayed->model, replayed->equal,
                            replayed->compared);
    }
  }
  if (confirmed.models.empty()) return give_up("no declared arithmetic gives this path's bits; " + closest);
  return confirmed;
}

ReplayResult Runner::replay_call(const CallResult& call, const Implementation& implementation,
                                 const ConfirmedModels& confirmed, std::uint64_t seed) const {
  if (call.got->elements() == 0) return {};
  const bool is_confirmed = !confirmed.models.empty();
  const auto& models = is_confirmed ? confirmed.models : implementation.replays;
  if (models.empty() || implementation.knowledge == OrderKnowledge::unknown) {
    ReplayResult none;
    none.note = "the order of this path is not known";
    return none;
  }
  const ReplaySample sample = choose_sample(call.got->shape(), options_.replay_elements, seed);
  auto result = replay_best(call, models, sample);
  if (!result) {
    ReplayResult none;
    none.note = result.error().message;
    return none;
  }
  result->confirmed = is_confirmed;
  if (!is_confirmed) result->note = confirmed.note;
  return *std::move(result);
}

Result<OutputRecord> Runner::judge_output(const Prepared& prepared, const Case& c, std::size_t call_index,
                                          std::size_t output, const RunResult& run, Value& reference) {
  const OpCall& call = prepared.program.calls[call_index];
  const Implementation& implementation = *prepared.implementations[call_index];
  const TensorId id = call.outputs[output];
  const Tensor& got = run.tensors.at(id);

  // The device's own inputs: what was written, or what the device computed before.
  CallResult result{ops_.find(call.op), &call.attributes, {}, output, &got};
  for (const TensorId input : call.inputs) {
    if (input == no_tensor)
      result.inputs.push_back(nullptr);
    else if (const auto made = run.tensors.find(input); made != run.tensors.end())
      result.inputs.push_back(&made->second);
    else
      result.inputs.push_back(&prepared.inputs.at(input));
  }

  ArithmeticModel model = implementation.contract;
  model.precision.store = got.dtype();
  const auto tracked = make_tracked_arithmetic(model);
  auto want = result.op->evaluate(*tracked, call.attributes, result.inputs);
  if (!want) return tl::unexpected(want.error());

  const bool users_own = !options_.inputs.empty();
  const bool keeps_inputs = format_of(implementation.input).precision <= implementation.multiply.precision;
  const bool exact = !users_own && prepared.stage->exact(c) && (keeps_inputs || c.fill == Fill::integer);
  OutputRecord record{static_cast<int>(call_index),
                      call.op,
                      implementation.path,
                      prepared.program.spec(id).name,
                      got.shape(),
                      got.dtype(),
                      derive_contract(model, got.dtype(), exact),
                      {}};
  if (result.op->reduction_length(call, prepared.program) == 0) record.contract.untrusted_zero_fraction = 1;

  const ConfirmedModels& confirmed = confirm(implementation, *prepared.stage, c);
  const ReplayResult replayed = replay_call(result, implementation, confirmed, c.seed);
  const auto& models = confirmed.models.empty() ? implementation.replays : confirmed.models;
  reference = std::move((*want)[output]);
  record.judgement =
      judge(got, reference, record.contract, replayed, [&](const std::vector<std::int64_t>& elements) {
        return replay_single_elements(result, models, elements);
      });
  if (users_own) distrust_trivial(record.judgement);
  return record;
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

  auto execution = Execution::load(device_, prepared->program, prepared->paths, prepared->inputs);
  if (!execution) return stop(execution.error());
  std::vector<RunResult> runs;
  for (int repeat = 0; repeat < std::max(1, options_.repeats); ++repeat) {
    auto run = execution->run();
    if (!run) return stop(run.error());
    record.host_seconds.push_back(run->timing.host_seconds);
    if (run->timing.device_seconds) record.device_seconds.push_back(*run->timing.device_seconds);
    runs.push_back(*std::move(run));
  }
  auto damage = execution->damage(runs.back());
  if (!damage) return stop(damage.error());
  record.guard_damage = *std::move(damage);
  if (!record.guard_damage.empty())
    settle(record, Verdict::fail, "write outside a tensor: " + describe(record.guard_damage.front()));
  auto modified = execution->modified_inputs();
  if (!modified) return stop(modified.error());
  if (!modified->empty())
    settle(record, Verdict::fail, fmt::format("input '{}' was modified", fmt::join(*modified, "', '")));

  const auto judging = Clock::now();
  Value reference;  // of the last output judged
  for (std::size_t call = 0; call < prepared->program.calls.size(); ++call) {
    for (std::size_t output = 0; output < prepared->program.calls[call].outputs.size(); ++output) {
      auto judged = judge_output(*prepared, c, call, output, runs.front(), reference);
      if (!judged) return stop(judged.error());
      const Judgement& judgement = judged->judgement;
      settle(record, judgement.verdict,
             fmt::format("{}", judgement.reasons.empty() ? std::string() : judgement.reasons.front()));
      record.outputs.push_back(*std::move(judged));
    }
  }
  record.judge_seconds = seconds_since(judging);

  if (!options_.order_effects) return record;
  if (record.verdict != Verdict::pass) {
    record.order.notes.emplace_back("not measured: the case does not pass");
    return record;
  }
  const OrderSubject subject{device_,
                             ops_,
                             prepared->program,
                             prepared->paths,
                             *prepared->implementations.front(),
                             prepared->inputs,
                             reference,
                             record.outputs.back().contract,
                             c.seed};
  record.order = measure_order_effects(subject, *execution, runs);
  return record;
}

}  // namespace parity
