#pragma once
#include <span>
#include <string>
#include <vector>

#include "harness/ladder/record.hpp"
#include "reports/probe_lines.hpp"

namespace parity {

/// The records of one file, for the page.
struct PageSource {
  std::string name;  ///< as the user gave it
  std::span<const Record> records;
  std::vector<std::string> missing;  ///< what its runs did not get to
};

/// What the page's table, ladder and filter need of all records, by columns (reports/html/data.js reads it),
/// and the orders that were probed.
std::string page_index(std::span<const PageSource> sources, std::span<const ProbedTree> trees);
/// The latter: facts of each reduction, and the drawings of their trees, each once.
std::string page_trees(std::span<const ProbedTree> trees);
/// What the page shows of one record when it is opened: a line of JSON.
std::string page_detail(const Record& record);

}  // namespace parity
