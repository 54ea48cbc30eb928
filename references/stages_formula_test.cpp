// Composed programs in exact arithmetic against PyTorch's vectors and against the formulas written directly.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "references/stages_testing.hpp"
#include "references/vectors_testing.hpp"

namespace parity {
namespace {

using Numbers = std::vector<double>;
using Size = std::size_t;

constexpr const char* in_f64 = " in=f64 acc=f64 out=f64";

Numbers numbers_of(const Tensor& tensor) {
  Numbers out;
  for (std::int64_t i = 0; i < tensor.elements(); ++i) out.push_back(tensor.value(i));
  return out;
}

/// Largest difference, relative to the largest wanted magnitude.
double distance(const Numbers& got, const Numbers& want) {
  EXPECT_EQ(got.size(), want.size());
  double worst = 0, largest = 1e-300;
  for (Size i = 0; i < std::min(got.size(), want.size()); ++i) {
    largest = std::max(largest, std::fabs(want[i]));
    worst = std::fabs(got[i] - want[i]) <= worst ? worst : std::fabs(got[i] - want[i]);  // a NaN stays
  }
  return worst / largest;
}

/// x W^T + b; x [rows, k], W [n, k].
Numbers product(const Numbers& x, const Numbers& w, const Numbers& b, Size k) {
  const Size rows = x.size() / k, n = w.size() / k;
  Numbers y(rows * n);
  for (Size i = 0; i < rows; ++i)
    for (Size j = 0; j < n; ++j) {
      double sum = b.empty() ? 0 : b[j];
      for (Size l = 0; l < k; ++l) sum += x[i * k + l] * w[j * k + l];
      y[i * n + j] = sum;
    }
  return y;
}

double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

Numbers rows_of(const Numbers& x, Size cols, Size first, Size step, Size count) {
  Numbers out;
  for (Size i = 0; i < count; ++i)
    for (Size j = 0; j < cols; ++j) out.push_back(x[(first + i * step) * cols + j]);
  return out;
}

/// x / sqrt(mean x^2 + eps) by `group` columns.
Numbers normed(Numbers x, Size group, double eps) {
  for (Size begin = 0; begin < x.size(); begin += group) {
    double square = 0;
    for (Size i = 0; i < group; ++i) square += x[begin + i] * x[begin + i];
    const double r = 1 / std::sqrt(square / static_cast<double>(group) + static_cast<float>(eps));
    for (Size i = 0; i < group; ++i) x[begin + i] *= r;
  }
  return x;
}

TEST(StageFormulas, SequencesAndGradientsArePytorchs) {
  const Vectors vectors("gru_vectors.safetensors");
  EXPECT_EQ(vectors.cases().size(), 3u);
  for (const std::string& name : vectors.cases()) {
    SCOPED_TRACE(name);
    const auto size = [&](const std::string& key) {
      return std::stol(name.substr(name.find(key) + key.size()));
    };
    StageRun run(fmt::format("gru_sequence steps={} batch={} inputs={} hidden={} gradient=y{}", size("steps"),
                             size("batch"), size("inputs"), size("hidden"), in_f64));
    const std::vector<std::string> inputs{"x", "h0", "w_ih", "w_hh", "b_ih", "b_hh"};
    for (const std::string& input : inputs) run.set(input, numbers_of(*vectors.get(name, input)));
    run.set("d_h", numbers_of(*vectors.get(name, "d_h")));
    run.run();
    EXPECT_LT(distance(run.get("h"), numbers_of(*vectors.get(name, "h"))), 1e-12);
    for (const std::string& input : inputs)
      EXPECT_LT(distance(run.get("d_" + input), numbers_of(*vectors.get(name, "d_" + input))), 1e-12)
          << input;
  }
}

TEST(StageFormulas, ASequenceIsALoopOfCells) {
  constexpr Size steps = 4, batch = 3, inputs = 5, hidden = 7;
  StageRun sequence("gru_sequence steps=4 batch=3 inputs=5 hidden=7" + std::string(in_f64));
  sequence.run();
  const Numbers x = sequence.get("x"), all = sequence.get("h");
  Numbers h = sequence.get("h0");
  for (Size t = 0; t < steps; ++t) {
    StageRun cell("gru_cell batch=3 inputs=5 hidden=7" + std::string(in_f64));
    for (const char* weight : {"w_ih", "w_hh", "b_ih", "b_hh"}) cell.set(weight, sequence.get(weight));
    cell.set("x", rows_of(x, inputs, t, steps, batch));
    cell.set("h", h);
    cell.run();
    h = cell.get("h_next");
    EXPECT_EQ(rows_of(all, hidden, t, steps, batch), h) << "step " << t;
  }
}

TEST(StageFormulas, ResetBeforeIsAnotherFunction) {
  constexpr Size batch = 3, inputs = 5, hidden = 7;
  StageRun run("gru_cell batch=3 inputs=5 hidden=7 variant=reset_before" + std::string(in_f64));
  run.run();
  const Numbers x = run.get("x"), h = run.get("h");
  const auto input = [&](const std::string& gate) {
    return product(x, run.get("w_i" + gate), run.get("b_i" + gate), inputs);
  };
  const auto state = [&](const std::string& gate, const Numbers& from) {
    return product(from, run.get("w_h" + gate), run.get("b_h" + gate), hidden);
  };
  const Numbers ar = input("r"), az = input("z"), an = input("n"), ur = state("r", h), uz = state("z", h);
  Numbers rh(h.size());
  for (Size i = 0; i < h.size(); ++i) rh[i] = sigmoid(ar[i] + ur[i]) * h[i];
  const Numbers un = state("n", rh), linear = state("n", h);
  Numbers want(batch * hidden), other(batch * hidden);
  for (Size i = 0; i < want.size(); ++i) {
    const double z = sigmoid(az[i] + uz[i]), r = sigmoid(ar[i] + ur[i]);
    want[i] = (1 - z) * std::tanh(an[i] + un[i]) + z * h[i];
    other[i] = (1 - z) * std::tanh(an[i] + r * linear[i]) + z * h[i];
  }
  EXPECT_LT(distance(run.get("h_next"), want), 1e-13);
  EXPECT_GT(distance(run.get("h_next"), other), 1e-3);
}

TEST(StageFormulas, AStackIsNormSequenceAndResidualByLayer) {
  constexpr Size steps = 3, batch = 2, hidden = 5;
  StageRun run("gru_stack layers=2 steps=3 batch=2 hidden=5 eps=0.01" + std::string(in_f64));
  run.run();
  Numbers x = run.get("x");
  for (const std::string layer : {"l0.", "l1."}) {
    const Numbers weight = run.get(layer + "norm");
    Numbers n = normed(x, hidden, 0.01);
    for (Size i = 0; i < n.size(); ++i) n[i] *= weight[i % hidden];
    StageRun sequence("gru_sequence steps=3 batch=2 inputs=5 hidden=5" + std::string(in_f64));
    for (const char* input : {"h0", "w_ih", "w_hh", "b_ih", "b_hh"})
      sequence.set(input, run.get(layer + input));
    sequence.set("x", n);
    sequence.run();
    const Numbers h = sequence.get("h");
    ASSERT_EQ(h.size(), steps * batch * hidden);
    for (Size i = 0; i < x.size(); ++i) x[i] += h[i];
  }
  EXPECT_LT(distance(run.get("l1.out"), x), 1e-13);
}

/// What attention does with one head of one entry: q, k, v [seq, dim].
Numbers attended(const Numbers& q, const Numbers& k, const Numbers& v, const std::vector<bool>& valid,
                 Size dim) {
  const Size seq = q.size() / dim;
  Numbers o(q.size(), 0.0);
  for (Size i = 0; i < seq; ++i) {
    Numbers weights(seq, 0.0);
    double total = 0;
    for (Size j = 0; j <= i; ++j) {
      if (!valid[j]) continue;
      double score = 0;
      for (Size d = 0; d < dim; ++d) score += q[i * dim + d] * k[j * dim + d];
      weights[j] = std::exp(score * static_cast<float>(1 / std::sqrt(static_cast<double>(dim))));
      total += weights[j];
    }
    for (Size j = 0; j < seq && total > 0; ++j)
      for (Size d = 0; d < dim; ++d) o[i * dim + d] += weights[j] / total * v[j * dim + d];
  }
  return o;
}

TEST(StageFormulas, AttentionBlockByHand) {
  constexpr Size batch = 2, seq = 4, heads = 4, kv_heads = 2, dim = 6, half = 2, width = 10;
  StageRun run(
      "attention_block batch=2 seq=4 heads=4 kv_heads=2 head_dim=6 rotary=4 width=10 mask=y eps=0.01" +
      std::string(in_f64));
  // The first entry is masked as a whole; in the second one key is.
  const Numbers valid{0, 0, 0, 0, 1, 0, 1, 1};
  run.set("valid", valid);
  run.run();
  const Numbers x = run.get("x"), norm = run.get("norm"), gain = run.get("q_gain");
  Numbers n = normed(x, width, 0.01);
  for (Size i = 0; i < n.size(); ++i) n[i] *= norm[i % width];
  const auto turned = [&](const std::string& weight, Size count) {
    Numbers y = normed(product(n, run.get(weight), {}, width), dim, 0.01);
    for (Size row = 0; row < batch * seq; ++row)
      for (Size head = 0; head < count; ++head)
        for (Size i = 0; i < half; ++i) {
          double* at = &y[(row * count + head) * dim + i];
          const double angle =
              static_cast<double>(row % seq) * std::pow(10000.0, -static_cast<double>(i) / half);
          const double first = at[0], second = at[half];
          at[0] = first * std::cos(angle) + second * std::sin(angle);
          at[half] = second * std::cos(angle) - first * std::sin(angle);
        }
    return y;
  };
  Numbers q = turned("w_q", heads);
  for (Size i = 0; i < q.size(); ++i) q[i] *= gain[i / dim % heads];
  const Numbers k = turned("w_k", kv_heads), v = product(n, run.get("w_v"), {}, width);
  Numbers o(batch * seq * heads * dim);
  for (Size b = 0; b < batch; ++b)
    for (Size head = 0; head < heads; ++head) {
      const auto part = [&](const Numbers& from, Size h, Size count) {
        return rows_of(from, dim, b * seq * count + h, count, seq);
      };
      const Size kv = head / (heads / kv_heads);
      std::vector<bool> takes_part;
      for (Size t = 0; t < seq; ++t) takes_part.push_back(valid[b * seq + t] != 0);
      const Numbers values = part(v, kv, kv_heads);
      const Numbers y = attended(part(q, head, heads), part(k, kv, kv_heads), values, takes_part, dim);
      for (Size t = 0; t < seq; ++t) {
        double square = 0, along = 0;
        for (Size d = 0; d < dim; ++d) square += values[t * dim + d] * values[t * dim + d];
        for (Size d = 0; d < dim; ++d) along += y[t * dim + d] * values[t * dim + d];
        for (Size d = 0; d < dim; ++d)
          o[((b * seq + t) * heads + head) * dim + d] = y[t * dim + d] - along / square * values[t * dim + d];
      }
    }
  Numbers want = product(o, run.get("w_o"), {}, heads * dim);
  for (Size i = 0; i < want.size(); ++i) want[i] += x[i];
  EXPECT_LT(distance(run.get("out"), want), 1e-12);
  for (Size i = 0; i < seq * width; ++i) EXPECT_EQ(run.get("out")[i], x[i]);  // nothing to attend to
}

TEST(StageFormulas, ClippingLimitsTheNormOfAll) {
  for (const double max_norm : {1.0, 1e6}) {
    StageRun run(fmt::format("grad_norm_clip tensors=3 rows=4 cols=5 max_norm={}{}", max_norm, in_f64));
    run.run();
    double square = 0;
    for (const char* name : {"g0", "g1", "g2"})
      for (const double g : run.get(name)) square += g * g;
    EXPECT_NEAR(run.get("norm").front(), std::sqrt(square), 1e-12 * std::sqrt(square));
    const double factor = std::min(1.0, max_norm / (std::sqrt(square) + static_cast<double>(1e-6f)));
    for (const char* name : {"g0", "g1", "g2"}) {
      Numbers want = run.get(name);
      for (double& g : want) g *= factor;
      EXPECT_LT(distance(run.get(std::string(name) + "_clipped"), want), 1e-13) << name;
    }
  }
}

TEST(StageFormulas, LossOfCappedLogits) {
  constexpr Size rows = 5, classes = 7;
  StageRun run("softmax_cross_entropy rows=5 classes=7 softcap=3 fill=saturated" + std::string(in_f64));
  run.run();
  const Numbers logits = run.get("logits"), targets = run.get("targets");
  double loss = 0;
  for (Size row = 0; row < rows; ++row) {
    double sum = 0;
    const auto capped = [&](Size c) { return 3 * std::tanh(logits[row * classes + c] / 3); };
    for (Size c = 0; c < classes; ++c) sum += std::exp(capped(c));
    loss += (std::log(sum) - capped(static_cast<Size>(targets[row]))) / rows;
  }
  EXPECT_NEAR(run.get("loss").front(), loss, 1e-12 * std::fabs(loss));
}

TEST(StageFormulas, TallMuonIsTheTransposeOfWide) {
  // The iteration moves p by lr sqrt(max(1, rows / cols)) X: the same direction, transposed.
  StageRun tall("muon rows=5 cols=3 lr=0.5 weight_decay=0" + std::string(in_f64));
  StageRun wide("muon rows=3 cols=5 lr=0.5 weight_decay=0" + std::string(in_f64));
  const auto transposed = [](const Numbers& x, Size rows, Size cols) {
    Numbers out(x.size());
    for (Size i = 0; i < rows; ++i)
      for (Size j = 0; j < cols; ++j) out[j * rows + i] = x[i * cols + j];
    return out;
  };
  for (const char* name : {"p", "g", "buffer"}) wide.set(name, transposed(tall.get(name), 5, 3));
  tall.run();
  wide.run();
  const double scale = static_cast<float>(0.5 * std::sqrt(5.0 / 3.0)) / 0.5;
  const Numbers p = tall.get("p"), next = tall.get("p_next");
  const Numbers wide_next = transposed(wide.get("p_next"), 3, 5);
  Numbers got, want;
  for (Size i = 0; i < p.size(); ++i) {
    got.push_back(next[i] - p[i]);
    want.push_back(scale * (wide_next[i] - p[i]));
  }
  EXPECT_LT(distance(got, want), 1e-12);
  EXPECT_GT(*std::ranges::max_element(got), 0.01);
}

}  // namespace
}  // namespace parity
