#include "backends/cuda/session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "backends/cuda/cuda_error.hpp"
#include "harness/tensor/poison.hpp"

namespace parity::cuda {

namespace {

std::byte* at(const DeviceMemory& memory, std::size_t offset) {
  return static_cast<std::byte*>(memory.get()) + offset;
}

}  // namespace

Result<std::unique_ptr<CudaSession>> CudaSession::load(const DeviceTraits& traits, const Program& program,
                                                       const std::vector<const Path*>& paths,
                                                       double timeout_seconds) {
  if (paths.size() != program.calls.size()) {
    return fail(ErrorKind::internal,
                fmt::format("{} paths for {} calls", paths.size(), program.calls.size()));
  }
  std::unique_ptr<CudaSession> session(new CudaSession(traits, timeout_seconds));
  if (auto ok = session->enter(); !ok) return tl::unexpected(ok.error());
  auto stream = make_stream();
  if (!stream) return tl::unexpected(stream.error());
  session->stream_ = *std::move(stream);
  for (std::size_t i = 0; i <= program.calls.size(); ++i) {
    auto made = make_event();
    if (!made) return tl::unexpected(made.error());
    session->marks_.push_back(*std::move(made));
  }
  for (const TensorSpec& spec : program.tensors) {
    if (auto ok = session->allocate_buffer(spec); !ok) return tl::unexpected(ok.error());
  }
  for (Buffer& buffer : session->buffers_) {
    if (!buffer.spec.is_view()) continue;
    if (auto ok = session->place_view(buffer); !ok) return tl::unexpected(ok.error());
  }
  if (auto ok = session->plan_carries(program.carries); !ok) return tl::unexpected(ok.error());

  StepContext& context = session->context_;
  context.traits = &traits;
  context.stream = session->stream_.get();
  for (const Buffer& buffer : session->buffers_) context.tensors.push_back(buffer.first);
  for (std::size_t i = 0; i < program.calls.size(); ++i) {
    const OpCall& call = program.calls[i];
    if (paths[i] == nullptr || paths[i]->implementation.op != call.op) {
      return fail(ErrorKind::unsupported, fmt::format("the CUDA backend has no such path for '{}'", call.op));
    }
    auto step = paths[i]->make(context, call, program);
    if (!step) return tl::unexpected(step.error());
    session->steps_.push_back(*std::move(step));
  }
  // The guard zones and the fills above must be there before the stream, which does not wait for them,
  // starts.
  if (auto ok = check(cudaDeviceSynchronize(), "loading the program"); !ok) return tl::unexpected(ok.error());
  return session;
}

Result<void> CudaSession::allocate_buffer(const TensorSpec& spec) {
  Buffer buffer{spec, {}, {}, nullptr};
  if (buffer.spec.strides.empty()) buffer.spec.strides = contiguous_strides(spec.shape);
  const auto layout = guarded_layout(buffer.spec);
  if (!layout) return tl::unexpected(layout.error());
  buffer.layout = *layout;
  if (spec.is_view()) {
    buffers_.push_back(std::move(buffer));
    return {};
  }
  const std::string what = fmt::format("tensor '{}'", spec.name);
  auto memory = allocate(layout->total(), what);
  if (!memory) return tl::unexpected(memory.error());
  buffer.memory = *std::move(memory);
  buffer.first = at(buffer.memory, layout->offset());

  std::vector<std::byte> zone(std::max(layout->offset(), layout->total() - layout->behind()));
  fill_guard(zone, spec.dtype);
  if (auto ok = copy(buffer.memory.get(), zone.data(), layout->offset(), cudaMemcpyHostToDevice,
                     "writing the guard zone of " + what);
      !ok) {
    return ok;
  }
  if (auto ok = copy(at(buffer.memory, layout->behind()), zone.data(), layout->total() - layout->behind(),
                     cudaMemcpyHostToDevice, "writing the guard zone of " + what);
      !ok) {
    return ok;
  }
  // All bits set is a NaN in every floating type: a tensor that nobody has written yet does not look like
  // zeros.
  if (layout->payload_bytes > 0) {
    if (auto ok = check(cudaMemset(buffer.first, 0xff, layout->payload_bytes), "filling " + what); !ok) {
      return ok;
    }
  }
  buffers_.push_back(std::move(buffer));
  return {};
}

Result<void> CudaSession::place_view(Buffer& view) {
  const TensorSpec& spec = view.spec;
  const auto refuse = [&](std::string_view why) {
    return fail(ErrorKind::internal, fmt::format("view '{}': {}", spec.name, why));
  };
  const auto found = buffer(spec.view_of);
  if (!found) return refuse("the tensor it lies in does not exist");
  const Buffer& root = **found;
  if (root.spec.is_view()) return refuse("the tensor it lies in is a view itself");
  if (root.spec.dtype != spec.dtype) return refuse("it has another dtype than the tensor it lies in");
  const auto size = static_cast<std::int64_t>(size_of(spec.dtype));
  if (spec.view_offset < 0 || spec.view_offset * size % view_alignment != 0)
    return refuse(fmt::format("it begins at element {}; a view's bytes begin on a multiple of {}",
                              spec.view_offset, view_alignment));
  const auto begin = static_cast<std::size_t>(spec.view_offset * size);
  if (begin > root.layout.payload_bytes || view.layout.payload_bytes > root.layout.payload_bytes - begin)
    return refuse(fmt::format("it reaches beyond the end of '{}'", root.spec.name));
  view.first = root.first + begin;
  return {};
}

Result<void> CudaSession::plan_carries(const std::vector<Carry>& carries) {
  for (std::size_t i = 0; i < carries.size(); ++i) {
    const auto from = buffer(carries[i].from), to = buffer(carries[i].to);
    if (!from || !to) return fail(ErrorKind::internal, "a carry names a tensor that does not exist");
    const TensorSpec& source = (*from)->spec;
    const TensorSpec& target = (*to)->spec;
    const std::string what = fmt::format("carrying '{}' to '{}'", source.name, target.name);
    if (source.dtype != target.dtype || source.shape != target.shape)
      return fail(ErrorKind::internal, what + ": they differ in dtype or shape");
    for (std::size_t later = i + 1; later < carries.size(); ++later) {
      if (carries[later].from == carries[i].to)
        return fail(ErrorKind::internal, what + ": the target is carried on itself");
    }
    carries_.push_back({(*from)->first, (*to)->first,
                        plan_copies(source.shape, source.strides, target.strides, size_of(source.dtype)),
                        what});
  }
  return {};
}

CudaSession::~CudaSession() {
  if (hangs_) {
    // Freeing waits for the device, so it would hang as well: these are given up until the process ends.
    for (Buffer& buffer : buffers_) static_cast<void>(buffer.memory.release());
    for (auto& step : steps_) static_cast<void>(step.release());
    if (context_.cublas) context_.cublas->abandon();
    static_cast<void>(stream_.release());
    for (Event& mark : marks_) static_cast<void>(mark.release());
    return;
  }
  cudaSetDevice(traits_.ordinal);
  steps_.clear();
  context_.cublas.reset();
}

Result<void> CudaSession::enter() {
  if (!dead_.empty()) return fail(ErrorKind::device_failed, dead_);
  const auto doing = fmt::format("making CUDA device {} current", traits_.ordinal);
  if (auto ok = check(cudaSetDevice(traits_.ordinal), doing); !ok) return die(ok.error());
  return {};
}

tl::unexpected<Error> CudaSession::die(Error error) {
  const bool fatal = error.kind == ErrorKind::device_failed || error.kind == ErrorKind::timed_out;
  if (fatal && dead_.empty()) dead_ = "this session is dead: " + error.message;
  return tl::unexpected<Error>(std::move(error));
}

Result<void> CudaSession::copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                               const std::string& doing) {
  if (bytes == 0) return {};
  if (auto ok = check(cudaMemcpy(to, from, bytes, kind), doing); !ok) return die(ok.error());
  return {};
}

