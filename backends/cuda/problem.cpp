#include "backends/cuda/problem.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace parity::cuda {

std::optional<Element> element_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return Element::f32;
    case DType::f16:
      return Element::f16;
    case DType::bf16:
      return Element::bf16;
    case DType::f64:
    case DType::i32:
    case DType::i8:
      break;
  }
  return std::nullopt;
}

std::optional<Activation> activation_of(std::string_view name) {
  struct Named {
    std::string_view name;
    Activation activation;
  };
  static constexpr Named table[] = {{"identity", Activation::identity},
                                    {"relu", Activation::relu},
                                    {"leaky_relu_squared", Activation::leaky_relu_squared},
                                    {"sigmoid", Activation::sigmoid},
                                    {"tanh", Activation::tanh},
                                    {"exp", Activation::exp}};
  for (const Named& entry : table) {
    if (entry.name == name) return entry.activation;
  }
  return std::nullopt;
}

namespace {

auto unsupported(std::string message) {
  return fail(ErrorKind::unsupported, std::move(message));
}

Result<TensorId> port(const std::vector<TensorId>& ids, std::size_t index, const OpCall& call,
                      const Program& program) {
  if (index >= ids.size() || ids[index] < 0 ||
      static_cast<std::size_t>(ids[index]) >= program.tensors.size()) {
    return fail(ErrorKind::internal, fmt::format("{}: port {} has no tensor", call.op, index));
  }
  return ids[index];
}

/// The dtypes that a kernel's ports may have.
struct PortTypes {
  bool (*factor)(DType);
  bool (*other)(DType);  ///< C and D
  const char* factors;
  const char* others;
};
constexpr PortTypes float_ports{[](DType dtype) { return element_of(dtype).has_value(); },
                                [](DType dtype) { return element_of(dtype).has_value(); },
                                "f32, f16 and bf16", "f32, f16 and bf16"};
constexpr PortTypes integer_ports{[](DType dtype) { return dtype == DType::i8; },
                                  [](DType dtype) { return dtype == DType::i32; }, "i8", "i32"};

Result<MatrixPort> matrix(TensorId id, const Program& program, const PortTypes& types, bool factor) {
  const TensorSpec& spec = program.spec(id);
  const std::size_t rank = spec.shape.size();
  if (rank != 2 && rank != 3) {
    return unsupported(
        fmt::format("'{}' has shape {}; the CUDA kernels take [rows, cols] or [batch, rows, cols]", spec.name,
                    to_string(spec.shape)));
  }
  if (!(factor ? types.factor : types.other)(spec.dtype)) {
    return unsupported(fmt::format("'{}' is {}; the CUDA kernels take {}", spec.name, name_of(spec.dtype),
                                   factor ? types.factors : types.others));
  }
  for (const std::int64_t size : spec.shape) {
    // The kernels step past an edge by up to a tile: keep that inside int too.
    if (size < 0 || size > std::numeric_limits<int>::max() - 1024) {
      return unsupported(fmt::format("'{}' has shape {}; dimensions go up to 2^31 - 1025", spec.name,
                                     to_string(spec.shape)));
    }
  }
  const Strides strides = spec.strides.empty() ? contiguous_strides(spec.shape) : spec.strides;
  if (strides.size() != rank) {
    return fail(ErrorKind::internal,
                fmt::format("'{}': {} strides for {} dimensions", spec.name, strides.size(), rank));
  }
  MatrixPort m;
  m.id = id;
  m.dtype = spec.dtype;
  m.rows = spec.shape[rank - 2];
  m.cols = spec.shape[rank - 1];
  m.col_stride = m.cols > 1 ? strides[rank - 1] : 1;
  m.row_stride = m.rows > 1 ? strides[rank - 2] : m.cols;
  m.batch_stride = rank == 3 && spec.shape[0] > 1 ? strides[0] : 0;
  if (m.col_stride != 1) {
    return unsupported(
        fmt::format("'{}' has stride {} between columns; the CUDA kernels take 1", spec.name, m.col_stride));
  }
  if (m.rows > 1 && m.row_stride < m.cols) {
    return unsupported(
        fmt::format("'{}' has rows of {} elements {} apart: they overlap", spec.name, m.cols, m.row_stride));
  }
  return m;
}

std::int64_t batch_of(const MatrixPort& port, const Program& program) {
  const Shape& shape = program.spec(port.id).shape;
  return shape.size() == 3 ? shape[0] : 1;
}

Result<void> needs(bool holds, const OpCall& call, std::string_view what) {
  if (holds) return {};
  return fail(ErrorKind::internal, fmt::format("{}: {}", call.op, what));
}

/// Ports 0 and 1, and output 0, with m, n, k and batch.
Result<GemmProblem> read_product(const OpCall& call, const Program& program, bool trans_a, bool trans_b,
                                 const PortTypes& types) {
  GemmProblem p;
  p.trans_a = trans_a;
  p.trans_b = trans_b;
  MatrixPort* const ports[] = {&p.a, &p.b, &p.d};
  for (std::size_t i = 0; i < 3; ++i) {
    const auto id = i < 2 ? port(call.inputs, i, call, program) : port(call.outputs, 0, call, program);
    if (!id) return tl::unexpected(id.error());
    const auto read = matrix(*id, program, types, i < 2);
    if (!read) return tl::unexpected(read.error());
    *ports[i] = *read;
  }
  p.m = p.d.rows;
  p.n = p.d.cols;
  p.k = trans_a ? p.a.rows : p.a.cols;
  p.batch = batch_of(p.d, program);
  if (auto ok = needs((trans_a ? p.a.cols : p.a.rows) == p.m, call,
                      "rows of the first factor and the result differ");
      !ok) {
    return tl::unexpected(ok.error());
  }
  if (auto ok = needs((trans_b ? p.b.cols : p.b.rows) == p.k, call, "the factors differ in k"); !ok) {
    return tl::unexpected(ok.error());
  }
  if (auto ok = needs((trans_b ? p.b.rows : p.b.cols) == p.n, call,
                      "columns of the second factor and the result differ");
      !ok) {
    return tl::unexpected(ok.error());
  }
  for (const MatrixPort* factor : {&p.a, &p.b}) {
    const std::int64_t batch = batch_of(*factor, program);
    if (auto ok = needs(batch == 1 || batch == p.batch, call, "batch sizes differ"); !ok) {
      return tl::unexpected(ok.error());
    }
  }
  return p;
}

bool has_port(const OpCall& call, std::size_t index) {
  return index < call.inputs.size() && call.inputs[index] != no_tensor;
}

Result<GemmProblem> read_any_gemm(const OpCall& call, const Program& program, const PortTypes& types) {
  auto p = read_product(call, program, call.attributes.integer("trans_a") != 0,
                        call.attributes.integer("trans_b") != 0, types);
  if (!p) return p;
  p->alpha = static_cast<float>(call.attributes.real("alpha", 1.0));
  p->beta = static_cast<float>(call.attributes.real("beta", 0.0));
  if (p->beta != 0 && has_port(call, 2)) {
    const auto id = port(call.inputs, 2, call, program);
    if (!id) return tl::unexpected(id.error());
    const auto c = matrix(*id, program, types, false);
    if (!c) return tl::unexpected(c.error());
    const std::int64_t batch = batch_of(*c, program);
    if (auto ok = needs(c->rows == p->m && c->cols == p->n && (batch == 1 || batch == p->batch), call,
                        "C does not have the shape of the result");
        !ok) {
      return tl::unexpected(ok.error());
    }
    p->c = *c;
  }
  return p;
}

}  // namespace

