#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "harness/tensor/tensor.hpp"

namespace parity {

/// What a .npy header says.
struct NpyHeader {
  std::string descr;  ///< NumPy's dtype text, "<f4"
  bool fortran_order = false;
  Shape shape;
};

/// Where the header's text lies: [begin, begin + length) of the file.
struct NpyPreamble {
  std::uint64_t begin = 0;
  std::uint64_t length = 0;
};

/// The longest preamble: magic, version, length.
inline constexpr std::size_t npy_preamble_size = 12;
/// No header of a plain dtype comes near; a longer one is refused before memory is spent on it.
inline constexpr std::uint64_t npy_header_limit = 1U << 20;

/// Magic, version (1 to 3) and header length from the first bytes of a file of `file_size` bytes.
Result<NpyPreamble> parse_npy_preamble(std::span<const std::byte> first_bytes, std::uint64_t file_size,
                                       const std::string& name);
/// The header's text: a Python dictionary with exactly 'descr', 'fortran_order' and 'shape', read without
/// evaluation.
Result<NpyHeader> parse_npy_header(std::string_view text, const std::string& name);

}  // namespace parity
