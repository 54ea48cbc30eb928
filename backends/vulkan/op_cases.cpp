#include "backends/vulkan/op_cases.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "harness/ladder/replay.hpp"
#include "harness/numerics/judge.hpp"
#include "harness/tensor/fill.hpp"
#include "harness/tensor/poison.hpp"

namespace parity::vulkan {

namespace {

CaseInput gate(Shape shape) {
  return {std::move(shape), Content::gate};
}
CaseInput squeezed(Shape shape) {
  return {std::move(shape), Content::squeezed};
}
CaseInput positive(Shape shape) {
  return {std::move(shape), Content::positive};
}
CaseInput index(std::int64_t count, std::int64_t limit) {
  return {{count}, Content::index, limit};
}
CaseInput absent() {
  return {{}, Content::absent};
}

void add_elementwise(std::vector<OpCase>& cases) {
  const Shape s{5, 131}, rank3{3, 4, 37};
  cases.push_back({"axpby", {{"alpha", 0.5}, {"beta", -1.25}}, {{s}, {s}}});
  cases.push_back({"axpby", {}, {{rank3}, {rank3}}});
  cases.push_back({"mul", {}, {{s}, {s}}});
  cases.push_back({"scale_by", {}, {{{1001}}, {{1}}}});
  cases.push_back({"softcap", {{"cap", 2.5}}, {{s}}});
  cases.push_back({"softcap_backward", {{"cap", 1.5}}, {squeezed(s), {s}}});
  for (const std::string name : {"sigmoid", "tanh", "relu"})
    cases.push_back(
        {"activation_backward", {{"activation", name}}, {name == "sigmoid" ? gate(s) : squeezed(s), {s}}});
  cases.push_back({"head_scale", {}, {{{6, 3 * 11}}, {{3}}}});
  for (const auto& [from, to] : {std::pair{DType::f32, DType::f16},
                                 {DType::f32, DType::bf16},
                                 {DType::f16, DType::f32},
                                 {DType::bf16, DType::f32}})
    cases.push_back({"cast", {}, {{{7, 65}}}, from, to});
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16})
    cases.push_back({"trace_scan", {}, {{{7, 65}}}, dtype, DType::i32});
  cases.push_back({"trace_scan", {}, {index(65, 7)}, DType::i32, DType::i32});
  const Shape one{9, 35}, three{9, 105};
  for (const std::string name : {"sigmoid", "tanh"})
    cases.push_back({"gru_gate", {{"activation", name}}, {{one}, {one}}});
  cases.push_back({"gru_gates", {}, {{three}, {three}, squeezed(one)}});
  cases.push_back(
      {"gru_gates_backward", {}, {{three}, squeezed(one), gate(one), gate(one), squeezed(one), {one}}});
  cases.push_back({"gru_blend", {}, {gate(one), squeezed(one), squeezed(one)}});
  cases.push_back({"gru_blend_backward", {}, {gate(one), squeezed(one), squeezed(one), {one}}});
}

