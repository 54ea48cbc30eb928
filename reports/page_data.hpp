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

/// Lines are packed together until they have so many bytes: to show a record, the page unpacks its block.
constexpr std::size_t page_block_bytes = 1 << 17;
/// The details of all records by blocks, which makes a page of ten thousand a fifth of what it were as plain
/// text. A block is a line break, the number of its first record, the bytes of its lines, and these deflated
/// and in base64.
std::string page_blocks(std::span<const PageSource> sources);

}  // namespace parity
