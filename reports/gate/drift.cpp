#include "reports/gate/drift.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace parity {
namespace {

using Histogram = std::array<std::int64_t, std::tuple_size_v<decltype(ErrorStatistics::ulp_histogram)>>;

Histogram whole(const BaselineOutput& output) {
  Histogram all{};
  std::ranges::copy(output.histogram, all.begin() + output.first_bin);
  return all;
}

/// Probability that a chi-square variable exceeds `x`.
double chi_square_tail(double x, double degrees) {
  const double variance = 2 / (9 * degrees);
  const double z = (std::cbrt(x / degrees) - (1 - variance)) / std::sqrt(variance);
  return std::erfc(z / std::sqrt(2.0)) / 2;
}

/// The chance of histograms this different from one distribution; 1 when there are too few elements to say.
double chance_of(const Histogram& before, const Histogram& now) {
  constexpr double least_in_a_bin = 10;
  std::vector<std::array<double, 2>> bins;
  std::array<double, 2> open{}, total{};
  for (std::size_t i = 0; i < before.size(); ++i) {
    open[0] += static_cast<double>(before[i]);
    open[1] += static_cast<double>(now[i]);
    if (open[0] + open[1] < least_in_a_bin) continue;
    bins.push_back(open);
    open = {};
  }
  if (bins.empty()) return 1;
  for (const int side : {0, 1}) {
    bins.back()[side] += open[side];
    for (const auto& bin : bins) total[side] += bin[side];
  }
  if (bins.size() < 2 || total[0] == 0 || total[1] == 0) return 1;
  double g = 0;
  for (const auto& bin : bins)
    for (const int side : {0, 1}) {
      const double expected = (bin[0] + bin[1]) * total[side] / (total[0] + total[1]);
      if (bin[side] > 0) g += 2 * bin[side] * std::log(bin[side] / expected);
    }
  return chi_square_tail(g, static_cast<double>(bins.size() - 1));
}

double ratio(double a, double b) {
  return std::max(a, b) / std::min(a, b);
}

}  // namespace

std::vector<MovedStatistic> find_drift(const BaselineOutput& before, const BaselineOutput& now,
                                       const DriftLimits& limits) {
  // Whatever is compared with a NaN or an infinity seems not to have moved.
  if (std::isfinite(before.rms + before.mean_signed) != std::isfinite(now.rms + now.mean_signed))
    return {
        {"errors",
         fmt::format("the typical error is {:.3g}, the mean error {:.3g}, and they were {:.3g} and {:.3g}",
                     now.rms, now.mean_signed, before.rms, before.mean_signed),
         0}};
  if (before.rms == 0 && now.rms == 0) return {};
  constexpr std::int64_t few = 16;
  if (limits.bits_vary && before.elements <= few && (before.rms == 0 || now.rms == 0)) return {};
  if (before.rms == 0 || now.rms == 0)
    return {{"errors",
             before.rms == 0
                 ? fmt::format("the result was exact and now has a typical error of {:.3g}", now.rms)
                 : fmt::format("the typical error was {:.3g} and now the result is exact", before.rms),
             0}};
  std::vector<MovedStatistic> found;
  const double shape = chance_of(whole(before), whole(now));
  if (shape < limits.chance && ratio(before.rms, now.rms) >= limits.smallest)
    found.push_back(
        {"errors",
         fmt::format("the typical error is {:.3g} and was {:.3g} ({:.2f} times); by chance {:.1g} among "
                     "{} elements",
                     now.rms, before.rms, now.rms / before.rms, shape, now.elements),
         shape});
  const double error = std::sqrt(before.rms * before.rms / static_cast<double>(before.elements) +
                                 now.rms * now.rms / static_cast<double>(now.elements));
  const double shift = now.mean_signed - before.mean_signed;
  const double chance = std::erfc(std::fabs(shift) / error / std::sqrt(2.0));
  if (chance < limits.chance && std::fabs(shift) >= (limits.smallest - 1) * std::max(before.rms, now.rms))
    found.push_back(
        {"mean error",
         fmt::format("the mean error is {:.3g} and was {:.3g}, {:.0f} standard errors apart; by chance "
                     "{:.1g}",
                     now.mean_signed, before.mean_signed, std::fabs(shift) / error, chance),
         chance});
  return found;
}

double median_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

}  // namespace parity
