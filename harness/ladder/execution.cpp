#include "harness/ladder/execution.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "harness/tensor/poison.hpp"

namespace parity {

Result<Tensor> view_of(const Tensor& root, const TensorSpec& view) {
  auto tensor = Tensor::create(view.dtype, view.shape, view.strides);
  if (!tensor) return tensor;
  const auto from = root.bytes().subspan(static_cast<std::size_t>(view.view_offset) * size_of(view.dtype));
  if (from.size() < tensor->bytes().size())
    return fail(ErrorKind::internal, fmt::format("view '{}' reaches outside its root", view.name));
  std::ranges::copy(from.first(tensor->bytes().size()), tensor->bytes().begin());
  return tensor;
}

Result<Tensor> compact_view_of(const Tensor& root, const TensorSpec& view) {
  auto tensor = Tensor::create(view.dtype, view.shape);
  if (!tensor) return tensor;
  const Strides strides = view.strides.empty() ? contiguous_strides(view.shape) : view.strides;
  const std::size_t size = size_of(view.dtype), bytes = root.bytes().size();
  for (std::int64_t i = 0; i < tensor->elements(); ++i) {
    std::int64_t at = view.view_offset, rest = i;
    for (std::size_t d = view.shape.size(); d-- > 0; rest /= view.shape[d])
      at += rest % view.shape[d] * strides[d];
    const auto from = static_cast<std::size_t>(at) * size;
    if (from + size > bytes)
      return fail(ErrorKind::internal, fmt::format("view '{}' reaches outside its root", view.name));
    std::ranges::copy(
        root.bytes().subspan(from, size),
        tensor->bytes().begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(i) * size));
  }
  return tensor;
}

Result<Execution> Execution::load(Device& device, const Program& program,
                                  const std::vector<std::string>& paths,
                                  const std::map<TensorId, Tensor>& inputs) {
  Execution execution;
  execution.program_ = program;
  for (std::size_t i = 0; i < program.tensors.size(); ++i) {
    const TensorSpec& spec = program.tensors[i];
    if (spec.role == TensorSpec::Role::input || spec.role == TensorSpec::Role::state || spec.is_view())
      continue;
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

Result<void> Execution::poison() {
  for (const auto& [id, tensor] : poisoned_)
    if (auto ok = session_->write(id, tensor); !ok) return ok;
  return {};
}

Result<RunTiming> Execution::run_only() {
  return session_->run();
}

Result<Tensor> Execution::read(TensorId id) {
  return session_->read(id);
}

Result<RunResult> Execution::run(ReadBack what) {
  if (auto ok = poison(); !ok) return tl::unexpected(ok.error());
  auto timing = run_only();
  if (!timing) return tl::unexpected(timing.error());
  RunResult result{{}, *timing};
  if (auto ok = read(result, what); !ok) return tl::unexpected(ok.error());
  return result;
}

Result<void> Execution::complete(RunResult& run) {
  return read(run, ReadBack::everything);
}

Result<void> Execution::read(RunResult& run, ReadBack what) {
  for (const auto& [id, unused] : poisoned_) {
    if (run.tensors.contains(id)) continue;
    if (what == ReadBack::outputs && program_.spec(id).role != TensorSpec::Role::output) continue;
    auto tensor = session_->read(id);
    if (!tensor) return tl::unexpected(tensor.error());
    run.tensors.emplace(id, *std::move(tensor));
  }
  for (std::size_t i = 0; i < program_.tensors.size(); ++i) {
    const TensorSpec& spec = program_.tensors[i];
    if (!spec.is_view() || run.tensors.contains(static_cast<TensorId>(i))) continue;
    const auto made = run.tensors.find(spec.view_of);
    const auto given = inputs_.find(spec.view_of);
    if (made == run.tensors.end() && given == inputs_.end()) continue;
    auto view = view_of(made != run.tensors.end() ? made->second : given->second, spec);
    if (!view) return tl::unexpected(view.error());
    run.tensors.emplace(static_cast<TensorId>(i), *std::move(view));
  }
  return {};
}

Result<void> Execution::carry() {
  if (auto ok = session_->advance(); !ok) return ok;
  advanced_ = true;
  return {};
}

Result<std::vector<std::string>> Execution::advance(const std::map<TensorId, Tensor>& inputs) {
  std::vector<std::uint64_t> left;
  for (const Carry& carry : program_.carries) {
    const auto from = session_->read(carry.from);
    if (!from) return tl::unexpected(from.error());
    left.push_back(content_hash(*from));
  }
  if (auto ok = carry(); !ok) return tl::unexpected(ok.error());
  std::vector<std::string> lost;
  for (std::size_t i = 0; i < program_.carries.size(); ++i) {
    const auto to = session_->read(program_.carries[i].to);
    if (!to) return tl::unexpected(to.error());
    if (content_hash(*to) != left[i]) lost.push_back(program_.spec(program_.carries[i].to).name);
  }
  if (auto ok = write(inputs); !ok) return tl::unexpected(ok.error());
  return lost;
}

Result<const std::map<TensorId, Tensor>*> Execution::inputs() {
  if (advanced_) {
    for (auto& [id, tensor] : inputs_) {
      if (program_.spec(id).role != TensorSpec::Role::state) continue;
      auto now = session_->read(id);
      if (!now) return tl::unexpected(now.error());
      tensor = *std::move(now);
    }
  }
  return &inputs_;
}

Result<std::vector<GuardDamage>> Execution::damage(const RunResult& run) {
  auto damage = session_->check_guards();
  if (!damage) return damage;
  for (const auto& [id, tensor] : run.tensors) {
    if (program_.spec(id).is_view()) continue;
    const std::vector<std::int64_t> pads = damaged_pads(tensor);
    const auto size = static_cast<std::int64_t>(size_of(tensor.dtype()));
    for (const std::int64_t at : pads) damage->push_back({program_.spec(id).name, at * size, size});
  }
  return damage;
}

Result<std::vector<std::string>> Execution::modified_inputs() {
  std::vector<std::string> names;
  for (const auto& [id, tensor] : inputs_) {
    if (advanced_ && program_.spec(id).role == TensorSpec::Role::state) continue;
    auto now = session_->read(id);
    if (!now) return tl::unexpected(now.error());
    if (!std::ranges::equal(now->bytes(), tensor.bytes())) names.push_back(program_.spec(id).name);
  }
  return names;
}

}  // namespace parity
