#pragma once
// The scan of a device against that of the host, for the tests of every backend.
#include <fmt/format.h>

#include <limits>
#include <string>

#include "harness/ladder/execution.hpp"
#include "harness/tensor/fill.hpp"
#include "harness/tensor/poison.hpp"
#include "harness/tensor/tensor_scan.hpp"

namespace parity {

/// The words of one tensor, or the error that kept the device from making them.
inline Result<std::array<std::int32_t, scan_words>> device_scan(Device& device, const Tensor& x,
                                                                const std::string& path) {
  Program program;
  if (x.dtype() == DType::i32) program.accumulate = DType::i32;
  program.tensors.push_back({"x", x.dtype(), x.shape(), x.strides(), TensorSpec::Role::input});
  program.tensors.push_back({"s", DType::i32, {scan_words}, {1}, TensorSpec::Role::output});
  program.calls.push_back({"trace_scan", {}, {0}, {1}});
  auto execution = Execution::load(device, program, {path}, {{0, x}});
  if (!execution) return tl::unexpected(execution.error());
  const auto run = execution->run();
  if (!run) return tl::unexpected(run.error());
  std::array<std::int32_t, scan_words> words{};
  for (std::int64_t i = 0; i < scan_words; ++i)
    words[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(run->tensors.at(1).value(i));
  return words;
}

/// What is wrong with the device's scans of a tensor with pads that holds every kind of element a scan tells
/// apart, and of one that holds subnormals alone (of integers: of every size); empty: nothing.
inline std::string scan_mismatch(Device& device, DType dtype, const std::string& path) {
  const Shape shape{3, 131};
  Tensor x = Tensor::create(dtype, shape, leading_strides(shape, 133)).value();
  poison_pads(x, Poison::guard);
  std::string wrong;
  const auto compare = [&](const char* what) {
    const auto words = device_scan(device, x, path);
    if (!words)
      wrong += fmt::format("{} {}: {}; ", name_of(dtype), what, words.error().message);
    else if (*words != to_words(scan_tensor(x)))
      wrong += fmt::format("{} {}: other words than the host's; ", name_of(dtype), what);
  };
  if (!is_float(dtype)) {
    for (std::int64_t i = 0; i < x.elements(); ++i)
      x.set_bits(i, static_cast<std::uint32_t>((i + 1) * 0x9e3779b1) >> i % 32);
    compare("integers");
    x.set_bits(300, poison_bits(dtype, Poison::unwritten));
    compare("poison");
    for (const std::uint32_t value :
         {0x80000000U, 0x7fffffffU, 0x01ffffffU, 0xfeffffffU, 1U, 0xffffffffU, 0U}) {
      for (std::int64_t i = 0; i < x.elements(); ++i) x.set_bits(i, i == 77 ? value : 0);
      compare("one integer among zeros");
    }
    return wrong;
  }
  fill_tensor(x, {.fill = Fill::normal});
  compare("normal numbers");
  x.set_value(200, -std::numeric_limits<double>::infinity());
  x.set_value(140, std::numeric_limits<double>::quiet_NaN());
  x.set_bits(300, poison_bits(dtype, Poison::unwritten));
  x.set_bits(7, 1);  // the least subnormal
  compare("NaN, Inf and poison");
  for (std::int64_t i = 0; i < x.elements(); ++i) x.set_bits(i, static_cast<std::uint64_t>(i % 5));
  compare("subnormals");
  return wrong;
}

}  // namespace parity
