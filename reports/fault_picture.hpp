#pragma once
#include <span>
#include <string>
#include <vector>

#include "reports/fault_summary.hpp"

namespace parity {

/// A drawing that needs nothing else, light or dark as the viewer prefers.
struct FaultPicture {
  std::string file;  ///< "faults_vulkan-0.svg", "severity_vulkan-0.svg"
  std::string title;
  std::string svg;
};

/// Which check saw which fault on one device: a row a fault, a column a check and, apart, a common threshold;
/// the fuller a square the more of the trials.
std::string fault_matrix_svg(const FaultSummary& summary);

/// Rates against severity: by the verdict, by bounds alone, by assert_close. Empty without severities.
std::string severity_svg(const FaultSummary& summary);

/// All pictures of the runs; file names differ.
std::vector<FaultPicture> fault_pictures(std::span<const FaultSummary> summaries);

}  // namespace parity
