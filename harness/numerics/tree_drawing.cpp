#include "harness/numerics/tree_drawing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/numerics/tree_description.hpp"

namespace parity {
namespace {

using Kind = TreePart::Kind;

// Light or dark as the viewer prefers; class names begin with tree-, so that the file may stand inside a
// page.
constexpr const char* tree_style = R"(<style>
.tree-ground{fill:#ffffff}.tree-text{fill:#1f2328}
.tree-line{fill:none;stroke:#334455;stroke-width:1}.tree-fused{fill:none;stroke:#bb4400;stroke-width:1.4}
@media (prefers-color-scheme:dark){
.tree-ground{fill:#0d1117}.tree-text{fill:#f0f6fc}.tree-line{stroke:#9fb0c3}.tree-fused{stroke:#ff8c42}}
</style>
)";

class TextDrawing {
 public:
  TextDrawing(const SummationTree& tree, int most_lines)
      : tree_(tree), shapes_(subtree_shapes(tree)), most_lines_(most_lines) {}

  std::string draw() {
    node("", "", tree_.root(), "");
    if (dropped_ > 0) text_ += fmt::format("... {} more lines\n", dropped_);
    return text_;
  }

 private:
  void line(const std::string& text) {
    if (lines_++ < most_lines_)
      text_ += text + "\n";
    else
      ++dropped_;
  }

  std::string places(std::int32_t n) const { return terms_text(tree_.terms_under(n)); }

  /// "[0..31] [32..63] .. [224..255]": where parts of one shape lie.
  std::string places(const std::vector<std::int32_t>& parts) const {
    std::string text;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (parts.size() > 4 && i == 2) text += " ..", i = parts.size() - 1;
      text += fmt::format("{}[{}]", text.empty() ? "" : " ", places(parts[i]));
    }
    return text;
  }

  /// `first` is put in front of the node's own line, `rest` in front of the lines below it.
  void node(const std::string& first, const std::string& rest, std::int32_t n, const std::string& label) {
    const std::int64_t terms = tree_.node(n).terms;
    const TreePart part = take_apart(tree_, shapes_, n);
    switch (part.kind) {
      case Kind::term:
        return line(fmt::format("{}{}term {}", first, label, tree_.node(n).term));
      case Kind::terms:
        return line(fmt::format("{}{}{} {}", first, label,
                                part.fan_in == 2 ? "terms" : fmt::format("{} terms fused:", terms),
                                places(n)));
      case Kind::balanced: {
        const std::int32_t one = part.parts.front();
        const std::string how =
            part.fan_in == 2 ? "pairwise over" : fmt::format("fan-in {} over", part.fan_in);
        if (tree_.node(one).leaf())
          return line(fmt::format("{}{}{} {} terms: {}", first, label, how, part.parts.size(), places(n)));
        line(fmt::format("{}{}{} terms: {} {} parts {}", first, label, terms, how, part.parts.size(),
                         places(part.parts)));
        return node(rest + "`-- ", rest + "    ", one, fmt::format("each of {}: ", part.parts.size()));
      }
      case Kind::chain:
        return chain(first, rest, n, label, part);
    }
  }

  void below(const std::string& rest, bool last, std::int32_t n, const std::string& label) {
    node(rest + (last ? "`-- " : "|-- "), rest + (last ? "    " : "|   "), n, label);
  }

  void chain(const std::string& first, const std::string& rest, std::int32_t n, const std::string& label,
             const TreePart& part) {
    line(fmt::format("{}{}{} terms, in sequence:", first, label, tree_.node(n).terms));
    below(rest, false, part.base, "");
    for (std::size_t r = 0; r < part.runs.size(); ++r) {
      const TreePart::Run& run = part.runs[r];
      const bool last = r + 1 == part.runs.size();
      std::vector<std::int32_t> all;
      for (const auto& elements : run.elements) all.insert(all.end(), elements.begin(), elements.end());
      const bool leaves = std::ranges::all_of(all, [&](std::int32_t e) { return tree_.node(e).leaf(); });
      const std::size_t joined = run.elements.front().size();
      const std::string count = run.steps.size() == 1 ? "+ " : fmt::format("+ {} x ", run.steps.size());
      if (leaves) {
        std::vector<std::int64_t> terms;
        for (const std::int32_t e : all) terms.push_back(tree_.node(e).term);
        const bool down = terms.size() > 1 && std::ranges::is_sorted(terms, std::greater<>{});
        std::ranges::sort(terms);
        const std::string what = joined == 1 ? "a term" : fmt::format("{} terms fused with the sum", joined);
        line(fmt::format("{}{}{}{}: {}{}", rest, last ? "`-- " : "|-- ", count, what, terms_text(terms),
                         down ? ", downwards" : ""));
      } else if (joined == 1) {
        below(rest, last, all.front(),
              run.steps.size() == 1 ? count : fmt::format("{}{}, the first: ", count, places(all)));
      } else {
        line(fmt::format("{}{}{}{} sums fused with the sum", rest, last ? "`-- " : "|-- ", count, joined));
        for (std::size_t i = 0; i < joined; ++i)
          below(rest + (last ? "    " : "|   "), i + 1 == joined, run.elements.front()[i], "");
      }
    }
  }

  const SummationTree& tree_;
  std::vector<std::int32_t> shapes_;
  int most_lines_, lines_ = 0;
  std::int64_t dropped_ = 0;
  std::string text_;
};

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else
      out += c;
  }
  return out;
}

}  // namespace

std::string draw_text(const SummationTree& tree, int most_lines) {
  if (tree.size() == 0) return "nothing to add\n";
  return TextDrawing(tree, most_lines).draw();
}

std::string draw_svg(const SummationTree& tree, const std::string& title) {
  const double terms = static_cast<double>(std::max<std::int64_t>(tree.terms(), 1));
  const double margin = 24, top = 44, height = 360;
  const double width = std::clamp(terms * 12, 480.0, 4096.0);
  const double step = width / terms;
  const double levels = std::max(std::log2(terms), 1.0);
  std::vector<double> x(static_cast<std::size_t>(tree.size())), y(x.size());
  std::string lines, fused, labels;
  double next = margin + step / 2;
  for (std::int32_t i = 0; i < tree.size(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    const SummationTree::Node& node = tree.node(i);
    y[at] = top + height - height * std::log2(static_cast<double>(node.terms)) / levels;
    if (node.leaf()) {
      x[at] = next;
      next += step;
      if (step >= 10)
        labels +=
            fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", x[at], top + height + 14, node.term);
      continue;
    }
    double low = 1e9, high = 0, sum = 0;
    std::string& path = node.children > 2 ? fused : lines;
    for (const std::int32_t child : tree.children(i)) {
      const auto c = static_cast<std::size_t>(child);
      low = std::min(low, x[c]), high = std::max(high, x[c]), sum += x[c];
      path += fmt::format("M{:.1f} {:.1f}V{:.1f}", x[c], y[c], y[at]);
    }
    path += fmt::format("M{:.1f} {:.1f}H{:.1f}", low, y[at], high);
    x[at] = sum / node.children;
  }
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {:.0f} {:.0f}\" width=\"{:.0f}\" "
      "height=\"{:.0f}\" "
      "role=\"img\">\n<title>{}</title>\n{}<rect class=\"tree-ground\" width=\"100%\" height=\"100%\"/>\n"
      "<text class=\"tree-text\" x=\"{:.0f}\" y=\"24\" font-family=\"sans-serif\" "
      "font-size=\"14\">{}</text>\n"
      "<path class=\"tree-line\" d=\"{}\"/>\n<path class=\"tree-fused\" d=\"{}\"/>\n"
      "<g class=\"tree-text\" font-family=\"sans-serif\" font-size=\"8\" "
      "text-anchor=\"middle\">\n{}</g>\n</svg>\n",
      width + 2 * margin, top + height + 2 * margin, width + 2 * margin, top + height + 2 * margin,
      escaped(title), tree_style, margin, escaped(title), lines, fused, labels);
}

}  // namespace parity
