// Products and sums of columns: a probe is a row of A against columns of ones, or a column that is added up.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "harness/probe/call_runner.hpp"
#include "harness/probe/probed_reduction.hpp"

namespace parity {

namespace {

/// Whether all elements of a row have the same bits.
bool all_alike(std::span<const std::byte> row, std::size_t element_bytes) {
  return std::ranges::equal(row.subspan(element_bytes), row.first(row.size() - element_bytes));
}

MaskOracle product_oracle(const CallRunner& loaded, const ProbeSize& size, const MaskScale& scale) {
  auto runner = std::make_shared<CallRunner>(loaded);
  for (std::int64_t i = 0; i < runner->input(1).elements(); ++i) runner->input(1).set_value(i, 1);
  return [runner, size, scale](std::span<const MaskProbe> probes) -> Result<std::vector<double>> {
    std::vector<double> sums(probes.size(), no_sum);
    const auto rows = static_cast<std::size_t>(size.rows);
    for (std::size_t first = 0; first < probes.size(); first += rows) {
      const auto count = static_cast<std::int64_t>(std::min(rows, probes.size() - first));
      const auto asked = probes.subspan(first, static_cast<std::size_t>(count));
      // Rows that ask nothing keep what they held: a row's sum is no other row's affair.
      Tensor& a = runner->input(0);
#pragma omp parallel for schedule(static) if (count * size.terms > 65536)
      for (std::int64_t r = 0; r < count; ++r)
        for (std::int64_t k = 0; k < size.terms; ++k)
          a.set_value(r * size.terms + k, value_of_term(asked[static_cast<std::size_t>(r)], k, scale));
      const auto outputs = runner->run();
      if (!outputs) return tl::unexpected(outputs.error());
      const Tensor& d = outputs->front();
      const std::size_t element_bytes = size_of(d.dtype());
      const std::size_t row_bytes = element_bytes * static_cast<std::size_t>(size.cols);
#pragma omp parallel for schedule(static) if (count * size.cols > 65536)
      for (std::int64_t r = 0; r < count; ++r) {
        // Columns of ones are alike: where they differ, the order is not one.
        const auto row = d.bytes().subspan(static_cast<std::size_t>(r) * row_bytes, row_bytes);
        if (all_alike(row, element_bytes))
          sums[first + static_cast<std::size_t>(r)] = d.value(r * size.cols) / scale.unit;
      }
    }
    return sums;
  };
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
  reduction.masks = [loaded = *runner, size](const MaskScale& scale) {
    return product_oracle(loaded, size, scale);
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
