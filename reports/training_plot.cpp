#include "reports/training_plot.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "reports/markdown_text.hpp"
#include "reports/plot.hpp"
#include "reports/summary.hpp"

namespace parity {
namespace {

constexpr const char* loss = "loss";

const Trajectory* loss_of(const Record& record) {
  const auto found = std::ranges::find(record.trajectories, loss, &Trajectory::tensor);
  return found == record.trajectories.end() || found->device.empty() ? nullptr : &*found;
}

std::string label_of(const Record& record) {
  std::string label = fmt::format("{} {}, {}", record.device.id, record.device.name, record.path);
  if (record.verdict != Verdict::pass) label += fmt::format(" ({})", name_of(record.verdict));
  return label;
}

/// NaN where either side is not finite; 0 where both are 0.
double relative_difference(double got, double want) {
  if (!std::isfinite(got) || !std::isfinite(want)) return std::nan("");
  return got == want ? 0 : std::fabs(got - want) / std::fabs(want);
}

std::size_t steps_of(const Trajectory& trajectory) {
  return std::min(trajectory.device.size(), trajectory.reference.size());
}

TrainingCurve curve_of(const Trajectory& trajectory, std::string label) {
  TrainingCurve curve;
  curve.label = std::move(label);
  curve.steps = trajectory.device.size();
  curve.first = trajectory.device.front();
  curve.last = trajectory.device.back();
  curve.reference_last = trajectory.reference.empty() ? std::nan("") : trajectory.reference.back();
  for (const double value : trajectory.device) curve.not_finite += std::isfinite(value) ? 0 : 1;
  for (std::size_t step = 0; step < steps_of(trajectory); ++step) {
    const double difference = relative_difference(trajectory.device[step], trajectory.reference[step]);
    if (!std::isfinite(difference) || difference <= curve.worst_difference.value_or(-1)) continue;
    curve.worst_difference = difference;
    curve.worst_step = step;
  }
  return curve;
}

PlotLine line_of(const std::string& label, const std::vector<double>& values) {
  PlotLine line;
  line.label = label;
  line.y = values;
  for (std::size_t step = 0; step < values.size(); ++step) line.x.push_back(static_cast<double>(step));
  return line;
}

/// Records of one case on different devices, or of one device twice: then the labels are numbered.
std::vector<std::string> labels_of(const std::vector<const Record*>& records) {
  std::vector<std::string> labels;
  for (const Record* record : records) {
    const std::string label = label_of(*record);
    std::string own = label;
    for (int i = 2; std::ranges::find(labels, own) != labels.end(); ++i)
      own = fmt::format("{} ({})", label, i);
    labels.push_back(std::move(own));
  }
  return labels;
}

TrainingFigure figure_of(const std::vector<const Record*>& records) {
  TrainingFigure figure;
  figure.case_text = records.front()->case_text;
  Plot plot;
  plot.title = "Training: loss per step";
  plot.subtitle = figure.case_text;
  plot.x_label = "step";
  plot.whole_x = true;
  PlotPanel losses{loss, false, 300, {}}, differences{"relative difference", true, 180, {}};
  // Every record has a reference of its own, from its own host; they differ by roundings of fp64.
  const auto longest = std::ranges::max_element(
      records, {}, [](const Record* record) { return loss_of(*record)->reference.size(); });
  losses.lines.push_back(line_of("CPU reference, fp64", loss_of(**longest)->reference));
  losses.lines.back().reference = true;
  const std::vector<std::string> labels = labels_of(records);
  for (std::size_t i = 0; i < records.size(); ++i) {
    const Trajectory& trajectory = *loss_of(*records[i]);
    losses.lines.push_back(line_of(labels[i], trajectory.device));
    std::vector<double> difference(steps_of(trajectory));
    for (std::size_t step = 0; step < difference.size(); ++step)
      difference[step] = relative_difference(trajectory.device[step], trajectory.reference[step]);
    differences.lines.push_back(line_of(labels[i], difference));
    figure.curves.push_back(curve_of(trajectory, labels[i]));
  }
  plot.panels = {std::move(losses), std::move(differences)};
  figure.svg = to_svg(plot);
  return figure;
}

std::string difference_text(const TrainingCurve& curve) {
  if (!curve.worst_difference) return "| - | - ";
  return fmt::format("| {} | {} ", brief_number(*curve.worst_difference), curve.worst_step);
}

}  // namespace

std::vector<TrainingFigure> training_figures(std::span<const Record> records) {
  std::vector<std::vector<const Record*>> cases;
  for (const Record& record : records) {
    if (loss_of(record) == nullptr) continue;
    const auto same = std::ranges::find_if(
        cases, [&](const auto& group) { return group.front()->case_text == record.case_text; });
    (same == cases.end() ? cases.emplace_back() : *same).push_back(&record);
  }
  std::vector<TrainingFigure> figures;
  for (const auto& group : cases) {
    figures.push_back(figure_of(group));
    figures.back().file =
        figures.size() == 1 ? "training_loss.svg" : fmt::format("training_loss_{}.svg", figures.size());
  }
  return figures;
}

std::string training_markdown(std::span<const TrainingFigure> figures, bool images) {
  if (figures.empty()) return "";
  std::string out = "## Training\n\n";
  for (const TrainingFigure& figure : figures) {
    out += fmt::format("{}\n\n", markdown_text(figure.case_text));
    if (images)
      out += fmt::format("![Loss per step of {} runs and of the fp64 reference]({})\n\n",
                         figure.curves.size(), figure.file);
    out +=
        "| device, path | steps | first loss | last loss | the reference's last | largest relative "
        "difference | at "
        "step |\n|---|--:|--:|--:|--:|--:|--:|\n";
    for (const TrainingCurve& curve : figure.curves) {
      const std::string bad = curve.not_finite == 0 ? "" : fmt::format(" ({} not finite)", curve.not_finite);
      out +=
          fmt::format("| {} | {}{} | {:.6g} | {:.6g} | {:.6g} {}|\n", markdown_text(curve.label), curve.steps,
                      bad, curve.first, curve.last, curve.reference_last, difference_text(curve));
    }
    out += "\n";
  }
  return out;
}

}  // namespace parity