Result<void> CudaSession::copy_elements(const TensorSpec& spec, std::byte* to, const std::byte* from,
                                        cudaMemcpyKind kind, const std::string& doing) {
  for (const RowsCopy& rows : plan_copies(spec.shape, spec.strides, spec.strides, size_of(spec.dtype))) {
    const cudaError_t error = cudaMemcpy2D(to + rows.to, rows.to_pitch, from + rows.from, rows.from_pitch,
                                           rows.width, rows.height, kind);
    if (auto ok = check(error, doing); !ok) return die(ok.error());
  }
  return {};
}

Result<CudaSession::Buffer*> CudaSession::buffer(TensorId id) {
  if (id < 0 || static_cast<std::size_t>(id) >= buffers_.size()) {
    return fail(ErrorKind::internal, fmt::format("the program has no tensor {}", id));
  }
  return &buffers_[static_cast<std::size_t>(id)];
}

Result<void> CudaSession::write(TensorId id, const Tensor& tensor) {
  if (auto ok = enter(); !ok) return ok;
  const auto target = buffer(id);
  if (!target) return tl::unexpected(target.error());
  const TensorSpec& spec = (*target)->spec;
  if (tensor.dtype() != spec.dtype || tensor.shape() != spec.shape || tensor.strides() != spec.strides ||
      tensor.bytes().size() != (*target)->layout.payload_bytes) {
    return fail(ErrorKind::internal,
                fmt::format("tensor '{}' is {} {}; the program has {} {}, with other strides perhaps",
                            spec.name, name_of(tensor.dtype()), to_string(tensor.shape()),
                            name_of(spec.dtype), to_string(spec.shape)));
  }
  const std::string doing = fmt::format("writing '{}'", spec.name);
  if (spec.is_view())
    return copy_elements(spec, (*target)->first, tensor.bytes().data(), cudaMemcpyHostToDevice, doing);
  return copy((*target)->first, tensor.bytes().data(), tensor.bytes().size(), cudaMemcpyHostToDevice, doing);
}

