#pragma once
#include <span>
#include <vector>

#include "backends/cuda/arithmetic_of_device.hpp"
#include "backends/cuda/call_reader.hpp"
#include "backends/cuda/families.hpp"

namespace parity::cuda {

/// One row of a family's table: an op's kernel path, what it computes with, and how a call of it is read.
struct KernelPath {
  const char* op;
  const char* summary;
  ArithmeticModel (*model)();  ///< no accumulation: the order is unknown
  Result<PreparedCall> (*read)(CallReader&);
  const char* path = "direct_f32";
  DType input = DType::f32;
  std::size_t factors = 0;  ///< inputs of dtype `input`; the others have the store's
  std::vector<DType> stores = {DType::f32};
};

/// The paths of a table.
std::vector<Path> paths_of(const DeviceTraits& traits, std::span<const KernelPath> table);

}  // namespace parity::cuda
