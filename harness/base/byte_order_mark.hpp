#pragma once
#include <string_view>

namespace parity {

/// Without the byte order mark that some editors put before UTF-8: a first word would not be known behind it.
inline std::string_view without_byte_order_mark(std::string_view text) {
  constexpr std::string_view mark = "\xef\xbb\xbf";
  if (text.starts_with(mark)) text.remove_prefix(mark.size());
  return text;
}

}  // namespace parity
