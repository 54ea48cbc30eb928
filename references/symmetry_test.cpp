// Every declared symmetry holds in the mathematics: the exact arithmetic gives the same result, moved as
// declared.
#include <gtest/gtest.h>

#include <cmath>

#include "harness/tensor/fill.hpp"
#include "references/op_table.hpp"

namespace parity {
namespace {

struct Sample {
  const char* op;
  Attributes attributes;
  std::vector<Shape> inputs;              ///< an empty shape: the port is absent
  std::vector<std::int64_t> limits = {};  ///< of an i32 port: its values are below; 0: a real port
};

std::vector<Sample> samples() {
  const std::int64_t one = 1;
  return {
      {"gemm", {{"alpha", 0.5}}, {{4, 9}, {9, 6}, {}}},
      {"gemm", {{"trans_a", one}, {"trans_b", one}}, {{2, 9, 4}, {2, 6, 9}, {}}},
      {"gemm", {{"beta", 0.5}}, {{4, 9}, {9, 6}, {4, 6}}},
      {"linear", {}, {{5, 8}, {3, 8}, {}}},
      {"linear", {{"activation", std::string("tanh")}}, {{2, 5, 8}, {3, 8}, {3}}},
      {"axpby", {}, {{4, 6}, {4, 6}}},
      {"gru_gate", {{"activation", std::string("tanh")}}, {{4, 6}, {4, 6}}},
      {"gradient_reduction", {}, {{9, 6}}},
      {"square_sum", {}, {{5, 7}}},
      {"clip_factor", {{"max_norm", 0.5}}, {{6}}},
      {"rms_norm", {{"eps", 1e-5}}, {{4, 12}, {12}}},
      {"rms_norm", {{"eps", 1e-5}, {"group", std::int64_t{4}}}, {{4, 12}, {}}},
      {"rms_norm_backward", {}, {{4, 12}, {12}, {4, 1}, {4, 12}}},
      {"rms_norm_backward", {{"group", std::int64_t{4}}}, {{4, 12}, {}, {4, 3}, {4, 12}}},
      {"rms_norm_weight_gradient", {}, {{6, 5}, {6, 1}, {6, 5}}},
      {"head_scale_gain_gradient", {{"heads", std::int64_t{3}}}, {{4, 12}, {4, 12}}},
      {"embedding_backward", {{"vocabulary", std::int64_t{5}}}, {{9}, {9, 4}}, {5, 0}},
      {"softmax_cross_entropy", {}, {{4, 7}, {4}}, {0, 7}},
      {"softmax_cross_entropy_backward", {}, {{4, 7}, {4}, {4}}, {0, 7, 0}},
      {"mean", {}, {{7}}},
      {"frobenius_normalize", {}, {{4, 6}}},
      {"attention",
       {{"heads", std::int64_t{4}},
        {"kv_heads", std::int64_t{2}},
        {"seq", std::int64_t{5}},
        {"causal", std::int64_t{0}},
        {"scale", 0.5}},
       {{10, 12}, {10, 6}, {10, 6}, {10}},
       {0, 0, 0, 2}},
      {"attention_backward",
       {{"heads", std::int64_t{4}},
        {"kv_heads", std::int64_t{2}},
        {"seq", std::int64_t{5}},
        {"causal", std::int64_t{0}},
        {"scale", 0.5}},
       {{10, 12}, {10, 6}, {10, 6}, {10}, {10, 12}},
       {0, 0, 0, 2, 0}},
      {"attention",
       {{"heads", std::int64_t{2}},
        {"kv_heads", std::int64_t{2}},
        {"seq", std::int64_t{5}},
        {"causal", one},
        {"scale", 0.5}},
       {{10, 6}, {10, 6}, {10, 6}, {}}},
      {"xsa", {{"heads", std::int64_t{4}}, {"kv_heads", std::int64_t{2}}}, {{5, 12}, {5, 6}}},
      {"xsa_backward",
       {{"heads", std::int64_t{4}}, {"kv_heads", std::int64_t{2}}},
       {{5, 12}, {5, 6}, {5, 12}}},
  };
}

class DeclaredSymmetries : public ::testing::Test {
 protected:
  void prepare(const Sample& sample) {
    op = ops.find(sample.op);
    ASSERT_NE(op, nullptr) << sample.op;
    tensors.clear();
    ports.clear();
    shapes.clear();
    tensors.reserve(sample.inputs.size());
    for (std::size_t i = 0; i < sample.inputs.size(); ++i) {
      const std::int64_t limit = i < sample.limits.size() ? sample.limits[i] : 0;
      if (sample.inputs[i].empty()) {
        ports.push_back(nullptr);
        shapes.emplace_back();
        continue;
      }
      Tensor tensor = *Tensor::create(limit > 0 ? DType::i32 : DType::f32, sample.inputs[i]);
      for (std::int64_t e = 0; e < tensor.elements(); ++e) {
        const auto word = philox(7, static_cast<std::uint64_t>(e), i).word[0];
        tensor.set_value(e, limit > 0 ? static_cast<double>(word % static_cast<std::uint32_t>(limit))
                                      : std::ldexp(static_cast<double>(word), -32) + 0.1);
      }
      tensors.push_back(std::move(tensor));
      ports.push_back(&tensors.back());
      shapes.emplace_back(sample.inputs[i]);
    }
    const auto inferred = op->infer(sample.attributes, shapes);
    ASSERT_TRUE(inferred) << inferred.error().message;
    results = *inferred;
    attributes = sample.attributes;
  }

