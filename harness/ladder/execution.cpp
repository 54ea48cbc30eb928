#include "harness/ladder/execution.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "harness/tensor/poison.hpp"

namespace parity {

Result<Execution> Execution::load(Device& device, const Program& program,
                                  const std::vector<std::string>& paths,
                                  const std::map<TensorId, Tensor>& inputs) {
  Execution execution;
  execution.program_ = program;
  for (std::size_t i = 0; i < program.tensors.size(); ++i) {
    const TensorSpec& spec = program.tensors[i];
    if (spec.role == TensorSpec::Role::input || spec.role == TensorSpec::Role::state) continue;
    auto tensor = Tensor::create(spec.dtype, spec.shape, spec.strides);
    if (!tensor) return tl::unexpected(tensor.error());
    poison_all(*tensor, Poison::unwritten);
    poison_pads(*tensor, Poison::guard);
    execution.poisoned_.emplace(static_cast<TensorId>(i), *std::move(tensor));
  }
  auto session = device.load(program, paths);
  if (!session) return tl::unexpected(session.error());
  execution.session_ = *std::move(session);
  if (auto ok = execution.write(inputs); !ok) return tl::unexpected(ok.error());
  return execution;
}

Result<void> Execution::write(const std::map<TensorId, Tensor>& inputs) {
  for (const auto& [id, tensor] : inputs) {
    if (auto ok = session_->write(id, tensor); !ok) return ok;
    inputs_.insert_or_assign(id, tensor);
  }
  return {};
}

Result<RunResult> Execution::run() {
  for (const auto& [id, tensor] : poisoned_)
    if (auto ok = session_->write(id, tensor); !ok) return tl::unexpected(ok.error());
  auto timing = session_->run();
  if (!timing) return tl::unexpected(timing.error());
  RunResult result{{}, *timing};
  for (const auto& [id, unused] : poisoned_) {
    auto tensor = session_->read(id);
    if (!tensor) return tl::unexpected(tensor.error());
    result.tensors.emplace(id, *std::move(tensor));
  }
  return result;
}

Result<std::vector<GuardDamage>> Execution::damage(const RunResult& run) {
  auto damage = session_->check_guards();
  if (!damage) return damage;
  for (const auto& [id, tensor] : run.tensors) {
    const std::vector<std::int64_t> pads = damaged_pads(tensor);
    const auto size = static_cast<std::int64_t>(size_of(tensor.dtype()));
    for (const std::int64_t at : pads) damage->push_back({program_.spec(id).name, at * size, size});
  }
  return damage;
}

Result<std::vector<std::string>> Execution::modified_inputs() {
  std::vector<std::string> names;
  for (const auto& [id, tensor] : inputs_) {
    if (program_.spec(id).role != TensorSpec::Role::input) continue;
    auto now = session_->read(id);
    if (!now) return tl::unexpected(now.error());
    if (!std::ranges::equal(now->bytes(), tensor.bytes())) names.push_back(program_.spec(id).name);
  }
  return names;
}

}  // namespace parity
