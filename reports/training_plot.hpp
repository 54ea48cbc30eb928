#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/ladder/record.hpp"

namespace parity {

/// One device and path of a training run in figures.
struct TrainingCurve {
  std::string label;  ///< "vulkan:0 NVIDIA H200, tiled_f32"
  std::size_t steps = 0;
  double first = 0, last = 0, reference_last = 0;  ///< losses
  std::size_t not_finite = 0;                      ///< steps whose loss is not
  /// Largest |loss - reference| / |reference| and its step; absent: at no step were both finite.
  std::optional<double> worst_difference;
  std::size_t worst_step = 0;
};

/// The loss of one case of several steps, on every device and path that ran it, beside the CPU's fp64 run.
struct TrainingFigure {
  std::string file;  ///< "training_loss.svg", of further cases "training_loss_2.svg"
  std::string case_text;
  std::string svg;
  std::vector<TrainingCurve> curves;
};

/// A figure for each case text that left a loss per step, in order of appearance; records of several runs and
/// devices come together in it.
std::vector<TrainingFigure> training_figures(std::span<const Record> records);

/// The figures as a section of Markdown, empty without any: image, case and a table of the curves each.
/// `images`: whether the files lie beside the text.
std::string training_markdown(std::span<const TrainingFigure> figures, bool images);

}  // namespace parity
