#include "harness/cli/bisect_output.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "reports/plot.hpp"

namespace parity::cli {
namespace {

std::string megabytes(std::int64_t bytes) {
  return fmt::format("{:.3g} MB", static_cast<double>(bytes) / 1e6);
}

using Kind = BisectReport::Kind;
using Json = nlohmann::ordered_json;
constexpr std::size_t most_growth = 8;  ///< kinds of tensor that are shown

double limit_of(DType dtype) {
  return largest_finite(format_of(dtype));
}

double peak(const Growth& growth) {
  float largest = 0;
  for (const Growth::Point& point : growth.points) largest = std::max(largest, point.largest);
  return largest;
}

std::string name_of(const Growth& growth) {
  return growth.layer ? fmt::format("layer {} {}", *growth.layer, growth.tensor) : growth.tensor;
}

/// Those nearest to their format's limit first.
std::vector<const Growth*> nearest_to_limit(const BisectReport& report) {
  std::vector<const Growth*> kinds;
  for (const Growth& growth : report.growth) kinds.push_back(&growth);
  std::ranges::stable_sort(kinds, [](const Growth* a, const Growth* b) {
    return peak(*a) / limit_of(a->dtype) > peak(*b) / limit_of(b->dtype);
  });
  if (kinds.size() > most_growth) kinds.resize(most_growth);
  return kinds;
}

std::string place_text(const Producer& p) {
  if (p.alone.empty()) return fmt::format("ops[{}]", p.call);  // of a trace
  std::string text = fmt::format("step {}", p.step);
  if (p.place.layer) text += fmt::format(", layer {}", *p.place.layer);
  if (p.place.timestep) text += fmt::format(", timestep {}", *p.place.timestep);
  return text;
}

std::string scan_text(const TensorScan& scan) {
  std::string text = fmt::format("max |x| {:.6g}", scan.largest);
  if (scan.nonfinite() > 0)
    text +=
        fmt::format(", {} NaN, {} infinite, the first at {}", scan.nan, scan.infinite, scan.first_nonfinite);
  if (scan.unwritten > 0) text += fmt::format(", {} never written", scan.unwritten);
  return text;
}

std::string growth_text(const BisectReport& report) {
  std::string text;
  for (const Growth* growth : nearest_to_limit(report)) {
    if (growth->points.size() < 2) continue;
    // First, middle and last: enough to see a burst coming; the plot has the rest.
    const auto& points = growth->points;
    text += fmt::format("  max |x|     {}: {:.3g} -> {:.3g} -> {:.3g}, {:.3g} of {}'s largest\n",
                        name_of(*growth), points.front().largest, points[points.size() / 2].largest,
                        points.back().largest, peak(*growth) / limit_of(growth->dtype),
                        parity::name_of(growth->dtype));
    if (std::count(text.begin(), text.end(), '\n') >= 4) break;
  }
  return text;
}

std::string headline(const BisectReport& report) {
  switch (report.kind) {
    case Kind::healthy:
      return "nothing is wrong";
    case Kind::not_finite:
      return "NaN or Inf";
    case Kind::out_of_contract:
      return "finite, and wrong";
    case Kind::varies:
      return "nothing is wrong; some bits vary from run to run";
    case Kind::given:
      return "NaN or Inf, given by the inputs; every call passes on what it must";
    case Kind::reference_at_fault:
      return "the reference is at fault: it contradicts itself, so that the device cannot be blamed";
  }
  return "";
}

std::string_view kind_name(Kind kind) {
  constexpr std::string_view names[] = {"healthy", "not_finite", "out_of_contract",
                                        "varies",  "given",      "reference_at_fault"};
  return names[static_cast<std::size_t>(kind)];
}

Json number(double x) {
  return std::isfinite(x) ? Json(x) : Json(std::isnan(x) ? "nan" : x > 0 ? "inf" : "-inf");
}

Json json_of(const Producer& p) {
  const ExaminedCall& e = p.examined;
  Json json{{"call", p.call},
            {"op", p.op},
            {"path", p.path},
            {"precision", p.precision},
            {"step", p.step},
            {"tensor", p.tensor},
            {"port", p.port},
            {"index", p.index},
            {"elements", e.elements},
            {"cause", parity::name_of(e.cause.kind)},
            {"evidence", e.cause.evidence},
            {"got", number(e.got)},
            {"reference", number(e.exact)},
            {"bound", number(e.hard)},
            {"alone", p.alone},
            {"reference_checks", p.checks}};
  if (p.place.layer) json["layer"] = *p.place.layer;
  if (p.place.timestep) json["timestep"] = *p.place.timestep;
  if (e.emulated) json["emulated"] = number(*e.emulated);
  for (const ProducerInput& input : p.inputs)
    json["inputs"].push_back({{"port", input.port},
                              {"tensor", input.tensor},
                              {"nan", input.scan.nan},
                              {"infinite", input.scan.infinite},
                              {"largest", input.scan.largest}});
  return json;
}

}  // namespace

std::string producer_text(const Producer& p) {
  const ExaminedCall& e = p.examined;
  std::string text = fmt::format("  producer    call {}: {} on {} ({})\n", p.call, p.op, p.path, p.precision);
  text += fmt::format("  where       {}: '{}'[{}]", place_text(p), p.tensor, fmt::join(p.index, ", "));
  if (e.elements > 1) text += fmt::format(" and {} more of {} elements", e.elements - 1, p.elements);
  text += fmt::format("\n  cause       {}: {}\n", name_of(e.cause.kind), e.cause.evidence);
  text += fmt::format("  got         {:.9g} ({:#x}); reference {:.9g}, {} {:.3g}", e.got, e.got_bits, e.exact,
                      e.cause.kind == CauseKind::wrong_value ? "allowed off by" : "certain to", e.hard);
  if (e.emulated) text += fmt::format("; in the path's own arithmetic {:.9g}", *e.emulated);
  text += "\n";
  for (const ProducerInput& input : p.inputs)
    text +=
        fmt::format("  input       {} = '{}', {}: {}\n", input.port, input.tensor,
                    parity::name_of(input.dtype), is_float(input.dtype) ? scan_text(input.scan) : "indices");
  if (!p.alone.empty()) text += fmt::format("  alone       {}\n", p.alone);
  if (!p.checks.empty())
    text += fmt::format("  reference   asked by itself: {}{}\n", fmt::join(p.checks, "; "),
                        e.cause.kind == CauseKind::reference ? "" : ": no contradiction");
  return text;
}

std::string producer_json(const Producer& producer) {
  return json_of(producer).dump();
}

std::string cost_text(const BisectCost& cost, const char* runs) {
  return fmt::format("{} {}, {} up, {} down ({} of it scans), {:.2f} s", cost.runs, runs,
                     megabytes(cost.bytes_written), megabytes(cost.bytes_read), megabytes(cost.scan_bytes),
                     cost.seconds);
}

void add_cost(nlohmann::ordered_json& object, const BisectCost& cost) {
  object["runs"] = cost.runs;
  object["bytes_written"] = cost.bytes_written;
  object["bytes_read"] = cost.bytes_read;
  object["scan_bytes"] = cost.scan_bytes;
  object["seconds"] = cost.seconds;
}

std::string bisect_text(const BisectReport& report, const Bisected& what) {
  std::string text = fmt::format("{}\n{} {}, path {}\n\n{}\n", what.case_text, what.device.id,
                                 what.device.name, what.path, headline(report));
  if (report.producer) text += producer_text(*report.producer);
  if (report.before)
    text +=
        fmt::format("  before it   call {}: {} on {}, {}: '{}' is finite and wrong: {}\n",
                    report.before->call, report.before->op, report.before->path, place_text(*report.before),
                    report.before->tensor, report.before->examined.cause.evidence);
  if (!report.given.empty())
    text += fmt::format("  given       not finite from the start: '{}'\n", fmt::join(report.given, "', '"));
  if (report.passed_on_count > 0) {
    constexpr std::size_t shown = 6;
    const std::size_t n = std::min(shown, report.passed_on.size());
    text += fmt::format("  passed on   by {} results: '{}'{}\n", report.passed_on_count,
                        fmt::join(report.passed_on.begin(),
                                  report.passed_on.begin() + static_cast<std::ptrdiff_t>(n), "', '"),
                        report.passed_on_count > static_cast<std::int64_t>(n) ? ", ..." : "");
  }
  if (!report.varying.empty())
    text += fmt::format("  varies      from run to run: {} results, the first '{}'\n", report.varying.size(),
                        report.varying.front());
  text += growth_text(report);
  text += fmt::format("  searched    {} calls x {} steps: {}\n", report.calls, report.steps,
                      cost_text(report.cost));
  if (!report.judged_steps.empty())
    text += fmt::format("  judged      every call of step {}\n", fmt::join(report.judged_steps, ", "));
  return text;
}

std::string bisect_json(const BisectReport& report, const Bisected& what) {
  Json json{{"case", what.case_text},    {"device", what.device.id},
            {"name", what.device.name},  {"driver", what.device.driver},
            {"path", what.path},         {"result", kind_name(report.kind)},
            {"steps", report.steps},     {"calls", report.calls},
            {"given", report.given},     {"passed_on", report.passed_on_count},
            {"varying", report.varying}, {"judged_steps", report.judged_steps}};
  add_cost(json, report.cost);
  if (report.producer) json["producer"] = json_of(*report.producer);
  if (report.before) json["before"] = json_of(*report.before);
  return json.dump() + "\n";
}

std::string trace_text(const TraceReport& trace, const std::string& folder) {
  const BisectReport& report = trace.report;
  std::string text = fmt::format("{}\n\n{}\n", folder, headline(report));
  if (report.producer) text += producer_text(*report.producer);
  if (report.passed_on_count > 0)
    text += fmt::format("  after it    {} tensors are not finite: '{}'{}\n", report.passed_on_count,
                        report.passed_on.front(), report.passed_on_count > 1 ? ", ..." : "");
  for (const TracePattern& pattern : trace.patterns)
    text += fmt::format("  odd         ops[{}] '{}': {}\n", pattern.op, pattern.tensor, pattern.what);
  text += growth_text(report);
  return text +
         fmt::format(
             "  looked at   {} tensors of {} ops, {} of them compared with their references, {}, {:.2f} s\n",
             trace.tensors, report.calls, trace.judged, megabytes(report.cost.bytes_read),
             report.cost.seconds);
}

std::string trace_json(const TraceReport& trace, const std::string& folder) {
  Json json{{"trace", folder},
            {"result", kind_name(trace.report.kind)},
            {"ops", trace.report.calls},
            {"tensors", trace.tensors},
            {"judged", trace.judged},
            {"passed_on", trace.report.passed_on_count},
            {"bytes_read", trace.report.cost.bytes_read}};
  if (trace.report.producer) json["producer"] = json_of(*trace.report.producer);
  json["patterns"] = Json::array();
  for (const TracePattern& pattern : trace.patterns)
    json["patterns"].push_back({{"op", pattern.op}, {"tensor", pattern.tensor}, {"what", pattern.what}});
  return json.dump() + "\n";
}

std::string growth_svg(const BisectReport& report, const Bisected& what) {
  const bool by_step = report.steps > 1 && report.timesteps < 2;
  Plot plot;
  plot.title = "max |x| on the way";
  plot.subtitle = fmt::format("{}, {} {}, path {}; as a part of the largest number of each tensor's format",
                              what.case_text, what.device.id, what.device.name, what.path);
  plot.x_label = by_step ? "step" : "timestep";
  plot.whole_x = true;
  PlotPanel panel;
  panel.y_label = "max |x| / largest number";
  panel.logarithmic = true;
  for (const Growth* growth : nearest_to_limit(report)) {
    PlotLine line;
    line.label = fmt::format("{} ({})", name_of(*growth), parity::name_of(growth->dtype));
    const std::int64_t last_step = growth->points.back().step;
    for (const Growth::Point& point : growth->points) {
      if (!by_step && point.step != last_step) continue;
      const auto x = static_cast<double>(by_step ? point.step : point.timestep);
      const double y = point.largest / limit_of(growth->dtype);
      if (!line.x.empty() && line.x.back() == x)
        line.y.back() = std::max(line.y.back(), y);
      else if (line.x.empty() || x > line.x.back())
        line.x.push_back(x), line.y.push_back(y);
    }
    if (line.x.size() > 1) panel.lines.push_back(std::move(line));
  }
  if (panel.lines.empty()) return "";
  plot.panels.push_back(std::move(panel));
  return to_svg(plot);
}

}  // namespace parity::cli
