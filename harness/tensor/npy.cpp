#include "harness/tensor/npy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <optional>

#include "harness/tensor/convert.hpp"
#include "harness/tensor/file_io.hpp"
#include "harness/tensor/npy_header.hpp"

namespace parity {
namespace {

Result<DType> dtype_of(const std::string& descr, bool as_bf16, const std::string& name) {
  const bool words = descr == "<u2" || descr == "|V2" || descr == "<V2";
  if (as_bf16) {
    if (words) return DType::bf16;
    return bad_input(
        fmt::format("{}: dtype '{}' cannot be read as bf16; that takes 16-bit words ('<u2', '|V2' or '<V2')",
                    name, printable(descr)));
  }
  if (descr == "<f8") return DType::f64;
  if (descr == "<f4") return DType::f32;
  if (descr == "<f2") return DType::f16;
  if (descr == "<i4") return DType::i32;
  if (descr == "|i1" || descr == "<i1") return DType::i8;
  if (words) {
    return bad_input(fmt::format("{}: dtype '{}' holds 16-bit words; if they are bf16, say so by '{}:bf16'",
                                 name, printable(descr), name));
  }
  if (descr.starts_with('>')) {
    return bad_input(fmt::format("{}: dtype '{}' is big-endian; save it as '<{}'", name, printable(descr),
                                 printable(descr.substr(1))));
  }
  return bad_input(fmt::format(
      "{}: dtype '{}' is not supported; '<f8', '<f4', '<f2', '<i4', '|i1' are, and bf16 as '<u2' or "
      "'|V2' by '{}:bf16'",
      name, printable(descr), name));
}

/// The tensor a header asks for, its bytes still to be filled; column-major for Fortran order. Allocates only
/// after the data is known to be there.
Result<Tensor> allocate(const NpyHeader& header, std::uint64_t data_size, const std::string& name,
                        bool as_bf16) {
  const auto dtype = dtype_of(header.descr, as_bf16, name);
  if (!dtype) return tl::unexpected(dtype.error());
  const auto count = element_count(header.shape);
  if (!count) return bad_input(fmt::format("{}: {}", name, count.error().message));
  const std::uint64_t element_size = size_of(*dtype);
  const auto elements = static_cast<std::uint64_t>(*count);
  if (elements > data_size / element_size) {
    return bad_input(fmt::format(
        "{}: shape {} of '{}' needs {} elements of {} bytes, but only {} bytes follow the "
        "header; is it truncated?",
        name, to_string(header.shape), printable(header.descr), elements, element_size, data_size));
  }
  if (elements * element_size != data_size) {
    return bad_input(fmt::format("{}: {} bytes follow the data of shape {}; the file should end there", name,
                                 data_size - elements * element_size, to_string(header.shape)));
  }
  Strides strides;
  if (header.fortran_order) {
    std::int64_t stride = 1;
    for (const std::int64_t size : header.shape) {
      strides.push_back(stride);
      stride *= std::max<std::int64_t>(1, size);
    }
  }
  auto tensor = Tensor::create(*dtype, header.shape, strides);
  if (!tensor) return bad_input(fmt::format("{}: {}", name, tensor.error().message));
  return tensor;
}

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Row-major, whatever the order the file had.
Result<Tensor> row_major(Result<Tensor> tensor) {
  if (tensor->contiguous()) return tensor;
  return convert(*tensor, tensor->dtype());
}

std::string descr_of(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return "<f8";
    case DType::f32:
      return "<f4";
    case DType::f16:
      return "<f2";
    case DType::i32:
      return "<i4";
    case DType::i8:
      return "|i1";
    case DType::bf16:
      return "|V2";
  }
  return "";
}

}  // namespace

Result<Tensor> parse_npy(std::span<const std::byte> bytes, const std::string& name, bool as_bf16) {
  const auto preamble =
      parse_npy_preamble(bytes.first(std::min(bytes.size(), npy_preamble_size)), bytes.size(), name);
  if (!preamble) return tl::unexpected(preamble.error());
  const auto header = parse_npy_header(as_text(bytes.subspan(preamble->begin, preamble->length)), name);
  if (!header) return tl::unexpected(header.error());
  const auto data = bytes.subspan(preamble->begin + preamble->length);
  auto tensor = allocate(*header, data.size(), name, as_bf16);
  if (!tensor) return tensor;
  if (!data.empty()) std::memcpy(tensor->bytes().data(), data.data(), data.size());
  return row_major(std::move(tensor));
}

Result<Tensor> read_npy(const std::filesystem::path& file, bool as_bf16) {
  const std::string name = file.string();
  const auto reader = FileReader::open(file);
  if (!reader) return tl::unexpected(reader.error());
  std::array<std::byte, npy_preamble_size> first{};
  const auto first_bytes = std::span(first).first(std::min<std::size_t>(reader->size(), first.size()));
  if (const auto read = reader->read(0, first_bytes); !read) return tl::unexpected(read.error());
  const auto preamble = parse_npy_preamble(first_bytes, reader->size(), name);
  if (!preamble) return tl::unexpected(preamble.error());
  std::vector<std::byte> text(preamble->length);
  if (const auto read = reader->read(preamble->begin, text); !read) return tl::unexpected(read.error());
  const auto header = parse_npy_header(as_text(text), name);
  if (!header) return tl::unexpected(header.error());
  const std::uint64_t data_begin = preamble->begin + preamble->length;
  auto tensor = allocate(*header, reader->size() - data_begin, name, as_bf16);
  if (!tensor) return tensor;
  if (const auto read = reader->read(data_begin, tensor->bytes()); !read) return tl::unexpected(read.error());
  return row_major(std::move(tensor));
}

Result<void> write_npy(const std::filesystem::path& file, const Tensor& tensor) {
  if (!tensor.contiguous()) {
    const auto dense = convert(tensor, tensor.dtype());
    if (!dense) return tl::unexpected(dense.error());
    return write_npy(file, *dense);
  }
  if (tensor.shape().size() > 32) {
    return bad_input(
        fmt::format("{}: {} dimensions; NumPy takes at most 32", file.string(), tensor.shape().size()));
  }
  std::string shape;
  for (const std::int64_t size : tensor.shape()) shape += fmt::format("{}, ", size);
  if (tensor.shape().size() > 1) shape.resize(shape.size() - 2);
  if (tensor.shape().size() == 1) shape.resize(shape.size() - 1);
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}",
                                   descr_of(tensor.dtype()), shape);
  // The data starts at a multiple of 64, after a newline.
  header.append(63 - (10 + header.size()) % 64, ' ');
  header += '\n';
  std::string preamble("\x93NUMPY\x01\x00", 8);
  preamble += static_cast<char>(header.size() & 0xff);
  preamble += static_cast<char>(header.size() >> 8);
  const std::string start = preamble + header;
  const std::array<std::span<const std::byte>, 2> parts = {std::as_bytes(std::span(start)), tensor.bytes()};
  return write_file(file, parts);
}

}  // namespace parity
