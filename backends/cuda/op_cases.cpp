#include "backends/cuda/op_cases.hpp"

#include <fmt/format.h>

#include "harness/tensor/fill.hpp"
#include "harness/tensor/poison.hpp"

namespace parity::cuda {

namespace {

using Index = std::int64_t;
using Ports = std::vector<std::optional<PortCase>>;

PortCase normal(Shape shape, DType dtype = DType::f32) {
  return {std::move(shape), Content::normal, 0, dtype};
}
PortCase positive(Shape shape) {
  return {std::move(shape), Content::positive};
}
PortCase unit(Shape shape) {
  return {std::move(shape), Content::unit};
}
PortCase indices(Index count, Index limit) {
  return {{count}, Content::indices, limit, DType::i32};
}
PortCase mask(Index count, Index masked_first) {
  return {{count}, Content::mask, masked_first, DType::i32};
}

void add_elementwise(std::vector<OpCase>& cases) {
  const PortCase x = normal({37, 65});
  for (const DType narrow : {DType::f16, DType::bf16}) {
    const std::string name(name_of(narrow));
    cases.push_back({"cast f32 to " + name, "cast", {}, {x}, narrow});
    cases.push_back({"cast " + name + " to f32", "cast", {}, {normal({37, 65}, narrow)}});
  }
  cases.push_back({"axpby", "axpby", {{"alpha", 0.3}, {"beta", -1.25}}, {x, x}});
  cases.push_back({"axpby by default", "axpby", {}, {x, x}});
  cases.push_back({"axpby, a vector", "axpby", {{"alpha", -1.0}}, {normal({301}), normal({301})}});
  cases.push_back({"axpby, rank 3", "axpby", {{"beta", 0.7}}, {normal({3, 5, 7}), normal({3, 5, 7})}});
  cases.push_back({"axpby, no rows", "axpby", {}, {normal({0, 7}), normal({0, 7})}});
  cases.push_back({"mul", "mul", {}, {x, x}});
  cases.push_back({"scale_by", "scale_by", {}, {x, normal({1})}});
  cases.push_back({"softcap", "softcap", {{"cap", 2.5}}, {x}});
  cases.push_back({"softcap_backward", "softcap_backward", {{"cap", 1.25}}, {unit({37, 65}), x}});
  for (const char* activation : {"sigmoid", "tanh", "relu"})
    cases.push_back({std::string("activation_backward ") + activation,
                     "activation_backward",
                     {{"activation", std::string(activation)}},
                     {std::string_view(activation) == "relu" ? x : unit({37, 65}), x}});
}

void add_recurrent(std::vector<OpCase>& cases) {
  const PortCase h = normal({9, 37}), gates = normal({9, 3 * 37}), gate = unit({9, 37});
  for (const char* activation : {"sigmoid", "tanh"})
    cases.push_back({std::string("gru_gate ") + activation,
                     "gru_gate",
                     {{"activation", std::string(activation)}},
                     {h, h}});
  cases.push_back({"gru_gates", "gru_gates", {}, {gates, gates, h}});
  cases.push_back({"gru_gates, no rows", "gru_gates", {}, {normal({0, 9}), normal({0, 9}), normal({0, 3})}});
  cases.push_back({"gru_gates_backward", "gru_gates_backward", {}, {gates, h, gate, gate, gate, h}});
  cases.push_back({"gru_blend", "gru_blend", {}, {gate, h, h}});
  cases.push_back({"gru_blend_backward", "gru_blend_backward", {}, {gate, h, h, h}});
}

void add_norm(std::vector<OpCase>& cases) {
  for (const Index cols : {1, 130, 700}) {
    const PortCase x = normal({21, cols}), weight = normal({cols}), r = positive({21, 1});
    const Attributes eps{{"eps", 1e-5}};
    cases.push_back({fmt::format("rms_norm {}", cols), "rms_norm", eps, {x, weight}});
    cases.push_back({fmt::format("rms_norm_backward {}", cols), "rms_norm_backward", {}, {x, weight, r, x}});
    cases.push_back(
        {fmt::format("rms_norm_weight_gradient {}", cols), "rms_norm_weight_gradient", {}, {x, r, x}});
  }
  const PortCase x = normal({21, 4 * 50}), r = positive({21, 4});
  cases.push_back(
      {"rms_norm by groups", "rms_norm", {{"eps", 1e-6}, {"group", Index{50}}}, {x, std::nullopt}});
  cases.push_back(
      {"rms_norm_backward by groups", "rms_norm_backward", {{"group", Index{50}}}, {x, std::nullopt, r, x}});
  cases.push_back({"rms_norm, no rows", "rms_norm", {{"eps", 1e-5}}, {normal({0, 8}), normal({8})}});
  cases.push_back({"rms_norm_weight_gradient, no rows",
                   "rms_norm_weight_gradient",
                   {},
                   {normal({0, 8}), normal({0, 1}), normal({0, 8})}});
}

void add_rope(std::vector<OpCase>& cases) {
  for (const char* pairing : {"half_split", "interleaved"})
    for (const Index inverse : {0, 1})
      for (const Index rotary : {16, 24}) {
        const Attributes attributes{{"head_dim", Index{24}},
                                    {"rotary", rotary},
                                    {"seq", Index{5}},
                                    {"pairing", std::string(pairing)},
                                    {"inverse", inverse}};
        const PortCase table = normal({5, rotary / 2});
        cases.push_back({fmt::format("rope {} {} {}", pairing, rotary, inverse),
                         "rope",
                         attributes,
                         {normal({15, 3 * 24}), table, table}});
      }
  cases.push_back({"head_scale", "head_scale", {}, {normal({33, 3 * 20}), normal({3})}});
  cases.push_back({"head_scale_gain_gradient",
                   "head_scale_gain_gradient",
                   {{"heads", Index{3}}},
                   {normal({33, 3 * 50}), normal({33, 3 * 50})}});
}

void add_attention(std::vector<OpCase>& cases) {
  struct Sizes {
    Index heads, kv_heads, seq, batch, dim, causal;
    bool masked;
  };
  for (const Sizes& s :
       {Sizes{4, 2, 7, 2, 12, 1, false}, Sizes{3, 1, 9, 2, 5, 0, true}, Sizes{2, 2, 150, 1, 33, 1, true},
        Sizes{2, 1, 140, 1, 130, 0, false}, Sizes{1, 1, 1, 3, 1, 1, false}}) {
    const Index rows = s.batch * s.seq;
    const Attributes attributes{
        {"heads", s.heads}, {"kv_heads", s.kv_heads}, {"seq", s.seq}, {"causal", s.causal}, {"scale", 0.37}};
    const PortCase q = normal({rows, s.heads * s.dim}), k = normal({rows, s.kv_heads * s.dim});
    std::optional<PortCase> valid;
    if (s.masked) valid = mask(rows, s.causal != 0 ? 3 : s.seq);  // queries without any key
    const std::string name = fmt::format("{} heads, {} kv, seq {}, dim {}{}{}", s.heads, s.kv_heads, s.seq,
                                         s.dim, s.causal != 0 ? ", causal" : "", s.masked ? ", masked" : "");
    cases.push_back({"attention " + name, "attention", attributes, {q, k, k, valid}});
    cases.push_back({"attention_backward " + name, "attention_backward", attributes, {q, k, k, valid, q}});
  }
  for (const Index dim : {20, 131}) {
    const Attributes heads{{"heads", Index{4}}, {"kv_heads", Index{2}}};
    const PortCase y = normal({9, 4 * dim}), v = normal({9, 2 * dim});
    cases.push_back({fmt::format("xsa {}", dim), "xsa", heads, {y, v}});
    cases.push_back({fmt::format("xsa_backward {}", dim), "xsa_backward", heads, {y, v, y}});
  }
}

void add_loss(std::vector<OpCase>& cases) {
  for (const Index classes : {1, 33, 1000}) {
    const PortCase logits = normal({9, classes}), targets = indices(9, classes);
    cases.push_back(
        {fmt::format("softmax_cross_entropy {}", classes), "softmax_cross_entropy", {}, {logits, targets}});
    cases.push_back({fmt::format("softmax_cross_entropy_backward {}", classes),
                     "softmax_cross_entropy_backward",
                     {},
                     {logits, targets, normal({9})}});
  }
  for (const Index count : {1, 1030, 5000})
    cases.push_back({fmt::format("mean {}", count), "mean", {}, {normal({count})}});
  cases.push_back({"mean_backward", "mean_backward", {{"count", Index{77}}}, {normal({1})}});
}

void add_embedding(std::vector<OpCase>& cases) {
  cases.push_back({"embedding", "embedding", {}, {normal({11, 19}), indices(23, 11)}});
  for (const Index count : {0, 1, 300})
    cases.push_back({fmt::format("embedding_backward {}", count),
                     "embedding_backward",
                     {{"vocabulary", Index{17}}},
                     {indices(count, 13), normal({count, 19})}});
  for (const Index rows : {0, 1, 37})
    cases.push_back(
        {fmt::format("gradient_reduction {}", rows), "gradient_reduction", {}, {normal({rows, 45})}});
}

void add_optimizer(std::vector<OpCase>& cases) {
  for (const Shape& shape : {Shape{33, 70}, Shape{5}, Shape{0, 4}})
    cases.push_back({"square_sum " + to_string(shape), "square_sum", {}, {normal(shape)}});
  for (const double max_norm : {0.5, 1e6})
    cases.push_back(
        {fmt::format("clip_factor {}", max_norm), "clip_factor", {{"max_norm", max_norm}}, {positive({7})}});
  const PortCase p = normal({13, 29}), second = positive({13, 29});
  cases.push_back({"adamw",
                   "adamw",
                   {{"lr", 3e-3}, {"beta1", 0.9}, {"beta2", 0.95}, {"eps", 1e-8}, {"weight_decay", 0.04}},
                   {p, p, p, second, unit({2})}});
  cases.push_back({"adamw by default", "adamw", {{"lr", 1e-3}}, {p, p, p, second, unit({2})}});
  cases.push_back({"muon_momentum", "muon_momentum", {{"mu", 0.95}}, {p, p}});
  cases.push_back({"frobenius_normalize", "frobenius_normalize", {}, {normal({40, 41})}});
}

void fill(Tensor& tensor, const PortCase& port, std::uint64_t seed, std::uint32_t stream) {
  if (port.content == Content::normal || port.content == Content::positive) {
    FillRequest request;
    request.fill = port.content == Content::normal ? Fill::normal : Fill::positive;
    request.seed = seed;
    request.stream = stream;
    return fill_tensor(tensor, request);
  }
  for (Index i = 0; i < tensor.elements(); ++i) {
    const std::uint32_t word = philox(seed, static_cast<std::uint64_t>(i), stream).word[0];
    double value = (static_cast<double>(word >> 8) + 0.5) * 0x1p-24;
    if (port.content == Content::indices) value = static_cast<double>(word % port.limit);
    if (port.content == Content::mask) value = i < port.limit || word % 3 == 0 ? 0 : 1;
    tensor.set_value(i, value);
  }
  poison_pads(tensor, Poison::guard);
}

Strides strides_of(const Shape& shape, Index pad) {
  if (shape.size() == 1) return {1 + pad};
  return leading_strides(shape, shape.back() + pad);
}

/// Adds a tensor, or a view with its root; returns the tensor's id.
Result<TensorId> add(Program& program, TensorSpec spec, const Placement& placement) {
  constexpr Index before = 384,
                  behind = 77;  // elements of the root; `before` is whole 256 bytes of any dtype
  spec.strides = strides_of(spec.shape, placement.pad);
  if (placement.views) {
    const auto extent = storage_extent(spec.dtype, spec.shape, spec.strides);
    if (!extent) return tl::unexpected(extent.error());
    program.tensors.push_back({spec.name + " root", spec.dtype, {before + *extent + behind}, {1}, spec.role});
    spec.view_of = static_cast<TensorId>(program.tensors.size() - 1);
    spec.view_offset = before;
  }
  program.tensors.push_back(std::move(spec));
  return static_cast<TensorId>(program.tensors.size() - 1);
}

}  // namespace

std::vector<OpCase> op_cases() {
  std::vector<OpCase> cases;
  for (auto* add_family : {add_elementwise, add_recurrent, add_norm, add_rope, add_attention, add_loss,
                           add_embedding, add_optimizer})
    add_family(cases);
  return cases;
}

Result<BuiltCase> build(const OpCase& c, const Op& op, const Placement& placement, std::uint64_t seed) {
  BuiltCase built;
  OpCall call{c.op, c.attributes, {}, {}};
  std::vector<std::optional<Shape>> shapes;
  for (std::size_t port = 0; port < c.inputs.size(); ++port) {
    shapes.emplace_back();
    call.inputs.push_back(no_tensor);
    if (!c.inputs[port]) continue;
    const PortCase& input = *c.inputs[port];
    shapes.back() = input.shape;
    const auto id =
        add(built.program, {std::string(op.inputs()[port].name), input.dtype, input.shape, {}}, placement);
    if (!id) return tl::unexpected(id.error());
    call.inputs.back() = *id;
    const TensorSpec& spec = built.program.spec(*id);
    auto tensor = Tensor::create(spec.dtype, spec.shape, spec.strides);
    if (!tensor) return tl::unexpected(tensor.error());
    fill(*tensor, input, seed, static_cast<std::uint32_t>(port));
    built.inputs.emplace(*id, *std::move(tensor));
  }
  shapes.resize(op.inputs().size());
  const auto outputs = op.infer(c.attributes, shapes);
  if (!outputs) return tl::unexpected(outputs.error());
  for (std::size_t port = 0; port < outputs->size(); ++port) {
    TensorSpec spec{std::string(op.outputs()[port].name), c.store, (*outputs)[port], {}};
    spec.role = TensorSpec::Role::output;
    const auto id = add(built.program, std::move(spec), placement);
    if (!id) return tl::unexpected(id.error());
    call.outputs.push_back(*id);
  }
  built.program.calls.push_back(std::move(call));
  return built;
}

}  // namespace parity::cuda
