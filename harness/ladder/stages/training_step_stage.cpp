// training_step: embedding -> attention block -> GRU layers -> RMSNorm -> classifier -> softcap -> softmax
// cross entropy -> mean -> backward -> gradient norm and clipping -> AdamW, or Muon for the matrices. Weights
// and the optimizer's state are states of the program, carried from step to step; the data is the project's
// text.
#include "harness/ladder/stages/training_step_stage.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "harness/ladder/input_content.hpp"
#include "harness/ladder/stages/blocks.hpp"
#include "harness/ladder/stages/optimizer_blocks.hpp"
#include "harness/ladder/stages/training_text.hpp"
#include "harness/tensor/random.hpp"

namespace parity {

namespace {

using Index = std::int64_t;

constexpr Index vocabulary = 128;  // the bytes of ASCII
constexpr double eps = 0x1p-20;    // of every RMSNorm
/// Keeps the windows apart from the weights of the same seed.
constexpr std::uint64_t window_purpose = 0x7ec5'7000;

struct Model {
  TensorId loss = no_tensor;
  std::vector<TensorId> parameters;
};

bool fits(Composer& composer, const Case& c) {
  const Attributes& p = c.parameters;
  const auto refuse = [&](std::string message) {
    composer.fail_with({ErrorKind::bad_input, "training_step: " + std::move(message)});
    return false;
  };
  const Index width = p.integer("width"), heads = p.integer("heads"), seq = p.integer("seq");
  if (heads < 1 || width % heads != 0 || width / heads % 2 != 0)
    return refuse(fmt::format("width is {} and there are {} heads; width / heads must be an even number",
                              width, heads));
  if (seq >= static_cast<Index>(training_text().size()))
    return refuse(fmt::format("seq is {}; the text has {} bytes", seq, training_text().size()));
  if (c.fill == Fill::nan_cone)
    return refuse("fill=nan_cone has no input to put the NaN into; take another fill");
  return true;
}

Model forward(Layers& layers, const Case& c, TensorId ids, TensorId targets) {
  Composer& composer = layers.composer();
  const Attributes& p = c.parameters;
  const Index width = p.integer("width"), seq = p.integer("seq");
  const TensorId table = layers.table("embedding", vocabulary, width);
  TensorId x = composer.apply("embedding", {}, {table, ids}, "x");
  AttentionShape attention;
  attention.seq = seq;
  attention.heads = p.integer("heads");
  attention.kv_heads = p.integer("kv_heads");
  attention.head_dim = width / attention.heads;
  // A quarter of a head is turned (16 of 64), at least one pair.
  attention.rotary = std::max<Index>(2, attention.head_dim / 8 * 2);
  attention.eps = eps;
  x = attention_block(layers, x, attention, rope_tables(composer, seq, attention.rotary), "attention.");
  const TensorId h0 = composer.input("h0", {p.integer("batch"), width}, {Content::Kind::constant, 0});
  for (Index layer = 0; layer < p.integer("layers"); ++layer)
    x = gru_layer(layers, x, h0, seq, eps, fmt::format("gru{}.", layer));
  const TensorId norm = layers.gain("norm", width);
  const TensorId normed = composer.call("rms_norm", {{"eps", eps}}, {x, norm}, {"normed", "inverse"})[0];
  const TensorId classifier = layers.matrix("classifier", vocabulary, width);
  const TensorId z = layers.linear(normed, classifier, no_tensor, "z");
  const TensorId logits = composer.apply("softcap", {{"cap", p.real("softcap")}}, {z}, "logits");
  const TensorId row_loss = composer.apply("softmax_cross_entropy", {}, {logits, targets}, "row_loss");
  return {composer.apply("mean", {}, {row_loss}, "loss"), layers.parameters()};
}

/// The gradients times the factor that limits their common norm; the norm becomes an output.
std::vector<TensorId> clipped(Composer& composer, double max_norm, const std::vector<TensorId>& gradients) {
  if (composer.failed()) return gradients;
  const TensorId squares = composer.scalars("gradient_squares", static_cast<Index>(gradients.size()));
  for (std::size_t i = 0; i < gradients.size(); ++i)
    composer.call_into(
        "square_sum", {}, {gradients[i]},
        {composer.scalar_of(squares, static_cast<Index>(i), fmt::format("gradient_square{}", i))});
  const auto clip =
      composer.call("clip_factor", {{"max_norm", max_norm}}, {squares}, {"clip_factor", "gradient_norm"});
  composer.output(clip[1]);
  std::vector<TensorId> scaled;
  for (const TensorId gradient : gradients) {
    const std::string name = composer.program().spec(gradient).name + "_clipped";
    scaled.push_back(composer.apply("scale_by", {}, {gradient, clip[0]}, name));
  }
  return scaled;
}

/// One optimizer step a parameter. Muon is for the matrices between embedding and classifier, as its author
/// uses it; these two and the vectors have AdamW.
void update(Layers& layers, const Case& c, const std::vector<TensorId>& parameters,
            const std::vector<TensorId>& gradients) {
  Composer& composer = layers.composer();
  if (composer.failed()) return;
  const Attributes& p = c.parameters;
  const double lr = p.real("lr"), weight_decay = p.real("weight_decay");
  const Content zeros{Content::Kind::constant, 0};
  Content corrections{Content::Kind::corrections};
  corrections.limit = 1;
  const TensorId correction = composer.input("correction", {2}, corrections);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const TensorSpec spec = composer.program().spec(parameters[i]);
    const std::string prefix = spec.name + ".";
    const bool hidden_matrix =
        spec.shape.size() == 2 && spec.name != "embedding" && spec.name != "classifier";
    if (hidden_matrix && p.text("optimizer") == "muon") {
      const TensorId buffer = composer.state(prefix + "buffer", spec.shape, zeros);
      const MuonStep next =
          muon_step(layers, parameters[i], gradients[i], buffer, {lr, 0.95, weight_decay}, prefix);
      composer.carry(next.p, parameters[i]);
      composer.carry(next.buffer, buffer);
      continue;
    }
    const AdamWStep now{parameters[i], composer.state(prefix + "m", spec.shape, zeros),
                        composer.state(prefix + "v", spec.shape, zeros)};
    AdamWSettings settings;
    settings.lr = lr;
    // As usual, gains and biases do not decay.
    settings.weight_decay = spec.shape.size() == 2 ? weight_decay : 0;
    const AdamWStep next = adamw_step(composer, now.p, gradients[i], now, correction, settings, prefix);
    composer.carry(next.p, now.p);
    composer.carry(next.m, now.m);
    composer.carry(next.v, now.v);
  }
}

void compose(Composer& composer, const Case& c) {
  if (!fits(composer, c)) return;
  Layers layers(composer, product_dtype(composer, c), Layers::Weights::trained);
  const Index tokens = c.parameters.integer("batch") * c.parameters.integer("seq");
  Content symbols{Content::Kind::indices};
  symbols.limit = vocabulary;
  const TensorId ids = composer.input("ids", {tokens}, symbols, DType::i32);
  const TensorId targets = composer.input("targets", {tokens}, symbols, DType::i32);
  const Model model = forward(layers, c, ids, targets);
  composer.output(model.loss);
  const TensorId d_loss = composer.input("d_loss", {1}, {Content::Kind::constant, 1});
  const auto by_parameter = composer.backward({{model.loss, d_loss}}, model.parameters);
  std::vector<TensorId> gradients;
  for (const TensorId parameter : model.parameters) gradients.push_back(by_parameter.at(parameter));
  update(layers, c, model.parameters, clipped(composer, c.parameters.real("clip"), gradients));
}

/// Where the window of a batch entry begins at a step: any place from which seq bytes and the one after them
/// can be read, drawn by (seed, step, entry).
Index window_start(const Case& c, Index step, Index entry) {
  const PhiloxBlock random = philox(
      c.seed, static_cast<std::uint64_t>(step) << 32 | static_cast<std::uint64_t>(entry), window_purpose);
  const auto places = training_text().size() - static_cast<std::size_t>(c.parameters.integer("seq"));
  return static_cast<Index>(below(places, random.word[0], random.word[1]));
}

Result<std::map<TensorId, Tensor>> step_inputs(const Case& c, const Program& program, Index step) {
  const Index batch = c.parameters.integer("batch"), seq = c.parameters.integer("seq");
  std::map<TensorId, Tensor> inputs;
  for (const auto& [name, ahead] : {std::pair("ids", Index{0}), std::pair("targets", Index{1})}) {
    const auto id = program.find(name);
    if (!id) return fail(ErrorKind::internal, fmt::format("training_step: no input is called '{}'", name));
    auto tensor = Tensor::create(DType::i32, program.spec(*id).shape);
    if (!tensor) return tl::unexpected(tensor.error());
    for (Index entry = 0; entry < batch; ++entry) {
      const Index start = window_start(c, step, entry) + ahead;
      for (Index t = 0; t < seq; ++t)
        tensor->set_value(entry * seq + t,
                          static_cast<double>(training_text()[static_cast<std::size_t>(start + t)]));
    }
    inputs.emplace(*id, *std::move(tensor));
  }
  if (const auto id = program.find("correction")) {
    TensorSpec spec = program.spec(*id);
    spec.content.limit = step + 1;
    auto correction = make_content(c, spec, 0, false);
    if (!correction) return tl::unexpected(correction.error());
    inputs.emplace(*id, *std::move(correction));
  }
  return inputs;
}

}  // namespace

