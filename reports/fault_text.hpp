#pragma once
#include <string>

#include "reports/fault_summary.hpp"

namespace parity {

// Words that the table, the page and the picture share.

/// "12/12".
std::string fraction(const Rate& rate);
/// "99.2% (97.1 to 99.9)": with the interval that covers the true rate 95 times in 100.
std::string percentage(const Rate& rate);
/// The checks that saw the fault in any nominal trial, in their order.
std::string checks_text(const FaultRow& row);
/// What a run was: "vulkan:0 NVIDIA H200, order withheld, held out".
std::string heading(const FaultRun& run);
/// The weakest detectable severity and its unit.
std::string severity_text(const std::optional<double>& severity, const SeverityCurve& curve);
/// "0 of 3012 healthy tensors stopped: at most 0.1%, 95 times in 100".
std::string false_alarm_text(const FaultSummary& summary);

}  // namespace parity
