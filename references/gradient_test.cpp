// Gradient rules against difference quotients, the adjoint identity and the Taylor remainder, in exact
// arithmetic, at odd sizes; and rules with a planted fault, which must fail.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "references/formulas.hpp"
#include "references/gradient_testing.hpp"
#include "references/op_table.hpp"
#include "references/program_testing.hpp"

namespace parity {
namespace {

std::int64_t operator""_i(unsigned long long x) {
  return static_cast<std::int64_t>(x);
}

const std::vector<Shape>& odd_shapes() {
  static const std::vector<Shape> shapes{{3, 5}, {1, 7}, {4, 1}};
  return shapes;
}

TEST(Gradients, Elementwise) {
  const OpTable ops = make_op_table();
  for (const Shape& shape : {Shape{3, 5}, Shape{1, 7}, Shape{4, 1}, Shape{6}, Shape{2, 3, 2}}) {
    SCOPED_TRACE(to_string(shape));
    const Tensor x = random_tensor(shape, 11), y = random_tensor(shape, 12);
    expect_right_gradient(ops, {"cast", {}, {x}});
    expect_right_gradient(ops, {"axpby", {}, {x, y}});
    expect_right_gradient(ops, {"axpby", {{"alpha", -0.5}, {"beta", 0.997}}, {x, y}});
    expect_right_gradient(ops, {"mul", {}, {x, y}});
    expect_right_gradient(ops, {"softcap", {{"cap", 1.5}}, {x}});
    if (shape.size() == 2) expect_right_gradient(ops, {"scale_by", {}, {x, random_tensor({1}, 13)}});
    expect_right_gradient(ops, {"scale_by", {}, {x, random_tensor({1}, 13)}, {0}});
  }
}

TEST(Gradients, Recurrent) {
  const OpTable ops = make_op_table();
  for (const Shape& shape : odd_shapes()) {
    SCOPED_TRACE(to_string(shape));
    const Shape three{shape[0], 3 * shape[1]};
    const Tensor x = random_tensor(shape, 21), y = random_tensor(shape, 22), h = random_tensor(shape, 23);
    for (const char* activation : {"sigmoid", "tanh"}) {
      expect_right_gradient(ops, {"gru_gate", {{"activation", std::string(activation)}}, {x, y}});
      expect_right_gradient(ops, {"gru_gate", {{"activation", std::string(activation)}}, {x, y}, {1}});
    }
    expect_right_gradient(ops, {"gru_gates", {}, {random_tensor(three, 24), random_tensor(three, 25), h}});
    expect_right_gradient(ops, {"gru_blend", {}, {x, y, h}});
  }
  // The gates are kept for the backward pass; nothing else may hang on them.
  const Tensor h = random_tensor({2, 3}, 26), a = random_tensor({2, 9}, 27);
  const auto refused = gradient_agreement(ops, {"gru_gates", {}, {a, a, h}, {}, 2});
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().message.find("output Z"), std::string::npos) << refused.error().message;
}

TEST(Gradients, RmsNorm) {
  const OpTable ops = make_op_table();
  for (const Shape& shape : odd_shapes()) {
    SCOPED_TRACE(to_string(shape));
    const Tensor x = random_tensor(shape, 31), weight = random_tensor({shape[1]}, 32);
    // A single column is the sign of x but for eps: give it one that bends.
    const double eps = shape[1] == 1 ? 0.5 : 1e-5;
    expect_right_gradient(ops, {"rms_norm", {{"eps", eps}}, {x, weight}});
    expect_right_gradient(ops, {"rms_norm", {{"eps", eps}}, {x}});
  }
  const Tensor x = random_tensor({3, 12}, 33);
  for (const std::int64_t group : {2_i, 4_i, 12_i})
    expect_right_gradient(ops, {"rms_norm", {{"eps", 0.0625}, {"group", group}}, {x}});
  EXPECT_FALSE(gradient_agreement(ops, {"rms_norm", {{"eps", 0.5}}, {x}, {}, 1}).has_value());
}

TEST(Gradients, RopeAndHeadScale) {
  const OpTable ops = make_op_table();
  const Tensor x = random_tensor({6, 12}, 41);
  for (const char* pairing : {"half_split", "interleaved"}) {
    for (const std::int64_t inverse : {0_i, 1_i}) {
      for (const std::int64_t rotary : {0_i, 2_i, 4_i, 6_i}) {
        const Tensor cosines = random_tensor({3, rotary / 2}, 42), sines = random_tensor({3, rotary / 2}, 43);
        const Attributes attributes{{"head_dim", 6_i},
                                    {"rotary", rotary},
                                    {"seq", 3_i},
                                    {"pairing", std::string(pairing)},
                                    {"inverse", inverse}};
        expect_right_gradient(ops, {"rope", attributes, {x, cosines, sines}, {0}});
        if (rotary == 0) continue;
        const auto refused = gradient_agreement(ops, {"rope", attributes, {x, cosines, sines}, {1}});
        ASSERT_FALSE(refused.has_value());
        EXPECT_EQ(refused.error().kind, ErrorKind::unsupported);
      }
    }
  }
  for (const std::int64_t heads : {1_i, 3_i, 12_i})
    expect_right_gradient(ops, {"head_scale", {}, {x, random_tensor({heads}, 44)}});
  expect_right_gradient(ops, {"head_scale", {}, {random_tensor({1, 3}, 45), random_tensor({3}, 46)}});
}

TEST(Gradients, Gemm) {
  const OpTable ops = make_op_table();
  for (const std::int64_t ta : {0_i, 1_i}) {
    for (const std::int64_t tb : {0_i, 1_i}) {
      const Tensor a = random_tensor(ta != 0 ? Shape{4, 3} : Shape{3, 4}, 51);
      const Tensor b = random_tensor(tb != 0 ? Shape{5, 4} : Shape{4, 5}, 52);
      const Tensor c = random_tensor({3, 5}, 53);
      const auto attributes = [&](double alpha, double beta) {
        return Attributes{{"trans_a", ta}, {"trans_b", tb}, {"alpha", alpha}, {"beta", beta}};
      };
      expect_right_gradient(ops, {"gemm", attributes(1, 0), {a, b}});
      expect_right_gradient(ops, {"gemm", attributes(-0.5, 0.75), {a, b, c}});
      expect_right_gradient(ops, {"gemm", attributes(2, 1), {a, b, c}});
      const Tensor batch_a = random_tensor(ta != 0 ? Shape{2, 4, 3} : Shape{2, 3, 4}, 54);
      const Tensor batch_b = random_tensor(tb != 0 ? Shape{2, 1, 4} : Shape{2, 4, 1}, 55);
      expect_right_gradient(ops, {"gemm", attributes(0.5, 0), {batch_a, batch_b}});
      // A shared operand's own gradient would be a sum over the batch.
      expect_right_gradient(ops, {"gemm", attributes(1, 0), {batch_a, b}, {0}});
      const auto refused = gradient_agreement(ops, {"gemm", attributes(1, 0), {batch_a, b}});
      ASSERT_FALSE(refused.has_value());
      EXPECT_EQ(refused.error().kind, ErrorKind::unsupported);
      EXPECT_NE(refused.error().message.find("gradient of B"), std::string::npos) << refused.error().message;
    }
  }
}

TEST(Gradients, Linear) {
  const OpTable ops = make_op_table();
  for (const auto& [m, n, k] :
       {std::array{3_i, 5_i, 4_i}, std::array{1_i, 2_i, 9_i}, std::array{4_i, 1_i, 1_i}}) {
    const Tensor x = random_tensor({m, k}, 61, 0.1, 0.5), w = random_tensor({n, k}, 62, 0.1, 0.5);
    const Tensor bias = random_tensor({n}, 63);
    for (const char* name : {"identity", "sigmoid", "tanh", "exp"}) {
      const Attributes attributes{{"activation", std::string(name)}};
      expect_right_gradient(ops, {"linear", attributes, {x, w, bias}});
      expect_right_gradient(ops, {"linear", attributes, {x, w}});
    }
    // Far from a kink, of either sign: the bias decides.
    for (const char* name : {"relu", "leaky_relu_squared"})
      expect_right_gradient(
          ops, {"linear", {{"activation", std::string(name)}}, {x, w, random_tensor({n}, 64, 5, 6)}});
  }
  const Tensor x = random_tensor({2, 3, 4}, 65), w = random_tensor({5, 4}, 66);
  expect_right_gradient(ops, {"linear", {}, {x, w}, {0}});
  EXPECT_FALSE(gradient_agreement(ops, {"linear", {}, {x, w}}).has_value());
  for (const char* name : {"sigmoid", "leaky_relu_squared"})
    expect_right_gradient(
        ops, {"linear", {{"activation", std::string(name)}}, {x, w, random_tensor({5}, 64, 5, 6)}, {0}});
}

TEST(Gradients, NarrowInputsOfLinearRoundTheGradient) {
  const OpTable ops = make_op_table();
  HostProgram host(ops);
  const auto narrow = [](const Tensor& tensor) { return *convert(tensor, DType::f16); };
  const TensorId x = host.input("x", narrow(random_tensor({3, 4}, 71)));
  const TensorId w = host.input("w", narrow(random_tensor({5, 4}, 72)));
  const TensorId y = host.call("linear", {}, {x, w}).front();
  const auto gradients = host.backward(y, random_tensor({3, 5}, 73), {x, w});
  std::vector<std::string> names;
  for (const OpCall& call : host.program().calls) names.push_back(call.op);
  EXPECT_EQ(names, (std::vector<std::string>{"linear", "cast", "gemm", "gemm"}));
  for (std::size_t i = 2; i < host.program().calls.size(); ++i) {
    const OpCall& call = host.program().calls[i];
    for (const TensorId id : call.inputs) EXPECT_EQ(host.program().spec(id).dtype, DType::f16);
    EXPECT_EQ(host.program().spec(call.outputs[0]).dtype, DType::f32);
  }
  EXPECT_EQ(gradients.size(), 2u);
}

/// Another op's ports and shapes with an evaluation or a gradient rule of its own.
class Altered final : public Op {
 public:
  using Evaluate =
      std::function<Result<std::vector<Value>>(Arithmetic&, const Attributes&, const PortTensors&)>;
  using Gradient = std::function<Result<void>(const OpCall&, GradientBuilder&)>;
  Altered(const Op& op, Evaluate evaluate, Gradient gradient)
      : op_(op), evaluate_(std::move(evaluate)), gradient_(std::move(gradient)) {}
  std::string_view name() const override { return op_.name(); }
  std::string_view summary() const override { return op_.summary(); }
  std::span<const Port> inputs() const override { return op_.inputs(); }
  std::span<const Port> outputs() const override { return op_.outputs(); }
  Result<std::vector<Shape>> infer(const Attributes& attributes,
                                   std::span<const std::optional<Shape>> inputs) const override {
    return op_.infer(attributes, inputs);
  }
  Result<std::vector<Value>> evaluate(Arithmetic& arithmetic, const Attributes& attributes,
                                      const PortTensors& inputs) const override {
    return evaluate_ ? evaluate_(arithmetic, attributes, inputs)
                     : op_.evaluate(arithmetic, attributes, inputs);
  }
  Result<void> gradient(const OpCall& call, GradientBuilder& builder) const override {
    return gradient_ ? gradient_(call, builder) : op_.gradient(call, builder);
  }
  Work work(const OpCall& call, const Program& program) const override { return op_.work(call, program); }
  std::int64_t reduction_length(const OpCall& call, const Program& program) const override {
    return op_.reduction_length(call, program);
  }