Result<RunTiming> CudaSession::run() {
  if (auto ok = enter(); !ok) return tl::unexpected(ok.error());
  // cudaMemcpy from pageable memory may return while the last bytes are still on their way, on the default
  // stream; the session's own stream does not wait for that one.
  if (auto ok = check(cudaStreamSynchronize(cudaStreamLegacy), "uploading inputs"); !ok)
    return die(ok.error());
  const auto begin = std::chrono::steady_clock::now();
  const auto mark = [this](std::size_t i) {
    return check(cudaEventRecord(marks_[i].get(), stream_.get()), "marking the time");
  };
  if (auto ok = mark(0); !ok) return die(ok.error());
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    if (auto ok = steps_[i]->launch(stream_.get()); !ok) return die(ok.error());
    if (auto ok = mark(i + 1); !ok) return die(ok.error());
  }
  if (auto ok = wait(marks_.back().get(), "running"); !ok) return die(ok.error());

  RunTiming timing;
  timing.host_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const auto seconds_between = [this](std::size_t first, std::size_t second) -> Result<double> {
    float milliseconds = 0;
    const cudaError_t error = cudaEventElapsedTime(&milliseconds, marks_[first].get(), marks_[second].get());
    if (auto ok = check(error, "reading the clock"); !ok) return die(ok.error());
    return static_cast<double>(milliseconds) * 1e-3;
  };
  const auto whole = seconds_between(0, marks_.size() - 1);
  if (!whole) return tl::unexpected(whole.error());
  timing.device_seconds = *whole;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const auto seconds = seconds_between(i, i + 1);
    if (!seconds) return tl::unexpected(seconds.error());
    timing.call_seconds.push_back(*seconds);
  }
  return timing;
}

