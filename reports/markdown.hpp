#pragma once
#include <span>
#include <string>
#include <vector>

#include "harness/ladder/record.hpp"

namespace parity {

struct MarkdownOptions {
  std::vector<std::string> missing = {};  ///< of LoggedRecords: the outcome is then never "passed"
  std::size_t failures = 20;              ///< shown in full; the rest is counted
  bool images = false;                    ///< the files of training_figures() lie beside the text
};

/// A summary in Markdown for people and pull requests: the outcome first, then a table a device, then the
/// losses of training runs, each failure with its repro line, and what was unsupported and why.
std::string to_markdown(std::span<const Record> records, const MarkdownOptions& options = {});

}  // namespace parity
