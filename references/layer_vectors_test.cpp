// Layers, forward and backward, against vectors that PyTorch computed in fp64
// (testdata/make_layer_vectors.py): the gradient rules are chained by add_backward and compared with
// autograd.
#include <gtest/gtest.h>

#include <numeric>

#include "references/port_shapes.hpp"
#include "references/program_testing.hpp"
#include "references/reference_testing.hpp"
#include "references/vectors_testing.hpp"

namespace parity {
namespace {

/// One case: its inputs become a program's, its stored results and gradients what the program must give.
class LayerCase {
 public:
  LayerCase(const OpTable& ops, const Vectors& vectors, std::string name)
      : program_(ops), vectors_(vectors), name_(std::move(name)) {}

  bool has(const std::string& tensor) const { return vectors_.get(name_, tensor).has_value(); }
  Tensor stored(const std::string& tensor) const {
    auto found = vectors_.get(name_, tensor);
    EXPECT_TRUE(found.has_value()) << name_ << "/" << tensor;
    return found ? *std::move(found) : Tensor{};
  }
  /// An input, or its rows (of axis 0) first .. first + count - 1.
  TensorId input(const std::string& tensor) { return add(tensor, stored(tensor), {}); }
  TensorId part(const std::string& tensor, std::int64_t first, std::int64_t count) {
    std::vector<std::int64_t> rows(static_cast<std::size_t>(count));
    std::iota(rows.begin(), rows.end(), first);
    return add(tensor, take(stored(tensor), 0, rows), rows);
  }
  TensorId call(const std::string& op, const Attributes& attributes, const std::vector<TensorId>& inputs) {
    return program_.call(op, attributes, inputs).front();
  }

  /// Compares `y` with the stored Y and the gradient of every input with the stored one.
  void expect_stored(TensorId y, double magnitude = 0) {
    std::vector<TensorId> wanted;
    for (const auto& [id, gradient] : gradients_) wanted.push_back(id);
    const auto gradients = program_.backward(y, stored("g"), wanted);
    const auto ok = program_.run();
    ASSERT_TRUE(ok.has_value()) << ok.error().message;
    const auto exact = make_exact_arithmetic();
    expect_close(exact->load(program_.tensor(y)), stored("Y"), magnitude);
    for (const auto& [id, gradient] : gradients_) {
      SCOPED_TRACE(program_.program().spec(id).name);
      ASSERT_TRUE(gradients.contains(id));
      ASSERT_EQ(program_.tensor(gradients.at(id)).shape(), gradient.shape());
      expect_close(exact->load(program_.tensor(gradients.at(id))), gradient, magnitude);
    }
  }

 private:
  TensorId add(const std::string& name, Tensor tensor, const std::vector<std::int64_t>& rows) {
    const TensorId id = program_.input(name, std::move(tensor));
    if (has("d" + name)) {
      Tensor gradient = stored("d" + name);
      gradients_.emplace_back(id, rows.empty() ? std::move(gradient) : take(gradient, 0, rows));
    }
    return id;
  }

