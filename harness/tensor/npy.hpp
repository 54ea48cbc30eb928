#pragma once
#include <filesystem>
#include <span>

#include "harness/tensor/tensor.hpp"

namespace parity {

/// Reads a NumPy .npy file, versions 1 to 3: '<f8' '<f4' '<f2' '<i4' and, for bf16, '<u2' or '|V2' when
/// `as_bf16` is set. Fortran order is turned into row-major. Every error names the file and the field.
Result<Tensor> read_npy(const std::filesystem::path& file, bool as_bf16 = false);
/// The same from memory; `name` stands for the file in messages.
Result<Tensor> parse_npy(std::span<const std::byte> bytes, const std::string& name, bool as_bf16 = false);
/// Writes version 1.0, row-major; bf16 is written as '|V2'. The file appears whole or not at all.
Result<void> write_npy(const std::filesystem::path& file, const Tensor& tensor);

}  // namespace parity
