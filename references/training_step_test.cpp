// training_step as a whole: its text, its program, the fall of the loss, and the derived backward pass.
#include <set>

#include "harness/base/fnv1a.hpp"
#include "harness/ladder/stages/training_text.hpp"
#include "harness/tensor/random.hpp"
#include "references/training_step_testing.hpp"

namespace parity::training_test {
namespace {

Numbers random_direction(std::size_t n, std::uint64_t key) {
  Numbers v(n);
  for (std::size_t i = 0; i < n; ++i) {
    const PhiloxBlock r = philox(key, i, 1);
    v[i] = 2 * uniform_open(r.word[0], r.word[1]) - 1;
  }
  return v;
}

/// Largest disagreement between a weight's gradient and the slope of the loss, along random directions
/// through all its elements and along a few of its axes, relative to the gradient's norm.
double gradient_error(const Training& training, TensorId weight, TensorId gradient) {
  const Numbers g = training.values(gradient);
  const double size = std::sqrt(dot(g, g));
  EXPECT_GT(size, 1e-6) << training.program().spec(weight).name << ": the gradient is zero";
  double worst = 0;
  const auto compare = [&](const Numbers& v) {
    const double error = std::fabs(training.slope(weight, v) - dot(g, v)) / (size * std::sqrt(dot(v, v)));
    worst = error > worst || std::isnan(error) ? error : worst;
  };
  compare(random_direction(g.size(), 11));
  compare(random_direction(g.size(), 12));
  // The largest element, the first and one in the middle.
  std::size_t largest = 0;
  for (std::size_t i = 0; i < g.size(); ++i)
    if (std::fabs(g[i]) > std::fabs(g[largest])) largest = i;
  for (const std::size_t at : {largest, std::size_t{0}, g.size() / 2}) {
    Numbers axis(g.size());
    axis[at] = 1;
    compare(axis);
  }
  return worst;
}

TEST(TrainingStep, TextIsFrozenAscii) {
  for (const char byte : training_text()) {
    ASSERT_TRUE(byte == '\n' || (byte >= ' ' && byte <= '~'));
  }
  EXPECT_EQ(training_text().size(), 9040u);
  Fnv1a hash;
  hash.add(training_text());
  EXPECT_EQ(hash.value(), 0x805998788e586663u);
}

TEST(TrainingStep, EveryWeightIsStateWithAGradientAndIsCarried) {
  for (const std::string optimizer : {"adamw", "muon"}) {
    const Training t(std::string(tiny) + " layers=2 optimizer=" + optimizer);
    std::set<TensorId> carried;
    for (const Carry& carry : t.program().carries) carried.insert(carry.to);
    std::size_t weights = 0;
    for (std::size_t i = 0; i < t.program().tensors.size(); ++i) {
      const TensorSpec& spec = t.program().tensors[i];
      if (spec.role != TensorSpec::Role::state) continue;
      EXPECT_TRUE(carried.contains(static_cast<TensorId>(i))) << spec.name;
      weights +=
          spec.name.ends_with(".m") || spec.name.ends_with(".v") || spec.name.ends_with(".buffer") ? 0 : 1;
    }
    // Table, attention block (6), two GRU layers of 5, norm, classifier.
    EXPECT_EQ(weights, 19u);
    std::size_t squares = 0;
    for (const OpCall& call : t.program().calls) squares += call.op == "square_sum" ? 1 : 0;
    EXPECT_EQ(squares, weights);
    EXPECT_EQ(t.program().spec(t.id("loss")).role, TensorSpec::Role::output);
    EXPECT_EQ(t.program().spec(t.id("gradient_norm")).role, TensorSpec::Role::output);
  }
}

TEST(TrainingStep, FormsAndRefusals) {
  const OpTable ops = make_op_table();
  const StageTable stages = make_stage_table(ops);
  const auto build = [&](const std::string& rest) -> std::string {
    const auto cases = expand_pattern("training_step " + rest, stages);
    if (!cases) return cases.error().message;
    const auto program = stages.find("training_step")->build(cases->front());
    return program ? "" : program.error().message;
  };
  for (const char* in : {"f32", "f16 out=f32", "bf16 out=f32"})
    for (const char* optimizer : {"adamw", "muon"})
      EXPECT_EQ(build(fmt::format("batch=3 seq=5 width=24 heads=3 kv_heads=3 layers=2 optimizer={} in={}",
                                  optimizer, in)),
                "");
  EXPECT_EQ(build("batch=1 seq=1 width=2 heads=1 layers=0"), "");
  EXPECT_NE(build("batch=1 seq=4 width=10 heads=4").find("even"), std::string::npos);
  EXPECT_NE(build("batch=1 seq=4 width=12 heads=3 kv_heads=2").find("kv heads"), std::string::npos);
  EXPECT_NE(build("batch=1 seq=9040 width=8").find("9040 bytes"), std::string::npos);
  EXPECT_NE(build("batch=1 seq=4 width=8 in=f16 out=f16").find("no form"), std::string::npos);
  EXPECT_NE(build("batch=1 seq=4 width=8 fill=nan_cone").find("NaN"), std::string::npos);
}

TEST(TrainingStep, WindowsComeFromTheTextAndChangeWithTheStep) {
  Training t("training_step batch=3 seq=6 width=8 steps=4");
  std::set<std::string> seen;
  for (Index step = 0; step < 4; ++step) {
    t.load_step(step);
    for (Index entry = 0; entry < 3; ++entry) {
      std::string window;
      for (Index i = 0; i < 6; ++i) window += static_cast<char>(t.input("ids").value(entry * 6 + i));
      window += static_cast<char>(t.input("targets").value(entry * 6 + 5));
      for (Index i = 0; i < 5; ++i)
        EXPECT_EQ(t.input("targets").value(entry * 6 + i), t.input("ids").value(entry * 6 + i + 1));
      EXPECT_NE(training_text().find(window), std::string_view::npos) << window;
      seen.insert(window);
    }
    EXPECT_FLOAT_EQ(static_cast<float>(t.input("correction").value(0)),
                    static_cast<float>(correction(0.9, step)));
  }
  EXPECT_GE(seen.size(), 11u);
  EXPECT_EQ(t.stage().steps(t.c()), 4);
}

TEST(TrainingStep, LossFallsAndStaysFinite) {
  for (const std::string optimizer : {"adamw", "muon"}) {
    Training t(fmt::format("{} lr=0.015625 steps=20 optimizer={}", tiny, optimizer));
    Numbers losses;
    for (Index step = 0; step < 20; ++step) {
      t.load_step(step);
      t.evaluate();
      losses.push_back(t.scalar("loss"));
      ASSERT_TRUE(std::isfinite(losses.back()));
      ASSERT_TRUE(std::isfinite(t.scalar("gradient_norm")));
    }
    // Random logits of variance one add about a half to log(128).
    EXPECT_NEAR(losses.front(), std::log(128.0), 1.0);
    // The text has about 3.1 nats a byte when only its letters' frequencies are known.
    double last = 0;
    for (std::size_t i = 15; i < 20; ++i) last += losses[i] / 5;
    EXPECT_LT(last, losses.front() - 0.5) << optimizer;
  }
}

TEST(TrainingStep, GradientsAreTheSlopesOfTheLoss) {
  Training t(std::string(tiny) + " layers=2");
  t.load_step(0);
  t.evaluate();
  const auto gradients = t.gradients();
  EXPECT_EQ(gradients.size(), 19u);
  for (const auto& [weight, gradient] : gradients)
    EXPECT_LT(gradient_error(t, weight, gradient), 1e-8) << t.program().spec(weight).name;
}

TEST(TrainingStep, AWrongBackwardCallIsSeen) {
  // The gradient of a rotation turned the wrong way, and a GRU step whose gradient takes the state after it.
  Training t(tiny);
  t.load_step(0);
  bool turned = false, shifted = false;
  for (OpCall& call : t.program().calls) {
    if (call.op == "rope" && call.attributes.integer("inverse") == 1 && !turned) {
      call.attributes.set("inverse", Index{0});
      turned = true;
    }
    if (call.op == "gru_gates_backward" && !shifted) {
      call.inputs[1] = t.id("gru0.t5_h");
      shifted = true;
    }
  }
  ASSERT_TRUE(turned && shifted);
  t.evaluate();
  const auto gradients = t.gradients();
  const auto error = [&](const char* name) {
    return gradient_error(t, t.id(name), gradients.at(t.id(name)));
  };
  EXPECT_GT(std::max(error("attention.w_k"), error("attention.w_q")), 1e-4);
  EXPECT_GT(error("gru0.w_ih"), 1e-4);
  EXPECT_LT(error("classifier"), 1e-8);  // above both
}

}  // namespace
}  // namespace parity::training_test
