#include "harness/cli/case_filter.hpp"

#include <algorithm>

#include "harness/base/text.hpp"

namespace parity::cli {
bool fits_filter(std::string_view text, const std::vector<std::string>& words) {
  return std::all_of(words.begin(), words.end(),
                     [&](const std::string& word) { return fits_pattern(text, "*" + word + "*"); });
}

}  // namespace parity::cli
