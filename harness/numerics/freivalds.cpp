#include "harness/numerics/freivalds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/numerics/freivalds_bound.hpp"
#include "harness/numerics/freivalds_modular.hpp"
#include "harness/numerics/path_factor.hpp"
#include "harness/numerics/segment_sums.hpp"
#include "harness/numerics/sketch_product.hpp"

namespace parity {
namespace {

std::string size_text(const StoredMatrix& m) {
  return fmt::format("{} x {}", m.rows, m.cols);
}

Result<void> check_sizes(const ProductForm& form, const StoredMatrix& result) {
  const auto wrong = [&](const char* what, const StoredMatrix& m) {
    return bad_input(fmt::format("Freivalds' check: {} is {}, the result {} (left {}, right {})", what,
                                 size_text(m), size_text(result), size_text(form.left),
                                 size_text(form.right)));
  };
  if (form.left.rows != result.rows || form.left.cols != form.right.rows) return wrong("left", form.left);
  if (form.right.cols != result.cols) return wrong("right", form.right);
  if (form.addend && (form.addend->rows != result.rows || form.addend->cols != result.cols))
    return wrong("the addend", *form.addend);
  return {};
}

/// What both forms work on.
struct Task {
  const ProductForm& form;
  const StoredMatrix& result;
  Segments segments;
  RandomSigns signs;
  ElementChecks checks;  ///< of the result
  FreivaldsReport report;

  bool adds() const { return form.addend && form.beta != 0; }
  std::size_t cells() const { return static_cast<std::size_t>(result.rows * segments.count()); }
  std::size_t vectors() const { return static_cast<std::size_t>(signs.vectors); }
};

/// Keeps the worst finding of each row.
class Findings {
 public:
  explicit Findings(const Segments& segments) : segments_(segments) {}

  void add(std::size_t cell, double residual, double threshold, bool certain) {
    const auto s = static_cast<std::int64_t>(cell) % segments_.count();
    FreivaldsFinding finding{static_cast<std::int64_t>(cell) / segments_.count(),
                             segments_.begin(s),
                             segments_.begin(s) + segments_.size(s) - 1,
                             residual,
                             threshold,
                             certain};
    if (!found_.empty() && found_.back().row == finding.row) {
      if (gravity(finding) > gravity(found_.back())) found_.back() = finding;
    } else {
      found_.push_back(finding);
    }
  }
  /// Rows in ascending order, with those that hold what cannot be summed.
  void settle(FreivaldsReport& report, const std::vector<std::int64_t>& odd_rows) {
    std::vector<std::int64_t> rows = odd_rows;
    for (const FreivaldsFinding& f : found_) rows.push_back(f.row);
    for (const std::int64_t row : odd_rows)
      found_.push_back({row, 0, segments_.cols - 1, HUGE_VAL, 0, false});
    std::ranges::sort(rows);
    report.flagged_rows = std::unique(rows.begin(), rows.end()) - rows.begin();
    std::ranges::stable_sort(found_, [](const auto& a, const auto& b) { return gravity(a) > gravity(b); });
    if (found_.size() > freivalds_findings) found_.resize(freivalds_findings);
    report.findings = std::move(found_);
  }

