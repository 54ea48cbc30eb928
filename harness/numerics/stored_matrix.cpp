#include "harness/numerics/stored_matrix.hpp"

#include <array>

#include "harness/tensor/convert_kernels.hpp"

namespace parity {
namespace {

/// `count` elements from storage position `at`, `stride` apart.
void widen_line(const Tensor& tensor, std::int64_t at, std::int64_t stride, std::int64_t count, double* out) {
  const auto each = [&](const auto* from) {
    if (stride == 1) {
      for (std::int64_t i = 0; i < count; ++i) out[i] = static_cast<double>(from[i]);
    } else {
      for (std::int64_t i = 0; i < count; ++i) out[i] = static_cast<double>(from[i * stride]);
    }
  };
  const auto halves = [&](auto widen, auto one) {
    const std::uint16_t* from = tensor.as<std::uint16_t>().data() + at;
    if (stride == 1) return widen(from, out, count);
    for (std::int64_t i = 0; i < count; ++i) out[i] = static_cast<double>(one(from[i * stride]));
  };
  switch (tensor.dtype()) {
    case DType::f64:
      return each(tensor.as<double>().data() + at);
    case DType::f32:
      return each(tensor.as<float>().data() + at);
    case DType::i32:
      return each(tensor.as<std::int32_t>().data() + at);
    case DType::i8:
      return each(tensor.as<std::int8_t>().data() + at);
    case DType::f16:
      return halves(kernels::widen_f16<double>, kernels::f16_bits_to_f32);
    case DType::bf16:
      return halves(kernels::widen_bf16<double>, kernels::bf16_bits_to_f32);
  }
}

}  // namespace

StoredMatrix stored_matrix(const Tensor& tensor, std::int64_t batch, bool transpose) {
  const Shape& shape = tensor.shape();
  const Strides& strides = tensor.strides();
  const std::size_t rank = shape.size();
  StoredMatrix m;
  m.tensor = &tensor;
  m.rows = rank >= 2 ? shape[rank - 2] : 1;
  m.cols = rank >= 1 ? shape[rank - 1] : 1;
  m.row_stride = rank >= 2 ? strides[rank - 2] : 0;
  m.col_stride = rank >= 1 ? strides[rank - 1] : 1;
  if (rank >= 3 && shape[rank - 3] > 1) m.offset = batch * strides[rank - 3];
  return transpose ? m.transposed() : m;
}

void read_tile(const StoredMatrix& m, std::int64_t row, std::int64_t col, std::int64_t rows,
               std::int64_t cols, double* out, std::int64_t leading) {
  const std::int64_t at = m.offset + row * m.row_stride + col * m.col_stride;
  if (m.row_stride != 1 || m.col_stride == 1) {
    for (std::int64_t i = 0; i < rows; ++i)
      widen_line(*m.tensor, at + i * m.row_stride, m.col_stride, cols, out + i * leading);
    return;
  }
  // Columns lie one after the other: they are read as such, and turned in pieces that stay in the L1 cache.
  constexpr std::int64_t piece = 64;
  std::array<double, piece> line;
  for (std::int64_t i = 0; i < rows; i += piece) {
    const std::int64_t count = rows - i < piece ? rows - i : piece;
    for (std::int64_t j = 0; j < cols; ++j) {
      widen_line(*m.tensor, at + i + j * m.col_stride, 1, count, line.data());
      for (std::int64_t k = 0; k < count; ++k) out[(i + k) * leading + j] = line[static_cast<std::size_t>(k)];
    }
  }
}

}  // namespace parity
