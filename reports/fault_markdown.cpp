#include <fmt/format.h>

#include "reports/fault_text.hpp"
#include "reports/markdown_text.hpp"

namespace parity {

std::string fault_markdown(std::span<const FaultSummary> summaries, bool) {
  std::string text;
  for (const FaultSummary& summary : summaries) text += "# " + markdown_text(heading(*summary.run)) + "\n";
  return text;
}

}  // namespace parity