 private:
  static double gravity(const FreivaldsFinding& f) {
    return f.threshold > 0 ? std::fabs(f.residual) / f.threshold : std::fabs(f.residual) * 1e300;
  }
  const Segments& segments_;
  std::vector<FreivaldsFinding> found_;
};

Result<void> refuse_inputs(std::int64_t nonfinite, double smallest, double smallest_input) {
  if (nonfinite > 0)
    return fail(
        ErrorKind::unsupported,
        fmt::format("Freivalds' check needs finite inputs; {} of these are NaN or infinite", nonfinite));
  if (smallest < smallest_input)
    return fail(
        ErrorKind::unsupported,
        fmt::format("Freivalds' check needs inputs of at least {:.3g}, which the device reads as they "
                    "are; the smallest is {:.3g}",
                    smallest_input, smallest));
  return {};
}

/// The power of two that makes alpha and beta integers; 0 when 2^10 does not.
double integer_scale(const ProductForm& form, bool adds) {
  const auto whole = [](double x) { return std::nearbyint(x) == x && std::fabs(x) <= 0x1p20; };
  for (double scale = 1; scale <= 1024; scale *= 2)
    if (whole(form.alpha * scale) && (!adds || whole(form.beta * scale))) return scale;
  return 0;
}

/// The largest |residual| that int64 is trusted with.
constexpr double most_integer = 0x1p61;

Result<void> too_large(const char* what) {
  return fail(ErrorKind::unsupported,
              fmt::format("Freivalds' check in integers: sums of {} may leave the integers that can be told "
                          "apart; use the full reference",
                          what));
}

/// True: done. False: the inputs are no integers. The largest entries are known before anything is summed,
/// so no sum leaves what it is kept in: a chunk of 256 terms fp64's integers, the whole int64's.
Result<bool> check_integers(Task& task) {
  const ProductForm& form = task.form;
  const double scale = integer_scale(form, task.adds());
  if (scale == 0) return false;
  const ElementChecks inputs{};
  const auto width = static_cast<double>(task.segments.width);
  const auto left =
      segment_sums<std::int64_t>(form.left, {form.left.cols, std::max<std::int64_t>(form.left.cols, 1)},
                                 RandomSigns{form.left.cols, 0, {}}, inputs);
  const auto right = segment_sums<std::int64_t>(form.right, task.segments, task.signs, inputs);
  SegmentSums<std::int64_t> addend;
  if (task.adds()) addend = segment_sums<std::int64_t>(*form.addend, task.segments, task.signs, inputs);
  if (auto ok = refuse_inputs(left.nonfinite + right.nonfinite + addend.nonfinite, 1, 0); !ok)
    return tl::unexpected(ok.error());
  if (left.not_integer + right.not_integer + addend.not_integer > 0) return false;
  const double step = left.largest * width * right.largest;
  const double product = std::fabs(form.alpha) * scale * step * static_cast<double>(form.left.cols);
  const double added = std::fabs(form.beta) * scale * width * addend.largest;
  if (step * static_cast<double>(sketch_chunk) >= 0x1p53 || product >= most_integer)
    return tl::unexpected(too_large("products").error());
  if (added >= most_integer || width * integer_limit >= most_integer)
    return tl::unexpected(too_large("the addend or the result").error());

  Sketch sketch{form.right.rows, task.segments.count() * task.signs.vectors, {}};
  sketch.values.assign(right.dots.begin(), right.dots.end());
  const auto want = sketch_product<std::int64_t>(form.left, sketch, {}, {});
  ElementChecks checks = task.checks;
  checks.integer_scale = scale;
  const auto got = segment_sums<std::int64_t>(task.result, task.segments, task.signs, checks);

  const auto alpha = static_cast<std::int64_t>(form.alpha * scale);
  const auto beta = static_cast<std::int64_t>(form.beta * scale);
  Findings findings(task.segments);
  for (std::size_t i = 0; i < got.dots.size(); ++i) {
    const std::int64_t residual =
        got.dots[i] - alpha * want.product[i] - (task.adds() ? beta * addend.dots[i] : 0);
    if (residual != 0) findings.add(i / task.vectors(), static_cast<double>(residual) / scale, 0, true);
  }
  FreivaldsReport& report = task.report;
  report.integers = true;
  report.nonfinite = got.nonfinite, report.not_integer = got.not_integer;
  report.certain_error = report.typical_certain_error = 1 / scale;
  findings.settle(report, got.odd_rows);
  return true;
}

Sketch sketch_of(const StoredMatrix& right, std::int64_t count, std::vector<double> values) {
  return {right.rows, count, std::move(values)};
}

Result<void> check_reals(Task& task, const ResidualBound& bound) {
  const ProductForm& form = task.form;
  const std::int64_t segments = task.segments.count();
  const ElementChecks inputs{};
  auto right = segment_sums<double>(form.right, task.segments, task.signs, inputs);
  const double smallest_right = right.smallest;
  const auto left = sketch_product<double>(
      form.left, sketch_of(form.right, segments * task.signs.vectors, std::move(right.dots)),
      sketch_of(form.right, segments, std::move(right.magnitudes)),
      sketch_of(form.right, segments, std::move(right.squares)));
  SegmentSums<double> addend;
  if (task.adds()) addend = segment_sums<double>(*form.addend, task.segments, task.signs, inputs);
  if (auto ok = refuse_inputs(right.nonfinite + left.nonfinite + addend.nonfinite,
                              std::min(smallest_right, left.smallest), bound.smallest_input());
      !ok)
    return ok;
  const auto got = segment_sums<double>(task.result, task.segments, task.signs, task.checks);

  FreivaldsReport& report = task.report;
  Findings findings(task.segments);
  const double factor = bound.accumulates() ? path_factor(form) : 1;
  const double residuals = static_cast<double>(got.dots.size());
  double deviates = 0, measured = 0, certain = 0, bounds = 0;
  for (std::size_t cell = 0; cell < task.cells(); ++cell) {
    const auto s = static_cast<std::int64_t>(cell) % segments;
    ResidualSums sums;
    sums.columns = static_cast<double>(task.segments.size(s));
    sums.squares = left.squares[cell], sums.magnitudes = left.magnitudes[cell];
    sums.result_squares = got.squares[cell], sums.result_magnitudes = got.magnitudes[cell];
    if (task.checks.ulps) sums.ulp_squares = got.ulp_squares[cell];
    if (task.adds())
      sums.addend_squares = addend.squares[cell], sums.addend_magnitudes = addend.magnitudes[cell];
    const ResidualSpread spread = bound.of(sums, factor);
    const double threshold = bound.threshold(spread, residuals);
    certain += 2 * threshold;
    if (s == 0) report.row_certain.push_back(0);
    report.row_certain.back() = std::max(report.row_certain.back(), 2 * threshold);
    report.certain_error = std::max(report.certain_error, 2 * threshold);
    bounds += bound.element_bound(spread, sums, task.result.rows * task.result.cols);
    if (std::ranges::binary_search(got.odd_rows, static_cast<std::int64_t>(cell) / segments)) continue;
    for (std::size_t v = 0; v < task.vectors(); ++v) {
      const std::size_t i = cell * task.vectors() + v;
      const double residual =
          got.dots[i] - form.alpha * left.product[i] - (task.adds() ? form.beta * addend.dots[i] : 0);
      const double variance = spread.accumulation + spread.store;
      if (variance > 0) deviates += residual * residual / variance, measured += 1;
      if (threshold > 0)
        report.largest_ratio = std::max(report.largest_ratio, std::fabs(residual) / threshold);
      if (!(std::fabs(residual) <= threshold))
        findings.add(cell, residual, threshold, !(std::fabs(residual) <= spread.hard + spread.reference));
    }
  }
  const auto cells = static_cast<double>(std::max<std::size_t>(task.cells(), 1));
  report.typical_certain_error = certain / cells;
  report.element_bound = bounds / cells;
  report.rms_deviate = measured > 0 ? std::sqrt(deviates / measured) : 0;
  report.nonfinite = got.nonfinite;
  report.unsummed_rows = static_cast<std::int64_t>(got.odd_rows.size());
  findings.settle(report, got.odd_rows);
  return {};
}

Segments segments_of(std::int64_t columns, const FreivaldsSettings& settings) {
  const std::int64_t cols = std::max<std::int64_t>(columns, 1);
  const std::int64_t asked = settings.segments > 0 ? settings.segments : default_segments(cols);
  return {columns, (cols + asked - 1) / asked};
}

}  // namespace

std::int64_t default_segments(std::int64_t cols) {
  return std::clamp<std::int64_t>(cols / 256, 1, 64);
}

Result<FreivaldsReport> freivalds_rows(const ProductForm& form, const StoredMatrix& result,
                                       const ArithmeticModel& model, const Contract& contract,
                                       const FreivaldsSettings& settings) {
  if (auto ok = check_sizes(form, result); !ok) return tl::unexpected(ok.error());
  if (sums_integers(model)) return freivalds_modular(form, result, settings.seed);
  Task task{form, result, segments_of(result.cols, settings), {}, {}, {}};
  task.signs = random_signs(result.cols, std::max(settings.vectors, 1), settings.seed);
  task.checks = {contract.store, contract.store_rounds, 1};
  task.report.vectors = task.signs.vectors;
  task.report.rows = result.rows, task.report.cols = result.cols;
  task.report.segments = task.segments.count();
  if (result.rows == 0 || result.cols == 0) return std::move(task.report);
  if (contract.exact) {
    const auto done = check_integers(task);
    if (!done) return tl::unexpected(done.error());
    if (*done) return std::move(task.report);
  }
  const auto bound = ResidualBound::derive(
      model, contract, {form.left.cols, form.alpha, task.adds() ? form.beta : 0, task.adds()});
  if (!bound) return tl::unexpected(bound.error());
  if (auto ok = check_reals(task, *bound); !ok) return tl::unexpected(ok.error());
  return std::move(task.report);
}

double freivalds_shift(std::span<const double> changes, const FreivaldsSettings& settings) {
  const auto cols = static_cast<std::int64_t>(changes.size());
  const Segments segments = segments_of(cols, settings);
  const RandomSigns signs = random_signs(cols, std::max(settings.vectors, 1), settings.seed);
  double largest = 0;
  for (std::int64_t s = 0; s < segments.count(); ++s)
    for (int v = 0; v < signs.vectors; ++v) {
      double sum = 0;
      for (std::int64_t j = segments.begin(s); j < segments.begin(s) + segments.size(s); ++j)
        sum += signs[v][j] * changes[static_cast<std::size_t>(j)];
      largest = std::max(largest, std::fabs(sum));
    }
  return largest;
}

}  // namespace parity
