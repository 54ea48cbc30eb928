// Rung 9: one step of each optimizer, its state given.
#include <cmath>

#include "harness/ladder/stages/ladder_stages.hpp"
#include "harness/ladder/stages/optimizer_blocks.hpp"

namespace parity {

namespace {

using Index = std::int64_t;

std::vector<Parameter> matrix_parameters() {
  return {size_parameter("rows", "rows of p"), size_parameter("cols", "columns of p", 1)};
}
Shape matrix_shape(const Case& c) {
  return {c.parameters.integer("rows"), c.parameters.integer("cols")};
}

/// A factor of a moving average. 1 would never take anything in, and its bias correction would be 0.
Parameter decay_parameter(std::string_view name, double fallback, std::string_view help) {
  return {name, fallback, false, 0, std::nextafter(1.0, 0.0), {}, help};
}

StageDefinition adamw_stage() {
  StageDefinition d;
  d.name = "adamw";
  d.summary = "one step of AdamW, as torch.optim.AdamW";
  d.rung = 9;
  d.parameters = matrix_parameters();
  d.parameters.push_back(real_parameter("lr", 1e-3, "learning rate"));
  d.parameters.push_back(decay_parameter("beta1", 0.9, "of the mean of g, below 1"));
  d.parameters.push_back(decay_parameter("beta2", 0.95, "of the mean of g^2, below 1"));
  d.parameters.push_back(real_parameter("eps", 1e-8, "added to the root"));
  d.parameters.push_back(real_parameter("weight_decay", 0.04, "of p, times lr"));
  d.parameters.push_back(optional_size("step", 1, "t of the bias corrections 1 - beta^t"));
  d.compose = [](Composer& composer, const Case& c) {
    if (!takes_real_only(composer, c)) return;
    const Shape shape = matrix_shape(c);
    Content magnitudes{Content::Kind::magnitudes}, corrections{Content::Kind::corrections};
    corrections.limit = c.parameters.integer("step");
    corrections.decays = {c.parameters.real("beta1"), c.parameters.real("beta2")};
    const TensorId p = composer.input("p", shape), g = composer.input("g", shape);
    const AdamWStep state{p, composer.input("m", shape), composer.input("v", shape, magnitudes)};
    const TensorId correction = composer.input("correction", {2}, corrections);
    AdamWSettings settings;
    settings.lr = c.parameters.real("lr");
    settings.beta1 = c.parameters.real("beta1");
    settings.beta2 = c.parameters.real("beta2");
    settings.eps = c.parameters.real("eps");
    settings.weight_decay = c.parameters.real("weight_decay");
    const AdamWStep next = adamw_step(composer, p, g, state, correction, settings, "");
    for (const TensorId id : {next.p, next.m, next.v}) composer.output(id);
  };
  d.differentiable = false;
  d.calibration = {{"rows", Index{7}}, {"cols", Index{131}}, {"step", Index{3}}};
  for (const char* name : {"p", "g", "m", "v"}) d.bound[name] = {"rows", "cols"};
  d.bound["correction"] = {""};
  return d;
}

StageDefinition muon_stage() {
  StageDefinition d;
  d.name = "muon";
  d.summary = "one step of Muon: momentum, five Newton-Schulz iterations, update";
  d.rung = 9;
  d.parameters = {size_parameter("rows", "rows of p", 1), size_parameter("cols", "columns of p", 1),
                  real_parameter("lr", 0.02, "learning rate"), real_parameter("mu", 0.95, "momentum, 0 to 1"),
                  real_parameter("weight_decay", 0.04, "of p, times lr")};
  d.compose = [](Composer& composer, const Case& c) {
    Layers layers(composer, product_dtype(composer, c));
    if (composer.failed()) return;
    const Shape shape = matrix_shape(c);
    const TensorId p = composer.input("p", shape), g = composer.input("g", shape);
    const TensorId buffer = composer.input("buffer", shape);
    const MuonSettings settings{c.parameters.real("lr"), c.parameters.real("mu"),
                                c.parameters.real("weight_decay")};
    const MuonStep next = muon_step(layers, p, g, buffer, settings, "");
    composer.output(next.p);
    composer.output(next.buffer);
  };
  d.differentiable = false;
  d.calibration = {{"rows", Index{19}}, {"cols", Index{37}}};
  for (const char* name : {"p", "g", "buffer"}) d.bound[name] = {"rows", "cols"};
  return d;
}

StageDefinition ema_stage() {
  StageDefinition d;
  d.name = "ema";
  d.summary = "e' = decay e + (1 - decay) p: the average of the weights";
  d.rung = 9;
  d.parameters = matrix_parameters();
  d.parameters.push_back(real_parameter("decay", 0.997, "of the average"));
  d.compose = [](Composer& composer, const Case& c) {
    if (!takes_real_only(composer, c)) return;
    const double decay = c.parameters.real("decay");
    const TensorId average = composer.input("average", matrix_shape(c));
    const TensorId p = composer.input("p", matrix_shape(c));
    composer.output(
        composer.apply("axpby", {{"alpha", decay}, {"beta", 1 - decay}}, {average, p}, "average_next"));
  };
  d.differentiable = false;
  // Integers of a few bits times sixteenths.
  d.exact_settings = [](const Case& c) {
    const double sixteenths = 16 * c.parameters.real("decay");
    return c.fill == Fill::integer && sixteenths >= 0 && sixteenths <= 16 &&
           sixteenths == static_cast<double>(static_cast<int>(sixteenths));
  };
  d.exact_with_integers = true;
  d.calibration = {{"rows", Index{7}}, {"cols", Index{131}}};
  for (const char* name : {"average", "p"}) d.bound[name] = {"rows", "cols"};
  return d;
}

}  // namespace

Stages make_optimizer_stages(const OpTable& ops) {
  Stages stages;
  for (auto* define : {adamw_stage, muon_stage, ema_stage}) stages.push_back(make_stage(ops, define()));
  return stages;
}

}  // namespace parity
