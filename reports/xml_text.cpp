#include "reports/xml_text.hpp"

#include "reports/utf8.hpp"

namespace parity {

std::string xml_text(std::string_view text) {
  std::string out;
  for (const char32_t c : decode_utf8(text)) {
    const bool allowed = c >= 0x20 && c != 0xfffe && c != 0xffff;
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&apos;";
        break;
      case '\n':
        out += "&#10;";
        break;
      case '\t':
        out += "&#9;";
        break;
      case '\r':
        out += "&#13;";
        break;
      default:
        append_utf8(out, allowed ? c : U'\ufffd');
    }
  }
  return out;
}

}  // namespace parity
