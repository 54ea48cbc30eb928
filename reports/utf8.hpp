#pragma once
#include <string>
#include <string_view>

namespace parity {

/// Code points of a text; a byte that does not belong to valid UTF-8 becomes U+FFFD.
std::u32string decode_utf8(std::string_view text);
/// Appends one code point.
void append_utf8(std::string& out, char32_t code_point);

}  // namespace parity
