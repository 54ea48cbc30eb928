#include "reports/page_json.hpp"

#include "reports/utf8.hpp"

namespace parity {

PageJson& PageJson::string(std::string_view value) {
  separate();
  text_ += '"';
  for (const char32_t c : decode_utf8(value)) {
    if (c == U'"' || c == U'\\') {
      text_ += '\\';
      text_ += static_cast<char>(c);
    } else if (c < 0x20 || c == U'<') {
      fmt::format_to(std::back_inserter(text_), "\\u{:04x}", static_cast<unsigned>(c));
    } else {
      append_utf8(text_, c);
    }
  }
  text_ += '"';
  return *this;
}

}  // namespace parity
