// Row sums of positive terms: squares of rms_norm, exponentials of a softmax. No term can take a mask off
// again, so that the order is asked by thresholds; the answer is read through the function behind the sum.
#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <memory>
#include <optional>

#include "harness/probe/call_runner.hpp"
#include "harness/probe/probed_reduction.hpp"

namespace parity {

namespace {

/// The terms of threshold probes about a large term L whose spacing is 2 * half.
struct ThresholdTerms {
  double half = 0, small = 0;
  double near(std::int64_t threshold) const { return half - (static_cast<double>(threshold) + 0.5) * small; }
};
ThresholdTerms terms_below(double half, std::int64_t terms) {
  // All small terms together are below an eighth of half a spacing. Powers of four have exact roots.
  const int exponent =
      std::ilogb(half) - 3 - static_cast<int>(std::bit_width(static_cast<std::uint64_t>(terms)));
  return {half, std::ldexp(1.0, exponent - (exponent & 1))};
}

/// One row a probe: how terms become inputs, and what the output is with and without the last bit of the sum.
struct RowProbes {
  std::shared_ptr<CallRunner> runner;
  ProbeSize size;
  std::function<double(double)> input_of;  ///< the input whose term this is
  std::function<void(CallRunner&, std::int64_t row, std::int64_t large)> mark;  ///< what else a row needs
  std::size_t output = 0;  ///< port that is read, one element a row

  struct Row {
    std::int64_t large = 0, near = 0;
    double large_term = 0, near_term = 0, small_term = 0;
  };
  Result<std::vector<double>> ask(const std::vector<Row>& rows) const {
    std::vector<double> answers;
    const auto most = static_cast<std::size_t>(size.rows);
    for (std::size_t first = 0; first < rows.size(); first += most) {
      const std::size_t count = std::min(most, rows.size() - first);
      for (std::size_t r = 0; r < most; ++r) {
        // Rows without a probe repeat the last one: any input of theirs is a legal one.
        const Row& row = rows[first + std::min(r, count - 1)];
        const double small = input_of(row.small_term);
        const auto at = static_cast<std::int64_t>(r);
        for (std::int64_t k = 0; k < size.terms; ++k) runner->input(0).set_value(at * size.terms + k, small);
        runner->input(0).set_value(at * size.terms + row.near, input_of(row.near_term));
        runner->input(0).set_value(at * size.terms + row.large, input_of(row.large_term));
        if (mark) mark(*runner, at, row.large);
      }
      const auto outputs = runner->run();
      if (!outputs) return tl::unexpected(outputs.error());
      for (std::size_t r = 0; r < count; ++r)
        answers.push_back((*outputs)[output].value(static_cast<std::int64_t>(r)));
    }
    return answers;
  }
};

/// Among large terms the first whose last bit shows in the output; answers then mean 0 or 1.
struct Calibration {
  double large = 0;
  ThresholdTerms terms;
  double absorbed = 0, raised = 0;  ///< outputs
};
Result<std::optional<Calibration>> calibrate(const RowProbes& probes, const std::vector<double>& candidates,
                                             int precision) {
  const std::int64_t last = probes.size.terms - 1;
  std::vector<RowProbes::Row> rows;
  std::vector<ThresholdTerms> terms;
  for (const double large : candidates) {
    const double half = std::ldexp(1.0, std::ilogb(large) - precision);
    terms.push_back(terms_below(half, probes.size.terms));
    // A threshold of all terms is never passed, one of -1 always.
    rows.push_back({0, last, large, terms.back().near(last), 0});
    rows.push_back({0, last, large, terms.back().near(-1), 0});
  }
  const auto answers = probes.ask(rows);
  if (!answers) return tl::unexpected(answers.error());
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const double absorbed = (*answers)[2 * i], raised = (*answers)[2 * i + 1];
    if (std::isfinite(absorbed) && std::isfinite(raised) && absorbed != raised)
      return std::optional(Calibration{candidates[i], terms[i], absorbed, raised});
  }
  return std::optional<Calibration>{};
}

/// Turns rows into a reduction that can be asked; `candidates` are large terms that input_of gives exactly.
Result<ProbedReduction> by_thresholds(ProbedReduction reduction, const RowProbes& probes,
                                      const std::vector<double>& candidates, int precision) {
  if (probes.size.terms < 2) {
    reduction.thresholds = [](std::span<const ThresholdProbe> asked) -> Result<std::vector<int>> {
      return std::vector<int>(asked.size(), 0);
    };
    return reduction;
  }
  const auto calibration = calibrate(probes, candidates, precision);
  if (!calibration) return tl::unexpected(calibration.error());
  if (!*calibration) {
    reduction.cannot =
        "all terms are positive, so that no mask can be taken off again; and the sum's last bit does not "
        "show "
        "in the output";
    return reduction;
  }
  reduction.thresholds =
      [probes, c = **calibration](std::span<const ThresholdProbe> asked) -> Result<std::vector<int>> {
    std::vector<RowProbes::Row> rows;
    for (const ThresholdProbe& probe : asked)
      rows.push_back({probe.large, probe.near, c.large, c.terms.near(probe.threshold), c.terms.small});
    const auto outputs = probes.ask(rows);
    if (!outputs) return tl::unexpected(outputs.error());
    std::vector<int> answers;
    for (const double output : *outputs)
      answers.push_back(output == c.absorbed ? 0 : output == c.raised ? 1 : -1);
    return answers;
  };
  return reduction;
}

}  // namespace