void add_rows(std::vector<OpCase>& cases) {
  using I = std::int64_t;
  const Shape x{7, 203}, grouped{5, 3 * 67};
  const Attributes eps{{"eps", 1e-5}};
  cases.push_back({"rms_norm", eps, {{x}, {{203}}}});
  cases.push_back({"rms_norm", eps, {{x}, absent()}});
  cases.push_back({"rms_norm", {{"eps", 1e-5}, {"group", I{67}}}, {{grouped}}});
  cases.push_back({"rms_norm_backward", {}, {{x}, {{203}}, positive({7, 1}), {x}}});
  cases.push_back(
      {"rms_norm_backward", {{"group", I{67}}}, {{grouped}, absent(), positive({5, 3}), {grouped}}});
  cases.push_back({"rms_norm_weight_gradient", {}, {{{37, 71}}, positive({37, 1}), {{37, 71}}}});
  for (const std::string pairing : {"half_split", "interleaved"})
    for (const I inverse : {0, 1})
      cases.push_back(
          {"rope",
           {{"head_dim", I{10}}, {"rotary", I{6}}, {"seq", I{7}}, {"pairing", pairing}, {"inverse", inverse}},
           {{{14, 3 * 10}}, squeezed({7, 3}), squeezed({7, 3})}});
  cases.push_back({"head_scale_gain_gradient", {{"heads", I{3}}}, {{{13, 3 * 23}}, {{13, 3 * 23}}}});
  cases.push_back({"softmax_cross_entropy", {}, {{{6, 203}}, index(6, 203)}});
  cases.push_back({"softmax_cross_entropy_backward", {}, {{{6, 203}}, index(6, 203), {{6}}}});
  cases.push_back({"mean", {}, {{{2051}}}});
  cases.push_back({"mean_backward", {{"count", I{333}}}, {{{1}}}});
  cases.push_back({"embedding", {}, {{{19, 71}}, index(33, 19)}});
  cases.push_back({"embedding_backward", {{"vocabulary", I{19}}}, {index(133, 19), {{133, 71}}}});
  cases.push_back({"gradient_reduction", {}, {{{37, 71}}}});
  cases.push_back({"square_sum", {}, {{{37, 71}}}});
  cases.push_back({"clip_factor", {{"max_norm", 1.0}}, {positive({5})}});
  cases.push_back({"clip_factor", {{"max_norm", 1e3}}, {positive({5})}});
  cases.push_back({"adamw",
                   {{"lr", 1e-2}, {"eps", 1e-3}, {"weight_decay", 0.1}},
                   {{{5, 131}}, {{5, 131}}, {{5, 131}}, positive({5, 131}), gate({2})}});
  cases.push_back({"muon_momentum", {{"mu", 0.95}}, {{{5, 131}}, {{5, 131}}}});
  cases.push_back({"frobenius_normalize", {}, {{{37, 71}}}});
}

void add_attention(std::vector<OpCase>& cases) {
  using I = std::int64_t;
  const auto attributes = [](I seq, I causal) {
    return Attributes{{"heads", I{4}}, {"kv_heads", I{2}}, {"seq", seq}, {"causal", causal}, {"scale", 0.3}};
  };
  // More keys than lanes and a head wider than the lanes; then several sequences, with a mask that leaves the
  // first queries of the first without any key.
  const CaseInput mask{{2 * 19}, Content::mask, 3};
  const Shape q{67, 4 * 70}, kv{67, 2 * 70}, q2{2 * 19, 4 * 12}, kv2{2 * 19, 2 * 12};
  for (const I causal : {0, 1}) {
    cases.push_back({"attention", attributes(67, causal), {{q}, {kv}, {kv}}});
    cases.push_back({"attention", attributes(19, causal), {{q2}, {kv2}, {kv2}, mask}});
    cases.push_back({"attention_backward", attributes(67, causal), {{q}, {kv}, {kv}, absent(), {q}}});
    cases.push_back({"attention_backward", attributes(19, causal), {{q2}, {kv2}, {kv2}, mask, {q2}}});
  }
  const Attributes heads{{"heads", I{4}}, {"kv_heads", I{2}}};
  const Shape y{9, 4 * 69}, v{9, 2 * 69};
  cases.push_back({"xsa", heads, {{y}, {v}}});
  cases.push_back({"xsa_backward", heads, {{y}, {v}, {y}}});
}

/// Every port has its own number of pads, so that no stride stands in for another.
TensorSpec padded(std::string name, DType dtype, Shape shape, TensorSpec::Role role, std::size_t port) {
  TensorSpec spec{std::move(name), dtype, std::move(shape), {}, role};
  const auto pad = static_cast<std::int64_t>(2 * port + 1);
  spec.strides = spec.shape.size() < 2 ? contiguous_strides(spec.shape)
                                       : leading_strides(spec.shape, spec.shape.back() + pad);
  return spec;
}

