#pragma once
#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

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

/// Without blanks and line ends at its ends.
inline std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blank = " \t\r\n";
  const std::size_t first = text.find_first_not_of(blank);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(blank) - first + 1);
}

/// Takes the first word off, and the blanks behind it.
inline std::string_view take_word(std::string_view& text) {
  text = trimmed(text);
  const std::size_t end = std::min(text.find_first_of(" \t\r"), text.size());
  const std::string_view word = text.substr(0, end);
  text = trimmed(text.substr(end));
  return word;
}

/// What stands between marks, each any one of `marks`; no part is empty.
inline std::vector<std::string_view> split(std::string_view text, std::string_view marks) {
  std::vector<std::string_view> parts;
  for (std::size_t at = text.find_first_not_of(marks); at != text.npos;) {
    const std::size_t end = std::min(text.find_first_of(marks, at), text.size());
    parts.push_back(text.substr(at, end - at));
    at = text.find_first_not_of(marks, end);
  }
  return parts;
}

/// The whole of a text as a number of type T, nan and inf too where it has them.
template <class T>
std::optional<T> parse_number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace parity
