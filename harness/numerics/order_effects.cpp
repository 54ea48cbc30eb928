#include "harness/numerics/order_effects.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "harness/numerics/store_grid.hpp"
#include "harness/tensor/convert.hpp"

namespace parity {
namespace {

struct Partial {
  std::int64_t differing = 0, first = -1, nonfinite = 0, predicted = 0, counted = 0;
  double max_ulp = 0, range_square = 0, deviation_square = 0, max_sigma = 0, sigma_square = 0;
};

class SpreadPass {
 public:
  SpreadPass(const std::vector<const Tensor*>& results, const Value* want, const Contract& contract)
      : results_(results),
        want_(want),
        grid_(StoreGrid::of(results.front()->dtype())),
        rounds_(contract.store_rounds && grid_.narrow) {}

  Partial run(std::int64_t begin, std::int64_t end) const {
    Partial p;
    std::vector<double> values(results_.size() * block);  // one row a result
    for (std::int64_t start = begin; start < end; start += block) {
      const auto count = static_cast<std::size_t>(std::min<std::int64_t>(block, end - start));
      for (std::size_t r = 0; r < results_.size(); ++r) {
        widen_range(*results_[r], start, {values.data() + r * block, count});
      }
      run_block(values.data(), start, count, p);
    }
    return p;
  }

 private:
  static constexpr std::size_t block = 1024;

  void run_block(const double* values, std::int64_t start, std::size_t count, Partial& p) const {
    std::array<std::uint64_t, block> differing{};
    for (std::size_t r = 1; r < results_.size(); ++r) {
      const double* other = values + r * block;
      for (std::size_t i = 0; i < count; ++i) {
        differing[i] |= std::bit_cast<std::uint64_t>(values[i]) ^ std::bit_cast<std::uint64_t>(other[i]);
      }
    }
    for (std::size_t i = 0; i < count; ++i)
      element(values + i, start + static_cast<std::int64_t>(i), differing[i] == 0, p);
  }

  /// `value`: of the first result; the others follow at a distance of `block`.
  void element(const double* value, std::int64_t i, bool equal, Partial& p) const {
    // Widening may make a signalling NaN quiet: their own bits decide.
    if (equal && std::isnan(*value)) {
      const std::uint64_t first_bits = results_.front()->bits(i);
      equal = std::all_of(results_.begin() + 1, results_.end(),
                          [&](const Tensor* t) { return t->bits(i) == first_bits; });
    }
    const double ulp = grid::ulp(grid_, reference_at(i, *value));
    const double predicted = predicted_at(i, ulp);
    if (equal) {
      // An agreed NaN has no spread to count.
      if (!std::isfinite(*value)) return;
      ++p.counted;
      p.predicted += predicted > 0;
      return;
    }
    ++p.differing;
    if (p.first < 0) p.first = i;
    const double anchor = *value;
    double low = anchor, high = anchor, sum = 0, square = 0;
    for (std::size_t r = 0; r < results_.size(); ++r) {
      const double x = value[r * block];
      if (!std::isfinite(x)) {
        ++p.nonfinite;
        return;
      }
      low = std::min(low, x), high = std::max(high, x);
      sum += x - anchor;
      square += (x - anchor) * (x - anchor);
    }
    const double n = static_cast<double>(results_.size());
    const double deviation = std::max(square - sum * sum / n, 0.0) / (n - 1);
    const double range = high - low;
    ++p.counted;
    p.max_ulp = std::max(p.max_ulp, range / ulp);
    p.range_square += range / ulp * (range / ulp);
    p.deviation_square += deviation / (ulp * ulp);
    if (!(predicted > 0)) return;
    ++p.predicted;
    p.max_sigma = std::max(p.max_sigma, range / std::sqrt(predicted));
    p.sigma_square += deviation / predicted;
  }

  /// The predicted variance of element i, 0 where there is none: without a reference, for an exact element,
  /// and where the systematic part outweighs the noise (a saturated tanh moves by its own last digits, not by
  /// its argument's).
  double predicted_at(std::int64_t i, double ulp) const {
    if (want_ == nullptr || want_->variance.empty()) return 0;
    const auto at = static_cast<std::size_t>(i);
    const double variance = want_->variance[at];
    if (!(variance > 0) || !std::isfinite(variance)) return 0;
    const double predicted = variance + (rounds_ ? ulp * ulp / 12 : 0);
    const double systematic = want_->systematic.empty() ? 0 : want_->systematic[at];
    return systematic * systematic > predicted ? 0 : predicted;
  }
  double reference_at(std::int64_t i, double otherwise) const {
    if (want_ == nullptr) return otherwise;
    const double v = want_->v[static_cast<std::size_t>(i)];
    return std::isfinite(v) ? v : otherwise;
  }

  const std::vector<const Tensor*>& results_;
  const Value* want_;
  StoreGrid grid_;
  bool rounds_;
};

}  // namespace

Result<OrderSpread> order_spread(const std::vector<const Tensor*>& results, const Value* want,
                                 const Contract& contract) {
  if (results.size() < 2) return bad_input("order spread: at least two results are needed to compare");
  const std::int64_t elements = results.front()->elements();
  for (const Tensor* t : results) {
    if (t->elements() != elements || t->dtype() != results.front()->dtype()) {
      return bad_input(
          fmt::format("order spread: a result of {} {} elements beside one of {} {}; all results must "
                      "be the same tensor",
                      t->elements(), name_of(t->dtype()), elements, name_of(results.front()->dtype())));
    }
  }
  if (want != nullptr && want->size() != elements) {
    return bad_input(
        fmt::format("order spread: the reference has {} elements, the results {}", want->size(), elements));
  }
  OrderSpread spread;
  spread.results = static_cast<std::int64_t>(results.size());
  spread.elements = elements;
  if (elements == 0) return spread;

  const SpreadPass pass(results, want, contract);
  constexpr std::int64_t chunk = 16384;
  const std::int64_t chunks = (elements + chunk - 1) / chunk;
  std::vector<Partial> partials(static_cast<std::size_t>(chunks));
#pragma omp parallel for schedule(dynamic) if (chunks > 1)
  for (std::int64_t c = 0; c < chunks; ++c) {
    partials[static_cast<std::size_t>(c)] = pass.run(c * chunk, std::min((c + 1) * chunk, elements));
  }
  std::int64_t counted = 0;
  double range_square = 0, deviation_square = 0, sigma_square = 0;
  for (const Partial& p : partials) {
    if (spread.first_differing < 0) spread.first_differing = p.first;
    spread.differing += p.differing;
    spread.nonfinite_differing += p.nonfinite;
    spread.predicted_elements += p.predicted;
    counted += p.counted;
    spread.max_range_ulp = std::max(spread.max_range_ulp, p.max_ulp);
    spread.max_range_sigma = std::max(spread.max_range_sigma, p.max_sigma);
    range_square += p.range_square;
    deviation_square += p.deviation_square;
    sigma_square += p.sigma_square;
  }
  spread.bit_equal = spread.differing == 0;
  const double n = static_cast<double>(std::max<std::int64_t>(counted, 1));
  spread.rms_range_ulp = std::sqrt(range_square / n);
  spread.rms_deviation_ulp = std::sqrt(deviation_square / n);
  spread.rms_deviation_sigma =
      std::sqrt(sigma_square / static_cast<double>(std::max<std::int64_t>(spread.predicted_elements, 1)));
  return spread;
}

}  // namespace parity
