#include "harness/cli/case_filter.hpp"

#include <algorithm>

namespace parity::cli {
namespace {

/// Whether `pattern` matches a prefix of `text`, so that trying every start finds it anywhere. Iterative: the
/// last `*` is the only place to return to.
bool matches_at(std::string_view text, std::string_view pattern) {
  std::size_t t = 0, p = 0, star = pattern.npos, resume = 0;
  while (p < pattern.size()) {
    if (pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (t < text.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != pattern.npos && resume < text.size()) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  return true;
}

}  // namespace

bool fits_filter(std::string_view text, const std::vector<std::string>& words) {
  return std::all_of(words.begin(), words.end(), [&](const std::string& word) {
    for (std::size_t begin = 0; begin <= text.size(); ++begin)
      if (matches_at(text.substr(begin), word)) return true;
    return false;
  });
}

}  // namespace parity::cli
