#include "backends/cuda/call_reader.hpp"

#include <fmt/format.h>

#include "backends/cuda/problem.hpp"

namespace parity::cuda {

void CallReader::remember(ErrorKind kind, std::string message) {
  if (!error_) error_ = Error{kind, fmt::format("{}: {}", call_.op, message)};
}

std::int64_t CallReader::positive(std::string_view name) {
  const std::int64_t value = call_.attributes.integer(name, 0);
  if (value >= 1) return value;
  remember(ErrorKind::internal, fmt::format("attribute {} is {}; it must be 1 or more", name, value));
  return 1;  // readers divide by it
}

void CallReader::require(bool holds, const std::string& reason) {
  if (!holds) remember(ErrorKind::unsupported, reason);
}

bool CallReader::has_input(std::size_t port) const {
  return port < call_.inputs.size() && call_.inputs[port] != no_tensor;
}

const TensorSpec* CallReader::spec(const std::vector<TensorId>& ids, std::size_t port) {
  if (port < ids.size() && ids[port] >= 0 && static_cast<std::size_t>(ids[port]) < program_.tensors.size())
    return &program_.spec(ids[port]);
  remember(ErrorKind::internal, fmt::format("port {} has no tensor", port));
  return nullptr;
}

Extent CallReader::extent_of(const TensorSpec* spec) {
  if (spec == nullptr) return {};
  const Shape& s = spec->shape;
  switch (s.size()) {
    case 1:
      return {1, 1, s[0]};
    case 2:
      return {1, s[0], s[1]};
    case 3:
      return {s[0], s[1], s[2]};
    default:
      remember(ErrorKind::unsupported, fmt::format("'{}' has shape {}; the CUDA kernels take ranks 1 to 3",
                                                   spec->name, to_string(s)));
      return {};
  }
}

Extent CallReader::input_extent(std::size_t port) {
  return extent_of(spec(call_.inputs, port));
}
Extent CallReader::output_extent(std::size_t port) {
  return extent_of(spec(call_.outputs, port));
}

MatrixPointer CallReader::layout(const std::vector<TensorId>& ids, std::size_t port, const Extent& expected) {
  const TensorSpec* const s = spec(ids, port);
  if (s == nullptr) return {};
  const Extent extent = extent_of(s);
  if (!(extent == expected)) {
    remember(ErrorKind::internal,
             fmt::format("'{}' has shape {}; {} x {} x {} was expected", s->name, to_string(s->shape),
                         expected.batch, expected.rows, expected.cols));
  }
  const Strides strides = s->strides.empty() ? contiguous_strides(s->shape) : s->strides;
  const auto stride = [&](std::size_t from_last) {
    return strides.size() > from_last ? strides[strides.size() - 1 - from_last] : 0;
  };
  MatrixPointer p;
  p.data = address(ids[port]);
  p.col = stride(0);
  p.row = stride(1);
  p.batch = stride(2);
  return p;
}

MatrixPointer CallReader::matrix(const std::vector<TensorId>& ids, std::size_t port, const Extent& expected) {
  MatrixPointer p = layout(ids, port, expected);
  const TensorSpec* const s = spec(ids, port);
  if (s == nullptr) return {};
  const auto element = element_of(s->dtype);
  if (!element) {
    remember(ErrorKind::unsupported,
             fmt::format("'{}' is {}; the CUDA kernels take f32, f16 and bf16", s->name, name_of(s->dtype)));
  }
  p.element = element.value_or(Element::f32);
  return p;
}

Input CallReader::input(std::size_t port, const Extent& expected) {
  const MatrixPointer p = matrix(call_.inputs, port, expected);
  require(p.element == Element::f32, fmt::format("input {} is not f32", port));
  return {static_cast<const float*>(p.data), p.batch, p.row, p.col};
}

Output CallReader::output(std::size_t port, const Extent& expected) {
  const MatrixPointer p = matrix(call_.outputs, port, expected);
  require(p.element == Element::f32, fmt::format("output {} is not f32", port));
  return {static_cast<float*>(const_cast<void*>(p.data)), p.batch, p.row, p.col};
}

MatrixPointer CallReader::any_input(std::size_t port, const Extent& expected) {
  return matrix(call_.inputs, port, expected);
}
MatrixPointer CallReader::any_output(std::size_t port, const Extent& expected) {
  return matrix(call_.outputs, port, expected);
}
DType CallReader::input_type(std::size_t port) {
  const TensorSpec* const s = spec(call_.inputs, port);
  return s != nullptr ? s->dtype : DType::f32;
}
MatrixPointer CallReader::input_words(std::size_t port, const Extent& expected) {
  require(input_type(port) == DType::i32, fmt::format("input {} is not i32", port));
  return layout(call_.inputs, port, expected);
}

namespace {

/// The stride of the only dimension that is not 1; nothing when there are several.
std::optional<std::int64_t> vector_stride(const TensorSpec& spec) {
  std::int64_t stride = 1;
  int long_dimensions = 0;
  const Strides strides = spec.strides.empty() ? contiguous_strides(spec.shape) : spec.strides;
  for (std::size_t d = 0; d < spec.shape.size(); ++d) {
    if (spec.shape[d] == 1) continue;
    stride = strides[d];
    ++long_dimensions;
  }
  if (long_dimensions > 1) return std::nullopt;
  return stride;
}

}  // namespace

CallReader::RawVector CallReader::vector(const std::vector<TensorId>& ids, std::size_t port,
                                         std::int64_t count, DType dtype) {
  const TensorSpec* const s = spec(ids, port);
  if (s == nullptr) return {};
  const auto elements = element_count(s->shape);
  if (!elements || *elements != count) {
    remember(ErrorKind::internal,
             fmt::format("'{}' has shape {}; {} values were expected", s->name, to_string(s->shape), count));
  }
  if (s->dtype != dtype) {
    remember(ErrorKind::unsupported,
             fmt::format("'{}' is {}; the kernel takes {}", s->name, name_of(s->dtype), name_of(dtype)));
  }
  const auto stride = vector_stride(*s);
  if (!stride && count != 0) {
    remember(ErrorKind::internal,
             fmt::format("'{}' has shape {}; a vector was expected", s->name, to_string(s->shape)));
  }
  return {address(ids[port]), stride.value_or(1)};
}

InputVector CallReader::input_vector(std::size_t port, std::int64_t count) {
  const RawVector v = vector(call_.inputs, port, count, DType::f32);
  return {static_cast<const float*>(v.data), v.stride};
}
OutputVector CallReader::output_vector(std::size_t port, std::int64_t count) {
  const RawVector v = vector(call_.outputs, port, count, DType::f32);
  return {static_cast<float*>(v.data), v.stride};
}
Indices CallReader::indices(std::size_t port, std::int64_t count) {
  const RawVector v = vector(call_.inputs, port, count, DType::i32);
  return {static_cast<const std::int32_t*>(v.data), v.stride};
}

Vector<std::int32_t> CallReader::output_words(std::size_t port, std::int64_t count) {
  const RawVector v = vector(call_.outputs, port, count, DType::i32);
  return {static_cast<std::int32_t*>(v.data), v.stride};
}

float* CallReader::scratch(std::int64_t elements, std::string_view what) {
  if (context_ == nullptr || error_) return nullptr;
  auto memory = allocate(static_cast<std::size_t>(elements) * sizeof(float), what);
  if (!memory) {
    if (!error_) error_ = memory.error();
    return nullptr;
  }
  scratch_.push_back(*std::move(memory));
  return static_cast<float*>(scratch_.back().get());
}

}  // namespace parity::cuda