Result<Tensor> contents(const TensorSpec& spec, const CaseInput& input, std::uint32_t stream) {
  auto tensor = Tensor::create(spec.dtype, spec.shape, spec.strides);
  if (!tensor) return tensor;
  FillRequest request;
  request.fill = Fill::normal;
  request.role = FillRole::addend;
  request.seed = 7;
  request.stream = stream;
  poison_pads(*tensor, Poison::guard);
  if (spec.dtype != DType::i32) fill_tensor(*tensor, request);
  for (std::int64_t i = 0; i < tensor->elements(); ++i) {
    const double x = tensor->value(i);
    switch (input.content) {
      case Content::positive:
        tensor->set_value(i, std::fabs(x));
        break;
      case Content::gate:
        tensor->set_value(i, 0.5 + 0.5 * x / (1 + std::fabs(x)));
        break;
      case Content::squeezed:
        tensor->set_value(i, x / (1 + std::fabs(x)));
        break;
      case Content::index:
        tensor->set_value(i, static_cast<double>(i * i * 5 % input.limit));
        break;
      case Content::mask:
        tensor->set_value(i, i % 7 == 6 || i < input.limit ? 0 : 1 + static_cast<double>(i % 2));
        break;
      default:
        break;
    }
  }
  return tensor;
}

Contract contract_of(const ArithmeticModel& model, DType store) {
  Contract contract;
  contract.store = store;
  contract.order_known = model.accumulation.has_value();
  contract.store_rounds = format_of(store).precision < format_of(model.precision.scratch).precision;
  return contract;
}

/// One output against the reference.
std::string judge_output(const CallResult& result, const Implementation& implementation) {
  ArithmeticModel model = implementation.contract;
  model.precision.store = result.got->dtype();
  const auto want = result.op->evaluate(*make_tracked_arithmetic(model), *result.attributes, result.inputs);
  if (!want) return want.error().message;
  ReplayResult replayed;
  if (implementation.knowledge == OrderKnowledge::declared) {
    auto best = replay_best(result, implementation.replays, {});
    // An error says that a function's rounding is not known; then the bounds alone decide.
    if (best && !best->all_equal() && best->compared > 0)
      return fmt::format("{} of {} elements have the bits of {}", best->equal, best->compared, best->model);
    if (best) replayed = *std::move(best);
  }
  const Value& expected = (*want)[result.output];
  Contract contract = contract_of(implementation.contract, result.got->dtype());
  contract.exact = !expected.tracked();  // nothing on the way rounds
  const Judgement judgement = judge(*result.got, expected, contract, replayed);
  if (judgement.verdict == Verdict::pass) return {};
  return fmt::format("output {}: {}: {}", result.output, name_of(judgement.verdict),
                     fmt::join(judgement.reasons, "; "));
}

std::string run_and_judge(Session& session, const Implementation& implementation, const OpCase& c,
                          const Program& program, const OpTable& ops) {
  auto written = write_inputs(session, c, program);
  if (!written) return written.error().message;
  std::map<TensorId, Tensor>& tensors = *written;
  const OpCall& call = program.calls[0];
  for (int repeat = 0; repeat < 2; ++repeat) {
    const auto timing = session.run();
    if (!timing) return timing.error().message;
    if (timing->device_seconds && timing->call_seconds.size() != 1) return "a call has no time of its own";
    for (const TensorId id : call.outputs) {
      auto got = session.read(id);
      if (!got) return got.error().message;
      if (const auto pads = damaged_pads(*got); !pads.empty())
        return fmt::format("'{}': pad {} was written", program.spec(id).name, pads[0]);
      const auto [earlier, is_first] = tensors.try_emplace(id, *got);
      if (!is_first && implementation.knowledge == OrderKnowledge::declared &&
          content_hash(earlier->second) != content_hash(*got))
        return fmt::format("'{}' differs from run to run", program.spec(id).name);
    }
  }
  const auto damage = session.check_guards();
  if (!damage) return damage.error().message;
  if (!damage->empty())
    return fmt::format("guard of '{}' at byte {}", (*damage)[0].tensor, (*damage)[0].byte_offset);

  CallResult result{ops.find(c.op), &call.attributes, {}, 0, nullptr};
  for (const TensorId id : call.inputs) {
    result.inputs.push_back(id == no_tensor ? nullptr : &tensors.at(id));
    if (id == no_tensor) continue;
    const auto now = session.read(id);
    if (!now || !std::ranges::equal(now->bytes(), tensors.at(id).bytes()))
      return fmt::format("input '{}' was changed", program.spec(id).name);
  }
  for (std::size_t output = 0; output < call.outputs.size(); ++output) {
    result.output = output;
    result.got = &tensors.at(call.outputs[output]);
    if (std::string fault = judge_output(result, implementation); !fault.empty()) return fault;
  }
  return {};
}

}  // namespace

