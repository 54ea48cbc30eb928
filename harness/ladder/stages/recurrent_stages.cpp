// Rungs 2 to 5: one gate, a cell of both variants, a sequence, a stack of layers.
#include <fmt/format.h>

#include "harness/ladder/stages/blocks.hpp"
#include "harness/ladder/stages/ladder_stages.hpp"

namespace parity {

namespace {

using Index = std::int64_t;

StageDefinition gru_gate_stage() {
  StageDefinition d;
  d.name = "gru_gate";
  d.summary = "y = f(a + u): one gate from its two projections";
  d.rung = 2;
  d.parameters = {size_parameter("batch", "rows"), size_parameter("hidden", "columns", 1),
                  choice_parameter("activation", {"sigmoid", "tanh"}, "f")};
  d.compose = [](Composer& composer, const Case& c) {
    if (!takes_real_only(composer, c)) return;
    const Shape shape{c.parameters.integer("batch"), c.parameters.integer("hidden")};
    const TensorId a = composer.input("a", shape), u = composer.input("u", shape);
    const Attributes activation{{"activation", c.parameters.text("activation")}};
    composer.output(composer.apply("gru_gate", activation, {a, u}, "y"));
  };
  d.calibration = {{"batch", Index{5}}, {"hidden", Index{131}}};
  d.bound = {{"a", {"batch", "hidden"}}, {"u", {"batch", "hidden"}}};
  return d;
}

/// h' with n = tanh(a_n + W_hn (r h) + b_hn): the products of each gate are calls of their own, because the
/// last one needs r first.
TensorId reset_before_cell(Layers& layers, TensorId x, TensorId h, Index inputs, Index hidden) {
  Composer& composer = layers.composer();
  const auto projected = [&](TensorId from, Index width, const std::string& gate) {
    const TensorId w = layers.matrix("w_" + gate, hidden, width);
    const TensorId b = layers.bias("b_" + gate, hidden, weight_scale(hidden));
    return layers.linear(from, w, b, "p_" + gate);
  };
  const auto gate = [&](const char* name, const char* activation, TensorId state) {
    const TensorId a = projected(x, inputs, fmt::format("i{}", name));
    const TensorId u = projected(state, hidden, fmt::format("h{}", name));
    return composer.apply("gru_gate", {{"activation", std::string(activation)}}, {a, u}, name);
  };
  const TensorId r = gate("r", "sigmoid", h), z = gate("z", "sigmoid", h);
  const TensorId n = gate("n", "tanh", composer.apply("mul", {}, {r, h}, "rh"));
  return composer.apply("gru_blend", {}, {z, n, h}, "h_next");
}

StageDefinition gru_cell_stage() {
  StageDefinition d;
  d.name = "gru_cell";
  d.summary = "h' = (1 - z) n + z h: one step, as torch.nn.GRUCell, or with the reset before the product";
  d.rung = 3;
  d.parameters = {size_parameter("batch", "rows of x and h"), size_parameter("inputs", "columns of x", 1),
                  size_parameter("hidden", "columns of h", 1),
                  choice_parameter("variant", {"linear_before_reset", "reset_before"},
                                   "n = tanh(a_n + r (W h + b)), or tanh(a_n + W (r h) + b)")};
  d.compose = [](Composer& composer, const Case& c) {
    Layers layers(composer, product_dtype(composer, c));
    if (composer.failed()) return;
    const Index batch = c.parameters.integer("batch"), inputs = c.parameters.integer("inputs"),
                hidden = c.parameters.integer("hidden");
    const TensorId x = composer.input("x", {batch, inputs}, factor_content(), c.input);
    const TensorId h = composer.input("h", {batch, hidden}, factor_content());
    composer.output(c.parameters.text("variant") == "reset_before"
                        ? reset_before_cell(layers, x, h, inputs, hidden)
                        : gru_cell(layers, x, h, gru_weights(layers, inputs, hidden, "")));
  };
  // This variant shows the ops that no other rung has; gru_sequence shows gru_gates.
  d.calibration = {{"batch", Index{5}},
                   {"inputs", Index{163}},
                   {"hidden", Index{67}},
                   {"variant", std::string("reset_before")}};
  d.bound = {{"x", {"batch", "inputs"}},
             {"h", {"batch", "hidden"}},
             {"w_ih", {"", "inputs"}},
             {"w_hh", {"", "hidden"}},
             {"b_ih", {""}},
             {"b_hh", {""}}};
  return d;
}

StageDefinition gru_sequence_stage() {
  StageDefinition d;
  d.name = "gru_sequence";
  d.summary = "h_t = gru_cell(x_t, h_(t-1)) over the steps of a batch, linear before reset, as torch.nn.GRU";
  d.rung = 4;
  d.parameters = {count_parameter("steps", 65536, "steps; row b * steps + t of x is step t of entry b"),
                  size_parameter("batch", "entries"), size_parameter("inputs", "columns of x", 1),
                  size_parameter("hidden", "columns of h", 1)};
  d.compose = [](Composer& composer, const Case& c) {
    Layers layers(composer, product_dtype(composer, c));
    if (composer.failed()) return;
    const Index steps = c.parameters.integer("steps"), batch = c.parameters.integer("batch"),
                inputs = c.parameters.integer("inputs"), hidden = c.parameters.integer("hidden");
    const TensorId x = composer.input("x", {batch * steps, inputs}, factor_content(), c.input);
    const TensorId h0 = composer.input("h0", {batch, hidden}, factor_content());
    composer.output(gru_sequence(layers, x, h0, steps, gru_weights(layers, inputs, hidden, "")).all);
  };
  d.calibration = {{"steps", Index{2}}, {"batch", Index{5}}, {"inputs", Index{33}}, {"hidden", Index{131}}};
  d.bound = {{"x", {"", "inputs"}},    {"h0", {"batch", "hidden"}},
             {"w_ih", {"", "inputs"}}, {"w_hh", {"", "hidden"}},
             {"b_ih", {""}},           {"b_hh", {""}}};
  return d;
}

StageDefinition gru_stack_stage() {
  StageDefinition d;
  d.name = "gru_stack";
  d.summary = "x = x + gru_sequence(rms_norm(x)), layer after layer";
  d.rung = 5;
  d.parameters = {count_parameter("layers", 64, "layers, each with its own weights and state"),
                  count_parameter("steps", 65536, "steps; row b * steps + t of x is step t of entry b"),
                  size_parameter("batch", "entries"), size_parameter("hidden", "columns of x and h", 1),
                  real_parameter("eps", 1e-6, "of the normalisation")};
  d.compose = [](Composer& composer, const Case& c) {
    Layers layers(composer, product_dtype(composer, c));
    if (composer.failed()) return;
    const Index steps = c.parameters.integer("steps"), batch = c.parameters.integer("batch"),
                hidden = c.parameters.integer("hidden");
    TensorId x = composer.input("x", {batch * steps, hidden});
    for (Index layer = 0; layer < c.parameters.integer("layers"); ++layer) {
      const std::string prefix = fmt::format("l{}.", layer);
      const TensorId h0 = composer.input(prefix + "h0", {batch, hidden}, factor_content());
      x = gru_layer(layers, x, h0, steps, c.parameters.real("eps"), prefix);
    }
    composer.output(x);
  };
  d.calibration = {{"layers", Index{1}}, {"steps", Index{2}}, {"batch", Index{3}}, {"hidden", Index{131}}};
  d.bound = {{"x", {"", "hidden"}}};
  return d;
}

}  // namespace

Stages make_recurrent_stages(const OpTable& ops) {
  Stages stages;
  for (auto* define : {gru_gate_stage, gru_cell_stage, gru_sequence_stage, gru_stack_stage})
    stages.push_back(make_stage(ops, define()));
  return stages;
}

}  // namespace parity