StageDefinition training_step_stage() {
  StageDefinition d;
  d.name = "training_step";
  d.summary = "steps of training a small language model on a text: forward, backward, clipping, optimizer";
  d.rung = 10;
  d.parameters = {
      size_parameter("batch", "windows of the text a step", 1),
      size_parameter("seq", "bytes of a window", 1),
      size_parameter("width", "columns of the model", 2),
      optional_size("heads", 2, "query heads of the attention block"),
      optional_size("kv_heads", 1, "key and value heads; must divide heads"),
      optional_size("layers", 1, "GRU layers", 0),
      optional_size("steps", 3, "optimizer steps"),
      choice_parameter("optimizer", {"adamw", "muon"}, "muon: for the hidden matrices, AdamW for the rest"),
      real_parameter("lr", 0x1p-7, "learning rate"),
      real_parameter("weight_decay", 0.04, "of matrices"),
      real_parameter("clip", 1, "largest norm of all gradients together"),
      real_parameter("softcap", 30, "logits = softcap tanh(z / softcap)"),
  };
  d.compose = compose;
  d.differentiable = false;  // the backward pass is part of it
  d.calibration = {{"batch", Index{2}}, {"seq", Index{4}}, {"width", Index{8}}, {"steps", Index{1}}};
  d.steps = [](const Case& c) { return c.parameters.integer("steps"); };
  d.step_inputs = step_inputs;
  return d;
}

}  // namespace parity
