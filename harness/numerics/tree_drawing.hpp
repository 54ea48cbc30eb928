#pragma once
#include <string>

#include "harness/numerics/summation_tree.hpp"

namespace parity {

/// A drawing in lines of text, the root first; what repeats is drawn once and counted. At most `most_lines`
/// lines, then it says what was left out.
std::string draw_text(const SummationTree& tree, int most_lines = 60);

/// A drawing as an SVG document: terms along the bottom, additions above them, as high as they have terms
/// (logarithmic); fused additions stand out. `title` is escaped.
std::string draw_svg(const SummationTree& tree, const std::string& title);

}  // namespace parity
