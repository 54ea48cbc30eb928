// adamw, muon_momentum, frobenius_normalize: PyTorch's AdamW over several steps, the singular values of
// Muon's update, bounds.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "harness/ladder/closed_form.hpp"
#include "references/gradient_testing.hpp"
#include "references/reference_testing.hpp"
#include "references/vectors_testing.hpp"

namespace parity {
namespace {

using Index = std::int64_t;

/// An f64 tensor of a Value's sizes.
Tensor tensor_of(const Value& value) {
  Tensor tensor = *Tensor::create(DType::f64, {value.rows, value.cols});
  narrow(value.v, tensor);
  return tensor;
}

Tensor vector_of(const std::vector<double>& values) {
  Tensor tensor = *Tensor::create(DType::f64, {static_cast<Index>(values.size())});
  narrow(values, tensor);
  return tensor;
}

TEST(OptimizerVectors, AdamWOverSeveralSteps) {
  const Vectors vectors("adamw_vectors.safetensors");
  EXPECT_EQ(vectors.cases().size(), 2u);
  for (const std::string& name : vectors.cases()) {
    SCOPED_TRACE(name);
    const Tensor settings = *vectors.get(name, "settings");
    const double beta1 = settings.value(1), beta2 = settings.value(2);
    const Attributes attributes{{"lr", settings.value(0)},
                                {"beta1", beta1},
                                {"beta2", beta2},
                                {"eps", settings.value(3)},
                                {"weight_decay", settings.value(4)}};
    // The results of one step are the next one's inputs.
    Tensor p = *vectors.get(name, "P0"), m = *vectors.get(name, "M0"), v = *vectors.get(name, "V0");
    for (int step = 0; step < 5; ++step) {
      SCOPED_TRACE(step);

      const Tensor g = *vectors.get(name, fmt::format("G{}", step));
      const Tensor correction = vector_of({1 - std::pow(beta1, step + 1), 1 - std::pow(beta2, step + 1)});
      const auto got = evaluate_exact("adamw", attributes, {&p, &g, &m, &v, &correction});
      ASSERT_EQ(got.size(), 3u);
      expect_close(got[0], *vectors.get(name, fmt::format("P{}", step + 1)));
      expect_close(got[1], *vectors.get(name, fmt::format("M{}", step + 1)));
      expect_close(got[2], *vectors.get(name, fmt::format("V{}", step + 1)));
      p = tensor_of(got[0]), m = tensor_of(got[1]), v = tensor_of(got[2]);
    }
  }
}

TEST(OptimizerVectors, MuonUpdateHasTheSingularValuesOfThePolynomial) {
  const Vectors vectors("muon_vectors.safetensors");
  EXPECT_EQ(vectors.cases().size(), 3u);
  for (const std::string& name : vectors.cases()) {
    SCOPED_TRACE(name);
    const Tensor b = *vectors.get(name, "B"), g = *vectors.get(name, "G");
    const auto momentum = evaluate_exact("muon_momentum", {{"mu", 0.9375}}, {&b, &g});
    ASSERT_EQ(momentum.size(), 2u);
    expect_close(momentum[0], *vectors.get(name, "B_next"));
    expect_close(momentum[1], *vectors.get(name, "U"));
    const Tensor u = tensor_of(momentum[1]);
    const auto normal = evaluate_exact("frobenius_normalize", {{"eps", 0x1p-23}}, {&u});
    ASSERT_EQ(normal.size(), 1u);
    expect_close(normal[0], *vectors.get(name, "X"));
    // The Newton-Schulz steps as the page has them; the factors must be fp32 numbers for a gemm, so that the
    // products are scaled here.
    const auto arithmetic = make_exact_arithmetic();
    Value x = normal[0];
    for (int step = 0; step < 5; ++step) {
      const Value a = arithmetic->matmul(x, false, x, true);
      const Value square = arithmetic->matmul(a, false, a, false);
      const Value polynomial = arithmetic->scale_add(2.0315, square, -4.775, &a);
      const Value higher = arithmetic->matmul(polynomial, false, x, false);
      x = arithmetic->scale_add(1, higher, 3.4445, &x);
    }
    expect_close(x, *vectors.get(name, "O"));
  }
}

TEST(Optimizer, MissingBiasCorrectionIsSeen) {
  const Vectors vectors("adamw_vectors.safetensors");
  const Tensor p = *vectors.get("decay", "P0"), g = *vectors.get("decay", "G0"),
               m = *vectors.get("decay", "M0"), v = *vectors.get("decay", "V0"), one = vector_of({1, 1});
  const auto got = evaluate_exact(
      "adamw",
      {{"lr", 0x1p-6}, {"beta1", 0.875}, {"beta2", 0.9375}, {"eps", 0x1p-20}, {"weight_decay", 0.0625}},
      {&p, &g, &m, &v, &one});
  double worst = 0;
  const Tensor want = *vectors.get("decay", "P1");
  for (Index i = 0; i < want.elements(); ++i)
    worst = std::max(worst, std::fabs(got[0].v[static_cast<std::size_t>(i)] - want.value(i)));
  EXPECT_GT(worst, 1e-3);
}

/// The formulas that stand beside the references (closed_form.hpp) against those, on all results.
void expect_closed_forms(const char* op, const Attributes& attributes,
                         const std::vector<const Tensor*>& inputs) {
  const auto exact = evaluate_exact(op, attributes, inputs);
  for (std::size_t output = 0; output < exact.size(); ++output)
    for (Index i = 0; i < exact[output].size(); ++i) {
      const double want = exact[output].v[static_cast<std::size_t>(i)];
      EXPECT_NEAR(static_cast<double>(*closed_form(op, attributes, inputs, output, i)), want,
                  1e-15 * std::max(1.0, std::fabs(want)))
          << op << " " << output;
    }
}

TEST(Optimizer, EveryResultHasAFormulaOfItsOwn) {
  const Shape shape{3, 5};
  const Tensor p = random_tensor(shape, 1, 0, 2), g = random_tensor(shape, 2, 0, 2),
               m = random_tensor(shape, 3, 0, 1);
  Tensor v = random_tensor(shape, 4, 0, 1);
  for (Index i = 0; i < v.elements(); ++i) v.set_value(i, std::fabs(v.value(i)));
  const Tensor correction = vector_of({0.25, 0.5});
  expect_closed_forms("adamw", {{"lr", 0x1p-6}, {"weight_decay", 0.25}}, {&p, &g, &m, &v, &correction});
  expect_closed_forms("muon_momentum", {{"mu", 0.9375}}, {&m, &g});
  expect_closed_forms("frobenius_normalize", {{"eps", 0x1p-23}}, {&p});
}

// What is known of AdamW whatever its formula looks like; the formula that stands beside the reference
// (closed_form.hpp) must know it too.
TEST(Optimizer, AdamWHasTheProperties) {
  const auto next = [](const Attributes& attributes, const std::vector<const Tensor*>& inputs) {
    expect_closed_forms("adamw", attributes, inputs);
    return evaluate_exact("adamw", attributes, inputs).front();
  };
  const Tensor p = vector_of({0.5, -2, 3}), g = vector_of({0.25, -8, 1e-3}), zero = vector_of({0, 0, 0});
  // At the first step, with nothing added to the root, each element moves by lr, however large its gradient.
  const Tensor first = vector_of({1 - 0.875, 1 - 0.9375});
  const Attributes plain{{"lr", 0x1p-6}, {"beta1", 0.875}, {"beta2", 0.9375}, {"eps", 0.0}};
  const Value moved = next(plain, {&p, &g, &zero, &zero, &first});
  const double sign[] = {1, -1, 1};
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_NEAR(moved.v[i], p.value(static_cast<Index>(i)) - 0x1p-6 * sign[i], 1e-15);
  // The same later: gradients and averages times 1024, and v times its square, move it as far.
  const Tensor m = vector_of({0.1, 2, -1e-3}), v = vector_of({0.5, 7, 1e-5});
  const auto times = [](const Tensor& x, double factor) {
    Tensor y = x;
    for (Index i = 0; i < y.elements(); ++i) y.set_value(i, x.value(i) * factor);
    return y;
  };
  const Tensor g_large = times(g, 1024), m_large = times(m, 1024), v_large = times(v, 1024.0 * 1024);
  const Value small = next(plain, {&p, &g, &m, &v, &first});
  const Value large = next(plain, {&p, &g_large, &m_large, &v_large, &first});
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(small.v[i], large.v[i], 1e-15);
  // Without a gradient there is the decay alone, and it does not depend on the averages' correction.
  Attributes decaying = plain;
  decaying.set("eps", 0x1p-20);
  decaying.set("weight_decay", 0.25);
  const Value decayed = next(decaying, {&p, &zero, &zero, &zero, &first});
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_NEAR(decayed.v[i], p.value(static_cast<Index>(i)) * (1 - 0x1p-6 * 0.25), 1e-15);
}

TEST(Optimizer, EmulatedBitsAreThoseOfAPlainLoop) {
  // Everything here is +, *, / and sqrt: the bits are known where those are correctly rounded.
  const Shape shape{3, 7};
  const auto make = [&](std::uint64_t seed, double most) {
    return *convert(random_tensor(shape, seed, 0, most), DType::f32);
  };
  const Tensor p = make(1, 2), g = make(2, 0.1), m = make(3, 0.1);
  Tensor v = make(4, 0.01);
  for (Index i = 0; i < v.elements(); ++i) v.set_value(i, std::fabs(v.value(i)));
  const Tensor correction = *convert(vector_of({0.271, 0.14}), DType::f32);
  const Attributes attributes{{"lr", 0.01}, {"weight_decay", 0.04}};
  const auto emulated = make_emulated_arithmetic(fp32_model({SummationOrder::Kind::sequential, 0, 0}));
  const auto got = evaluate_op(**emulated, "adamw", attributes, {&p, &g, &m, &v, &correction});
  const auto number = [](double x) { return static_cast<float>(x); };
  for (Index i = 0; i < p.elements(); ++i) {
    const float gi = number(g.value(i)), c0 = number(correction.value(0)), c1 = number(correction.value(1));
    const float mi = 0.9f * number(m.value(i)) + number(1 - 0.9) * gi;
    const float square = gi * gi;
    const float vi = 0.95f * number(v.value(i)) + number(1 - 0.95) * square;
    const float update = (mi / c0) / (std::sqrt(vi / c1) + 1e-8f);
    const float pi = number(p.value(i)) * number(1 - 0.01 * 0.04) - 0.01f * update;
    const auto at = static_cast<std::size_t>(i);
    EXPECT_EQ(got[0].v[at], static_cast<double>(pi));
    EXPECT_EQ(got[1].v[at], static_cast<double>(mi));
    EXPECT_EQ(got[2].v[at], static_cast<double>(vi));
  }
  for (const Value& value : got) EXPECT_TRUE(value.bits_known);
  const auto normal = evaluate_op(**emulated, "frobenius_normalize", {}, {&p});
  float sum = 0;
  for (Index i = 0; i < p.elements(); ++i) sum = std::fma(number(p.value(i)), number(p.value(i)), sum);
  for (Index i = 0; i < p.elements(); ++i)
    EXPECT_EQ(normal[0].v[static_cast<std::size_t>(i)],
              static_cast<double>(number(p.value(i)) / (std::sqrt(sum) + 1e-7f)));
  EXPECT_TRUE(normal[0].bits_known);
}

TEST(Optimizer, EmulatedLiesWithinTheHardBound) {
  std::vector<double> adamw, muon;
  // Gradients of zero, tiny ones (their squares underflow) and large ones.
  for (const double size : {0.0, 1e-25, 1e-4, 1.0, 1e10}) {
    SCOPED_TRACE(size);
    const Shape shape{5, 9};
    const auto make = [&](std::uint64_t seed, double most) {
      return *convert(random_tensor(shape, seed, 0, most), DType::f32);
    };
    const Tensor p = make(1, 2), g = make(2, size), m = make(3, size);
    Tensor v = make(4, size * size);
    for (Index i = 0; i < v.elements(); ++i) v.set_value(i, std::fabs(v.value(i)));
    const Tensor correction = *convert(vector_of({0.1, 0.05}), DType::f32);
    for (const ArithmeticModel& model : fp32_models()) {
      for (const double x : expect_within_hard_bound(model, "adamw", {{"lr", 0.01}, {"weight_decay", 0.04}},
                                                     {&p, &g, &m, &v, &correction}))
        adamw.push_back(x);
      for (const char* op : {"muon_momentum", "frobenius_normalize"}) {
        const bool normalize = std::string(op) == "frobenius_normalize";
        const PortTensors inputs = normalize ? PortTensors{&g} : PortTensors{&m, &g};
        for (const double x :
             expect_within_hard_bound(model, op, normalize ? Attributes{} : Attributes{{"mu", 0.95}}, inputs))
          muon.push_back(x);
      }
    }
  }
  EXPECT_GT(median(adamw), 0.001);
  EXPECT_GT(median(muon), 0.001);
  RecordProperty("median_adamw", std::to_string(median(adamw)));
  RecordProperty("median_muon", std::to_string(median(muon)));
}

TEST(Optimizer, NothingAndShapeRules) {
  const Tensor none = random_tensor({0, 4}, 1), correction = vector_of({1, 1});
  EXPECT_EQ(evaluate_exact("adamw", {{"lr", 0.1}}, {&none, &none, &none, &none, &correction})[0].size(), 0);
  EXPECT_EQ(evaluate_exact("muon_momentum", {{"mu", 0.5}}, {&none, &none})[1].size(), 0);
  EXPECT_EQ(evaluate_exact("frobenius_normalize", {}, {&none})[0].size(), 0);
  const Shape s{2, 3};
  EXPECT_NE(infer_error("adamw", {{"lr", 0.1}}, {s, s, Shape{3, 2}, s, Shape{2}}).find("M has"),
            std::string::npos);
  EXPECT_NE(infer_error("adamw", {{"lr", 0.1}}, {s, s, s, s, Shape{3}}).find("correction"),
            std::string::npos);
  EXPECT_NE(infer_error("adamw", {}, {s, s, s, s, Shape{2}}).find("lr"), std::string::npos);
  EXPECT_NE(infer_error("adamw", {{"lr", 0.1}, {"beta1", 1.5}}, {s, s, s, s, Shape{2}}).find("beta1"),
            std::string::npos);
  EXPECT_NE(infer_error("muon_momentum", {{"mu", 0.5}}, {s, Shape{3, 3}}).find("G has"), std::string::npos);
  // They have no gradient rule, and say so.
  const OpTable ops = make_op_table();
  const auto refused = gradient_agreement(ops, {"frobenius_normalize", {}, {random_tensor({2, 2}, 1)}});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().kind, ErrorKind::unsupported);
}

}  // namespace
}  // namespace parity
