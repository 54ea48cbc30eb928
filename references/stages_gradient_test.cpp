// The derived backward pass of every stage against differences of its forward pass.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "harness/tensor/random.hpp"
#include "references/stages_testing.hpp"

namespace parity {
namespace {

using Numbers = std::vector<double>;

/// Inputs whose gradient is wanted, and results, by name.
struct Names {
  std::vector<std::string> inputs, results;
};

Names names_of(const Program& program) {
  Names names;
  for (const TensorSpec& spec : program.tensors) {
    if (spec.is_view() || !is_float(spec.dtype)) continue;
    const bool values = spec.content.kind == Content::Kind::values;
    if (spec.role == TensorSpec::Role::input && values) names.inputs.push_back(spec.name);
    if (spec.role == TensorSpec::Role::output) names.results.push_back(spec.name);
  }
  return names;
}

double dot(const Numbers& a, const Numbers& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

Numbers direction(std::size_t size, std::uint64_t stream) {
  Numbers v(size);
  for (std::size_t i = 0; i < size; ++i) {
    const PhiloxBlock r = philox(99, i, stream);
    v[i] = 2 * uniform_open(r.word[0], r.word[1]) - 1;
  }
  return v;
}

/// |difference quotient - gradient| of <seed, f> along a random direction through one input, relative to the
/// norm of the gradient.
double disagreement(const std::string& text, StageRun& backward, const std::string& input) {
  StageRun forward(text);
  const Names names = names_of(forward.program());
  const Numbers x = forward.get(input), v = direction(x.size(), x.size());
  const auto value_at = [&](double h) {
    Numbers moved = x;
    for (std::size_t i = 0; i < x.size(); ++i) moved[i] += h * v[i];
    forward.set(input, moved);
    forward.run();
    double sum = 0;
    for (const std::string& result : names.results)
      sum += dot(forward.get(result), backward.get("d_" + result));
    return sum;
  };
  // Central differences, extrapolated once: an error of h^4.
  const double h = 1e-3;
  const auto quotient = [&](double step) { return (value_at(step) - value_at(-step)) / (2 * step); };
  const double difference = (4 * quotient(h / 2) - quotient(h)) / 3;
  const Numbers gradient = backward.get("d_" + input);
  return std::fabs(difference - dot(gradient, v)) / std::max(std::sqrt(dot(gradient, gradient)), 1e-3);
}

const std::vector<std::string>& differentiable() {
  static const std::vector<std::string> cases{
      "gemm m=5 n=7 k=9 ta=t tb=t pad_a=2 pad_d=3 alpha=0.5 beta=-1.5",
      "gemm m=5 n=3 k=4 batch=2",
      "linear m=5 n=7 k=9 pad_x=2 pad_y=3",
      "linear m=5 n=7 k=9 activation=sigmoid bias=n",
      "linear m=5 n=7 k=9 activation=leaky_relu_squared pad_y=3",
      "gru_cell batch=3 inputs=5 hidden=7",
      "gru_cell batch=3 inputs=5 hidden=7 variant=reset_before",
      "gru_sequence steps=1 batch=2 inputs=3 hidden=4",
      "gru_sequence steps=5 batch=3 inputs=3 hidden=4",
      "gru_stack layers=2 steps=3 batch=2 hidden=5",
      "rms_norm rows=4 cols=7",
      "rms_norm rows=3 cols=12 weight=n group=4",
      "rope batch=2 seq=3 heads=2 head_dim=6 rotary=4",
      "rope batch=2 seq=3 heads=2 head_dim=6 rotary=6 pairing=interleaved",
      "qk_norm batch=2 seq=3 heads=3 head_dim=6 rotary=4",
      "attention batch=3 seq=5 heads=4 kv_heads=2 head_dim=3 mask=y",
      "attention batch=2 seq=4 heads=2 kv_heads=1 head_dim=3 causal=n",
      "xsa rows=4 heads=4 kv_heads=2 head_dim=3",
      "attention_block batch=3 seq=3 heads=4 kv_heads=2 head_dim=6 rotary=4 width=10 mask=y",
      "attention_block batch=2 seq=3 heads=2 kv_heads=1 head_dim=4 rotary=2 causal=n xsa=n",
      "softcap rows=3 cols=5 cap=2",
      "classifier rows=3 inputs=5 classes=7 softcap=2",
      "softmax_cross_entropy rows=5 classes=7 softcap=3",
      "softmax_cross_entropy rows=5 classes=7 mean=n",
      "embedding rows=9 vocabulary=4 width=5",
  };
  return cases;
}

TEST(StageGradients, AgreeWithDifferences) {
  for (const std::string& stage : differentiable()) {
    SCOPED_TRACE(stage);
    const std::string text = stage + " in=f64 acc=f64 out=f64";
    StageRun backward(stage + " gradient=y in=f64 acc=f64 out=f64");
    backward.run();
    for (const std::string& input : names_of(StageRun(text).program()).inputs)
      EXPECT_LT(disagreement(text, backward, input), 1e-8) << "gradient of " << input;
  }
}

TEST(StageGradients, SharedGradientOfAGateAgreesToo) {
  for (const char* activation : {"sigmoid", "tanh"}) {
    const std::string stage = fmt::format("gru_gate batch=3 hidden=5 activation={}", activation);
    StageRun backward(stage + " gradient=y in=f64 acc=f64 out=f64");
    backward.run();
    EXPECT_LT(disagreement(stage + " in=f64 acc=f64 out=f64", backward, "a"), 1e-8);
  }
}

TEST(StageGradients, AWrongGradientIsSeen) {
  // The same comparison of a program whose last gradient call lacks one term: the residual's.
  const std::string stage = "gru_stack layers=1 steps=2 batch=2 hidden=5";
  StageRun backward(stage + " gradient=y in=f64 acc=f64 out=f64");
  backward.run();
  Numbers without = backward.get("d_x");
  const Numbers residual = backward.get("d_l0.out");
  for (std::size_t i = 0; i < without.size(); ++i) without[i] -= residual[i];
  backward.set("d_x", without);
  EXPECT_GT(disagreement(stage + " in=f64 acc=f64 out=f64", backward, "x"), 1e-2);
}

}  // namespace
}  // namespace parity
