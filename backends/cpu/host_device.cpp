#include <fmt/format.h>

#include <chrono>
#include <cstring>
#include <new>

#include "backends/cpu/cpu_backend.hpp"
#include "harness/ladder/guarded_buffer.hpp"

namespace parity {

Result<HostMemory> HostMemory::create(const Program& program) {
  HostMemory memory;
  memory.specs_ = program.tensors;
  for (TensorSpec& spec : memory.specs_) {
    if (spec.strides.empty()) spec.strides = contiguous_strides(spec.shape);
    if (spec.is_view()) {
      memory.buffers_.emplace_back();
      continue;
    }
    const auto layout = guarded_layout(spec);
    if (!layout) return tl::unexpected(layout.error());
    try {
      memory.buffers_.emplace_back(layout->total());
    } catch (const std::bad_alloc&) {
      return fail(ErrorKind::unsupported,
                  fmt::format("tensor '{}': no memory for {} bytes", spec.name, layout->payload_bytes));
    }
    const std::span<std::byte> buffer(memory.buffers_.back());
    fill_guard(buffer.first(layout->offset()), spec.dtype);
    fill_guard(buffer.subspan(layout->behind()), spec.dtype);
  }
  return memory;
}

std::span<const std::byte> HostMemory::payload(TensorId id) const {
  const TensorSpec& spec = specs_[static_cast<std::size_t>(id)];
  const std::size_t bytes = guarded_layout(spec)->payload_bytes;
  const auto root = static_cast<std::size_t>(spec.is_view() ? spec.view_of : id);
  const std::size_t offset = static_cast<std::size_t>(spec.view_offset) * size_of(spec.dtype);
  return std::span<const std::byte>(buffers_[root]).subspan(guard_bytes + offset, bytes);
}

std::span<std::byte> HostMemory::payload(TensorId id) {
  const std::span<const std::byte> bytes = std::as_const(*this).payload(id);
  return {const_cast<std::byte*>(bytes.data()), bytes.size()};
}

Result<Tensor> HostMemory::tensor(TensorId id) const {
  const TensorSpec& spec = specs_[static_cast<std::size_t>(id)];
  auto tensor = Tensor::create(spec.dtype, spec.shape, spec.strides);
  if (!tensor) return tensor;
  std::ranges::copy(payload(id), tensor->bytes().begin());
  return tensor;
}

Result<void> HostMemory::assign(TensorId id, const Tensor& tensor) {
  const TensorSpec& spec = specs_[static_cast<std::size_t>(id)];
  if (tensor.dtype() != spec.dtype || tensor.shape() != spec.shape ||
      tensor.bytes().size() != payload(id).size())
    return fail(ErrorKind::internal,
                fmt::format("tensor '{}' is {} {}; the program has {} {}", spec.name, name_of(tensor.dtype()),
                            to_string(tensor.shape()), name_of(spec.dtype), to_string(spec.shape)));
  std::ranges::copy(tensor.bytes(), payload(id).begin());
  return {};
}

namespace {

/// Where each row of the last dimension lies, as (byte in the strided tensor, byte in the compact one).
template <class Use>
void for_each_row(const TensorSpec& spec, const Use& use) {
  const std::size_t size = size_of(spec.dtype), rank = spec.shape.size();
  std::int64_t rows = 1;
  for (std::size_t d = 0; d + 1 < rank; ++d) rows *= spec.shape[d];
  const std::int64_t cols = rank == 0 ? 1 : spec.shape.back();
  for (std::int64_t row = 0; row < rows; ++row) {
    std::int64_t at = 0, rest = row;
    for (std::size_t d = rank > 0 ? rank - 1 : 0; d-- > 0; rest /= spec.shape[d])
      at += rest % spec.shape[d] * spec.strides[d];
    use(static_cast<std::size_t>(at) * size, static_cast<std::size_t>(row * cols) * size,
        static_cast<std::size_t>(cols) * size);
  }
}

}  // namespace

Result<Tensor> HostMemory::elements(TensorId id) const {
  const TensorSpec& spec = specs_[static_cast<std::size_t>(id)];
  const bool rows_lie_dense = !spec.shape.empty() && spec.strides.size() == spec.shape.size() &&
                              (spec.strides.back() == 1 || spec.shape.back() == 1);
  if (!spec.is_view() || !rows_lie_dense) return tensor(id);
  auto compact = Tensor::create(spec.dtype, spec.shape);
  if (!compact) return compact;
  const std::span<const std::byte> from = payload(id);
  for_each_row(spec, [&](std::size_t strided, std::size_t dense, std::size_t bytes) {
    std::ranges::copy(from.subspan(strided, bytes), compact->bytes().subspan(dense).begin());
  });
  return compact;
}

Result<void> HostMemory::assign_elements(TensorId id, const Tensor& compact) {
  const TensorSpec& spec = specs_[static_cast<std::size_t>(id)];
  if (compact.strides() == spec.strides) return assign(id, compact);
  if (compact.dtype() != spec.dtype || compact.shape() != spec.shape || !compact.contiguous())
    return fail(ErrorKind::internal, fmt::format("tensor '{}': its elements are {} {}", spec.name,
                                                 name_of(spec.dtype), to_string(spec.shape)));
  const std::span<std::byte> to = payload(id);
  for_each_row(spec, [&](std::size_t strided, std::size_t dense, std::size_t bytes) {
    std::ranges::copy(compact.bytes().subspan(dense, bytes), to.subspan(strided).begin());
  });
  return {};
}

std::vector<GuardDamage> HostMemory::guard_damage() const {
  std::vector<GuardDamage> damage;
  for (std::size_t i = 0; i < specs_.size(); ++i) {
    if (specs_[i].is_view()) continue;
    const std::span<const std::byte> buffer(buffers_[i]);
    const auto layout = guarded_layout(specs_[i]);
    append_guard_damage(specs_[i], buffer.first(layout->offset()), buffer.subspan(layout->behind()), damage);
  }
  return damage;
}

namespace {

class HostSession final : public Session {
 public:
  HostSession(Program program, HostMemory memory, std::vector<HostKernel> kernels)
      : program_(std::move(program)), memory_(std::move(memory)), kernels_(std::move(kernels)) {}