std::vector<OpCase> op_cases() {
  std::vector<OpCase> cases;
  add_elementwise(cases);
  add_rows(cases);
  add_attention(cases);
  return cases;
}

std::string to_string(const OpCase& c) {
  std::string text = c.op;
  for (const CaseInput& input : c.inputs) {
    text += ' ';
    text += input.content == Content::absent ? "-" : parity::to_string(input.shape);
  }
  for (const auto& [name, value] : c.attributes.all())
    text +=
        fmt::format(" {}={}", name, std::visit([](const auto& v) { return fmt::format("{}", v); }, value));
  return text;
}

Result<Program> program_of(const OpCase& c, const OpTable& ops) {
  using Role = TensorSpec::Role;
  const Op* op = ops.find(c.op);
  if (op == nullptr) return fail(ErrorKind::internal, fmt::format("there is no op '{}'", c.op));
  Program program;
  OpCall call{c.op, c.attributes, {}, {}};
  std::vector<std::optional<Shape>> shapes;
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    const CaseInput& input = c.inputs[i];
    if (input.content == Content::absent) {
      call.inputs.push_back(no_tensor);
      shapes.emplace_back();
      continue;
    }
    const bool is_index = input.content == Content::index || input.content == Content::mask;
    call.inputs.push_back(static_cast<TensorId>(program.tensors.size()));
    shapes.emplace_back(input.shape);
    program.tensors.push_back(padded(std::string(op->inputs()[i].name), is_index ? DType::i32 : c.input,
                                     input.shape, Role::input, i));
  }
  if (c.input == DType::i32) program.accumulate = DType::i32;
  const auto inferred = op->infer(c.attributes, shapes);
  if (!inferred) return tl::unexpected(inferred.error());
  for (std::size_t i = 0; i < inferred->size(); ++i) {
    call.outputs.push_back(static_cast<TensorId>(program.tensors.size()));
    program.tensors.push_back(padded(std::string(op->outputs()[i].name) + "_out", c.store, (*inferred)[i],
                                     Role::output, c.inputs.size() + i));
  }
  program.calls.push_back(std::move(call));
  return program;
}

Result<std::map<TensorId, Tensor>> write_inputs(Session& session, const OpCase& c, const Program& program) {
  std::map<TensorId, Tensor> tensors;
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    const TensorId id = program.calls[0].inputs[i];
    if (id == no_tensor) continue;
    auto tensor = contents(program.spec(id), c.inputs[i], static_cast<std::uint32_t>(i));
    if (!tensor) return tl::unexpected(tensor.error());
    if (auto ok = session.write(id, *tensor); !ok) return tl::unexpected(ok.error());
    tensors.emplace(id, *std::move(tensor));
  }
  return tensors;
}

std::string run_case(Device& device, const Implementation& implementation, const OpCase& c,
                     const OpTable& ops) {
  const auto program = program_of(c, ops);
  if (!program) return program.error().message;
  auto session = device.load(*program, {implementation.path});
  if (!session) return session.error().message;
  return run_and_judge(**session, implementation, c, *program, ops);
}

}  // namespace parity::vulkan
