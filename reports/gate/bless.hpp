#pragma once
#include "reports/gate/baseline.hpp"

namespace parity {

/// Which cases a blessing takes over; patterns (`*`, `?`) matched whole, an empty one fits everything.
struct BlessedPart {
  std::string case_text, path;
};

/// The baseline with the cases of `now` taken over where they fit `part`; others stay. With nothing to fit,
/// everything is taken over and cases that are no longer recorded are taken out. `blessing.cases` becomes
/// what changed. Error: another device; a case that does not pass and would be blessed (unsupported and
/// untrusted ones may be), for what is broken is waived, not blessed; nothing that changes.
Result<Baseline> bless(Baseline before, const Baseline& now, const BlessedPart& part, Blessing blessing);

}  // namespace parity
