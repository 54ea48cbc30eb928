#pragma once
#include <filesystem>
#include <span>
#include <string>

#include "harness/tensor/tensor.hpp"

namespace parity {

/// Reads a NumPy .npy file, versions 1 to 3: '<f8' '<f4' '<f2' '<i4' and, when `as_bf16` is set, 16-bit words
/// as bf16: '<u2', '|V2' or '<V2' (what NumPy writes for the bfloat16 of ml_dtypes). Fortran order is turned
/// into row-major. The data must end where the file ends. Every error names the file and the field. Format:
/// NumPy Enhancement Proposal 1 and numpy.lib.format.
Result<Tensor> read_npy(const std::filesystem::path& file, bool as_bf16 = false);
/// The same from memory; `name` stands for the file in messages.
Result<Tensor> parse_npy(std::span<const std::byte> bytes, const std::string& name, bool as_bf16 = false);
/// Writes version 1.0, row-major; bf16 is written as '|V2'. The file appears whole or not at all.
Result<void> write_npy(const std::filesystem::path& file, const Tensor& tensor);

}  // namespace parity
