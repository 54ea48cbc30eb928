#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "harness/ladder/record.hpp"

namespace parity {

/// One order experiment on one op and path, over all cases that made it.
struct OrderRow {
  std::string op, path, what, along;
  std::int64_t cases = 0, same_bits = 0;
  bool plain = false;    ///< among them cases with normal or uniform fill: the sizes are theirs
  double max_ulp = 0;    ///< largest range of an element
  double max_sigma = 0;  ///< largest rms deviation, in units of the predicted one; 0: nothing predicted
};

/// What orders of summation do on one device.
struct OrderFigure {
  std::string device;  ///< "vulkan:0 NVIDIA H200"
  std::string file;    ///< "order_vulkan-0.svg"
  std::string svg;
  std::vector<OrderRow> rows;  ///< by op, path and experiment
};

/// A figure for each device whose records hold order experiments, in order of appearance.
std::vector<OrderFigure> order_figures(std::span<const Record> records);

/// The figures as a section of Markdown, empty without any. `images`: whether the files lie beside the text.
std::string order_markdown(std::span<const OrderFigure> figures, bool images);

/// The rows as dots over two axes: range in ULP, and deviation in units of the predicted one.
std::string order_svg(const std::string& title, std::span<const OrderRow> rows);

}  // namespace parity
