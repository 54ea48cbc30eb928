#pragma once
#include <optional>
#include <vector>

#include "harness/ladder/op.hpp"

namespace parity {

/// One op call in fp64 whose gradient rule is to be tested. For tests only.
struct GradientProblem {
  std::string op;
  Attributes attributes = {};
  /// In port order: f64, indices i32, an empty optional port nullopt.
  std::vector<std::optional<Tensor>> inputs = {};
  std::vector<std::size_t> wanted = {};  ///< input ports whose gradient is asked for; empty: every f64 one
  std::size_t seeded = 0;                ///< the output whose gradient is given
};

/// How well the gradients agree with the function. J is the derivative, w the output's random gradient.
struct GradientAgreement {
  /// Largest |gradient - difference quotient| over all elements of all wanted inputs, relative to the largest
  /// difference quotient of its input.
  double difference = 0;
  /// |<J v, w> - <v, J^T w>| over |J v| |w|, for a random direction v through all wanted inputs.
  double adjoint = 0;
  /// Order in h of <w, f(x + h v)> - <w, f(x)> - h <v, J^T w>: 2, or more where the curvature along v
  /// vanishes; about 1 for a wrong gradient. Infinite for a remainder that is all rounding (f is linear).
  double taylor_order = 0;
};

/// Builds the call's Program, derives its backward pass (add_backward) and evaluates both in exact
/// arithmetic. Inputs should lie further than 0.1 from any kink. Errors: those of the op, of its rule and of
/// add_backward.
Result<GradientAgreement> gradient_agreement(const OpTable& ops, const GradientProblem& problem,
                                             std::uint64_t seed = 1);

/// EXPECTs the agreement that a right rule reaches: difference 1e-8, adjoint 1e-11, order at least 1.9. The
/// quotients are extrapolated, so that their own error is about 1e-12.
void expect_right_gradient(const OpTable& ops, const GradientProblem& problem, std::uint64_t seed = 1);

/// An f64 tensor of random numbers of magnitude `least` .. `most`, of both signs. The same everywhere.
Tensor random_tensor(Shape shape, std::uint64_t seed, double least = 0.2, double most = 1.2);
/// An i32 tensor.
Tensor index_tensor(const std::vector<std::int64_t>& values);

}  // namespace parity
