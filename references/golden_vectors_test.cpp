// Every reference in exact arithmetic against vectors that PyTorch computed in fp64
// (testdata/make_vectors.py).
#include <gtest/gtest.h>

#include <cmath>

#include "references/op_table.hpp"
#include "references/vectors_testing.hpp"

namespace parity {
namespace {

Tensor magnitudes(Tensor tensor) {
  for (std::int64_t i = 0; i < tensor.elements(); ++i) tensor.set_value(i, std::fabs(tensor.value(i)));
  return tensor;
}

/// Evaluates `op` and compares with `want`, within 1e-12 of the same op over the magnitudes of its inputs
/// (the sum of |a||b|; of the result itself where an activation makes it larger).
void compare(const Op& op, const Attributes& attributes, const std::vector<std::optional<Tensor>>& ports,
             const Tensor& want, const Attributes& magnitude_attributes, double lipschitz) {
  PortTensors inputs;
  std::vector<std::optional<Shape>> shapes;
  std::vector<Tensor> absolute;
  absolute.reserve(ports.size());
  PortTensors absolute_inputs;
  for (const auto& port : ports) {
    inputs.push_back(port ? &*port : nullptr);
    shapes.push_back(port ? std::optional(port->shape()) : std::nullopt);
    absolute.push_back(port ? magnitudes(*port) : Tensor{});
    absolute_inputs.push_back(port ? &absolute.back() : nullptr);
  }
  const auto inferred = op.infer(attributes, shapes);
  ASSERT_TRUE(inferred.has_value()) << inferred.error().message;
  EXPECT_EQ(inferred->front(), want.shape());
  const auto exact = make_exact_arithmetic();
  const auto got = op.evaluate(*exact, attributes, inputs);
  const auto scale = op.evaluate(*exact, magnitude_attributes, absolute_inputs);
  ASSERT_TRUE(got.has_value() && scale.has_value());
  ASSERT_EQ(got->front().size(), want.elements());
  for (std::int64_t i = 0; i < want.elements(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    const double bound = 1e-12 * std::max(lipschitz * scale->front().v[at], std::fabs(want.value(i)));
    EXPECT_NEAR(got->front().v[at], want.value(i), bound) << "element " << i;
  }
}

double number_after(const std::string& text, const std::string& key) {
  return std::stod(text.substr(text.find(key) + key.size()));
}

TEST(GoldenVectors, Gemm) {
  const Vectors vectors("gemm_vectors.safetensors");
  const OpTable ops = make_op_table();
  const Op& gemm = *ops.find("gemm");
  EXPECT_EQ(vectors.cases().size(), 22u);
  for (const std::string& name : vectors.cases()) {
    SCOPED_TRACE(name);
    const double alpha = number_after(name, "alpha");
    const double beta = number_after(name, "beta");
    const auto attributes = [&](double a, double b) {
      return Attributes{{"trans_a", std::int64_t{name[0] == 't'}},
                        {"trans_b", std::int64_t{name[1] == 't'}},
                        {"alpha", a},
                        {"beta", b}};
    };
    for (const std::int64_t pad : {0, 3}) {
      std::vector<std::optional<Tensor>> ports;
      for (const char* port : {"A", "B", "C"}) {
        auto tensor = vectors.get(name, port);
        if (tensor) tensor = strided(*tensor, pad);
        ports.push_back(std::move(tensor));
      }
      compare(gemm, attributes(alpha, beta), ports, *vectors.get(name, "D"),
              attributes(std::fabs(alpha), std::fabs(beta)), 1);
    }
  }
}

TEST(GoldenVectors, Linear) {
  const Vectors vectors("linear_vectors.safetensors");
  const OpTable ops = make_op_table();
  const Op& linear = *ops.find("linear");
  EXPECT_EQ(vectors.cases().size(), 18u);
  for (const std::string& name : vectors.cases()) {
    SCOPED_TRACE(name);
    const std::string activation = name.substr(0, name.rfind("_m"));
    std::vector<std::optional<Tensor>> ports;
    for (const char* port : {"X", "W", "bias"}) ports.push_back(vectors.get(name, port));
    // leaky_relu_squared and exp amplify an error of the sum by up to 2|h| and e^h, which the result's own
    // size and the sum of magnitudes squared bound here.
    const Tensor want = *vectors.get(name, "Y");
    double largest = 1;
    for (std::int64_t i = 0; i < want.elements(); ++i) largest = std::max(largest, std::fabs(want.value(i)));
    compare(linear, Attributes{{"activation", activation}}, ports, want, {}, 2 * largest);
  }
}

TEST(GoldenVectors, AWrongBetaIsSeen) {
  // The same comparison with the wrong attributes: it must not pass by chance.
  const Vectors vectors("gemm_vectors.safetensors");
  const OpTable ops = make_op_table();
  const std::string name = "nn_alpha0.5_beta0.75_batch";
  const Tensor a = *vectors.get(name, "A"), b = *vectors.get(name, "B"), c = *vectors.get(name, "C");
  const auto exact = make_exact_arithmetic();
  const auto got =
      ops.find("gemm")->evaluate(*exact, Attributes{{"alpha", 0.5}, {"beta", 0.5}}, {&a, &b, &c});
  const Tensor want = *vectors.get(name, "D");
  double worst = 0;
  for (std::int64_t i = 0; i < want.elements(); ++i) {
    worst = std::max(worst, std::fabs(got->front().v[static_cast<std::size_t>(i)] - want.value(i)));
  }
  EXPECT_GT(worst, 0.01);
}

}  // namespace
}  // namespace parity
