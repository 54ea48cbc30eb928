#pragma once
// Optimizer steps as calls, for the stages of rungs 9 and 10.
#include <string>

#include "harness/ladder/stages/blocks.hpp"

namespace parity {

struct AdamWSettings {
  double lr = 1e-3, beta1 = 0.9, beta2 = 0.95, eps = 1e-8, weight_decay = 0;
};
struct AdamWStep {
  TensorId p = no_tensor, m = no_tensor, v = no_tensor;  ///< the next ones
};
/// One call of adamw (docs/operations.md). `correction` [2] holds {1 - beta1^t, 1 - beta2^t}.
AdamWStep adamw_step(Composer& composer, TensorId p, TensorId g, const AdamWStep& state, TensorId correction,
                     const AdamWSettings& settings, const std::string& prefix);

struct MuonSettings {
  double lr = 0.02, mu = 0.95, weight_decay = 0;
};
struct MuonStep {
  TensorId p = no_tensor, buffer = no_tensor;  ///< the next ones
};
/// Muon (Jordan 2024) of a matrix [r, c]: momentum, newton_schulz, p' = p (1 - lr wd) - lr sqrt(max(1, r /
/// c)) X.
MuonStep muon_step(Layers& layers, TensorId p, TensorId g, TensorId buffer, const MuonSettings& settings,
                   const std::string& prefix);

/// The quintic Newton-Schulz iteration, five times, of G / (|G|_F + 1e-7): A = X X^T, B = c A A + b A,
/// X = B X + a X with (a, b, c) = (3.4445, -4.775, 2.0315) in fp32; a tall matrix uses A = X^T X and X = X B
/// + a X, which is the iteration of its transpose. Moves the singular values near one, but not to one.
TensorId newton_schulz(Layers& layers, TensorId g, const std::string& prefix);

}  // namespace parity
