#include "harness/cli/against_output.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "harness/cli/bisect_output.hpp"

namespace parity::cli {
namespace {

using Outcome = AgainstReport::Kind;
using Json = nlohmann::ordered_json;
constexpr std::size_t most_drift = 4;  ///< kinds of tensor that are shown

std::string headline(const AgainstReport& report) {
  switch (report.kind) {
    case Outcome::equal:
      return report.same_kernels ? "equal bits; both sides are the same kernels" : "equal bits";
    case Outcome::noise:
      return "noise: bits differ, and every call on either side is within its contract";
    case Outcome::diverges:
      return report.first && report.second ? "a real divergence: both sides break their contract"
             : report.first                ? "a real divergence: the first side is wrong"
                                           : "a real divergence: the second side is wrong";
    case Outcome::reference_at_fault:
      return "the reference is at fault: it contradicts itself, so that neither side can be blamed";
  }
  return "";
}

std::string_view outcome_name(Outcome outcome) {
  constexpr std::string_view names[] = {"equal", "noise", "diverges", "reference_at_fault"};
  return names[static_cast<std::size_t>(outcome)];
}

std::string step_text(std::int64_t step, const TracePlace& place) {
  std::string text = fmt::format("step {}", step);
  if (place.layer) text += fmt::format(", layer {}", *place.layer);
  if (place.timestep) text += fmt::format(", timestep {}", *place.timestep);
  return text;
}

std::string apart_text(const char* title, const Apart& a, bool with_part) {
  std::string text =
      fmt::format("  {:<11} {}: call {}, {} ({} | {}): '{}'[{}] {:.9g} | {:.9g}, {} of {} differ", title,
                  step_text(a.step, a.place), a.call, a.op, a.first_path, a.second_path, a.tensor,
                  fmt::join(a.index, ", "), a.first, a.second, a.differing, a.elements);
  if (with_part)
    text += fmt::format("; beyond what its inputs explain: {:.3g} of what both contracts allow", a.part);
  return text + "\n";
}

double largest_relative(const Drift& drift) {
  double largest = 0;
  for (const Drift::Point& point : drift.points) largest = std::max(largest, point.relative);
  return largest;
}

std::vector<const Drift*> widest_drift(const AgainstReport& report) {
  std::vector<const Drift*> kinds;
  for (const Drift& drift : report.drift) kinds.push_back(&drift);
  std::ranges::stable_sort(
      kinds, [](const Drift* a, const Drift* b) { return largest_relative(*a) > largest_relative(*b); });
  if (kinds.size() > most_drift) kinds.resize(most_drift);
  return kinds;
}

std::string name_of(const Drift& drift) {
  return drift.layer ? fmt::format("layer {} {}", *drift.layer, drift.tensor) : drift.tensor;
}

std::string drift_text(const Drift& drift) {
  const Drift::Point& first = drift.points.front();
  const Drift::Point& last = drift.points.back();
  std::string text =
      fmt::format("  drift       {}: max |a - b| / max |a| {:.3g}", name_of(drift), first.relative);
  const auto place = [](const Drift::Point& p) {
    return p.timestep > 0 ? fmt::format("step {}, timestep {}", p.step, p.timestep)
                          : fmt::format("step {}", p.step);
  };
  text += fmt::format(" at {}", place(first));
  if (drift.points.size() > 1) text += fmt::format(" -> {:.3g} at {}", last.relative, place(last));
  return text + "\n";
}

Json number(double x) {
  return std::isfinite(x) ? Json(x) : Json(std::isnan(x) ? "nan" : x > 0 ? "inf" : "-inf");
}

Json json_of(const Apart& a) {
  Json json{{"step", a.step},
            {"call", a.call},
            {"op", a.op},
            {"tensor", a.tensor},
            {"index", a.index},
            {"first", number(a.first)},
            {"second", number(a.second)},
            {"differing", a.differing},
            {"elements", a.elements},
            {"part_of_bounds", number(a.part)}};
  if (a.place.layer) json["layer"] = *a.place.layer;
  if (a.place.timestep) json["timestep"] = *a.place.timestep;
  return json;
}

}  // namespace

std::string against_text(const AgainstReport& report, const Compared& what) {
  std::string text = fmt::format("{}\n  first       {} {}, path {}\n  second      {} {}, path {}\n\n{}\n",
                                 what.case_text, what.first.id, what.first.name, what.first_path,
                                 what.second.id, what.second.name, what.second_path, headline(report));
  if (report.begins) text += apart_text("bits differ", *report.begins, false);
  if (report.divergence) text += apart_text("diverges", *report.divergence, true);
  if (report.widest) text += apart_text(report.divergence ? "before it" : "widest", *report.widest, true);
  if (report.first) text += "first side\n" + producer_text(*report.first);
  if (report.second) text += "second side\n" + producer_text(*report.second);
  for (const Drift* drift : widest_drift(report)) text += drift_text(*drift);
  text += fmt::format("  searched    {} calls x {} steps: {}\n", report.calls, report.steps,
                      cost_text(report.cost, "runs of either side together"));
  if (!report.judged_steps.empty())
    text += fmt::format("  judged      every call with other bits of step {}; equal bits are not judged\n",
                        fmt::join(report.judged_steps, ", "));
  return text;
}

std::string against_json(const AgainstReport& report, const Compared& what) {
  Json json{{"case", what.case_text},
            {"result", outcome_name(report.kind)},
            {"first", {{"device", what.first.id}, {"name", what.first.name}, {"path", what.first_path}}},
            {"second", {{"device", what.second.id}, {"name", what.second.name}, {"path", what.second_path}}},
            {"same_kernels", report.same_kernels},
            {"steps", report.steps},
            {"calls", report.calls},
            {"differing_results", report.differing},
            {"judged_steps", report.judged_steps}};
  add_cost(json, report.cost);
  if (report.begins) json["bits_differ"] = json_of(*report.begins);
  if (report.widest) json["widest"] = json_of(*report.widest);
  if (report.divergence) json["divergence"] = json_of(*report.divergence);
  if (report.first) json["first_producer"] = Json::parse(producer_json(*report.first));
  if (report.second) json["second_producer"] = Json::parse(producer_json(*report.second));
  json["drift"] = Json::array();
  for (const Drift& drift : report.drift) {
    Json points = Json::array();
    for (const Drift::Point& p : drift.points) points.push_back({p.step, p.timestep, p.relative});
    Json entry{{"tensor", drift.tensor}, {"step_timestep_relative", std::move(points)}};
    if (drift.layer) entry["layer"] = *drift.layer;
    json["drift"].push_back(std::move(entry));
  }
  return json.dump() + "\n";
}

}  // namespace parity::cli
