#include "reports/gate/baseline_check.hpp"

#include <fmt/core.h>

#include <cmath>
#include <optional>

namespace parity {
namespace {

/// A field, and what is wrong with it.
struct Mistake {
  std::string field, what;
};

std::optional<Mistake> mistake_in(const BaselineOutput& o) {
  const auto negative = [](std::string field, auto value) {
    return Mistake{std::move(field), fmt::format("is {} and should be 0 or more", value)};
  };
  // A NaN is what the device may have left.
  if (o.rms < 0) return negative("rms", o.rms);
  if (o.max_bound_ratio < 0) return negative("max_bound_ratio", o.max_bound_ratio);
  if (o.elements < 0) return negative("elements", o.elements);
  constexpr auto bins =
      static_cast<std::int64_t>(std::tuple_size_v<decltype(ErrorStatistics::ulp_histogram)>);
  if (o.first_bin < 0 || o.first_bin > bins || std::ssize(o.histogram) > bins - o.first_bin)
    return Mistake{"histogram", fmt::format("goes from bin {} on with {} bins, more bins than there are ({})",
                                            o.first_bin, o.histogram.size(), bins)};
  std::int64_t left = o.elements;
  for (std::size_t i = 0; i < o.histogram.size(); ++i) {
    const std::int64_t count = o.histogram[i];
    if (count < 0) return negative(fmt::format("histogram[{}]", i), count);
    if (count > left)
      return Mistake{"histogram", fmt::format("counts more elements than there are ({})", o.elements)};
    left -= count;
  }
  // Nothing is counted where the result is NaN by contract, and then there is no error either.
  if (std::isfinite(o.rms) && o.rms > 0 && left == o.elements)
    return Mistake{"histogram", fmt::format("counts no element, and 'rms' is {}", o.rms)};
  // `parity compare` hashes nothing, and knows no port; every run does both.
  if (o.bits == 0 && !o.port.empty()) return Mistake{"bits", "is missing, which every result of a run has"};
  return std::nullopt;
}

}  // namespace

Result<void> check_figures(const BaselineCase& c) {
  for (std::size_t i = 0; i < c.outputs.size(); ++i)
    if (const auto mistake = mistake_in(c.outputs[i]))
      return bad_input(fmt::format("the field 'outputs[{}].{}' {}", i, mistake->field, mistake->what));
  return {};
}

}  // namespace parity
