#include "reports/order_text.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "reports/summary.hpp"

namespace parity {
namespace {

void add_line(std::vector<std::string>& lines, const char* what, const std::optional<OrderSpread>& spread) {
  if (!spread) return;
  if (spread->bit_equal) {
    lines.push_back(
        fmt::format("{}: same bits ({} results, {} elements)", what, spread->results, spread->elements));
    return;
  }
  std::string line = fmt::format("{}: {} of {} elements differ over {} results, at most {} ulp, rms {} ulp",
                                 what, spread->differing, spread->elements, spread->results,
                                 short_number(spread->max_range_ulp), short_number(spread->rms_range_ulp));
  if (spread->predicted_elements > 0)
    line += fmt::format(" (deviation {} of the predicted)", short_number(spread->rms_deviation_sigma));
  lines.push_back(std::move(line));
}

}  // namespace

DeviceSpread device_spread(const OrderEffects& order) {
  DeviceSpread summary;
  for (const auto* spread : {&order.run_to_run, &order.batch_invariance, &order.permutation}) {
    if (!*spread) continue;
    ++summary.experiments;
    summary.unequal += (*spread)->bit_equal ? 0 : 1;
    summary.max_deviation = std::max(summary.max_deviation, (*spread)->rms_deviation_sigma);
  }
  // Programs of one call have their figures above already.
  if (!order.permutation && !order.batch_invariance)
    for (const OrderExperiment& e : order.experiments) {
      ++summary.experiments;
      summary.unequal += e.spread.bit_equal ? 0 : 1;
      summary.max_deviation = std::max(summary.max_deviation, e.spread.rms_deviation_sigma);
    }
  summary.run_to_run_unequal = order.run_to_run && !order.run_to_run->bit_equal;
  return summary;
}

std::vector<std::string> order_lines(const OrderEffects& order) {
  std::vector<std::string> lines;
  add_line(lines, "run to run", order.run_to_run);
  add_line(lines, "batch invariance", order.batch_invariance);
  add_line(lines, "permuted reduction", order.permutation);
  add_line(lines, "emulated orders", order.ensemble);
  for (const OrderExperiment& e : order.experiments)
    add_line(lines, fmt::format("{}, {} {}", e.op, e.what, e.along).c_str(), e.spread);
  return lines;
}

}  // namespace parity
