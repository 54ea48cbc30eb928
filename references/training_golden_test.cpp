// Three steps of training_step against PyTorch (testdata/make_training_vectors.py).
#include <functional>

#include "harness/tensor/safetensors.hpp"
#include "references/training_step_testing.hpp"

namespace parity::training_test {
namespace {

/// The numbers that testdata/make_training_vectors.py starts from too.
double start_value(Index parameter, Index i) {
  return static_cast<double>((i * i * 7 + i * 31 + parameter * 17) % 257 - 128) / 512;
}

constexpr const char* golden_weights[] = {
    "embedding",        "attention.norm", "attention.w_q", "attention.w_k", "attention.w_v",
    "attention.q_gain", "attention.w_o",  "gru0.norm",     "gru0.w_ih",     "gru0.w_hh",
    "gru0.b_ih",        "gru0.b_hh",      "gru1.norm",     "gru1.w_ih",     "gru1.w_hh",
    "gru1.b_ih",        "gru1.b_hh",      "norm",          "classifier"};

/// Largest disagreement with PyTorch after three steps: losses, gradient norms, and of every weight after the
/// last step its sum of squares and a sum with changing signs. `change` makes a fault: in the program before
/// the first step, in the inputs before each.
double golden_error(const std::string& optimizer, const std::function<void(Training&)>& change = {}) {
  const std::string path = std::string(PARITY_TESTDATA) + "/training_vectors.safetensors";
  Training t(
      "training_step batch=3 seq=5 width=32 heads=2 kv_heads=1 layers=2 clip=0.5 weight_decay=0.125 "
      "in=f64 acc=f64 out=f64 optimizer=" +
      optimizer);
  for (Index k = 0; k < std::ssize(golden_weights); ++k) {
    const std::string_view name = golden_weights[k];
    Tensor& weight = t.input(name);
    const double base = name.ends_with("norm") || name.ends_with("gain") ? 1 : 0;
    for (Index i = 0; i < weight.elements(); ++i) weight.set_value(i, base + start_value(k, i));
  }
  double worst = 0;
  const auto compare = [&](double got, double want) {
    const double error = std::fabs(got - want);
    worst = error > worst || std::isnan(error) ? error : worst;
  };
  const auto golden = [&](const std::string& what) {
    auto tensor = read_safetensors(path, optimizer + "/" + what);
    EXPECT_TRUE(tensor.has_value()) << (tensor ? "" : tensor.error().message);
    return tensor ? *std::move(tensor) : *Tensor::create(DType::f64, {std::ssize(golden_weights), 2});
  };
  const Tensor losses = golden("losses"), norms = golden("norms"), sums = golden("sums");
  EXPECT_EQ(losses.shape(), Shape{3});
  EXPECT_EQ(sums.shape(), (Shape{std::ssize(golden_weights), 2}));
  for (Index step = 0; step < 3; ++step) {
    t.load_step(step);  // AdamW's correction; the tokens are others
    for (Index i = 0; i < 15; ++i) {
      t.input("ids").set_value(i, static_cast<double>(32 + (i * i + 5 * step) % 23));
      t.input("targets").set_value(i, static_cast<double>(32 + (i * i * i + 11 * step) % 29));
    }
    if (change) change(t);
    t.evaluate();
    compare(t.scalar("loss"), losses.value(step));
    compare(t.scalar("gradient_norm"), norms.value(step));
  }
  for (Index k = 0; k < std::ssize(golden_weights); ++k) {
    const Numbers weight = t.after(t.id(golden_weights[k]));
    double alternating = 0;
    for (std::size_t i = 0; i < weight.size(); ++i) alternating += (i % 3 == 1 ? -1 : 1) * weight[i];
    compare(dot(weight, weight), sums.value(2 * k));
    compare(alternating, sums.value(2 * k + 1));
  }
  return worst;
}

TEST(TrainingStep, ThreeStepsAgreeWithPyTorch) {
  EXPECT_LT(golden_error("adamw"), 1e-10);
  EXPECT_LT(golden_error("muon"), 1e-10);
}

TEST(TrainingStep, FaultsDisagreeWithPyTorch) {
  const auto in_calls = [](std::string_view op, const char* attribute, AttributeValue value) {
    return [=](Training& t) {
      for (OpCall& call : t.program().calls)
        if (call.op == op) call.attributes.set(attribute, value);
    };
  };
  const std::pair<const char*, std::function<void(Training&)>> faults[] = {
      {"interleaved pairs", in_calls("rope", "pairing", std::string("interleaved"))},
      {"another epsilon", in_calls("rms_norm", "eps", 0x1p-19)},
      {"a mask that leaks", in_calls("attention", "causal", Index{0})},
      {"no weight decay", in_calls("adamw", "weight_decay", 0.0)},
      {"the correction of the first step",
       [](Training& t) {
         t.input("correction").set_value(0, 1 - 0.9);
         t.input("correction").set_value(1, 1 - 0.95);
       }},
      {"a state that is not cleared", [](Training& t) { t.input("h0").set_value(3, 0x1p-10); }},
      {"a lost residual",
       [](Training& t) {
         for (OpCall& call : t.program().calls)
           if (call.op == "axpby" && call.outputs[0] == t.id("gru1.out")) call.attributes.set("alpha", 0.0);
       }},
      {"a moment that is not carried",
       [](Training& t) {
         std::erase_if(t.program().carries,
                       [&](const Carry& carry) { return carry.to == t.id("gru0.w_hh.v"); });
       }},
  };
  for (const auto& [name, fault] : faults) EXPECT_GT(golden_error("adamw", fault), 1e-9) << name;
}

}  // namespace
}  // namespace parity::training_test
