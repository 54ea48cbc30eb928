#pragma once
#include <span>
#include <string>

#include "reports/page_data.hpp"

namespace parity {

/// A page of its own about all records: styles, scripts and data are in it, and it asks for nothing else.
/// `trees`: orders of summation that were probed, shown with the cases of their paths.
std::string to_html(std::span<const PageSource> sources, std::span<const ProbedTree> trees = {});

}  // namespace parity
