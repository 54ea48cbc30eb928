#pragma once
#include <algorithm>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

namespace parity {

/// Levenshtein distance.
inline std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t substitute = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({row[j] + 1, row[j + 1] + 1, substitute});
    }
  }
  return row.back();
}

/// "; did you mean 'tiled_f32'?" when a known name is close to `word`, else "".
inline std::string suggestion(std::string_view word, const std::vector<std::string_view>& known) {
  const auto best =
      std::ranges::min_element(known, {}, [&](std::string_view name) { return edit_distance(word, name); });
  if (best == known.end() || edit_distance(word, *best) > (word.size() + 1) / 3) return {};
  return "; did you mean '" + std::string(*best) + "'?";
}

}  // namespace parity
