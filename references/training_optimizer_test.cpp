// The optimizers of training_step against their formulas, written out by hand.
#include <algorithm>

#include "references/training_step_testing.hpp"

namespace parity::training_test {
namespace {

double fp32(double value) {
  return static_cast<double>(static_cast<float>(value));
}

TEST(TrainingStep, ClippingLimitsTheCommonNorm) {
  Training t(std::string(tiny) + " clip=0.125");
  t.load_step(0);
  t.evaluate();
  double squares = 0;
  for (const auto& [weight, gradient] : t.gradients()) squares += dot(t.values(gradient), t.values(gradient));
  EXPECT_NEAR(t.scalar("gradient_norm"), std::sqrt(squares), 1e-12 * std::sqrt(squares));
  ASSERT_GT(std::sqrt(squares), 0.125);
  double clipped = 0;
  for (const OpCall& call : t.program().calls)
    if (call.op == "scale_by") clipped += dot(t.values(call.outputs[0]), t.values(call.outputs[0]));
  EXPECT_NEAR(std::sqrt(clipped), 0.125 * std::sqrt(squares) / (std::sqrt(squares) + fp32(1e-6)), 1e-12);
}

TEST(TrainingStep, AdamWStepsFollowTheFormula) {
  const double lr = 0x1p-7;
  Training t(std::string(tiny) + " weight_decay=0.25");
  for (Index step = 0; step < 3; ++step) {
    t.load_step(step);
    t.evaluate();
    for (const OpCall& call : t.program().calls) {
      if (call.op != "adamw") continue;
      const TensorSpec& spec = t.program().spec(call.inputs[0]);
      const double decay = spec.shape.size() == 2 ? fp32(1 - lr * 0.25) : 1;
      const Numbers p = t.before(call.inputs[0]), m = t.before(call.inputs[2]), v = t.before(call.inputs[3]);
      const Numbers g = t.values(call.inputs[1]), next = t.after(call.inputs[0]);
      double worst = 0;
      for (std::size_t i = 0; i < p.size(); ++i) {
        const double mean = fp32(0.9) * m[i] + fp32(1 - 0.9) * g[i];
        const double square = fp32(0.95) * v[i] + fp32(1 - 0.95) * g[i] * g[i];
        const double first = mean / correction(0.9, step);
        const double second = square / correction(0.95, step);
        const double want = decay * p[i] - lr * first / (std::sqrt(second) + fp32(1e-8));
        worst = std::max(worst, std::fabs(next[i] - want));
        EXPECT_NEAR(t.after(call.inputs[2])[i], mean, 1e-15);
        EXPECT_NEAR(t.after(call.inputs[3])[i], square, 1e-15);
      }
      EXPECT_LT(worst, 1e-14) << spec.name;
      EXPECT_NE(p, next) << spec.name;
    }
  }
}

using Matrix = std::vector<Numbers>;

Matrix times(const Matrix& a, const Matrix& b) {
  Matrix c(a.size(), Numbers(b[0].size()));
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t k = 0; k < b.size(); ++k)
      for (std::size_t j = 0; j < b[0].size(); ++j) c[i][j] += a[i][k] * b[k][j];
  return c;
}
Matrix transposed(const Matrix& a) {
  Matrix t(a[0].size(), Numbers(a.size()));
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j < a[0].size(); ++j) t[j][i] = a[i][j];
  return t;
}

/// As the iteration is published: a tall matrix is transposed first and back afterwards.
Matrix newton_schulz_by_hand(Matrix x) {
  const bool tall = x.size() > x[0].size();
  if (tall) x = transposed(x);
  double squares = 0;
  for (const Numbers& row : x) squares += dot(row, row);
  for (Numbers& row : x)
    for (double& value : row) value /= std::sqrt(squares) + fp32(1e-7);
  for (int i = 0; i < 5; ++i) {
    const Matrix a = times(x, transposed(x)), aa = times(a, a);
    Matrix b = a;
    for (std::size_t r = 0; r < a.size(); ++r)
      for (std::size_t c = 0; c < a.size(); ++c) b[r][c] = fp32(-4.775) * a[r][c] + fp32(2.0315) * aa[r][c];
    Matrix next = times(b, x);
    for (std::size_t r = 0; r < x.size(); ++r)
      for (std::size_t c = 0; c < x[0].size(); ++c) next[r][c] += fp32(3.4445) * x[r][c];
    x = std::move(next);
  }
  return tall ? transposed(x) : x;
}

TEST(TrainingStep, MuonStepsFollowTheFormula) {
  const double lr = 0x1p-6, mu = fp32(0.95);
  Training t(std::string(tiny) + " optimizer=muon lr=0.015625 weight_decay=0.25");
  std::size_t tall = 0, wide = 0;
  for (Index step = 0; step < 2; ++step) {
    t.load_step(step);
    t.evaluate();
    for (const OpCall& call : t.program().calls) {
      if (call.op != "muon_momentum") continue;
      const std::string buffer_name = t.program().spec(call.inputs[0]).name;
      const TensorId weight = t.id(buffer_name.substr(0, buffer_name.size() - 7));
      const auto rows = static_cast<std::size_t>(t.program().spec(weight).shape[0]);
      const auto cols = static_cast<std::size_t>(t.program().spec(weight).shape[1]);
      const Numbers buffer = t.before(call.inputs[0]), g = t.values(call.inputs[1]), p = t.before(weight);
      const Numbers next = t.after(weight), next_buffer = t.after(call.inputs[0]);
      Matrix update(rows, Numbers(cols));
      for (std::size_t i = 0; i < p.size(); ++i) {
        const double momentum = mu * buffer[i] + g[i];
        EXPECT_NEAR(next_buffer[i], momentum, 1e-14);
        update[i / cols][i % cols] = g[i] + mu * momentum;
      }
      const Matrix x = newton_schulz_by_hand(update);
      const double scale = std::sqrt(std::max(1.0, static_cast<double>(rows) / static_cast<double>(cols)));
      double worst = 0;
      for (std::size_t i = 0; i < p.size(); ++i)
        worst = std::max(worst, std::fabs(next[i] - (fp32(1 - lr * 0.25) * p[i] -
                                                     fp32(lr * scale) * x[i / cols][i % cols])));
      EXPECT_LT(worst, 1e-12) << buffer_name;
      (rows > cols ? tall : wide) += 1;
    }
  }
  EXPECT_EQ(tall, 4u);  // w_ih and w_hh, two steps
  EXPECT_EQ(wide, 8u);
}

}  // namespace
}  // namespace parity::training_test