Result<std::vector<ProbedReduction>> norm_reductions(Device& device, const Implementation& implementation,
                                                     const ProbeSize& size) {
  const DType dtype = widest_store(implementation);
  auto runner =
      CallRunner::load(device, implementation, {{"eps", 0.0}}, {{"X", dtype, {size.rows, size.terms}}, {}},
                       {{"Y", dtype, {size.rows, size.terms}}, {"R", dtype, {size.rows, 1}}});
  if (!runner) return tl::unexpected(runner.error());
  RowProbes probes;
  probes.runner = std::make_shared<CallRunner>(*std::move(runner));
  probes.size = size;
  probes.input_of = [](double term) { return std::sqrt(term); };
  probes.output = 1;
  ProbedReduction reduction;
  reduction.name = "sum of the squares of a row";
  reduction.terms = size.terms;
  reduction.method = "thresholds beside a large square, read through 1/sqrt";
  // R moves by about half an ULP when the sum does by one: where R is just below a power of two it shows
  // best. Squares of numbers of 12 bits are exact.
  std::vector<double> candidates;
  const double start = std::sqrt(static_cast<double>(size.terms));
  for (int i = 0; i < 48; ++i) {
    const double grid = std::ldexp(1.0, std::ilogb(start) - 11);
    const double root = std::ceil(start / grid) * grid + (i + 1) * grid;
    if (std::ilogb(root) == std::ilogb(start)) candidates.push_back(root * root);
  }
  auto made =
      by_thresholds(std::move(reduction), probes, candidates, format_of(implementation.accumulate).precision);
  if (!made) return tl::unexpected(made.error());
  return std::vector{*std::move(made)};
}

Result<std::vector<ProbedReduction>> softmax_reductions(Device& device, const Implementation& implementation,
                                                        const ProbeSize& size) {
  const DType dtype = widest_store(implementation);
  auto runner =
      CallRunner::load(device, implementation, {},
                       {{"logits", dtype, {size.rows, size.terms}}, {"targets", DType::i32, {size.rows}}},
                       {{"row_loss", dtype, {size.rows}}});
  if (!runner) return tl::unexpected(runner.error());
  RowProbes probes;
  probes.runner = std::make_shared<CallRunner>(*std::move(runner));
  probes.size = size;
  // The largest logit is 0: its term is 1, and exp(0 - 0) is exact.
  probes.input_of = [](double term) { return term > 0 ? std::log(term) : -1000.0; };
  probes.mark = [](CallRunner& call, std::int64_t row, std::int64_t large) {
    call.input(1).set_value(row, static_cast<double>(large));
  };
  ProbedReduction reduction;
  reduction.name = "sum of the exponentials of a row";
  reduction.terms = size.terms;
  reduction.method = "thresholds beside exp(0), read through the logarithm";
  auto made =
      by_thresholds(std::move(reduction), probes, {1.0}, format_of(implementation.accumulate).precision);
  if (!made) return tl::unexpected(made.error());
  return std::vector{*std::move(made)};
}

}  // namespace parity
