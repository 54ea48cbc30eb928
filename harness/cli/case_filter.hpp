#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace parity::cli {

/// Whether `text` ("stage path case") fits every word of a filter. A word fits anywhere in the text; `*` and
/// `?` stand for any characters and any one character. No word: everything fits.
bool fits_filter(std::string_view text, const std::vector<std::string>& words);

}  // namespace parity::cli
