#pragma once
#include <string_view>

namespace parity {

/// cases/text/verification.txt, embedded when the project is built: ASCII, frozen for ever, for its bytes are
/// part of every training_step case.
std::string_view training_text();

}  // namespace parity
