// linear: Y = activation(X W^T + bias), a layer as PyTorch stores it: X [m, k], W [n, k], bias [n].
// Attribute: activation (a function's name; identity when missing). X may have a batch dimension.
#include <fmt/format.h>

#include <array>

#include "harness/ladder/product_op.hpp"
#include "references/formulas.hpp"
#include "references/op_table.hpp"
#include "references/port_shapes.hpp"

namespace parity {
namespace {

constexpr std::array<Port, 3> input_ports{{{"X"}, {"W"}, {"bias", true}}};
constexpr std::array<Port, 1> output_ports{{{"Y"}}};

Result<Function> activation_of(const Attributes& attributes) {
  const std::string text = attributes.text("activation", "identity");
  if (const auto function = parse_function(text)) return *function;
  return bad_input(
      fmt::format("linear: no activation is called '{}'; there are identity, relu, leaky_relu_squared, "
                  "sigmoid, tanh, exp",
                  text));
}

class Linear final : public Op, public ProductOp {
 public:
  std::string_view name() const override { return "linear"; }
  std::string_view summary() const override { return "Y = activation(X W^T + bias)"; }
  std::span<const Port> inputs() const override { return input_ports; }
  std::span<const Port> outputs() const override { return output_ports; }

  Result<std::vector<Shape>> infer(const Attributes& attributes,
                                   std::span<const std::optional<Shape>> inputs) const override {
    static constexpr std::array<std::string_view, 1> texts{"activation"};
    if (auto ok = check_attributes(name(), attributes, {}, {}, texts); !ok) return tl::unexpected(ok.error());
    if (auto ok = activation_of(attributes); !ok) return tl::unexpected(ok.error());
    if (inputs.size() < 2 || !inputs[0] || !inputs[1]) return bad_input("linear: X and W must be given");
    const auto x = port_shape(name(), "X", *inputs[0]);
    if (!x) return tl::unexpected(x.error());
    const Shape& w = *inputs[1];
    if (w.size() != 2) {
      return bad_input(fmt::format("linear: W has shape {}; give a matrix [n, k]", to_string(w)));
    }
    if (w[1] != x->cols) {
      return bad_input(fmt::format("linear: W is {} and X is {}; both must have the same number of columns",
                                   to_string(w), to_string(*inputs[0])));
    }
    if (inputs.size() > 2 && inputs[2] && *inputs[2] != Shape{w[0]}) {
      return bad_input(fmt::format("linear: bias has shape {}; W {} needs [{}]", to_string(*inputs[2]),
                                   to_string(w), w[0]));
    }
    Shape y = *inputs[0];
    y.back() = w[0];
    return std::vector<Shape>{y};
  }

  Result<std::vector<Value>> evaluate(Arithmetic& arithmetic, const Attributes& attributes,
                                      const PortTensors& inputs) const override {
    const auto activation = activation_of(attributes);
    if (!activation) return tl::unexpected(activation.error());
    Value y = arithmetic.matmul(arithmetic.load(*inputs[0]), false, arithmetic.load(*inputs[1]), true);
    if (inputs.size() > 2 && inputs[2] != nullptr) y = arithmetic.add(y, arithmetic.load(*inputs[2]));
    std::vector<Value> outputs;
    outputs.push_back(*activation == Function::identity ? std::move(y) : arithmetic.apply(*activation, y));
    return outputs;
  }

  bool is_product(const Attributes& attributes) const override {
    return attributes.text("activation", "identity") == "identity";
  }
  ProductForm product_form(const Attributes&, const PortTensors& inputs, std::int64_t batch) const override {
    ProductForm form{stored_matrix(*inputs[0], batch, false), stored_matrix(*inputs[1], 0, true), 1, 0,
                     std::nullopt};
    if (inputs.size() > 2 && inputs[2] != nullptr) {
      form.beta = 1;
      form.addend = stored_matrix(*inputs[2], 0, false).repeated(form.left.rows);
    }
    return form;
  }

  Work work(const OpCall& call, const Program& program) const override {
    const TensorSpec& y = program.spec(call.outputs[0]);
    double elements = 1;
    for (const std::int64_t size : y.shape) elements *= static_cast<double>(size);
    const bool has_bias = call.inputs.size() > 2 && call.inputs[2] != no_tensor;
    const bool has_activation = call.attributes.text("activation", "identity") != "identity";
    Work work;
    // A multiply-add is two; bias and activation count as one each.
    work.flops = elements * (2 * static_cast<double>(reduction_length(call, program)) + (has_bias ? 1 : 0) +
                             (has_activation ? 1 : 0));
    for (const TensorId id : call.inputs) {
      if (id != no_tensor) work.bytes += stored_bytes(program.spec(id));
    }
    work.bytes += stored_bytes(y);
    return work;
  }

  std::int64_t reduction_length(const OpCall& call, const Program& program) const override {
    return program.spec(call.inputs[0]).shape.back();
  }

