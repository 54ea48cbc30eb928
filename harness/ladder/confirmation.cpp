#include "harness/ladder/confirmation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <new>
#include <optional>

#include "harness/ladder/execution.hpp"

namespace parity {

namespace {

/// A calibration case as a program, and the call in it that shows the implementation.
struct Calibration {
  const Stage* stage = nullptr;
  Case c;
  Program program;
  std::size_t call = 0;
};

std::optional<Calibration> calibration_in(const Stage& stage, const Implementation& implementation) {
  // The widest store shows most of the accumulator's bits.
  const DType store =
      *std::ranges::max_element(implementation.stores, {}, [](DType d) { return format_of(d).precision; });
  Case wanted;
  wanted.input = implementation.input;
  wanted.accumulate = implementation.accumulate;
  Calibration calibration{&stage, stage.calibration(wanted, store), {}, 0};
  if (stage.steps(calibration.c) != 1) return std::nullopt;
  auto program = stage.build(calibration.c);
  if (!program) return std::nullopt;
  for (std::size_t i = 0; i < program->calls.size(); ++i) {
    if (program->calls[i].op != implementation.op) continue;
    if (matches_precision(implementation, program->calls[i], *program).legal()) {
      calibration.call = i;
      calibration.program = *std::move(program);
      return calibration;
    }
  }
  return std::nullopt;
}

std::optional<Calibration> find_calibration(const StageTable& stages, const Implementation& implementation) {
  if (const Stage* own = stages.find(implementation.op))
    if (auto calibration = calibration_in(*own, implementation)) return calibration;
  for (const auto& stage : stages.all())
    if (auto calibration = calibration_in(*stage, implementation)) return calibration;
  return std::nullopt;
}

Result<RunResult> run_calibration(const Calibration& calibration, const Assignment& assignment,
                                  Device& device, std::map<TensorId, Tensor>& inputs) {
  const Program& program = calibration.program;
  for (std::size_t i = 0; i < program.tensors.size(); ++i) {
    const TensorSpec& spec = program.tensors[i];
    if (spec.is_view() || (spec.role != TensorSpec::Role::input && spec.role != TensorSpec::Role::state))
      continue;
    auto tensor = calibration.stage->fill(calibration.c, program, static_cast<TensorId>(i));
    if (!tensor) return tl::unexpected(tensor.error());
    inputs.emplace(static_cast<TensorId>(i), *std::move(tensor));
  }
  auto execution = Execution::load(device, program, assignment.paths(), inputs);
  if (!execution) return tl::unexpected(execution.error());
  return execution->run();
}

}  // namespace

Result<const ConfirmedModels*> Confirmations::of(const Implementation& implementation) {
  const std::string key =
      fmt::format("{}/{}/{}", implementation.op, implementation.path, name_of(implementation.input));
  if (const auto known = confirmed_.find(key); known != confirmed_.end()) return &known->second;
  const auto failed = [&](ErrorKind kind, const std::string& why) {
    return fail(kind, fmt::format("the calibration of {} for {} failed: {}", implementation.path,
                                  implementation.op, why));
  };
  ConfirmedModels confirmed;
  if (implementation.knowledge == OrderKnowledge::declared) {
    try {
      auto calibrated = calibrate(implementation);
      if (!calibrated) return failed(calibrated.error().kind, calibrated.error().message);
      confirmed = *std::move(calibrated);
    } catch (const std::bad_alloc&) {
      return failed(ErrorKind::internal, "out of host memory");
    } catch (const std::exception& error) {
      return failed(ErrorKind::internal, error.what());
    }
  }
  return &confirmed_.emplace(key, std::move(confirmed)).first->second;
}

Result<ConfirmedModels> Confirmations::calibrate(const Implementation& implementation) {
  ConfirmedModels confirmed;
  const auto give_up = [&](const std::string& why) {
    confirmed.note = "calibration: " + why;
    return confirmed;
  };
  if (implementation.replays.empty())
    return give_up("the path declares no arithmetic that could be replayed");
  const auto calibration = find_calibration(stages_, implementation);
  if (!calibration) return give_up(fmt::format("no rung runs {} by itself", implementation.op));
  std::map<TensorId, Tensor> inputs;
  const auto assignment = assign(device_, calibration->program, implementation.path);
  if (!assignment) return give_up(assignment.error().message);
  const auto run = run_calibration(*calibration, *assignment, device_, inputs);
  if (!run) return tl::unexpected(run.error());

  const OpCall& call = calibration->program.calls[calibration->call];
  std::string closest;
  std::int64_t most = -1;
  for (const ArithmeticModel& model : implementation.replays) {
    bool all_equal = true;
    for (std::size_t output = 0; output < call.outputs.size(); ++output) {
      CallResult result{
          ops_.find(call.op), &call.attributes, {}, output, &run->tensors.at(call.outputs[output])};
      for (const TensorId id : call.inputs) {
        const auto made = run->tensors.find(id);
        result.inputs.push_back(id == no_tensor              ? nullptr
                                : made != run->tensors.end() ? &made->second
                                                             : &inputs.at(id));
      }
      const auto replayed = replay(result, model, {});
      if (!replayed) return give_up(replayed.error().message);
      all_equal = all_equal && replayed->all_equal();
      if (output == 0 && replayed->equal > most) {
        most = replayed->equal;
        closest = fmt::format("closest is {} with {} of {} equal", replayed->model, replayed->equal,
                              replayed->compared);
      }
    }
    if (all_equal) confirmed.models.push_back(model);
  }
  if (confirmed.models.empty()) return give_up("no declared arithmetic gives this path's bits; " + closest);
  return confirmed;
}

}  // namespace parity
