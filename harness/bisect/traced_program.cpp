#include "harness/bisect/traced_program.hpp"

#include <fmt/format.h>

#include <cctype>

namespace parity {
namespace {

constexpr std::int64_t slot_words = view_alignment / static_cast<std::int64_t>(sizeof(std::int32_t));

/// The number after `letter` at the start of `text`, up to `end`; both are taken off.
std::optional<std::int64_t> take_number(std::string& text, char letter, char end) {
  if (text.size() < 3 || text[0] != letter) return std::nullopt;
  std::size_t at = 1;
  while (at < text.size() && std::isdigit(static_cast<unsigned char>(text[at])) != 0) ++at;
  if (at == 1 || at >= text.size() || text[at] != end || at > 12) return std::nullopt;
  const std::int64_t number = std::stoll(text.substr(1, at - 1));
  text.erase(0, at + 1);
  return number;
}

}  // namespace

TraceScans TracedProgram::read(const Tensor& tensor) const {
  const auto at = [&](std::int64_t slot) {
    std::array<std::int32_t, scan_words> words{};
    for (std::int64_t w = 0; w < scan_words; ++w)
      words[static_cast<std::size_t>(w)] = static_cast<std::int32_t>(tensor.value(slot * slot_words + w));
    return from_words(words);
  };
  TraceScans result;
  for (const TracePoint& point : points) result.points.push_back(at(point.slot));
  for (const StatePoint& state : states) result.states.push_back(at(state.slot));
  return result;
}

Result<TracedProgram> traced(const OpTable& ops, const Program& program) {
  TracedProgram t;
  t.program = program;
  t.program.calls.clear();
  t.scans = static_cast<TensorId>(t.program.tensors.size());
  t.program.tensors.push_back({"trace scans", DType::i32, {}, {}, TensorSpec::Role::intermediate});
  std::int64_t slots = 0;
  // Adds the call that looks at a tensor, where there is something to look at; its slot.
  const auto look_at = [&](TensorId id) -> std::optional<std::int64_t> {
    const TensorSpec& spec = program.spec(id);
    if (element_count(spec.shape).value_or(0) == 0) return std::nullopt;
    TensorSpec words{fmt::format("scan {} of {}", slots, spec.name),
                     DType::i32,
                     {scan_words},
                     {1},
                     TensorSpec::Role::intermediate};
    words.view_of = t.scans;
    words.view_offset = slots * slot_words;
    t.program.calls.push_back({"trace_scan", {}, {id}, {static_cast<TensorId>(t.program.tensors.size())}});
    t.program.tensors.push_back(std::move(words));
    return slots++;
  };
  for (const Carry& carry : program.carries)
    if (const auto slot = look_at(carry.to)) t.states.push_back({carry.from, carry.to, 0, *slot});
  for (std::size_t c = 0; c < program.calls.size(); ++c) {
    t.program.calls.push_back(program.calls[c]);
    for (std::size_t port = 0; port < program.calls[c].outputs.size(); ++port) {
      const TensorId id = program.calls[c].outputs[port];
      if (id == no_tensor) continue;
      const auto slot = look_at(id);
      if (!slot) continue;
      for (StatePoint& state : t.states)
        if (state.from == id) state.made = t.points.size();
      t.points.push_back({c, port, id, *slot});
    }
  }
  if (t.points.empty()) return bad_input("the program has no result to look at: none has an element");
  TensorSpec& scans = t.program.tensors[static_cast<std::size_t>(t.scans)];
  scans.shape = {slots * slot_words};
  scans.strides = {1};
  if (auto ok = check_program(ops, t.program); !ok) return tl::unexpected(ok.error());
  return t;
}

TracePlace place_of(const std::string& tensor) {
  TracePlace place;
  place.name = tensor;
  // Gradients carry the name of what they are of: "d_l1.t12_u".
  const bool gradient = place.name.starts_with("d_");
  if (gradient) place.name.erase(0, 2);
  place.layer = take_number(place.name, 'l', '.');
  place.timestep = take_number(place.name, 't', '_');
  if (gradient) place.name.insert(0, "d_");
  return place;
}

}  // namespace parity