  /// With d the gradient in front of the activation: dX = d W, dW = d^T X, dbias = the sum of d's rows. The
  /// products take d rounded to the inputs' dtype; their results are fp32.
  Result<void> gradient(const OpCall& call, GradientBuilder& builder) const override {
    const TensorId x = call.inputs[0], w = call.inputs[1];
    const bool batched = builder.program().spec(x).shape.size() != 2;
    if (batched && (builder.wants(1) || builder.wants(2)))
      return fail(
          ErrorKind::unsupported,
          "linear: the gradients of W and bias are summed over the batch when X has rank 3; there is no "
          "rule for that");
    const auto d = before_activation(call, builder);
    if (!d) return tl::unexpected(d.error());
    const TensorId factor = builder.rounded(*d, builder.program().spec(x).dtype);
    if (builder.wants(0)) builder.emit({"gemm", {}, {factor, w}, {builder.input_gradient(0)}});
    if (builder.wants(1))
      builder.emit({"gemm", {{"trans_a", std::int64_t{1}}}, {factor, x}, {builder.input_gradient(1)}});
    if (builder.wants(2)) builder.emit({"gradient_reduction", {}, {*d}, {builder.input_gradient(2)}});
    return {};
  }

  std::vector<Symmetry> symmetries(const Attributes& attributes,
                                   std::span<const std::optional<Shape>> inputs) const override {
    const bool plain = attributes.text("activation", "identity") == "identity" &&
                       (inputs.size() < 3 || !inputs[2].has_value());
    return {{Symmetry::Kind::reduction, "k", {{0, 0}, {1, 0}}, {}, plain, 0},
            {Symmetry::Kind::batch, "rows", {{0, 1}}, {{0, 1}}},
            {Symmetry::Kind::position, "columns", {{1, 1}, {2, 0}}, {{0, 0}}}};
  }

  std::optional<std::vector<Tensor>> restrict_to(const Attributes&, const PortTensors& inputs,
                                                 std::span<const std::int64_t> rows,
                                                 std::span<const std::int64_t> cols) const override {
    std::vector<Tensor> part;
    part.push_back(take(*inputs[0], inputs[0]->shape().size() - 2, rows));
    part.push_back(take(*inputs[1], 0, cols));
    if (inputs.size() > 2) part.push_back(inputs[2] != nullptr ? take(*inputs[2], 0, cols) : Tensor{});
    return part;
  }

 private:
  /// The gradient of X W^T + bias from that of Y, by way of the stored Y.
  static Result<TensorId> before_activation(const OpCall& call, GradientBuilder& builder) {
    const std::string activation = call.attributes.text("activation", "identity");
    const TensorId g = builder.output_gradient(0);
    if (activation == "identity") return g;
    const TensorSpec y = builder.program().spec(call.outputs[0]);
    const DType dtype = gradient_dtype(y.dtype);
    if (activation == "leaky_relu_squared") return before_square(call, builder, g);
    const bool from_result = activation == "sigmoid" || activation == "tanh" || activation == "relu";
    const TensorId wide = builder.rounded(call.outputs[0], dtype);
    const TensorId d = builder.intermediate("before_activation", dtype, y.shape);
    if (from_result)
      builder.emit({"activation_backward", {{"activation", activation}}, {wide, g}, {d}});
    else
      builder.emit({"mul", {}, {wide, g}, {d}});  // exp is its own derivative
    return d;
  }

  /// leaky_relu_squared has the slope 2 z where z > 0 and z / 2 elsewhere. Its result has lost the sign, so z
  /// = X W^T + bias is computed again; then d = z g / 2 + (z > 0 ? 3/2 z g : 0).
  static TensorId before_square(const OpCall& call, GradientBuilder& builder, TensorId g) {
    const TensorSpec y = builder.program().spec(call.outputs[0]);
    const DType dtype = gradient_dtype(y.dtype);
    TensorId bias = call.inputs.size() > 2 ? call.inputs[2] : no_tensor;
    if (bias != no_tensor) bias = builder.rounded(bias, dtype);  // addends have the dtype of the result
    const TensorId z = builder.intermediate("again", dtype, y.shape);
    builder.emit({"linear", {}, {call.inputs[0], call.inputs[1], bias}, {z}});
    const TensorId product = builder.intermediate("slope", dtype, y.shape);
    builder.emit({"mul", {}, {z, g}, {product}});
    const TensorId positive = builder.intermediate("positive", dtype, y.shape);
    builder.emit({"activation_backward", {{"activation", std::string("relu")}}, {z, product}, {positive}});
    const TensorId d = builder.intermediate("before_activation", dtype, y.shape);
    builder.emit({"axpby", {{"alpha", 0.5}, {"beta", 1.5}}, {product, positive}, {d}});
    return d;
  }

  static double stored_bytes(const TensorSpec& spec) {
    double bytes = static_cast<double>(size_of(spec.dtype));
    for (const std::int64_t size : spec.shape) bytes *= static_cast<double>(size);
    return bytes;
  }
};

}  // namespace

std::unique_ptr<const Op> make_linear_op() {
  return std::make_unique<Linear>();
}

}  // namespace parity
