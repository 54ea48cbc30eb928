#pragma once
#include <cctype>
#include <string>
#include <string_view>

namespace parity {

/// ASCII letters in lower case.
inline std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

/// Whether `part` stands in `text`, without regard to case; an empty one stands everywhere.
inline bool contains_word(std::string_view text, std::string_view part) {
  return lower(text).find(lower(part)) != std::string::npos;
}

/// Whether all of `text` fits `pattern`: `*` stands for any characters, `?` for any one, everything else for
/// itself. The last `*` is the only place to return to.
inline bool fits_pattern(std::string_view text, std::string_view pattern) {
  std::size_t t = 0, p = 0, star = pattern.npos, resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != pattern.npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == pattern.npos;
}

}  // namespace parity