Result<GemmProblem> read_gemm(const OpCall& call, const Program& program) {
  return read_any_gemm(call, program, float_ports);
}

Result<GemmProblem> read_integer_gemm(const OpCall& call, const Program& program) {
  auto p = read_any_gemm(call, program, integer_ports);
  if (!p) return p;
  for (const float factor : {p->alpha, p->beta}) {
    if (factor != std::trunc(factor) || std::abs(factor) >= 0x1p31f) {
      return unsupported(
          fmt::format("products of integers take whole alpha and beta below 2^31, not {}", factor));
    }
  }
  return p;
}

Result<GemmProblem> read_linear(const OpCall& call, const Program& program) {
  auto p = read_product(call, program, false, true, float_ports);
  if (!p) return p;
  const std::string name = call.attributes.text("activation", "identity");
  const auto activation = activation_of(name);
  if (!activation) return unsupported(fmt::format("the CUDA kernels have no activation '{}'", name));
  p->activation = *activation;
  if (has_port(call, 2)) {
    const auto id = port(call.inputs, 2, call, program);
    if (!id) return tl::unexpected(id.error());
    const TensorSpec& spec = program.spec(*id);
    if (!element_of(spec.dtype)) {
      return unsupported(
          fmt::format("'{}' is {}; the CUDA kernels take f32, f16 and bf16", spec.name, name_of(spec.dtype)));
    }
    if (auto ok = needs(!spec.shape.empty() && spec.shape.back() == p->n && element_count(spec.shape) == p->n,
                        call, "the bias does not have one value per column");
        !ok) {
      return tl::unexpected(ok.error());
    }
    p->bias = *id;
    p->bias_dtype = spec.dtype;
    p->bias_stride = spec.strides.empty() ? 1 : spec.strides.back();
  }
  return p;
}

}  // namespace parity::cuda
