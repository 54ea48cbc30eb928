#pragma once
#include "harness/numerics/judge.hpp"

namespace parity {

/// A pass whose every expected value is zero, infinite or NaN, or that has no element at all, proves nothing
/// about a kernel: it becomes `untrusted`. For tensors that somebody gave; our own fills are chosen.
inline void distrust_trivial(Judgement& judgement) {
  const ErrorStatistics& s = judgement.statistics;
  if (judgement.verdict != Verdict::pass || s.zeros_want + s.nan + s.inf < s.elements) return;
  judgement.verdict = Verdict::untrusted;
  judgement.reasons.insert(judgement.reasons.begin(),
                           s.elements == 0
                               ? "the result has no elements: nothing was compared"
                               : "every expected value is zero, infinite or NaN: these inputs prove nothing");
}

}  // namespace parity
