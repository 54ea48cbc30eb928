#include "harness/cli/probe_output.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "harness/cli/version.hpp"
#include "harness/numerics/tree_drawing.hpp"
#include "reports/record_json.hpp"

namespace parity::cli {

namespace {

constexpr int probe_schema = 1;

std::string_view name_of(Revelation::Outcome outcome) {
  switch (outcome) {
    case Revelation::Outcome::revealed:
      return "revealed";
    case Revelation::Outcome::not_reproducible:
      return "not_reproducible";
    case Revelation::Outcome::no_single_tree:
      return "no_single_tree";
    case Revelation::Outcome::any_order:
      return "any_order";
    case Revelation::Outcome::not_visible:
      return "not_visible";
  }
  return "unknown";
}

std::string verdict_text(const ReductionFinding& f) {
  if (!f.contradiction.empty()) return "FINDING: " + f.contradiction;
  if (f.agrees && *f.agrees) return "as declared";
  if (f.declared.empty()) return "the path declares no order";
  const std::string declared = fmt::format("{}", fmt::join(f.declared, " or "));
  if (!f.agrees) return fmt::format("declared {}, not confirmed", declared);
  return fmt::format("none of the candidates ({})", declared);
}

std::string indented(const std::string& text, std::string_view by) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    out += fmt::format("{}{}\n", by, text.substr(at, end - at));
    if (end == std::string::npos) break;
    at = end + 1;
  }
  return out;
}

nlohmann::ordered_json finding_json(const ReductionFinding& f) {
  nlohmann::ordered_json json = {{"name", f.name},
                                 {"terms", f.terms},
                                 {"method", f.method},
                                 {"scale", f.scale},
                                 {"outcome", name_of(f.revelation.outcome)},
                                 {"why", f.revelation.why},
                                 {"questions", f.revelation.questions}};
  if (f.revelation.tree) {
    const SummationTree& tree = *f.revelation.tree;
    json["order"] = f.order;
    json["hash"] = tree.hash_text();
    json["depth"] = tree.depth();
    json["fan_in"] = tree.largest_fan_in();
    json["tree"] = tree.text();
  }
  json["declared"] = f.declared;
  json["agrees"] = f.agrees ? nlohmann::ordered_json(*f.agrees) : nlohmann::ordered_json();
  json["contradiction"] = f.contradiction;
  return json;
}

}  // namespace

std::string probe_text(const ProbeRecord& record) {
  std::string text =
      fmt::format("  {} {}  {} -> {} -> {}\n", record.op, record.path, parity::name_of(record.input),
                  parity::name_of(record.accumulate), parity::name_of(record.store));
  for (const ReductionFinding& f : record.reductions) {
    if (f.revelation.outcome == Revelation::Outcome::any_order) {
      text += fmt::format("    {}, {} terms: {}{}\n", f.name, f.terms, f.revelation.why,
                          f.contradiction.empty() ? "" : "\n      " + verdict_text(f));
      continue;
    }
    if (!f.revelation.tree) {
      text += fmt::format("    {}, {} terms: no tree ({}): {}\n", f.name, f.terms,
                          name_of(f.revelation.outcome), f.revelation.why);
      if (!f.contradiction.empty() || !f.declared.empty()) text += fmt::format("      {}\n", verdict_text(f));
      continue;
    }
    text += fmt::format("    {}: {} ({})\n", f.name, f.order, verdict_text(f));
    text += fmt::format("      tree {}, {} questions, {}{}{}\n", f.revelation.tree->hash_text(),
                        f.revelation.questions, f.method, f.scale.empty() ? "" : ", ", f.scale);
    text += indented(draw_text(*f.revelation.tree, 24), "      ");
  }
  if (record.replay.result) {
    const ReplayResult& r = *record.replay.result;
    text += fmt::format("    replay of normal data: {} of {} elements bit-equal ({})\n", r.equal, r.compared,
                        r.model);
  } else {
    text += fmt::format("    replay: not possible: {}\n", record.replay.note);
  }
  return text;
}

std::string probe_json(const ProbeRecord& record, const DeviceInfo& device) {
  const Provenance from = provenance();
  nlohmann::ordered_json json = {{"schema", probe_schema},
                                 {"kind", "probe"},
                                 {"op", record.op},
                                 {"path", record.path},
                                 {"input", parity::name_of(record.input)},
                                 {"accumulate", parity::name_of(record.accumulate)},
                                 {"store", parity::name_of(record.store)},
                                 {"k", record.size.terms},
                                 {"rows", record.size.rows},
                                 {"cols", record.size.cols}};
  auto& reductions = json["reductions"] = nlohmann::ordered_json::array();
  for (const ReductionFinding& f : record.reductions) reductions.push_back(finding_json(f));
  if (record.replay.result) {
    const ReplayResult& r = *record.replay.result;
    json["replay"] = {{"model", r.model}, {"compared", r.compared}, {"equal", r.equal}};
  } else {
    json["replay"] = {{"note", record.replay.note}};
  }
  json["finding"] = record.contradicts();
  json["device"] = nlohmann::ordered_json::parse(device_to_json(device));
  json["provenance"] = {{"commit", from.commit},
                        {"version", from.version},
                        {"flags", from.flags},
                        {"compiler", from.compiler},
                        {"started", from.started}};
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::string drawing_name(const ProbeRecord& record, std::size_t index) {
  std::string name = fmt::format("{}-{}-{}-{}-{}-k{}-{}.svg", record.device, record.op, record.path,
                                 parity::name_of(record.input), parity::name_of(record.accumulate),
                                 record.size.terms, index + 1);
  for (char& c : name)
    if (c == ':' || c == '/') c = '_';
  return name;
}

}  // namespace parity::cli
