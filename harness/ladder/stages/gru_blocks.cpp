#include <fmt/format.h>

#include "harness/ladder/stages/blocks.hpp"

namespace parity {

namespace {

/// The gates of one step from a = W_ih x + b_ih: u = W_hh h + b_hh, then h' into `next`.
void step(Layers& layers, TensorId a, TensorId h, TensorId next, const GruWeights& w,
          const std::string& prefix) {
  Composer& composer = layers.composer();
  if (composer.failed()) return;
  const TensorId u = layers.linear(h, w.w_hh, w.b_hh, prefix + "u");
  const Shape shape = composer.shape(h);
  std::vector<TensorId> outputs{next};
  for (const char* gate : {"r", "z", "n"}) outputs.push_back(composer.intermediate(prefix + gate, shape));
  composer.call_into("gru_gates", {}, {a, u, h}, outputs);
}

}  // namespace

GruWeights gru_weights(Layers& layers, std::int64_t inputs, std::int64_t hidden, const std::string& prefix) {
  GruWeights w;
  w.w_ih = layers.matrix(prefix + "w_ih", 3 * hidden, inputs);
  w.w_hh = layers.matrix(prefix + "w_hh", 3 * hidden, hidden);
  w.b_ih = layers.bias(prefix + "b_ih", 3 * hidden, weight_scale(hidden));
  w.b_hh = layers.bias(prefix + "b_hh", 3 * hidden, weight_scale(hidden));
  return w;
}

TensorId gru_cell(Layers& layers, TensorId x, TensorId h, const GruWeights& w, const std::string& prefix) {
  Composer& composer = layers.composer();
  if (composer.failed()) return h;
  const TensorId a = layers.linear(x, w.w_ih, w.b_ih, prefix + "a");
  const TensorId next = composer.intermediate(prefix + "h_next", composer.shape(h));
  step(layers, a, h, next, w, prefix);
  return next;
}

GruStates gru_sequence(Layers& layers, TensorId x, TensorId h0, std::int64_t seq, const GruWeights& w,
                       const std::string& prefix) {
  Composer& composer = layers.composer();
  if (composer.failed()) return {h0, h0};
  const std::int64_t batch = composer.shape(h0).front(), hidden = composer.shape(h0).back();
  const TensorId a = composer.sequence(prefix + "a", batch * seq, 3 * hidden);
  layers.linear_into(x, w.w_ih, w.b_ih, a);
  GruStates states{composer.sequence(prefix + "h", batch * seq, hidden), h0};
  for (std::int64_t t = 0; t < seq; ++t) {
    const std::string at = fmt::format("{}t{}_", prefix, t);
    const TensorId next = composer.rows_of(states.all, t, batch, at + "h", seq);
    step(layers, composer.rows_of(a, t, batch, at + "a", seq), states.last, next, w, at);
    states.last = next;
  }
  return states;
}

TensorId gru_layer(Layers& layers, TensorId x, TensorId h0, std::int64_t seq, double eps,
                   const std::string& prefix) {
  Composer& composer = layers.composer();
  if (composer.failed()) return x;
  const std::int64_t width = composer.shape(x).back();
  const TensorId weight = layers.gain(prefix + "norm", width);
  const TensorId n =
      composer.call("rms_norm", {{"eps", eps}}, {x, weight}, {prefix + "normed", prefix + "inverse"})[0];
  const GruWeights w = gru_weights(layers, width, width, prefix);
  const GruStates states = gru_sequence(layers, n, h0, seq, w, prefix);
  // Laid out as the states are: the gradient that comes back for both is one tensor, not a copy.
  const TensorId out = composer.sequence(prefix + "out", composer.shape(x).front(), width);
  composer.call_into("axpby", {}, {x, states.all}, {out});
  return out;
}

}  // namespace parity
