// gemm: D = alpha op(A) op(B) + beta C, per entry of a batch. Attributes: trans_a, trans_b (integers, 0 or
// 1), alpha, beta (fp32 numbers). A batch of one matrix is repeated. Leading dimensions are the tensors'
// strides.
#include <fmt/format.h>

#include <array>
#include <cmath>

#include "harness/ladder/product_op.hpp"
#include "references/formulas.hpp"
#include "references/op_table.hpp"
#include "references/port_shapes.hpp"

namespace parity {
namespace {

constexpr std::array<Port, 3> gemm_inputs{{{"A"}, {"B"}, {"C", true}}};
constexpr std::array<Port, 1> gemm_outputs{{{"D"}}};

struct Settings {
  bool trans_a, trans_b;
  double alpha, beta;
};
Settings settings_of(const Attributes& attributes) {
  return {attributes.integer("trans_a") != 0, attributes.integer("trans_b") != 0, attributes.real("alpha", 1),
          attributes.real("beta", 0)};
}

Result<void> check_settings(const Attributes& attributes) {
  static constexpr std::array<std::string_view, 2> integers{"trans_a", "trans_b"};
  static constexpr std::array<std::string_view, 2> reals{"alpha", "beta"};
  if (auto ok = check_attributes("gemm", attributes, integers, reals, {}); !ok) return ok;
  for (const std::string_view name : integers) {
    const std::int64_t value = attributes.integer(name);
    if (value != 0 && value != 1)
      return bad_input(fmt::format("gemm: {} is {}; it must be 0 or 1", name, value));
  }
  for (const std::string_view name : reals) {
    const double value = attributes.real(name);
    if (!std::isfinite(value) || static_cast<double>(static_cast<float>(value)) != value) {
      return bad_input(fmt::format("gemm: {} is {}; it must be a finite fp32 number", name, value));
    }
  }
  return {};
}

class Gemm final : public Op, public ProductOp {
 public:
  std::string_view name() const override { return "gemm"; }
  std::string_view summary() const override { return "D = alpha op(A) op(B) + beta C"; }
  std::span<const Port> inputs() const override { return gemm_inputs; }
  std::span<const Port> outputs() const override { return gemm_outputs; }

  Result<std::vector<Shape>> infer(const Attributes& attributes,
                                   std::span<const std::optional<Shape>> inputs) const override {
    if (auto ok = check_settings(attributes); !ok) return tl::unexpected(ok.error());
    if (inputs.size() < 2 || !inputs[0] || !inputs[1]) return bad_input("gemm: A and B must be given");
    const auto a_stored = port_shape(name(), "A", *inputs[0]);
    if (!a_stored) return tl::unexpected(a_stored.error());
    const auto b_stored = port_shape(name(), "B", *inputs[1]);
    if (!b_stored) return tl::unexpected(b_stored.error());
    const Settings s = settings_of(attributes);
    const PortShape a = transposed(*a_stored, s.trans_a);
    const PortShape b = transposed(*b_stored, s.trans_b);
    if (a.cols != b.rows) {
      return bad_input(fmt::format(
          "gemm: op(A) has {} columns and op(B) {} rows (A is {}, trans_a {}; B is {}, "
          "trans_b {}); they must be equal",
          a.cols, b.rows, to_string(*inputs[0]), int{s.trans_a}, to_string(*inputs[1]), int{s.trans_b}));
    }
    if (a.batch != b.batch && a.batch != 1 && b.batch != 1) {
      return bad_input(fmt::format(
          "gemm: A has a batch of {} and B of {}; they must be equal, or one of them 1", a.batch, b.batch));
    }
    const std::int64_t batch = a.batch == 1 ? b.batch : a.batch;
    Shape d{a.rows, b.cols};
    if (a.batched || b.batched) d.insert(d.begin(), batch);
    const bool has_c = inputs.size() > 2 && inputs[2].has_value();
    if (has_c && *inputs[2] != d) {
      return bad_input(fmt::format("gemm: C has shape {}; D needs {}", to_string(*inputs[2]), to_string(d)));
    }
    if (!has_c && s.beta != 0) return bad_input(fmt::format("gemm: beta is {} but C is not given", s.beta));
    return std::vector<Shape>{d};
  }

