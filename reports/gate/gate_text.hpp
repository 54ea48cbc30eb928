#pragma once
#include <string>

#include "reports/gate/gate.hpp"

namespace parity {

/// The few lines that matter: what fails, then what is waived or only worth knowing, each kind cut after ten;
/// the last line is the decision.
std::string gate_text(const GateReport& report);

/// The same for a pull request or a step summary.
std::string gate_markdown(const GateReport& report);

/// A line a finding that GitHub shows beside the commit: ::error and, for what is waived or does not fail,
/// ::notice.
std::string gate_annotations(const GateReport& report);

/// JUnit XML: one testsuite; a testcase a finding that can fail, and one for all compared cases together.
std::string gate_junit(const GateReport& report);

}  // namespace parity
