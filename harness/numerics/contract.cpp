#include "harness/numerics/contract.hpp"

#include <algorithm>
#include <cmath>

namespace parity {

double spread_multiplier(std::int64_t elements, const Contract& contract) {
  const double n = static_cast<double>(std::max<std::int64_t>(elements, 1));
  const double log_tail = std::log(2 * n / contract.alpha);
  return contract.order_known ? std::sqrt(2 * log_tail) : log_tail / 1.11;
}

AggregateInflation aggregate_inflation(const Contract& contract) {
  constexpr double binade = 2;
  if (contract.order_known) return {binade, binade};
  return {binade * 9, binade * 34};
}

}  // namespace parity