  HostProgram program_;
  const Vectors& vectors_;
  std::string name_;
  std::vector<std::pair<TensorId, Tensor>> gradients_;
};

/// Runs `check` on every stored case whose name begins with `prefix`; there must be `count` of them.
template <class Check>
void for_each_case(const std::string& prefix, std::size_t count, const Check& check) {
  const Vectors vectors("layer_vectors.safetensors");
  const OpTable ops = make_op_table();
  std::size_t found = 0;
  for (const std::string& name : vectors.cases()) {
    if (!name.starts_with(prefix)) continue;
    SCOPED_TRACE(name);
    ++found;
    LayerCase layer(ops, vectors, name);
    check(layer, name);
  }
  EXPECT_EQ(found, count);
}

TEST(LayerVectors, GruCellLinearBeforeReset) {
  for_each_case("gru_cell", 3, [](LayerCase& c, const std::string&) {
    const TensorId h = c.input("h");
    const TensorId a = c.call("linear", {}, {c.input("x"), c.input("w_ih"), c.input("b_ih")});
    const TensorId u = c.call("linear", {}, {h, c.input("w_hh"), c.input("b_hh")});
    c.expect_stored(c.call("gru_gates", {}, {a, u, h}));
  });
}

TEST(LayerVectors, GruCellResetBefore) {
  for_each_case("gru_reset_before", 3, [](LayerCase& c, const std::string&) {
    const TensorId x = c.input("x"), h = c.input("h");
    const std::int64_t size = c.stored("h").shape()[1];
    const auto gate = [&](std::int64_t index, const std::string& activation, TensorId state) {
      const auto part = [&](const std::string& name) { return c.part(name, index * size, size); };
      const TensorId a = c.call("linear", {}, {x, part("w_ih"), part("b_ih")});
      const TensorId u = c.call("linear", {}, {state, part("w_hh"), part("b_hh")});
      return c.call("gru_gate", {{"activation", activation}}, {a, u});
    };
    const TensorId r = gate(0, "sigmoid", h), z = gate(1, "sigmoid", h);
    const TensorId n = gate(2, "tanh", c.call("mul", {}, {r, h}));
    c.expect_stored(c.call("gru_blend", {}, {z, n, h}));
  });
}

TEST(LayerVectors, RmsNorm) {
  for_each_case("rms_norm", 19, [](LayerCase& c, const std::string& name) {
    Attributes attributes{{"eps", number_after(name, "_eps")}};
    if (name.find("group") != std::string::npos)
      attributes.set("group", static_cast<std::int64_t>(number_after(name, "group")));
    std::vector<TensorId> inputs{c.input("x")};
    if (c.has("weight")) inputs.push_back(c.input("weight"));
    // The gradient cancels where a group has one column: dx = R (g - g x^2 R^2). Up to R g = 64 * 2.
    c.expect_stored(c.call("rms_norm", attributes, inputs), name.find("x1") != std::string::npos ? 128 : 0);
  });
}

TEST(LayerVectors, Rope) {
  for_each_case("rope", 12, [](LayerCase& c, const std::string& name) {
    const auto integer = [&](const char* key) { return static_cast<std::int64_t>(number_after(name, key)); };
    const std::string pairing = name.find("interleaved") != std::string::npos ? "interleaved" : "half_split";
    c.expect_stored(c.call("rope",
                           {{"head_dim", integer("_dim")},
                            {"rotary", integer("_rotary")},
                            {"seq", integer("_seq")},
                            {"pairing", pairing},
                            {"inverse", integer("_inverse")}},
                           {c.input("x"), c.input("cos"), c.input("sin")}));
  });
}

TEST(LayerVectors, HeadScaleAndSoftcap) {
  for_each_case("head_scale", 1, [](LayerCase& c, const std::string&) {
    c.expect_stored(c.call("head_scale", {}, {c.input("x"), c.input("gain")}));
  });
  for_each_case("softcap", 2, [](LayerCase& c, const std::string& name) {
    c.expect_stored(c.call("softcap", {{"cap", number_after(name, "cap_cap")}}, {c.input("x")}));
  });
}

TEST(LayerVectors, Linear) {
  for_each_case("linear", 15, [](LayerCase& c, const std::string& name) {
    const std::string activation = name.substr(7, name.find("_m") - 7);
    c.expect_stored(
        c.call("linear", {{"activation", activation}}, {c.input("x"), c.input("w"), c.input("bias")}));
  });
}

TEST(LayerVectors, Gemm) {
  for_each_case("gemm", 13, [](LayerCase& c, const std::string& name) {
    std::vector<TensorId> inputs{c.input("a"), c.input("b")};
    if (c.has("c")) inputs.push_back(c.input("c"));
    c.expect_stored(c.call("gemm",
                           {{"trans_a", std::int64_t{name[5] == 't'}},
                            {"trans_b", std::int64_t{name[6] == 't'}},
                            {"alpha", number_after(name, "alpha")},
                            {"beta", number_after(name, "beta")}},
                           inputs));
  });
}

TEST(LayerVectors, ClippedGradientNorm) {
  const Vectors vectors("layer_vectors.safetensors");
  const OpTable ops = make_op_table();
  for (const double max_norm : {1.0, 100.0}) {
    const std::string name = "clip_max" + std::string(max_norm == 1 ? "1.0" : "100.0");
    SCOPED_TRACE(name);
    const auto exact = make_exact_arithmetic();
    Tensor sums = *Tensor::create(DType::f64, {3}, {64});  // as clip_factor may have it: strided
    std::vector<Tensor> gradients;
    for (std::int64_t i = 0; i < 3; ++i) {
      gradients.push_back(*vectors.get(name, "g" + std::to_string(i)));
      sums.set_value(i, evaluate_exact("square_sum", {}, {&gradients.back()}).front().v[0]);
    }
    const auto clip = evaluate_exact("clip_factor", {{"max_norm", max_norm}}, {&sums});
    expect_close(clip[1], *vectors.get(name, "norm"));
    Tensor factor = *Tensor::create(DType::f64, {1});
    factor.set_value(0, clip[0].v[0]);
    for (std::size_t i = 0; i < 3; ++i)
      expect_close(evaluate_exact("scale_by", {}, {&gradients[i], &factor}).front(),
                   *vectors.get(name, "clipped" + std::to_string(i)));
  }
}

TEST(LayerVectors, AnInterleavedRotationIsNotAHalfSplitOne) {
  // The comparison with the other pairing, or with a cell of the other variant, must not pass by chance.
  const Vectors vectors("layer_vectors.safetensors");
  const OpTable ops = make_op_table();
  const std::string name = "rope_half_split_inverse0_seq3_dim8_rotary8";
  LayerCase c(ops, vectors, name);
  const Tensor x = c.stored("x"), cosines = c.stored("cos"), sines = c.stored("sin"), want = c.stored("Y");
  const auto got = evaluate_exact("rope",
                                  {{"head_dim", std::int64_t{8}},
                                   {"rotary", std::int64_t{8}},
                                   {"seq", std::int64_t{3}},
                                   {"pairing", std::string("interleaved")}},
                                  {&x, &cosines, &sines});
  double worst = 0;
  for (std::int64_t i = 0; i < want.elements(); ++i)
    worst = std::max(worst, std::fabs(got.front().v[static_cast<std::size_t>(i)] - want.value(i)));
  EXPECT_GT(worst, 0.1);
  const Tensor linear_before = *vectors.get("gru_cell_b3", "Y"),
               reset_before = *vectors.get("gru_reset_before_b3", "Y");
  worst = 0;
  for (std::int64_t i = 0; i < reset_before.elements(); ++i)
    worst = std::max(worst, std::fabs(linear_before.value(i) - reset_before.value(i)));
  EXPECT_GT(worst, 0.01);
}

}  // namespace
}  // namespace parity