 private:
  const Op& op_;
  Evaluate evaluate_;
  Gradient gradient_;
};

/// All three checks must see the fault: the op `name` is replaced.
void expect_seen(std::string_view name, const GradientProblem& problem, Altered::Evaluate evaluate,
                 Altered::Gradient gradient = {}) {
  SCOPED_TRACE(name);
  const OpTable right = make_op_table();
  std::vector<std::unique_ptr<const Op>> ops;
  ops.push_back(std::make_unique<Altered>(*right.find(name), std::move(evaluate), std::move(gradient)));
  for (const auto& op : right.all()) ops.push_back(std::make_unique<Altered>(*op, nullptr, nullptr));
  const OpTable altered(std::move(ops));
  const auto healthy = gradient_agreement(right, problem), faulty = gradient_agreement(altered, problem);
  ASSERT_TRUE(healthy.has_value() && faulty.has_value());
  EXPECT_LT(healthy->difference, 1e-9);
  EXPECT_GT(faulty->difference, 1e-3);
  EXPECT_GT(faulty->adjoint, 1e-4);
  EXPECT_LT(faulty->taylor_order, 1.5);
}

TEST(PlantedGradientFaults, AreSeen) {
  const OpTable ops = make_op_table();
  const Tensor h = random_tensor({3, 4}, 81), a = random_tensor({3, 12}, 82), u = random_tensor({3, 12}, 83);
  // r[h] for r[j]: another unit's reset gate.
  expect_seen("gru_gates_backward", {"gru_gates", {}, {a, u, h}},
              [&](Arithmetic& m, const Attributes& attributes, const PortTensors& in) {
                Tensor r = *in[2];
                for (std::int64_t i = 0; i < r.elements(); ++i)
                  r.set_value(i, in[2]->value(i / 4 * 4 + (i + 1) % 4));
                PortTensors ports = in;
                ports[2] = &r;
                return ops.find("gru_gates_backward")->evaluate(m, attributes, ports);
              });
  // The part of h that goes straight through is lost.
  expect_seen("gru_gates_backward", {"gru_gates", {}, {a, u, h}},
              [&](Arithmetic& m, const Attributes& attributes, const PortTensors& in) {
                auto values = ops.find("gru_gates_backward")->evaluate(m, attributes, in);
                std::ranges::fill(values->at(2).v, 0.0);
                return values;
              });
  // The mean of g x^ is not taken off.
  const Tensor x = random_tensor({3, 8}, 84), weight = random_tensor({8}, 85);
  expect_seen("rms_norm_backward", {"rms_norm", {{"eps", 1e-5}}, {x, weight}},
              [](Arithmetic& m, const Attributes&, const PortTensors& in) -> Result<std::vector<Value>> {
                return std::vector{m.mul(m.mul(m.load(*in[3]), m.load(*in[1])), m.load(*in[2]))};
              });
  // R is left out of the weight's gradient.
  expect_seen("rms_norm_weight_gradient", {"rms_norm", {{"eps", 1e-5}}, {x, weight}},
              [&](Arithmetic& m, const Attributes& attributes, const PortTensors& in) {
                Tensor ones = *in[1];
                for (std::int64_t i = 0; i < ones.elements(); ++i) ones.set_value(i, 1);
                return ops.find("rms_norm_weight_gradient")->evaluate(m, attributes, {in[0], &ones, in[2]});
              });
  // Interleaved for half split; the rotation itself for its inverse.
  const Attributes rotation{
      {"head_dim", 4_i}, {"rotary", 4_i}, {"seq", 3_i}, {"pairing", std::string("half_split")}};
  const Tensor cosines = random_tensor({3, 2}, 86), sines = random_tensor({3, 2}, 87);
  for (const char* fault : {"pairing", "inverse"}) {
    expect_seen("rope", {"rope", rotation, {x, cosines, sines}, {0}}, {},
                [&](const OpCall& call, GradientBuilder& builder) -> Result<void> {
                  Attributes attributes = call.attributes;
                  const bool pairing = std::string_view(fault) == "pairing";
                  if (pairing) attributes.set("pairing", std::string("interleaved"));
                  attributes.set("inverse", pairing ? 1_i : 0_i);
                  builder.emit({"rope",
                                attributes,
                                {builder.output_gradient(0), call.inputs[1], call.inputs[2]},
                                {builder.input_gradient(0)}});
                  return {};
                });
  }
  // The softcap's slope without the square.
  expect_seen(
      "softcap_backward", {"softcap", {{"cap", 1.5}}, {x}},
      [](Arithmetic& m, const Attributes& attributes, const PortTensors& in) -> Result<std::vector<Value>> {
        const Value t = m.div(m.load(*in[0]), constant(attributes.real("cap")));
        return std::vector{m.mul(m.load(*in[1]), one_minus(m, t))};
      });
  // W for its transpose, where both fit.
  const Tensor square = random_tensor({8, 8}, 88);
  expect_seen("linear", {"linear", {}, {x, square}}, {},
              [](const OpCall& call, GradientBuilder& builder) -> Result<void> {
                const TensorId g = builder.output_gradient(0);
                builder.emit({"gemm", {{"trans_b", 1_i}}, {g, call.inputs[1]}, {builder.input_gradient(0)}});
                builder.emit({"gemm", {{"trans_a", 1_i}}, {g, call.inputs[0]}, {builder.input_gradient(1)}});
                return {};
              });
}

}  // namespace
}  // namespace parity
