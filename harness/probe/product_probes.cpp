// Products and sums of columns: a probe is a row of A against columns of ones, or a column that is added up.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "harness/probe/product_probes.hpp"

namespace parity {

namespace {

/// The other factor is all ones.
void fill_with_ones(Tensor& tensor) {
  for (std::int64_t i = 0; i < tensor.elements(); ++i) tensor.set_value(i, 1);
}

MaskOracle column_oracle(const CallRunner& loaded, const ProbeSize& size, const MaskScale& scale) {
  auto runner = std::make_shared<CallRunner>(loaded);
  return [runner, size, scale](std::span<const MaskProbe> probes) -> Result<std::vector<double>> {
    std::vector<double> sums;
    const auto cols = static_cast<std::size_t>(size.rows);
    for (std::size_t first = 0; first < probes.size(); first += cols) {
      const std::size_t count = std::min(cols, probes.size() - first);
      Tensor& x = runner->input(0);
      for (std::size_t c = 0; c < cols; ++c)
        for (std::int64_t k = 0; k < size.terms; ++k)
          x.set_value(k * size.rows + static_cast<std::int64_t>(c),
                      c < count ? value_of_term(probes[first + c], k, scale) : 0);
      const auto outputs = runner->run();
      if (!outputs) return tl::unexpected(outputs.error());
      for (std::size_t c = 0; c < count; ++c)
        sums.push_back(outputs->front().value(static_cast<std::int64_t>(c)) / scale.unit);
    }
    return sums;
  };
}

}  // namespace

MaskOracle product_oracle(const CallRunner& loaded, const ProductProbes& probes, const MaskScale& scale) {
  auto runner = std::make_shared<CallRunner>(loaded);
  fill_with_ones(runner->input(1 - probes.factor));
  return [runner, probes, scale](std::span<const MaskProbe> questions) -> Result<std::vector<double>> {
    std::vector<double> sums(questions.size(), no_sum);
    const auto at_once = static_cast<std::size_t>(probes.count);
    for (std::size_t first = 0; first < questions.size(); first += at_once) {
      const auto count = static_cast<std::int64_t>(std::min(at_once, questions.size() - first));
      const auto asked = questions.subspan(first, static_cast<std::size_t>(count));
      // Rows that ask nothing keep what they held: a row's sum is no other row's affair.
      Tensor& factor = runner->input(probes.factor);
#pragma omp parallel for schedule(static) if (count * probes.terms > 65536)
      for (std::int64_t i = 0; i < count; ++i)
        for (std::int64_t k = 0; k < probes.terms; ++k)
          factor.set_value(i * probes.probe_stride + k * probes.term_stride,
                           value_of_term(asked[static_cast<std::size_t>(i)], k, scale));
      const auto outputs = runner->run();
      if (!outputs) return tl::unexpected(outputs.error());
      const Tensor& d = outputs->front();
#pragma omp parallel for schedule(static) if (count * probes.answers > 65536)
      for (std::int64_t i = 0; i < count; ++i) {
        // The ones are alike: where their sums differ, the order is not one.
        const std::int64_t at = i * probes.result_stride;
        bool same = true;
        for (std::int64_t j = 1; j < probes.answers && same; ++j)
          same = d.bits(at + j * probes.answer_stride) == d.bits(at);
        if (same) sums[first + static_cast<std::size_t>(i)] = d.value(at) / scale.unit;
      }
    }
    return sums;
  };
}

Result<std::vector<ProbedReduction>> product_reductions(Device& device, const Implementation& implementation,
                                                        const ProbeSize& size) {
  const DType in = implementation.input, out = widest_store(implementation);
  const bool linear = implementation.op == "linear";
  const Shape right = linear ? Shape{size.cols, size.terms} : Shape{size.terms, size.cols};
  auto runner = CallRunner::load(
      device, implementation, {},
      {{linear ? "X" : "A", in, {size.rows, size.terms}}, {linear ? "W" : "B", in, right}, {}},
      {{linear ? "Y" : "D", out, {size.rows, size.cols}}});
  if (!runner) return tl::unexpected(runner.error());
  ProbedReduction reduction;
  reduction.name = linear ? "sum over k of X W^T" : "sum over k of A B";
  reduction.terms = size.terms;
  reduction.method = "masks in the rows of the left factor";
  reduction.scales = mask_scales(in, implementation.accumulate);
  const ProductProbes probes{0, size.rows, size.terms, size.cols, size.terms, 1, size.cols, 1};
  reduction.masks = [loaded = *runner, probes](const MaskScale& scale) {
    return product_oracle(loaded, probes, scale);
  };
  return std::vector{reduction};
}

Result<std::vector<ProbedReduction>> column_reductions(Device& device, const Implementation& implementation,
                                                       const ProbeSize& size) {
  const DType dtype = widest_store(implementation);
  auto runner = CallRunner::load(device, implementation, {}, {{"X", dtype, {size.terms, size.rows}}},
                                 {{"Y", dtype, {size.rows}}});
  if (!runner) return tl::unexpected(runner.error());
  ProbedReduction reduction;
  reduction.name = "sum over the rows of X";
  reduction.terms = size.terms;
  reduction.method = "masks in the columns of X";
  reduction.scales = mask_scales(dtype, implementation.accumulate);
  reduction.masks = [loaded = *runner, size](const MaskScale& scale) {
    return column_oracle(loaded, size, scale);
  };
  return std::vector{reduction};
}

}  // namespace parity