  Result<std::vector<Value>> evaluate(Arithmetic& arithmetic, const Attributes& attributes,
                                      const PortTensors& inputs) const override {
    const Settings s = settings_of(attributes);
    const Value product =
        arithmetic.matmul(arithmetic.load(*inputs[0]), s.trans_a, arithmetic.load(*inputs[1]), s.trans_b);
    std::vector<Value> outputs;
    // As BLAS has it, C is not read when beta is 0.
    const bool adds = s.beta != 0 && inputs.size() > 2 && inputs[2] != nullptr;
    if (adds) {
      const Value c = arithmetic.load(*inputs[2]);
      outputs.push_back(arithmetic.scale_add(s.alpha, product, s.beta, &c));
    } else {
      outputs.push_back(arithmetic.scale_add(s.alpha, product, 0, nullptr));
    }
    return outputs;
  }

  bool is_product(const Attributes&) const override { return true; }
  ProductForm product_form(const Attributes& attributes, const PortTensors& inputs,
                           std::int64_t batch) const override {
    const Settings s = settings_of(attributes);
    ProductForm form{stored_matrix(*inputs[0], batch, s.trans_a), stored_matrix(*inputs[1], batch, s.trans_b),
                     s.alpha, 0, std::nullopt};
    if (s.beta != 0 && inputs.size() > 2 && inputs[2] != nullptr) {
      form.beta = s.beta;
      form.addend = stored_matrix(*inputs[2], batch, false);
    }
    return form;
  }

  Work work(const OpCall& call, const Program& program) const override {
    const TensorSpec& d = program.spec(call.outputs[0]);
    double elements = 1;
    for (const std::int64_t size : d.shape) elements *= static_cast<double>(size);
    const auto k = static_cast<double>(reduction_length(call, program));
    const Settings s = settings_of(call.attributes);
    Work work;
    // A multiply-add is two; scaling by alpha one; beta C two more.
    work.flops = elements * (2 * k + (s.alpha == 1 ? 0 : 1) + (s.beta == 0 ? 0 : s.beta == 1 ? 1 : 2));
    for (std::size_t i = 0; i < call.inputs.size(); ++i) {
      if (call.inputs[i] == no_tensor || (i == 2 && s.beta == 0)) continue;
      work.bytes += stored_bytes(program.spec(call.inputs[i]));
    }
    work.bytes += stored_bytes(d);
    return work;
  }

  std::int64_t reduction_length(const OpCall& call, const Program& program) const override {
    const Shape& a = program.spec(call.inputs[0]).shape;
    return settings_of(call.attributes).trans_a ? a[a.size() - 2] : a.back();
  }

  /// With X = op(A), Y = op(B) and g the gradient of D: dX = alpha g Y^T, dY = alpha X^T g, dC = beta g. Each
  /// is asked for as its operand is stored, transposed or not, and with g in the operands' dtype.
  Result<void> gradient(const OpCall& call, GradientBuilder& builder) const override {
    const Settings s = settings_of(call.attributes);
    const TensorId a = call.inputs[0], b = call.inputs[1], g = builder.output_gradient(0);
    for (const std::size_t port : {0u, 1u})
      if (auto ok = same_batch(builder, call, port); !ok) return ok;
    const TensorId factor = builder.rounded(g, builder.program().spec(a).dtype);
    const auto product = [&](TensorId left, bool trans_left, TensorId right, bool trans_right,
                             std::size_t port) {
      builder.emit({"gemm",
                    {{"trans_a", std::int64_t{trans_left}},
                     {"trans_b", std::int64_t{trans_right}},
                     {"alpha", s.alpha}},
                    {left, right},
                    {builder.input_gradient(port)}});
    };
    if (builder.wants(0))
      s.trans_a ? product(b, s.trans_b, factor, true, 0) : product(factor, false, b, !s.trans_b, 0);
    if (builder.wants(1))
      s.trans_b ? product(factor, true, a, s.trans_a, 1) : product(a, !s.trans_a, factor, false, 1);
    // Without beta, C is not read.
    if (call.inputs.size() > 2 && call.inputs[2] != no_tensor && s.beta != 0)
      pass_scaled(builder, 2, s.beta, g);
    return {};
  }

