#include "reports/page.hpp"

#include <algorithm>

#include "reports/page_files.hpp"

namespace parity {
namespace {

std::string_view page_file(std::string_view name) {
  for (const PageFile& file : page_files())
    if (file.name == name) return file.text;
  return {};
}

/// Scripts share one scope, so the order is that in which they use each other while they load.
constexpr std::string_view page_scripts[] = {"base.js",   "inflate.js", "data.js",    "filter.js",
                                             "ladder.js", "table.js",   "plots.js",   "outputs.js",
                                             "trees.js",  "detail.js",  "compare.js", "app.js"};

}  // namespace

std::string to_html(std::span<const PageSource> sources, std::span<const ProbedTree> trees) {
  const std::string_view frame = page_file("page.html");
  std::string page;
  std::size_t at = 0;
  while (at < frame.size()) {
    const std::size_t mark = frame.find("{{", at), end = frame.find("}}", mark);
    page += frame.substr(at, mark == frame.npos ? mark : mark - at);
    if (mark == frame.npos || end == frame.npos) break;
    const std::string_view name = frame.substr(mark + 2, end - mark - 2);
    at = end + 2;
    if (name == "index") {
      page += page_index(sources, trees);
    } else if (name == "blocks") {
      page += page_blocks(sources);
    } else if (name == "scripts") {
      for (const std::string_view script : page_scripts) page += page_file(script);
    } else {
      page += page_file(name);
    }
  }
  return page;
}

}  // namespace parity
