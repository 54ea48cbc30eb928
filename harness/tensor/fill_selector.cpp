#include "harness/tensor/fill_source.hpp"

namespace parity::fills {
namespace {

/// Keeps the permutation of the selector apart from the values of the same seed.
constexpr std::uint64_t selector_key = 0x5e1ec7045e1ec704U;

}  // namespace

void fill_selector(Tensor& tensor, const FillRequest& request, const Source& source) {
  if (request.role == FillRole::addend) return generate(tensor, [](std::int64_t) { return 0.0; });
  if (request.role == FillRole::left) {
    return generate_normal_range(tensor, [&](std::int64_t i) { return source.normal(i); });
  }
  // An output column copies one reduction position: a fresh permutation of the K positions for every K
  // columns of a matrix, so that every position is used once N >= K. The columns are the last axis but the
  // reduction's.
  const Axis& axis = source.axis();
  const Shape& shape = tensor.shape();
  const auto length = static_cast<std::uint64_t>(axis.length);
  const bool reduces_last = request.reduction_axis + 1 == static_cast<int>(shape.size());
  const std::int64_t last_free = !reduces_last ? axis.inner : shape.size() > 1 ? shape[shape.size() - 2] : 1;
  const auto columns = static_cast<std::uint64_t>(std::max<std::int64_t>(1, last_free));
  const std::uint64_t key = request.seed ^ selector_key ^ (static_cast<std::uint64_t>(request.stream) << 32);
  std::vector<std::int64_t> chosen(
      axis.length == 0 ? 0 : static_cast<std::size_t>(tensor.elements() / axis.length));
  for (std::size_t line = 0; line < chosen.size(); ++line) {
    const std::uint64_t column = line % columns;
    const std::uint64_t tweak = line / columns * (columns / length + 1) + column / length;
    chosen[line] = static_cast<std::int64_t>(permute(column % length, length, key, tweak));
  }
  generate(tensor, [&](std::int64_t i) {
    return axis.k(i) == chosen[static_cast<std::size_t>(axis.line(i))] ? 1.0 : 0.0;
  });
}

}  // namespace parity::fills
