#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
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

/// The header, checked: length (at most 100 MB and inside the file), JSON, no duplicate names, every entry
/// complete, offsets that tile the data without overlap, hole or rest, size = product(shape) * size(dtype)
/// for every dtype whose size is known. `__metadata__` is checked for form and left out. Entries come in the
/// order of their offsets. Format: the safetensors README ("Format").
Result<std::vector<SafetensorsEntry>> parse_safetensors_header(std::span<const std::byte> bytes,
                                                               const std::string& name);
/// The header's JSON text alone, for a file with `data_size` bytes after it.
Result<std::vector<SafetensorsEntry>> parse_safetensors_json(std::string_view json, std::uint64_t data_size,
                                                             const std::string& name);
/// The header's length from the first 8 bytes of a file of `file_size` bytes.
Result<std::uint64_t> parse_safetensors_length(std::span<const std::byte> first_bytes,
                                               std::uint64_t file_size, const std::string& name);
/// Bits of one element of a dtype by the file's name for it; nothing for a name that is not known.
std::optional<std::uint64_t> safetensors_bits(std::string_view dtype);

/// One tensor (F64, F32, F16, BF16, I32). An unknown name lists the nearest names the file has.
Result<Tensor> parse_safetensors(std::span<const std::byte> bytes, const std::string& name,
                                 const std::string& tensor);
/// The same from a file, of which only the header and the tensor's own bytes are read.
Result<Tensor> read_safetensors(const std::filesystem::path& file, const std::string& tensor);
/// Writes the tensors row-major, in the order of their names; the file appears whole or not at all.
Result<void> write_safetensors(const std::filesystem::path& file,
                               const std::map<std::string, Tensor>& tensors);

/// "weights.safetensors:layer.weight", "weights.safetensors" if it holds exactly one tensor, "x.npy", or
/// "x.npy:bf16" (16-bit words read as bf16).
Result<Tensor> read_tensor(const std::string& reference);

}  // namespace parity