Result<void> CudaSession::advance() {
  if (auto ok = enter(); !ok) return ok;
  for (const CarryCopies& carry : carries_) {
    for (const RowsCopy& rows : carry.rows) {
      const cudaError_t error =
          cudaMemcpy2DAsync(carry.to + rows.to, rows.to_pitch, carry.from + rows.from, rows.from_pitch,
                            rows.width, rows.height, cudaMemcpyDeviceToDevice, stream_.get());
      if (auto ok = check(error, carry.what); !ok) return die(ok.error());
    }
  }
  // Reads and writes go over the default stream, which the session's own does not wait for.
  if (auto ok = check(cudaEventRecord(marks_.back().get(), stream_.get()), "carrying tensors"); !ok)
    return die(ok.error());
  if (auto ok = wait(marks_.back().get(), "carrying tensors"); !ok) return die(ok.error());
  return {};
}

Result<void> CudaSession::wait(cudaEvent_t event, std::string_view doing) {
  using std::chrono::steady_clock;
  const auto begin = steady_clock::now();
  for (;;) {
    const cudaError_t error = cudaEventQuery(event);
    if (error == cudaSuccess) return {};
    if (error != cudaErrorNotReady) return check(error, doing);
    cudaGetLastError();  // "not ready" is no error, but would be met by the next launch's check
    const auto waited = steady_clock::now() - begin;
    if (waited > timeout_) {
      hangs_ = true;
      return fail(
          ErrorKind::timed_out,
          fmt::format("{}: not finished after {} s; its work stays on the device until this process ends",
                      doing, timeout_.count()));
    }
    // Small kernels end within the first millisecond, and a sleep would cost more than they do.
    if (waited > std::chrono::milliseconds(1)) std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

Result<Tensor> CudaSession::read(TensorId id) {
  if (auto ok = enter(); !ok) return tl::unexpected(ok.error());
  const auto source = buffer(id);
  if (!source) return tl::unexpected(source.error());
  const TensorSpec& spec = (*source)->spec;
  auto tensor = Tensor::create(spec.dtype, spec.shape, spec.strides);
  if (!tensor) return tensor;
  if (tensor->bytes().size() != (*source)->layout.payload_bytes) {
    return fail(ErrorKind::internal, fmt::format("'{}': {} bytes on the host, {} on the device", spec.name,
                                                 tensor->bytes().size(), (*source)->layout.payload_bytes));
  }
  const std::string doing = fmt::format("reading '{}'", spec.name);
  Result<void> done;
  if (spec.is_view()) {
    poison_pads(*tensor, Poison::guard);  // between a view's elements lie those of other views
    done = copy_elements(spec, tensor->bytes().data(), (*source)->first, cudaMemcpyDeviceToHost, doing);
  } else {
    done =
        copy(tensor->bytes().data(), (*source)->first, tensor->bytes().size(), cudaMemcpyDeviceToHost, doing);
  }
  if (!done) return tl::unexpected(done.error());
  return tensor;
}

Result<std::vector<GuardDamage>> CudaSession::check_guards() {
  if (auto ok = enter(); !ok) return tl::unexpected(ok.error());
  std::vector<GuardDamage> damage;
  for (const Buffer& buffer : buffers_) {
    if (buffer.spec.is_view()) continue;
    const GuardedLayout& layout = buffer.layout;
    std::vector<std::byte> front(layout.offset()), rear(layout.total() - layout.behind());
    const std::string doing = fmt::format("reading the guard zone of '{}'", buffer.spec.name);
    if (auto ok = copy(front.data(), buffer.memory.get(), front.size(), cudaMemcpyDeviceToHost, doing); !ok) {
      return tl::unexpected(ok.error());
    }
    if (auto ok =
            copy(rear.data(), at(buffer.memory, layout.behind()), rear.size(), cudaMemcpyDeviceToHost, doing);
        !ok) {
      return tl::unexpected(ok.error());
    }
    append_guard_damage(buffer.spec, front, rear, damage);
  }
  return damage;
}

}  // namespace parity::cuda
