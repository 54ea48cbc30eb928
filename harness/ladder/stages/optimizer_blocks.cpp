#include "harness/ladder/stages/optimizer_blocks.hpp"

#include <fmt/format.h>

#include <cmath>

namespace parity {

namespace {

/// A gemm call takes fp32 numbers only.
double fp32(double value) {
  return static_cast<double>(static_cast<float>(value));
}

}  // namespace

AdamWStep adamw_step(Composer& composer, TensorId p, TensorId g, const AdamWStep& state, TensorId correction,
                     const AdamWSettings& s, const std::string& prefix) {
  const auto next = composer.call("adamw",
                                  {{"lr", s.lr},
                                   {"beta1", s.beta1},
                                   {"beta2", s.beta2},
                                   {"eps", s.eps},
                                   {"weight_decay", s.weight_decay}},
                                  {p, g, state.m, state.v, correction},
                                  {prefix + "p_next", prefix + "m_next", prefix + "v_next"});
  return {next[0], next[1], next[2]};
}

TensorId newton_schulz(Layers& layers, TensorId g, const std::string& prefix) {
  Composer& composer = layers.composer();
  if (composer.failed()) return g;
  const double a = fp32(3.4445), b = fp32(-4.775), c = fp32(2.0315);
  const bool tall = composer.shape(g).front() > composer.shape(g).back();
  TensorId x = composer.apply("frobenius_normalize", {{"eps", 1e-7}}, {g}, prefix + "x0");
  for (int i = 1; i <= 5; ++i) {
    const TensorId factor = layers.as_factor(x);
    const auto name = [&](const char* what) { return fmt::format("{}{}{}", prefix, what, i); };
    // X X^T, or X^T X of a tall one.
    const TensorId square =
        composer.apply("gemm", {{"trans_a", std::int64_t{tall}}, {"trans_b", std::int64_t{!tall}}},
                       {factor, factor, no_tensor}, name("a"));
    const TensorId square_factor = layers.as_factor(square);
    const TensorId polynomial = composer.apply("gemm", {{"alpha", c}, {"beta", b}},
                                               {square_factor, square_factor, square}, name("b"));
    const TensorId left = layers.as_factor(polynomial);
    const std::vector<TensorId> product = tall ? std::vector{factor, left, x} : std::vector{left, factor, x};
    x = composer.apply("gemm", {{"beta", a}}, product, name("x"));
  }
  return x;
}

MuonStep muon_step(Layers& layers, TensorId p, TensorId g, TensorId buffer, const MuonSettings& s,
                   const std::string& prefix) {
  Composer& composer = layers.composer();
  if (composer.failed()) return {p, buffer};
  const auto momentum = composer.call("muon_momentum", {{"mu", s.mu}}, {buffer, g},
                                      {prefix + "buffer_next", prefix + "momentum"});
  const TensorId direction = newton_schulz(layers, momentum[1], prefix);
  const auto rows = static_cast<double>(composer.shape(p).front());
  const auto cols = static_cast<double>(composer.shape(p).back());
  const double step = s.lr * std::sqrt(std::max(1.0, rows / cols));
  const TensorId next = composer.apply("axpby", {{"alpha", 1 - s.lr * s.weight_decay}, {"beta", -step}},
                                       {p, direction}, prefix + "p_next");
  return {next, momentum[0]};
}

}  // namespace parity
