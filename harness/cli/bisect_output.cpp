#include "harness/cli/bisect_output.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>
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

/// Along the steps where there are several, else along the timesteps of the one.
const std::vector<Growth::Point>& way_of(const Growth& growth) {
  return growth.steps.size() > 1 ? growth.steps : growth.timesteps;
}

double peak(const Growth& growth) {
  float largest = 0;
  for (const auto* points : {&growth.steps, &growth.timesteps})
    for (const Growth::Point& point : *points) largest = std::max(largest, point.largest);
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

/// The way as a row of columns, each as high as the largest number in it on a logarithmic scale from the
/// least to the largest, three decades at least; '!' where something is not finite.
std::string columns_of(const std::vector<Growth::Point>& points) {
  constexpr std::size_t most_columns = 32;
  constexpr std::array<const char*, 8> heights{"\u2581", "\u2582", "\u2583", "\u2584",
                                               "\u2585", "\u2586", "\u2587", "\u2588"};
  const std::size_t columns = std::min(most_columns, points.size());
  std::vector<double> largest(columns, 0);
  std::vector<bool> finite(columns, true);
  double least = HUGE_VAL, most = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const std::size_t column = i * columns / points.size();
    largest[column] = std::max(largest[column], static_cast<double>(points[i].largest));
    finite[column] = finite[column] && points[i].finite;
    if (points[i].largest > 0) least = std::min(least, static_cast<double>(points[i].largest));
    most = std::max(most, static_cast<double>(points[i].largest));
  }
  const double decades = std::max(3.0, std::log10(most / least));
  std::string text;
  for (std::size_t c = 0; c < columns; ++c) {
    const double part = largest[c] > 0 ? std::log10(largest[c] / least) / decades : 0;
    const auto height = static_cast<std::size_t>(std::clamp(std::ceil(part * 7), 0.0, 7.0));
    text += finite[c] ? heights[height] : "!";
  }
  return text;
}

std::string growth_text(const BisectReport& report) {
  std::string text;
  for (const Growth* growth : nearest_to_limit(report)) {
    const auto& points = way_of(*growth);
    if (points.size() < 2) continue;
    // First, middle and last: enough to see a burst coming; the plot has the rest.
    text += fmt::format("  max |x|     {}: {:.3g} -> {:.3g} -> {:.3g}, {:.3g} of {}'s largest  {}\n",
                        name_of(*growth), points.front().largest, points[points.size() / 2].largest,
                        points.back().largest, peak(*growth) / limit_of(growth->dtype),
                        parity::name_of(growth->dtype), columns_of(points));
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
    text += fmt::format("  input       {} = '{}', {}: {}\n", input.port, input.tensor,
                        parity::name_of(input.dtype), scan_text(input.scan));
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
            {"path", what.path},         {"result", parity::name_of(report.kind)},
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
            {"result", parity::name_of(trace.report.kind)},
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

std::string growth_svg(const BisectReport& report, const std::string& subtitle, GrowthAxis axis) {
  Plot plot;
  plot.title = "max |x| on the way";
  plot.subtitle = subtitle;
  plot.x_label = axis == GrowthAxis::steps       ? "step"
                 : axis == GrowthAxis::timesteps ? "timestep"
                                                 : "op of the trace";
  plot.whole_x = true;
  std::vector<PlotLine> lines;
  PlotLine burst{"NaN or Inf in one of them", {}, {}};
  double first = HUGE_VAL, last = -HUGE_VAL, most = 0;
  std::map<DType, double> peaks;
  for (const Growth* growth : nearest_to_limit(report)) {
    PlotLine line;
    line.label = fmt::format("{} ({})", name_of(*growth), parity::name_of(growth->dtype));
    for (const Growth::Point& point : axis == GrowthAxis::steps ? growth->steps : growth->timesteps) {
      const auto x = static_cast<double>(point.at);
      if (!point.finite) burst.x.push_back(x);
      // A gap where no element is finite; zeros cannot be shown, which the plot says.
      const double y = point.largest > 0 || point.finite ? point.largest : std::nan("");
      if (!line.x.empty() && line.x.back() == x)
        line.y.back() = std::fmax(line.y.back(), y);
      else if (line.x.empty() || x > line.x.back())
        line.x.push_back(x), line.y.push_back(y);
    }
    if (line.x.size() < 2) continue;
    first = std::min(first, line.x.front()), last = std::max(last, line.x.back());
    most = std::max(most, peak(*growth));
    peaks[growth->dtype] = std::max(peaks[growth->dtype], peak(*growth));
    lines.push_back(std::move(line));
  }
  if (lines.empty()) return "";
  PlotPanel panel;
  panel.y_label = "max |x|";
  panel.logarithmic = true;
  panel.height = 320;
  for (const auto& [dtype, largest] : peaks) {
    // One far away would leave no room for the lines.
    const double limit = limit_of(dtype);
    if (limit > 1e10 && largest < limit * 1e-12) continue;
    panel.lines.push_back({fmt::format("the largest number of {}", parity::name_of(dtype)),
                           {first, last},
                           {limit, limit},
                           true});
    most = std::max(most, limit);
  }
  std::ranges::move(lines, std::back_inserter(panel.lines));
  std::ranges::sort(burst.x);
  burst.x.erase(std::unique(burst.x.begin(), burst.x.end()), burst.x.end());
  burst.y.assign(burst.x.size(), most);
  if (!burst.x.empty()) panel.lines.push_back(std::move(burst));
  plot.panels.push_back(std::move(panel));
  if (report.producer) {
    const Producer& p = *report.producer;
    const std::int64_t at = axis == GrowthAxis::steps       ? p.step
                            : axis == GrowthAxis::timesteps ? p.place.timestep.value_or(-1)
                                                            : static_cast<std::int64_t>(p.call);
    const std::string what = fmt::format("{}: '{}'[{}], {}", p.op, p.tensor, fmt::join(p.index, ", "),
                                         parity::name_of(p.examined.cause.kind));
    if (at >= 0) plot.marks.push_back({static_cast<double>(at), what});
  }
  return to_svg(plot);
}

}  // namespace parity::cli
