// Attention has three reductions: q . k, the sum of the weights, and weights times V. Each is asked with the
// others held still: two keys for q . k, equal scores for V, and scores of the probe's own for the weights.
#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <memory>

#include "harness/probe/call_runner.hpp"
#include "harness/probe/probed_reduction.hpp"

namespace parity {

namespace {

struct AttentionSize {
  std::int64_t batch = 1, seq = 1, dim = 1;
  double scale = 1;
};
Result<CallRunner> load_attention(Device& device, const Implementation& implementation,
                                  const AttentionSize& size) {
  const DType dtype = widest_store(implementation);
  const Shape shape{size.batch * size.seq, size.dim};
  const Attributes attributes{{"heads", std::int64_t{1}},
                              {"kv_heads", std::int64_t{1}},
                              {"seq", size.seq},
                              {"causal", std::int64_t{0}},
                              {"scale", size.scale}};
  return CallRunner::load(device, implementation, attributes,
                          {{"Q", dtype, shape}, {"K", dtype, shape}, {"V", dtype, shape}, {}},
                          {{"O", dtype, shape}});
}

/// Two keys: zeros, whose value is 1, and ones, whose value is 0: o = 1 / (1 + exp(scale * sum)).
Result<ProbedReduction> score_reduction(Device& device, const Implementation& implementation,
                                        const ProbeSize& size) {
  AttentionSize layout{std::max<std::int64_t>(size.rows / 2, 1), 2, size.terms, 0};
  layout.scale = std::ldexp(4.0, -static_cast<int>(std::bit_width(static_cast<std::uint64_t>(size.terms))));
  auto loaded = load_attention(device, implementation, layout);
  if (!loaded) return tl::unexpected(loaded.error());
  auto runner = std::make_shared<CallRunner>(*std::move(loaded));
  for (std::int64_t row = 0; row < 2 * layout.batch; ++row)
    for (std::int64_t d = 0; d < layout.dim; ++d) {
      runner->input(1).set_value(row * layout.dim + d, row % 2 == 0 ? 0 : 1);
      runner->input(2).set_value(row * layout.dim + d, row % 2 == 0 ? 1 : 0);
    }
  ProbedReduction reduction;
  reduction.name = "sum over the head's columns of q k";
  reduction.terms = size.terms;
  reduction.method = "masks in Q, read through a softmax over two keys";
  reduction.scales = mask_scales(widest_store(implementation), implementation.accumulate);
  reduction.masks = [runner, layout](const MaskScale& scale) -> MaskOracle {
    return [runner, layout, scale](std::span<const MaskProbe> probes) -> Result<std::vector<double>> {
      std::vector<double> sums;
      const auto rows = static_cast<std::size_t>(2 * layout.batch);
      for (std::size_t first = 0; first < probes.size(); first += rows) {
        const std::size_t count = std::min(rows, probes.size() - first);
        for (std::size_t r = 0; r < rows; ++r)
          for (std::int64_t d = 0; d < layout.dim; ++d)
            runner->input(0).set_value(static_cast<std::int64_t>(r) * layout.dim + d,
                                       r < count ? value_of_term(probes[first + r], d, scale) : 0);
        const auto outputs = runner->run();
        if (!outputs) return tl::unexpected(outputs.error());
        for (std::size_t r = 0; r < count; ++r) {
          const double o = outputs->front().value(static_cast<std::int64_t>(r) * layout.dim);
          const double sum = std::log(1 / o - 1) / (layout.scale * scale.unit);
          const double whole = std::nearbyint(sum);
          sums.push_back(std::fabs(sum - whole) < 0.25 ? whole : no_sum);
        }
      }
      return sums;
    };
  };
  return reduction;
}

/// Equal scores give weights of exactly 1: o = (sum over keys of v) / keys. A probe is a column of V.
Result<ProbedReduction> value_reduction(Device& device, const Implementation& implementation,
                                        const ProbeSize& size) {
  constexpr std::int64_t dim = 64;
  const AttentionSize layout{std::max<std::int64_t>(size.rows / dim, 1), size.terms, dim, 1};
  auto loaded = load_attention(device, implementation, layout);
  if (!loaded) return tl::unexpected(loaded.error());
  auto runner = std::make_shared<CallRunner>(*std::move(loaded));
  ProbedReduction reduction;
  reduction.name = "sum over the keys of p v";
  reduction.terms = size.terms;
  reduction.method = "masks in V, under equal scores";
  reduction.scales = mask_scales(widest_store(implementation), implementation.accumulate);
  reduction.masks = [runner, layout](const MaskScale& scale) -> MaskOracle {
    return [runner, layout, scale](std::span<const MaskProbe> probes) -> Result<std::vector<double>> {
      std::vector<double> sums;
      const auto columns = static_cast<std::size_t>(layout.batch * dim);
      for (std::size_t first = 0; first < probes.size(); first += columns) {
        const std::size_t count = std::min(columns, probes.size() - first);
        const auto place = [&](std::size_t probe, std::int64_t row) {
          const auto at = static_cast<std::int64_t>(probe);
          return (at / dim * layout.seq + row) * dim + at % dim;
        };
        for (std::size_t p = 0; p < columns; ++p)
          for (std::int64_t key = 0; key < layout.seq; ++key)
            runner->input(2).set_value(place(p, key),
                                       p < count ? value_of_term(probes[first + p], key, scale) : 0);
        const auto outputs = runner->run();
        if (!outputs) return tl::unexpected(outputs.error());
        const Tensor& o = outputs->front();
        for (std::size_t p = 0; p < count; ++p) {
          // Every query sees the same: where they differ, the order is not one.
          bool same = true;
          for (std::int64_t row = 1; row < layout.seq; ++row)
            same = same && o.bits(place(p, row)) == o.bits(place(p, 0));
          const double sum = o.value(place(p, 0)) * static_cast<double>(layout.seq) / scale.unit;
          const double whole = std::nearbyint(sum);
          sums.push_back(same && std::fabs(sum - whole) < 0.25 ? whole : no_sum);
        }
      }
      return sums;
    };
  };
  return reduction;
}

/// The largest score is 0; V is 1 for its key alone: o = 1 / (sum of the weights). A probe is a column of K
/// and V, and the query that has a 1 there: a batch entry costs seq^2 dim, so that it asks as many as it has
/// columns.
Result<ProbedReduction> weight_reduction(Device& device, const Implementation& implementation,
                                         const ProbeSize& size) {
  const std::int64_t dim = 16, asked = std::min(dim, size.terms);
  const AttentionSize layout{std::max<std::int64_t>(size.rows / asked, 1), size.terms, dim, 1};
  auto loaded = load_attention(device, implementation, layout);
  if (!loaded) return tl::unexpected(loaded.error());
  auto runner = std::make_shared<CallRunner>(*std::move(loaded));
  for (std::int64_t row = 0; row < layout.batch * layout.seq; ++row)
    runner->input(0).set_value(row * dim + row % layout.seq % asked, 1);
  ProbedReduction reduction;
  reduction.name = "sum over the keys of the weights";
  reduction.terms = size.terms;
  reduction.method = "thresholds beside exp(0), read through the quotient";
  const int precision = format_of(implementation.accumulate).precision;
  const double half = std::ldexp(1.0, -precision);
  const double small =
      std::ldexp(half, -3 - static_cast<int>(std::bit_width(static_cast<std::uint64_t>(size.terms))));
  reduction.thresholds = [=](std::span<const ThresholdProbe> probes) -> Result<std::vector<int>> {
    std::vector<int> answers;
    const auto places = static_cast<std::size_t>(layout.batch * asked);
    for (std::size_t first = 0; first < probes.size(); first += places) {
      const std::size_t count = std::min(places, probes.size() - first);
      for (std::size_t p = 0; p < places; ++p) {
        const ThresholdProbe& probe = probes[first + std::min(p, count - 1)];
        const auto place = static_cast<std::int64_t>(p);
        const double near = half - (static_cast<double>(probe.threshold) + 0.5) * small;
        for (std::int64_t key = 0; key < layout.seq; ++key) {
          const double weight = key == probe.large ? 1 : key == probe.near ? near : small;
          const std::int64_t at = (place / asked * layout.seq + key) * dim + place % asked;
          runner->input(1).set_value(at, std::log(weight));
          runner->input(2).set_value(at, key == probe.large ? 1 : 0);
        }
      }
      const auto outputs = runner->run();
      if (!outputs) return tl::unexpected(outputs.error());
      for (std::size_t p = 0; p < count; ++p) {
        const auto place = static_cast<std::int64_t>(p);
        const std::int64_t query = place / asked * layout.seq + place % asked;
        const double o = outputs->front().value(query * dim + place % asked);
        // One spacing more in the sum is two less in the quotient.
        answers.push_back(o == 1 ? 0 : o < 1 && o > 1 - 8 * half ? 1 : -1);
      }
    }
    return answers;
  };
  return reduction;
}

}  // namespace

Result<std::vector<ProbedReduction>> attention_reductions(Device& device,
                                                          const Implementation& implementation,
                                                          const ProbeSize& size) {
  std::vector<ProbedReduction> reductions;
  for (const auto make : {score_reduction, weight_reduction, value_reduction}) {
    auto reduction = make(device, implementation, size);
    if (!reduction) return tl::unexpected(reduction.error());
    reductions.push_back(*std::move(reduction));
  }
  return reductions;
}

}  // namespace parity
