#include <fmt/format.h>

#include <cmath>

#include "harness/ladder/stages/blocks.hpp"

namespace parity {

RopeTables rope_tables(Composer& composer, std::int64_t seq, std::int64_t rotary) {
  const Shape shape{seq, rotary / 2};
  return {composer.input("cos", shape, {Content::Kind::cosines}),
          composer.input("sin", shape, {Content::Kind::sines})};
}

TensorId attention_block(Layers& layers, TensorId x, const AttentionShape& s, const RopeTables& tables,
                         const std::string& prefix) {
  Composer& composer = layers.composer();
  if (composer.failed()) return x;
  if (s.kv_heads == 0 || s.heads % s.kv_heads != 0) {
    composer.fail_with({ErrorKind::bad_input, fmt::format("{} query heads cannot share {} kv heads; kv_heads "
                                                          "must divide heads",
                                                          s.heads, s.kv_heads)});
    return x;
  }
  const std::int64_t width = composer.shape(x).back();
  const std::int64_t q_width = s.heads * s.head_dim, kv_width = s.kv_heads * s.head_dim;
  const auto name = [&](const char* part) { return prefix + part; };
  const TensorId norm = layers.gain(name("norm"), width);
  const TensorId w_q = layers.matrix(name("w_q"), q_width, width);
  const TensorId w_k = layers.matrix(name("w_k"), kv_width, width);
  const TensorId w_v = layers.matrix(name("w_v"), kv_width, width);
  const TensorId q_gain = layers.gain(name("q_gain"), s.heads);
  const TensorId w_o = layers.matrix(name("w_o"), width, q_width);

  const TensorId n =
      composer.call("rms_norm", {{"eps", s.eps}}, {x, norm}, {name("n"), name("n_inverse")})[0];
  // RMS of each head, then the rotation.
  const auto prepared = [&](TensorId weight, const std::string& part) {
    const TensorId projected = layers.linear(n, weight, no_tensor, part);
    const TensorId normed = composer.call("rms_norm", {{"eps", s.eps}, {"group", s.head_dim}},
                                          {projected, no_tensor}, {part + "_norm", part + "_inverse"})[0];
    return composer.apply("rope",
                          {{"head_dim", s.head_dim},
                           {"rotary", s.rotary},
                           {"seq", s.seq},
                           {"pairing", s.pairing},
                           {"inverse", std::int64_t{0}}},
                          {normed, tables.cos, tables.sin}, part + "_rope");
  };
  const TensorId q = composer.apply("head_scale", {}, {prepared(w_q, name("q")), q_gain}, name("q_scaled"));
  const TensorId k = prepared(w_k, name("k"));
  const TensorId v = layers.linear(n, w_v, no_tensor, name("v"));
  TensorId o = composer.apply("attention",
                              {{"heads", s.heads},
                               {"kv_heads", s.kv_heads},
                               {"seq", s.seq},
                               {"causal", std::int64_t{s.causal}},
                               {"scale", 1 / std::sqrt(static_cast<double>(s.head_dim))}},
                              {q, k, v, s.valid}, name("y"));
  if (s.xsa) o = composer.apply("xsa", {{"heads", s.heads}, {"kv_heads", s.kv_heads}}, {o, v}, name("o"));
  const TensorId projected = layers.linear(o, w_o, no_tensor, name("projected"));
  return composer.apply("axpby", {}, {x, projected}, name("out"));
}

}  // namespace parity
