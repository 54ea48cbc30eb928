// Rung 8: the embedding and its scatter-add, and what is done with gradients before an optimizer takes them.
// The gradients of the other rungs are their own cases with gradient=y.
#include <fmt/format.h>

#include "harness/ladder/stages/ladder_stages.hpp"

namespace parity {

namespace {

using Index = std::int64_t;

StageDefinition embedding_stage() {
  StageDefinition d;
  d.name = "embedding";
  d.summary = "y = table[ids]; its gradient adds the rows of equal ids";
  d.rung = 8;
  d.parameters = {size_parameter("rows", "tokens"), size_parameter("vocabulary", "rows of the table", 1),
                  size_parameter("width", "columns of the table", 1)};
  d.compose = [](Composer& composer, const Case& c) {
    if (!takes_real_only(composer, c)) return;
    const Attributes& p = c.parameters;
    Content values, symbols{Content::Kind::indices};
    values.role = FillRole::left;  // a selector's numbers, not its zeros
    symbols.limit = p.integer("vocabulary");
    const TensorId table = composer.input("table", {p.integer("vocabulary"), p.integer("width")}, values);
    const TensorId ids = composer.input("ids", {p.integer("rows")}, symbols, DType::i32);
    composer.output(composer.apply("embedding", {}, {table, ids}, "y"));
  };
  d.exact_with_integers = true;
  d.calibration = {{"rows", Index{151}}, {"vocabulary", Index{11}}, {"width", Index{37}}};
  d.bound = {{"table", {"vocabulary", "width"}}, {"ids", {"rows"}}};
  return d;
}

StageDefinition gradient_reduction_stage() {
  StageDefinition d;
  d.name = "gradient_reduction";
  d.summary = "y = sum of the replicas' gradients";
  d.rung = 8;
  d.parameters = {size_parameter("replicas", "rows of x: what is summed"),
                  size_parameter("size", "columns of x: one gradient", 1)};
  d.compose = [](Composer& composer, const Case& c) {
    if (!takes_real_only(composer, c)) return;
    Content values;
    values.role = FillRole::right;  // dense integers; of a selector one number a column
    values.axis = 0;
    const TensorId x =
        composer.input("x", {c.parameters.integer("replicas"), c.parameters.integer("size")}, values);
    composer.output(composer.apply("gradient_reduction", {}, {x}, "y"));
  };
  d.differentiable = false;
  d.exact_with_integers = true;
  d.calibration = {{"replicas", Index{331}}, {"size", Index{147}}};
  d.bound = {{"x", {"replicas", "size"}}};
  return d;
}

StageDefinition grad_norm_clip_stage() {
  StageDefinition d;
  d.name = "grad_norm_clip";
  d.summary = "every gradient times min(1, max_norm / (norm of all + 1e-6)), torch's clip_grad_norm_";
  d.rung = 8;
  d.parameters = {count_parameter("tensors", 256, "gradients; number i has i more rows and columns"),
                  size_parameter("rows", "rows of the first"),
                  size_parameter("cols", "columns of the first", 1),
                  real_parameter("max_norm", 1, "the largest norm that is left as it is")};
  d.compose = [](Composer& composer, const Case& c) {
    if (!takes_real_only(composer, c)) return;
    const Attributes& p = c.parameters;
    const Index count = p.integer("tensors");
    const TensorId squares = composer.scalars("squares", count);
    std::vector<TensorId> gradients;
    for (Index i = 0; i < count; ++i) {
      const std::string name = fmt::format("g{}", i);
      gradients.push_back(composer.input(name, {p.integer("rows") + i, p.integer("cols") + i}));
      composer.call_into("square_sum", {}, {gradients.back()},
                         {composer.scalar_of(squares, i, name + "_square")});
    }
    const auto clip =
        composer.call("clip_factor", {{"max_norm", p.real("max_norm")}}, {squares}, {"factor", "norm"});
    composer.output(clip[1]);
    for (Index i = 0; i < count; ++i)
      composer.output(composer.apply("scale_by", {}, {gradients[static_cast<std::size_t>(i)], clip[0]},
                                     fmt::format("g{}_clipped", i)));
  };
  d.differentiable = false;
  d.calibration = {{"tensors", Index{3}}, {"rows", Index{7}}, {"cols", Index{131}}};
  d.bound = {{"g0", {"rows", "cols"}}};
  return d;
}

}  // namespace

Stages make_gradient_stages(const OpTable& ops) {
  Stages stages;
  for (auto* define : {embedding_stage, gradient_reduction_stage, grad_norm_clip_stage})
    stages.push_back(make_stage(ops, define()));
  return stages;
}

}  // namespace parity
