#include "harness/bisect/tensor_patterns.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "harness/tensor/poison.hpp"

namespace parity {
namespace {

constexpr std::int64_t tile = 16;

struct Lines {
  std::int64_t rows = 0, cols = 0;
};
Lines lines_of(const Tensor& tensor) {
  const Shape& shape = tensor.shape();
  if (shape.size() < 2 || tensor.elements() == 0) return {};
  return {tensor.elements() / shape.back(), shape.back()};
}

bool one_number(const Tensor& tensor) {
  for (std::int64_t i = 1; i < tensor.elements(); ++i)
    if (tensor.bits(i) != tensor.bits(0)) return false;
  return true;
}

bool constant_tile(const Tensor& tensor, const Lines& lines, std::int64_t row, std::int64_t col) {
  const std::uint64_t first = tensor.bits(row * lines.cols + col);
  for (std::int64_t r = row; r < row + tile; ++r)
    for (std::int64_t c = col; c < col + tile; ++c)
      if (tensor.bits(r * lines.cols + c) != first) return false;
  return true;
}

bool equal_rows(const Tensor& tensor, const Lines& lines, std::int64_t row) {
  for (std::int64_t c = 0; c < lines.cols; ++c)
    if (tensor.bits(row * lines.cols + c) != tensor.bits((row + 1) * lines.cols + c)) return false;
  return true;
}

}  // namespace

std::vector<std::string> suspicious_patterns(const Tensor& tensor) {
  std::vector<std::string> found;
  if (tensor.elements() == 0) return found;
  std::int64_t unwritten = 0, guard = 0;
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    unwritten += tensor.bits(i) == poison_bits(tensor.dtype(), Poison::unwritten);
    guard += tensor.bits(i) == poison_bits(tensor.dtype(), Poison::guard);
  }
  if (unwritten > 0)
    found.push_back(fmt::format("{} elements hold the poison of what was never written", unwritten));
  if (guard > 0)
    found.push_back(fmt::format("{} elements hold the poison of guard zones: a read outside", guard));
  if (tensor.elements() > 1 && one_number(tensor)) {
    found.push_back(tensor.value(0) == 0 ? std::string("all zero")
                                         : fmt::format("every element is {:.6g}", tensor.value(0)));
    return found;
  }
  const Lines lines = lines_of(tensor);
  std::int64_t tiles = 0, first_row = 0, first_col = 0;
  for (std::int64_t r = 0; r + tile <= lines.rows; r += tile)
    for (std::int64_t c = 0; c + tile <= lines.cols; c += tile)
      if (constant_tile(tensor, lines, r, c) && ++tiles == 1) first_row = r, first_col = c;
  if (tiles > 0)
    found.push_back(fmt::format("{} tile{} of 16x16 hold one number, the first at ({}, {}): {:.6g}", tiles,
                                tiles == 1 ? "" : "s", first_row, first_col,
                                tensor.value(first_row * lines.cols + first_col)));
  std::int64_t repeated = 0, first = 0;
  for (std::int64_t r = 0; lines.cols > 1 && r + 1 < lines.rows; ++r)
    if (equal_rows(tensor, lines, r) && ++repeated == 1) first = r;
  if (repeated > 0)
    found.push_back(fmt::format("{} row{} the row before, the first {}", repeated,
                                repeated == 1 ? " repeats" : "s repeat", first + 1));
  return found;
}

std::string CopyFinder::copy_of(const std::string& name, const Tensor& tensor, const TensorScan& scan) {
  if (tensor.elements() < 2 || one_number(tensor)) return "";
  const auto hash = content_hash(tensor);
  for (const Seen& s : seen_)
    if (s.dtype == tensor.dtype() && s.shape == tensor.shape() && s.scan == scan && s.content == hash)
      return s.name;
  seen_.push_back({name, tensor.dtype(), tensor.shape(), scan, hash});
  return "";
}

}  // namespace parity
