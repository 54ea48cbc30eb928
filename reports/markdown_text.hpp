#pragma once
#include <string>
#include <string_view>

namespace parity {

/// Text for a table cell or a line of Markdown: what would be read as markup is escaped, line ends are
/// spaces.
std::string markdown_text(std::string_view text);

}  // namespace parity