  std::vector<Tensor> evaluate(const PortTensors& in) const {
    const auto values = op->evaluate(*make_exact_arithmetic(), attributes, in);
    EXPECT_TRUE(values) << (values ? "" : values.error().message);
    std::vector<std::optional<Shape>> own;
    for (const Tensor* port : in) own.push_back(port == nullptr ? std::optional<Shape>() : port->shape());
    const auto possible = op->infer(attributes, own);
    EXPECT_TRUE(possible) << op->name() << ": " << (possible ? "" : possible.error().message);
    if (!values || !possible) return {};
    const std::vector<Shape>& inferred = *possible;
    std::vector<Tensor> out;
    for (std::size_t i = 0; i < values->size(); ++i) {
      Tensor tensor = *Tensor::create(DType::f64, inferred[i]);
      for (std::int64_t e = 0; e < tensor.elements(); ++e)
        tensor.set_value(e, (*values)[i].v[static_cast<std::size_t>(e)]);
      out.push_back(std::move(tensor));
    }
    return out;
  }
  std::vector<Tensor> evaluate(const Symmetry& s, std::span<const std::int64_t> units) const {
    const auto changed = *take_inputs(s, ports, units);
    PortTensors in = ports;
    for (const auto& [port, tensor] : changed) in[port] = &tensor;
    return evaluate(in);
  }

  /// Largest difference relative to the largest element.
  static double difference(const Tensor& a, const Tensor& b) {
    EXPECT_EQ(a.shape(), b.shape());
    double worst = 0, largest = 0;
    for (std::int64_t i = 0; i < a.elements(); ++i) {
      worst = std::max(worst, std::fabs(a.value(i) - b.value(i)));
      largest = std::max(largest, std::fabs(a.value(i)));
    }
    return worst / std::max(largest, 1e-300);
  }

  double broken_by_permuting(const Symmetry& s) const {
    const std::vector<std::int64_t> order = shuffled_units(units_along(s, ports), 3);
    const std::vector<Tensor> plain = evaluate(ports);
    std::vector<Tensor> moved = evaluate(s, order);
    for (const PortAxis& axis : s.outputs)
      moved[axis.port] = *take_units(moved[axis.port], axis, inverse_of(order));
    double worst = 0;
    for (std::size_t i = 0; i < plain.size(); ++i) worst = std::max(worst, difference(plain[i], moved[i]));
    return worst;
  }

  OpTable ops = make_op_table();
  const Op* op = nullptr;
  Attributes attributes;
  std::vector<Tensor> tensors;
  PortTensors ports;
  std::vector<std::optional<Shape>> shapes;
  std::vector<Shape> results;
};

TEST_F(DeclaredSymmetries, HoldExactly) {
  constexpr double rounding = 1e-13;
  for (const Sample& sample : samples()) {
    prepare(sample);
    const std::vector<Symmetry> declared = op->symmetries(attributes, shapes);
    EXPECT_FALSE(declared.empty()) << sample.op;
    const std::vector<Tensor> plain = evaluate(ports);
    for (const Symmetry& s : declared) {
      const std::int64_t units = units_along(s, ports);
      ASSERT_GE(units, 2) << sample.op << " " << s.name;
      EXPECT_LT(broken_by_permuting(s), rounding) << sample.op << " " << s.name;
      if (s.kind == Symmetry::Kind::batch) {
        const std::vector<std::int64_t> one{units - 1};
        const std::vector<Tensor> alone = evaluate(s, one);
        ASSERT_EQ(alone.size(), plain.size()) << sample.op << " " << s.name;
        for (const PortAxis& axis : s.outputs)
          EXPECT_LT(difference(*take_units(plain[axis.port], axis, one), alone[axis.port]), rounding)
              << sample.op << " " << s.name;
      }
      if (s.additive) {
        const std::vector<std::int64_t> order = shuffled_units(units, 3);
        const std::span<const std::int64_t> all(order);
        std::vector<Tensor> sum = evaluate(s, all.first(1)), rest = evaluate(s, all.subspan(1));
        for (std::size_t i = 0; i < sum.size(); ++i) {
          for (std::int64_t e = 0; e < sum[i].elements(); ++e)
            sum[i].set_value(e, sum[i].value(e) + rest[i].value(e));
          EXPECT_LT(difference(plain[i], sum[i]), rounding) << sample.op << " " << s.name;
        }
      }
      if (s.zeros_drop >= 0) {
        const PortAxis& axis = s.inputs[static_cast<std::size_t>(s.zeros_drop)];
        const Tensor cut = *without_last_units(*ports[axis.port], axis, 1);
        PortTensors in = ports;
        in[axis.port] = &cut;
        EXPECT_GT(difference(plain[0], evaluate(in)[0]), 1e-6) << sample.op << " " << s.name;
      }
    }
  }
}

TEST_F(DeclaredSymmetries, AFalseOneIsSeen) {
  prepare({"gemm", {}, {{4, 9}, {9, 6}, {}}});
  EXPECT_GT(broken_by_permuting({Symmetry::Kind::reduction, "k of A only", {{0, 0}}, {}}), 1e-3);
  EXPECT_GT(broken_by_permuting({Symmetry::Kind::position, "rows that stay", {{0, 1}}, {}}), 1e-3);
}

TEST_F(DeclaredSymmetries, EveryOpThatReducesDeclaresIts) {
  std::set<std::string_view> sampled;
  for (const Sample& sample : samples()) sampled.insert(sample.op);
  // Sums of these hold two terms, or none: rotations and copies.
  for (const auto& each : ops.all()) {
    Program program;
    if (sampled.contains(each->name())) continue;
    // An op without a sample must not reduce: it declares no reduction even for plain matrices.
    const std::vector<std::optional<Shape>> plain(each->inputs().size(), Shape{4, 4});
    for (const Symmetry& s : each->symmetries({}, plain)) EXPECT_NE(s.kind, Symmetry::Kind::reduction);
  }
}

}  // namespace
}  // namespace parity
