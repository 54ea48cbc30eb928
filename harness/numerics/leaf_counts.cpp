// How many terms lie under the node where two terms meet: by masks, or by thresholds where all terms are
// positive.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/numerics/reveal_tree.hpp"

namespace parity {
namespace {

Revelation not_visible(std::string why) {
  Revelation revelation;
  revelation.outcome = Revelation::Outcome::not_visible;
  revelation.why = std::move(why);
  return revelation;
}

constexpr std::int64_t impossible = -1;  ///< a count that fits no tree: revealing then says where it stood

}  // namespace

Result<Revelation> check_masks(std::int64_t terms, std::int64_t window, const MaskOracle& oracle) {
  std::vector<MaskProbe> probes;
  for (std::int64_t first = 0; first < terms; first += window)
    probes.push_back({-1, -1, first, std::min(terms, first + window)});
  const auto sums = oracle(probes);
  if (!sums) return tl::unexpected(sums.error());
  for (std::size_t i = 0; i < probes.size(); ++i) {
    const auto units = static_cast<double>(probes[i].last - probes[i].first);
    if ((*sums)[i] != units)
      return not_visible(
          fmt::format("{} units add up to {} (they may be flushed, or be rounded away)", units, (*sums)[i]));
  }
  if (terms < 3) return Revelation{};
  // Of three terms, two pairs at least meet where the third is already in or comes in at once. A unit at the
  // third must then be lost.
  const std::int64_t middle = terms / 2, last = terms - 1;
  const auto trials = oracle(std::vector<MaskProbe>{
      {0, middle, last, last + 1}, {0, last, middle, middle + 1}, {middle, last, 0, 1}});
  if (!trials) return tl::unexpected(trials.error());
  const auto lost = std::ranges::count(*trials, 0.0), kept = std::ranges::count(*trials, 1.0);
  if (lost + kept != 3)
    return not_visible(
        fmt::format("a unit beside two masks that cancel gives {}, {} and {}; 0 or 1 was expected",
                    (*trials)[0], (*trials)[1], (*trials)[2]));
  if (lost < 2)
    return not_visible(
        "a unit survives beside a mask: the sum is exact over the range of the inputs' format");
  return Revelation{};
}

LeafCounts count_by_masks(std::int64_t terms, std::int64_t window, MaskOracle oracle) {
  return [=](std::span<const TermPair> pairs) -> Result<std::vector<std::int64_t>> {
    std::vector<MaskProbe> probes;
    for (const TermPair& pair : pairs)
      for (std::int64_t first = 0; first < terms; first += window)
        probes.push_back({pair.i, pair.j, first, std::min(terms, first + window)});
    const auto sums = oracle(probes);
    if (!sums) return tl::unexpected(sums.error());
    const std::size_t windows = pairs.empty() ? 1 : probes.size() / pairs.size();
    std::vector<std::int64_t> leaves;
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      double outside = 0;
      for (std::size_t w = 0; w < windows; ++w) outside += (*sums)[i * windows + w];
      const bool whole =
          outside >= 0 && outside <= static_cast<double>(terms - 2) && outside == std::nearbyint(outside);
      leaves.push_back(whole ? terms - static_cast<std::int64_t>(outside) : impossible);
    }
    return leaves;
  };
}

Result<Revelation> check_thresholds(std::int64_t terms, const ThresholdOracle& oracle) {
  if (terms < 2) return Revelation{};
  const std::int64_t last = terms - 1;
  const auto answers =
      oracle(std::vector<ThresholdProbe>{{0, last, -1}, {last, 0, -1}, {0, last, last}, {last, 0, last}});
  if (!answers) return tl::unexpected(answers.error());
  if (*answers == std::vector<int>{1, 1, 0, 0}) return Revelation{};
  return not_visible(
      "half a spacing more or less beside a large term cannot be told apart in the result (another rounding "
      "than to nearest, or a function behind the sum that hides its last bit)");
}

LeafCounts count_by_thresholds(std::int64_t terms, ThresholdOracle oracle) {
  return [=](std::span<const TermPair> pairs) -> Result<std::vector<std::int64_t>> {
    // Small terms that came to j before it met i, and the other way round: each by bisection.
    struct Search {
      std::int64_t large, near;
      std::int64_t low, high;
      bool broken = false;
    };
    std::vector<Search> searches;
    for (const TermPair& pair : pairs) {
      searches.push_back({pair.i, pair.j, 0, terms - 2});
      searches.push_back({pair.j, pair.i, 0, terms - 2});
    }
    const auto open = [](const Search& s) { return !s.broken && s.low < s.high; };
    while (std::ranges::any_of(searches, open)) {
      std::vector<ThresholdProbe> probes;
      for (const Search& s : searches)
        if (open(s)) probes.push_back({s.large, s.near, (s.low + s.high) / 2});
      const auto answers = oracle(probes);
      if (!answers) return tl::unexpected(answers.error());
      std::size_t at = 0;
      for (Search& s : searches) {
        if (!open(s)) continue;
        const int answer = (*answers)[at];
        const std::int64_t threshold = probes[at++].threshold;
        if (answer == 1)
          s.low = threshold + 1;
        else if (answer == 0)
          s.high = threshold;
        else
          s.broken = true;
      }
    }
    std::vector<std::int64_t> leaves;
    for (std::size_t i = 0; i < searches.size(); i += 2) {
      const bool broken = searches[i].broken || searches[i + 1].broken;
      leaves.push_back(broken ? impossible : searches[i].low + searches[i + 1].low + 2);
    }
    return leaves;
  };
}

}  // namespace parity