  std::vector<Symmetry> symmetries(const Attributes& attributes,
                                   std::span<const std::optional<Shape>> inputs) const override {
    const Settings s = settings_of(attributes);
    const std::size_t a_row = s.trans_a ? 0 : 1, b_row = s.trans_b ? 0 : 1;
    const bool adds = s.beta != 0;
    std::vector<Symmetry> found{{Symmetry::Kind::reduction, "k", {{0, 1 - a_row}, {1, b_row}}, {}, !adds, 0},
                                {Symmetry::Kind::batch, "rows", {{0, a_row}, {2, 1}}, {{0, 1}}},
                                {Symmetry::Kind::position, "columns", {{1, 1 - b_row}, {2, 0}}, {{0, 0}}}};
    const auto batched = [&](std::size_t port) {
      return port >= inputs.size() || !inputs[port] || inputs[port]->size() == 3;
    };
    if (batched(0) && batched(1) && batched(2))
      found.push_back({Symmetry::Kind::batch, "batch", {{0, 2}, {1, 2}, {2, 2}}, {{0, 2}}});
    return found;
  }

  std::optional<std::vector<Tensor>> restrict_to(const Attributes& attributes, const PortTensors& inputs,
                                                 std::span<const std::int64_t> rows,
                                                 std::span<const std::int64_t> cols) const override {
    const Settings s = settings_of(attributes);
    const std::size_t rank_a = inputs[0]->shape().size();
    const std::size_t rank_b = inputs[1]->shape().size();
    std::vector<Tensor> part;
    part.push_back(take(*inputs[0], rank_a - (s.trans_a ? 1 : 2), rows));
    part.push_back(take(*inputs[1], rank_b - (s.trans_b ? 2 : 1), cols));
    if (inputs.size() > 2 && inputs[2] != nullptr) {
      const std::size_t rank_c = inputs[2]->shape().size();
      part.push_back(take(take(*inputs[2], rank_c - 2, rows), rank_c - 1, cols));
    } else if (inputs.size() > 2) {
      part.emplace_back();
    }
    return part;
  }

 private:
  /// An operand that the batch shares has a gradient summed over the batch, which no gemm call gives.
  static Result<void> same_batch(const GradientBuilder& builder, const OpCall& call, std::size_t port) {
    const Shape& d = builder.program().spec(call.outputs[0]).shape;
    const Shape& operand = builder.program().spec(call.inputs[port]).shape;
    const bool fits = operand.size() == d.size() && (d.size() == 2 || operand[0] == d[0]);
    if (fits || !builder.wants(port)) return {};
    return fail(
        ErrorKind::unsupported,
        fmt::format("gemm: the gradient of {} would be summed over the batch (it is {}, D is {}); there is "
                    "no rule for that",
                    gemm_inputs[port].name, to_string(operand), to_string(d)));
  }

  static double stored_bytes(const TensorSpec& spec) {
    double bytes = static_cast<double>(size_of(spec.dtype));
    for (const std::int64_t size : spec.shape) bytes *= static_cast<double>(size);
    return bytes;
  }
};

}  // namespace

std::unique_ptr<const Op> make_gemm_op() {
  return std::make_unique<Gemm>();
}

}  // namespace parity
