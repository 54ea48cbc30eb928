#pragma once
#include <string>
#include <string_view>

namespace parity {

/// Text for an attribute or an element of XML 1.0: markup is escaped, so are line ends and tabs; what XML
/// does not allow, bytes that are no UTF-8 among them, becomes U+FFFD.
std::string xml_text(std::string_view text);

}  // namespace parity
