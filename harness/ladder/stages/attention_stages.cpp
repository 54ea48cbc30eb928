// Rung 6: normalisation, rotation, attention and the block made of them. Row = b * seq + t.
#include <cmath>

#include "harness/ladder/stages/blocks.hpp"
#include "harness/ladder/stages/ladder_stages.hpp"

namespace parity {

namespace {

using Index = std::int64_t;

const std::vector<std::string_view> no_yes{"n", "y"};
const std::vector<std::string_view> yes_no{"y", "n"};

Parameter eps_parameter() {
  return real_parameter("eps", 1e-6, "added to the mean square");
}
Parameter rotary_parameter() {
  return size_parameter("rotary", "columns of a head that are turned, an even number", 2);
}
Parameter pairing_parameter() {
  return choice_parameter("pairing", {"half_split", "interleaved"}, "(i, i + rotary / 2) or (2i, 2i + 1)");
}
std::vector<Parameter> token_parameters() {
  return {size_parameter("batch", "entries"), size_parameter("seq", "tokens an entry", 1)};
}
std::vector<Parameter> joined(std::vector<Parameter> first, const std::vector<Parameter>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

Index tokens(const Case& c) {
  return c.parameters.integer("batch") * c.parameters.integer("seq");
}

TensorId rotated(Composer& composer, const Case& c, TensorId x, const std::string& name) {
  const Attributes& p = c.parameters;
  const RopeTables tables = rope_tables(composer, p.integer("seq"), p.integer("rotary"));
  return composer.apply("rope",
                        {{"head_dim", p.integer("head_dim")},
                         {"rotary", p.integer("rotary")},
                         {"seq", p.integer("seq")},
                         {"pairing", p.text("pairing")}},
                        {x, tables.cos, tables.sin}, name);
}

/// An i32 tensor of the tokens that take part: none of the first entry's.
TensorId mask_input(Composer& composer, const Case& c) {
  if (c.parameters.text("mask") != "y") return no_tensor;
  Content content{Content::Kind::mask};
  content.limit = c.parameters.integer("seq");
  return composer.input("valid", {tokens(c)}, content, DType::i32);
}

StageDefinition rms_norm_stage() {
  StageDefinition d;
  d.name = "rms_norm";
  d.summary = "y = x / sqrt(mean x^2 + eps) * weight, by row or by group of columns";
  d.rung = 6;
  d.parameters = {size_parameter("rows", "rows of x"), size_parameter("cols", "columns of x", 1),
                  eps_parameter(), choice_parameter("weight", yes_no, "n: there is none"),
                  optional_size("group", 0, "columns normalised together, 0: the row; wants weight=n", 0)};
  d.compose = [](Composer& composer, const Case& c) {
    if (!takes_real_only(composer, c)) return;
    const Attributes& p = c.parameters;
    const TensorId x = composer.input("x", {p.integer("rows"), p.integer("cols")});
    const TensorId weight =
        p.text("weight") == "y" ? composer.input("weight", {p.integer("cols")}) : no_tensor;
    const Attributes attributes{{"eps", p.real("eps")}, {"group", p.integer("group")}};
    composer.output(composer.call("rms_norm", attributes, {x, weight}, {"y", "inverse"})[0]);
  };
  d.calibration = {{"rows", Index{37}}, {"cols", Index{331}}};
  d.bound = {{"x", {"rows", "cols"}}, {"weight", {"cols"}}};
  return d;
}

StageDefinition rope_stage() {
  StageDefinition d;
  d.name = "rope";
  d.summary = "pairs of a head's first columns turned by an angle that grows with the position";
  d.rung = 6;
  d.parameters = joined(token_parameters(),
                        {size_parameter("heads", "heads", 1), size_parameter("head_dim", "columns a head", 2),
                         rotary_parameter(), pairing_parameter()});
  d.compose = [](Composer& composer, const Case& c) {
    if (!takes_real_only(composer, c)) return;
    const Index cols = c.parameters.integer("heads") * c.parameters.integer("head_dim");
    composer.output(rotated(composer, c, composer.input("x", {tokens(c), cols}), "y"));
  };
  d.calibration = {{"batch", Index{2}},
                   {"seq", Index{5}},
                   {"heads", Index{3}},
                   {"head_dim", Index{20}},
                   {"rotary", Index{14}}};
  d.bound = {{"x", {"", ""}}, {"cos", {"seq", ""}}, {"sin", {"seq", ""}}};
  return d;
}

StageDefinition qk_norm_stage() {
  StageDefinition d;
  d.name = "qk_norm";
  d.summary = "y = gain[head] rope(x / rms(x)), each head on its own";
  d.rung = 6;
  d.parameters = joined(token_parameters(),
                        {size_parameter("heads", "heads", 1), size_parameter("head_dim", "columns a head", 2),
                         rotary_parameter(), pairing_parameter(), eps_parameter()});
  d.compose = [](Composer& composer, const Case& c) {
    if (!takes_real_only(composer, c)) return;
    const Attributes& p = c.parameters;
    const Index heads = p.integer("heads"), head_dim = p.integer("head_dim");
    const TensorId x = composer.input("x", {tokens(c), heads * head_dim});
    const TensorId gain = composer.input("gain", {heads});
    const TensorId normed = composer.call("rms_norm", {{"eps", p.real("eps")}, {"group", head_dim}},
                                          {x, no_tensor}, {"normed", "inverse"})[0];
    composer.output(composer.apply("head_scale", {}, {rotated(composer, c, normed, "turned"), gain}, "y"));
  };
  // A head's gain has seq * batch * head_dim terms.
  d.calibration = {{"batch", Index{2}},
                   {"seq", Index{7}},
                   {"heads", Index{3}},
                   {"head_dim", Index{150}},
                   {"rotary", Index{38}}};
  d.bound = {{"x", {"", ""}}, {"gain", {"heads"}}};
  return d;
}

std::vector<Parameter> head_parameters() {
  return {size_parameter("heads", "heads of q", 1), size_parameter("kv_heads", "heads of k and v", 1),
          size_parameter("head_dim", "columns a head", 1)};
}

StageDefinition attention_stage() {
  StageDefinition d;
  d.name = "attention";
  d.summary = "o = softmax(scale q k^T) v over the keys that take part, by head";
  d.rung = 6;
  d.parameters =
      joined(joined(token_parameters(), head_parameters()),
             {choice_parameter("causal", yes_no, "y: a token sees none that come later"),
              choice_parameter("mask", no_yes, "y: some keys take no part, none of the first entry"),
              real_parameter("scale", 0, "of the scores; 0: 1 / sqrt(head_dim)")});
  d.compose = [](Composer& composer, const Case& c) {
    if (!takes_real_only(composer, c)) return;
    const Attributes& p = c.parameters;
    const Index heads = p.integer("heads"), kv_heads = p.integer("kv_heads"), dim = p.integer("head_dim");
    const double scale = p.real("scale") != 0 ? p.real("scale") : 1 / std::sqrt(static_cast<double>(dim));
    const TensorId q = composer.input("q", {tokens(c), heads * dim});
    const TensorId k = composer.input("k", {tokens(c), kv_heads * dim});
    const TensorId v = composer.input("v", {tokens(c), kv_heads * dim});
    composer.output(composer.apply("attention",
                                   {{"heads", heads},
                                    {"kv_heads", kv_heads},
                                    {"seq", p.integer("seq")},
                                    {"causal", Index{p.text("causal") == "y"}},
                                    {"scale", scale}},
                                   {q, k, v, mask_input(composer, c)}, "o"));
  };
  d.calibration = {{"batch", Index{2}},
                   {"seq", Index{19}},
                   {"heads", Index{4}},
                   {"kv_heads", Index{2}},
                   {"head_dim", Index{37}}};
  d.bound = {{"q", {"", ""}}, {"k", {"", ""}}, {"v", {"", ""}}, {"valid", {""}}};
  return d;
}

StageDefinition xsa_stage() {
  StageDefinition d;
  d.name = "xsa";
  d.summary = "o = y - (y . v^) v^: a head's output without its part along the token's own value";
  d.rung = 6;
  d.parameters = joined({size_parameter("rows", "tokens")}, head_parameters());
  d.compose = [](Composer& composer, const Case& c) {
    if (!takes_real_only(composer, c)) return;
    const Attributes& p = c.parameters;
    const Index rows = p.integer("rows"), dim = p.integer("head_dim");
    const TensorId y = composer.input("y", {rows, p.integer("heads") * dim});
    const TensorId v = composer.input("v", {rows, p.integer("kv_heads") * dim});
    const Attributes attributes{{"heads", p.integer("heads")}, {"kv_heads", p.integer("kv_heads")}};
    composer.output(composer.apply("xsa", attributes, {y, v}, "o"));
  };
  d.calibration = {{"rows", Index{7}}, {"heads", Index{4}}, {"kv_heads", Index{2}}, {"head_dim", Index{147}}};
  d.bound = {{"y", {"rows", ""}}, {"v", {"rows", ""}}};
  return d;
}

StageDefinition attention_block_stage() {
  StageDefinition d;
  d.name = "attention_block";
  d.summary = "x + W_o xsa(attention(qk_norm(W_q n), qk_norm(W_k n), W_v n)), n = rms_norm(x)";
  d.rung = 6;
  d.parameters =
      joined(joined(token_parameters(), head_parameters()),
             {rotary_parameter(), optional_size("width", 0, "columns of x; 0: heads * head_dim", 0),
              pairing_parameter(), choice_parameter("causal", yes_no, "y: a token sees none that come later"),
              choice_parameter("mask", no_yes, "y: some keys take no part, none of the first entry"),
              choice_parameter("xsa", yes_no, "n: without it"), eps_parameter()});
  d.compose = [](Composer& composer, const Case& c) {
    Layers layers(composer, product_dtype(composer, c));
    if (composer.failed()) return;
    const Attributes& p = c.parameters;
    AttentionShape shape;
    shape.seq = p.integer("seq");
    shape.heads = p.integer("heads");
    shape.kv_heads = p.integer("kv_heads");
    shape.head_dim = p.integer("head_dim");
    shape.rotary = p.integer("rotary");
    shape.pairing = p.text("pairing");
    shape.causal = p.text("causal") == "y";
    shape.xsa = p.text("xsa") == "y";
    shape.eps = p.real("eps");
    const Index width = p.integer("width") != 0 ? p.integer("width") : shape.heads * shape.head_dim;
    const TensorId x = composer.input("x", {tokens(c), width});
    shape.valid = mask_input(composer, c);
    composer.output(attention_block(layers, x, shape, rope_tables(composer, shape.seq, shape.rotary)));
  };
  d.calibration = {{"batch", Index{2}},    {"seq", Index{7}},       {"heads", Index{4}},
                   {"kv_heads", Index{2}}, {"head_dim", Index{18}}, {"rotary", Index{6}}};
  d.bound = {{"x", {"", "width"}}, {"valid", {""}}};
  return d;
}

}  // namespace

Stages make_attention_stages(const OpTable& ops) {
  Stages stages;
  for (auto* define :
       {rms_norm_stage, rope_stage, qk_norm_stage, attention_stage, xsa_stage, attention_block_stage})
    stages.push_back(make_stage(ops, define()));
  return stages;
}

}  // namespace parity
