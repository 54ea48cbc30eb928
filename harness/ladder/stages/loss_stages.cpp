// Rung 7: the classifier, its softcap, and the loss.
#include "harness/ladder/stages/blocks.hpp"
#include "harness/ladder/stages/ladder_stages.hpp"

namespace parity {

namespace {

using Index = std::int64_t;

StageDefinition softcap_stage() {
  StageDefinition d;
  d.name = "softcap";
  d.summary = "y = cap tanh(x / cap)";
  d.rung = 7;
  d.parameters = {size_parameter("rows", "rows of x"), size_parameter("cols", "columns of x", 1),
                  real_parameter("cap", 30, "the largest magnitude of y, above zero")};
  d.compose = [](Composer& composer, const Case& c) {
    if (!takes_real_only(composer, c)) return;
    const TensorId x = composer.input("x", {c.parameters.integer("rows"), c.parameters.integer("cols")});
    composer.output(composer.apply("softcap", {{"cap", c.parameters.real("cap")}}, {x}, "y"));
  };
  d.calibration = {{"rows", Index{5}}, {"cols", Index{131}}};
  d.bound = {{"x", {"rows", "cols"}}};
  return d;
}

StageDefinition classifier_stage() {
  StageDefinition d;
  d.name = "classifier";
  d.summary = "logits = softcap(x W^T)";
  d.rung = 7;
  d.parameters = {size_parameter("rows", "rows of x"), size_parameter("inputs", "columns of x", 1),
                  size_parameter("classes", "columns of the logits", 1),
                  real_parameter("softcap", 30, "the largest magnitude of a logit; 0: none")};
  d.compose = [](Composer& composer, const Case& c) {
    Layers layers(composer, product_dtype(composer, c));
    if (composer.failed()) return;
    const Attributes& p = c.parameters;
    const Index inputs = p.integer("inputs");
    const TensorId x = composer.input("x", {p.integer("rows"), inputs}, factor_content(), c.input);
    const TensorId w = layers.matrix("w", p.integer("classes"), inputs);
    TensorId logits = layers.linear(x, w, no_tensor, "z");
    if (p.real("softcap") != 0)
      logits = composer.apply("softcap", {{"cap", p.real("softcap")}}, {logits}, "logits");
    composer.output(logits);
  };
  d.calibration = {{"rows", Index{37}}, {"inputs", Index{163}}, {"classes", Index{67}}};
  d.bound = {{"x", {"rows", "inputs"}}, {"w", {"classes", "inputs"}}};
  return d;
}

StageDefinition loss_stage() {
  StageDefinition d;
  d.name = "softmax_cross_entropy";
  d.summary = "loss = mean over the rows of log sum exp(l) - l[target]";
  d.rung = 7;
  d.parameters = {size_parameter("rows", "rows of the logits"),
                  size_parameter("classes", "columns of the logits", 1),
                  real_parameter("softcap", 0, "of the logits first; 0: none"),
                  choice_parameter("mean", {"y", "n"}, "n: the loss of each row")};
  d.compose = [](Composer& composer, const Case& c) {
    if (!takes_real_only(composer, c)) return;
    const Attributes& p = c.parameters;
    const Index rows = p.integer("rows"), classes = p.integer("classes");
    TensorId logits = composer.input("logits", {rows, classes});
    Content symbols{Content::Kind::indices};
    symbols.limit = classes;
    const TensorId targets = composer.input("targets", {rows}, symbols, DType::i32);
    if (p.real("softcap") != 0)
      logits = composer.apply("softcap", {{"cap", p.real("softcap")}}, {logits}, "capped");
    TensorId loss = composer.apply("softmax_cross_entropy", {}, {logits, targets}, "row_loss");
    if (p.text("mean") == "y") loss = composer.apply("mean", {}, {loss}, "loss");
    composer.output(loss);
  };
  d.calibration = {{"rows", Index{139}}, {"classes", Index{147}}};
  d.bound = {{"logits", {"rows", "classes"}}, {"targets", {"rows"}}};
  return d;
}

}  // namespace

Stages make_loss_stages(const OpTable& ops) {
  Stages stages;
  for (auto* define : {softcap_stage, classifier_stage, loss_stage})
    stages.push_back(make_stage(ops, define()));
  return stages;
}

}  // namespace parity