  Result<void> write(TensorId id, const Tensor& tensor) override { return memory_.assign(id, tensor); }
  Result<Tensor> read(TensorId id) override { return memory_.tensor(id); }
  Result<std::vector<GuardDamage>> check_guards() override { return memory_.guard_damage(); }

  Result<RunTiming> run() override {
    using Clock = std::chrono::steady_clock;
    const auto seconds_since = [](Clock::time_point start) {
      return std::chrono::duration<double>(Clock::now() - start).count();
    };
    const auto start = Clock::now();
    RunTiming timing;
    for (std::size_t i = 0; i < kernels_.size(); ++i) {
      const auto call_start = Clock::now();
      if (auto ok = kernels_[i](program_.calls[i], program_, memory_); !ok) return tl::unexpected(ok.error());
      timing.call_seconds.push_back(seconds_since(call_start));
    }
    timing.host_seconds = seconds_since(start);
    return timing;
  }

  Result<void> advance() override {
    for (const Carry& carry : program_.carries) {
      const auto from = memory_.tensor(carry.from);
      if (!from) return tl::unexpected(from.error());
      if (auto ok = memory_.assign(carry.to, *from); !ok) return ok;
    }
    return {};
  }

 private:
  Program program_;
  HostMemory memory_;
  std::vector<HostKernel> kernels_;
};

class HostDevice final : public Device {
 public:
  HostDevice(DeviceInfo info, std::vector<HostPath> paths) : info_(std::move(info)) {
    for (HostPath& path : paths) {
      implementations_.push_back(std::move(path.implementation));
      kernels_.push_back(std::move(path.kernel));
    }
  }

  const DeviceInfo& info() const override { return info_; }
  const std::vector<Implementation>& implementations() const override { return implementations_; }
  Support supports(const Implementation&) const override { return {}; }
  Support supports(const Implementation& implementation, const OpCall& call,
                   const Program& program) const override {
    return matches_precision(implementation, call, program);
  }

  Result<std::unique_ptr<Session>> load(const Program& program,
                                        const std::vector<std::string>& paths) override {
    std::vector<HostKernel> kernels;
    for (std::size_t i = 0; i < program.calls.size(); ++i) {
      const OpCall& call = program.calls[i];
      const HostKernel* kernel = find(i < paths.size() ? paths[i] : "", call.op);
      if (kernel == nullptr)
        return fail(ErrorKind::unsupported, fmt::format("{} has no path '{}' for op '{}'", info_.id,
                                                        i < paths.size() ? paths[i] : "", call.op));
      kernels.push_back(*kernel);
    }
    auto memory = HostMemory::create(program);
    if (!memory) return tl::unexpected(memory.error());
    return std::make_unique<HostSession>(program, *std::move(memory), std::move(kernels));
  }

 private:
  const HostKernel* find(const std::string& path, const std::string& op) const {
    for (std::size_t i = 0; i < implementations_.size(); ++i)
      if (implementations_[i].path == path && implementations_[i].op == op) return &kernels_[i];
    return nullptr;
  }

  DeviceInfo info_;
  std::vector<Implementation> implementations_;
  std::vector<HostKernel> kernels_;
};

}  // namespace

std::unique_ptr<Device> make_host_device(DeviceInfo info, std::vector<HostPath> paths) {
  return std::make_unique<HostDevice>(std::move(info), std::move(paths));
}

HostKernel emulated_kernel(const OpTable& ops, const ArithmeticModel& model) {
  return [&ops, model](const OpCall& call, const Program& program, HostMemory& memory) -> Result<void> {
    const Op* op = ops.find(call.op);
    if (op == nullptr) return fail(ErrorKind::internal, fmt::format("no op is called '{}'", call.op));
    ArithmeticModel stored = model;
    stored.precision.store = program.spec(call.outputs.at(0)).dtype;
    const auto arithmetic = make_emulated_arithmetic(stored);
    if (!arithmetic) return tl::unexpected(arithmetic.error());

    std::vector<Tensor> held(call.inputs.size());
    PortTensors ports(call.inputs.size(), nullptr);
    for (std::size_t i = 0; i < call.inputs.size(); ++i) {
      if (call.inputs[i] == no_tensor) continue;
      auto tensor = memory.elements(call.inputs[i]);
      if (!tensor) return tl::unexpected(tensor.error());
      held[i] = *std::move(tensor);
      ports[i] = &held[i];
    }
    auto values = op->evaluate(**arithmetic, call.attributes, ports);
    if (!values) return tl::unexpected(values.error());
    for (std::size_t i = 0; i < call.outputs.size(); ++i) {
      auto tensor = memory.elements(call.outputs[i]);
      if (!tensor) return tl::unexpected(tensor.error());
      const Value stored_value = (*arithmetic)->store((*values)[i], tensor->dtype());
      narrow(stored_value.v, *tensor);
      if (auto ok = memory.assign_elements(call.outputs[i], *tensor); !ok) return ok;
    }
    return {};
  };
}

}  // namespace parity
