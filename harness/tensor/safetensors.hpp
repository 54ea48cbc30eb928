#pragma once
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "harness/tensor/tensor.hpp"

namespace parity {

/// One entry of a .safetensors header. `dtype` is the file's own name ("F32", "BF16", "F8_E4M3", ...).
struct SafetensorsEntry {
  std::string name;
  std::string dtype;
  Shape shape;
  std::uint64_t begin = 0, end = 0;  ///< bytes, relative to the end of the header
};

/// The header, checked: length, JSON, offsets inside the file, no overlap, size = product(shape) *
/// size(dtype).
Result<std::vector<SafetensorsEntry>> parse_safetensors_header(std::span<const std::byte> bytes,
                                                               const std::string& name);
/// One tensor (F64, F32, F16, BF16, I32). An unknown name lists the nearest names the file has.
Result<Tensor> parse_safetensors(std::span<const std::byte> bytes, const std::string& name,
                                 const std::string& tensor);
Result<Tensor> read_safetensors(const std::filesystem::path& file, const std::string& tensor);
/// Writes contiguous tensors; the file appears whole or not at all.
Result<void> write_safetensors(const std::filesystem::path& file,
                               const std::map<std::string, Tensor>& tensors);

/// "weights.safetensors:layer.weight", "x.npy" or "x.npy:bf16" (16-bit words read as bf16).
Result<Tensor> read_tensor(const std::string& reference);

}  // namespace parity
