#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/cuda/kernels.hpp"
#include "backends/cuda/step.hpp"
#include "backends/cuda/tensor_view.hpp"

namespace parity::cuda {

/// A call's kernels with their arguments, and the memory that they use beside the program's tensors.
struct PreparedCall {
  std::function<cudaError_t(cudaStream_t)> launch;
  std::vector<DeviceMemory> scratch;
};

/// Reads one call for a kernel: ports become views, attributes numbers of fp32. Shapes have been inferred
/// already; a port that does not have the shape that is expected of it is an error all the same, for a kernel
/// would read past its end. The first thing that does not fit is remembered, what is read after it has no
/// meaning, and prepare() returns it: so a reader reads everything first and asks once.
class CallReader {
 public:
  /// Without `context` addresses are null and no scratch is allocated: for asking whether a call fits.
  CallReader(const OpCall& call, const Program& program, const StepContext* context = nullptr)
      : call_(call), program_(program), context_(context) {}

  const Attributes& attributes() const { return call_.attributes; }
  float real(std::string_view name, double fallback = 0) const {
    return static_cast<float>(call_.attributes.real(name, fallback));
  }
  /// An integer attribute of at least 1.
  std::int64_t positive(std::string_view name);
  /// Unsupported, unless it holds.
  void require(bool holds, const std::string& reason);

  bool has_input(std::size_t port) const;
  /// A vector [n] reads as {1, 1, n}, a matrix as {1, rows, cols}.
  Extent input_extent(std::size_t port);
  Extent output_extent(std::size_t port);

  Input input(std::size_t port, const Extent& expected);
  Output output(std::size_t port, const Extent& expected);
  /// fp32, fp16 or bf16.
  MatrixPointer any_input(std::size_t port, const Extent& expected);
  MatrixPointer any_output(std::size_t port, const Extent& expected);
  DType input_type(std::size_t port);
  /// An i32 input; the pointer's element says nothing.
  MatrixPointer input_words(std::size_t port, const Extent& expected);
  /// `count` values in a tensor of which at most one dimension is not 1; strides are honoured.
  InputVector input_vector(std::size_t port, std::int64_t count);
  OutputVector output_vector(std::size_t port, std::int64_t count);
  Indices indices(std::size_t port, std::int64_t count);
  /// An i32 output.
  Vector<std::int32_t> output_words(std::size_t port, std::int64_t count);

  float* scratch(std::int64_t elements, std::string_view what);

  /// The call of the kernel(s) that launch(const Kernel&, stream) starts, or the first error.
  template <class Kernel>
  Result<PreparedCall> prepare(const Kernel& kernel) {
    if (error_) return tl::unexpected(*error_);
    return PreparedCall{[kernel](cudaStream_t stream) { return launch(kernel, stream); },
                        std::move(scratch_)};
  }

 private:
  const TensorSpec* spec(const std::vector<TensorId>& ids, std::size_t port);
  Extent extent_of(const TensorSpec* spec);
  MatrixPointer matrix(const std::vector<TensorId>& ids, std::size_t port, const Extent& expected);
  /// The same of any type: where the elements lie.
  MatrixPointer layout(const std::vector<TensorId>& ids, std::size_t port, const Extent& expected);
  struct RawVector {
    void* data = nullptr;
    std::int64_t stride = 1;
  };
  RawVector vector(const std::vector<TensorId>& ids, std::size_t port, std::int64_t count, DType dtype);
  void* address(TensorId id) const { return context_ != nullptr ? context_->address(id) : nullptr; }
  void remember(ErrorKind kind, std::string message);

  const OpCall& call_;
  const Program& program_;
  const StepContext* context_;
  std::optional<Error> error_;
  std::vector<DeviceMemory> scratch_;
};

}  // namespace parity::cuda
