#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/base/result.hpp"
#include "harness/numerics/summation_tree.hpp"

namespace parity {

// The tree of a reduction from the outside, after FPRev (Xie et al. 2024): whether a small term is lost
// beside a large one says which of them met first. Everything here is pure: a device is behind an oracle,
// which is asked in batches.

struct TermPair {
  std::int64_t i = 0, j = 0;
};
/// How many terms lie under the lowest node that has both terms of a pair under it; one answer a pair.
using LeafCounts = std::function<Result<std::vector<std::int64_t>>(std::span<const TermPair>)>;

/// A sum of terms of either sign: +mask at `plus`, -mask at `minus` (-1: nowhere), one unit at every other
/// term of [first, last), zero elsewhere. A mask is so large that any sum of units added to it is lost.
struct MaskProbe {
  std::int64_t plus = -1, minus = -1;
  std::int64_t first = 0, last = 0;
};
/// The sums in units; one answer a probe.
using MaskOracle = std::function<Result<std::vector<double>>(std::span<const MaskProbe>)>;

/// A sum of positive terms, rounded to nearest: `large` holds L, `near` half a spacing of L less (threshold +
/// 1/2) small terms, every other term is small (far less than half a spacing even all together). threshold
/// -1: half a small term more than half a spacing.
struct ThresholdProbe {
  std::int64_t large = 0, near = 0;
  std::int64_t threshold = 0;
};
/// 1 where the sum came out above L, i.e. more than `threshold` small terms joined `near` before it met
/// `large`; 0 where it came out as L; anything else when it is neither.
using ThresholdOracle = std::function<Result<std::vector<int>>(std::span<const ThresholdProbe>)>;

/// What revealing came to.
struct Revelation {
  enum class Outcome : std::uint8_t {
    revealed,
    not_reproducible,  ///< the same probe gave two answers: atomics, or an order decided at run time
    no_single_tree,    ///< answers that no one tree gives: the order depends on data or on the place
    any_order,         ///< sums of integers modulo 2^32: every order gives the same, there is nothing to see
    not_visible,       ///< large terms do not hide small ones, or the small ones are lost by themselves
  };
  Outcome outcome = Outcome::revealed;
  std::string why;  ///< of anything but revealed
  std::optional<SummationTree> tree;
  std::int64_t questions = 0;  ///< pairs asked, repeats included
};

struct RevealOptions {
  std::uint64_t seed = 1;
  int repeats = 2;  ///< how often every question is asked
  /// How often the tree is revealed from the beginning, with other questions at other places of a batch.
  int passes = 2;
  std::int64_t most_questions = 4'000'000;  ///< of one pass, repeats not counted
};

/// Reveals the tree of K = `terms` terms. Errors: the oracle's, and too many questions.
Result<Revelation> reveal_tree(std::int64_t terms, const LeafCounts& counts, const RevealOptions& options);

/// Whether masks work: units add up, and a mask hides a unit. Else the outcome not_visible and why.
Result<Revelation> check_masks(std::int64_t terms, std::int64_t window, const MaskOracle& oracle);
/// Leaf counts through masks. `window`: the most units of one probe; longer sums are asked window by window.
LeafCounts count_by_masks(std::int64_t terms, std::int64_t window, MaskOracle oracle);

/// The same for sums of positive terms of which each addition rounds to nearest. Only additions of two are
/// seen: a fused addition of more gives no_single_tree.
Result<Revelation> check_thresholds(std::int64_t terms, const ThresholdOracle& oracle);
LeafCounts count_by_thresholds(std::int64_t terms, ThresholdOracle oracle);

}  // namespace parity
