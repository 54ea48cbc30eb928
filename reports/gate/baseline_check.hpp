#pragma once
#include "reports/gate/baseline.hpp"

namespace parity {

/// Error: a figure that no record of this program has, and that nothing can be compared with; the message
/// names the field.
Result<void> check_figures(const BaselineCase& c);

}  // namespace parity
