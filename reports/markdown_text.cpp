#include "reports/markdown_text.hpp"

namespace parity {

std::string markdown_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\n' || c == '\r') {
      out += ' ';
      continue;
    }
    if (c == '|' || c == '*' || c == '_' || c == '`' || c == '<' || c == '\\' || c == '[') out += '\\';
    out += c;
  }
  return out;
}

}  // namespace parity
