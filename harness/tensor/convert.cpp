#include "harness/tensor/convert.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "harness/tensor/convert_kernels.hpp"
#include "harness/tensor/layout.hpp"

namespace parity {
namespace {

/// |result| <= |value|: the nearest fp32 number, stepped back when it lies beyond.
float f64_to_f32_toward_zero(double value) {
  const float nearest = static_cast<float>(value);
  if (std::isnan(value) || std::fabs(static_cast<double>(nearest)) <= std::fabs(value)) return nearest;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(nearest) - 1U);
}

double to_integer(double value, Rounding rounding) {
  return rounding == Rounding::toward_zero ? std::trunc(value) : std::nearbyint(value);
}

template <class Int>
Int to_int(double value, Rounding rounding) {
  using Limits = std::numeric_limits<Int>;
  if (std::isnan(value)) return 0;
  return static_cast<Int>(
      std::clamp(to_integer(value, rounding), double{Limits::min()}, double{Limits::max()}));
}

/// Widens `count` elements at storage positions storage, storage + step, ...
template <class Out>
void widen_run(const Tensor& tensor, std::int64_t storage, std::int64_t step, std::int64_t count, Out* to) {
  const auto plain = [&](const auto* from) {
    for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<Out>(from[i * step]);
  };
  switch (tensor.dtype()) {
    case DType::f64:
      return plain(tensor.as<double>().data() + storage);
    case DType::f32:
      return plain(tensor.as<float>().data() + storage);
    case DType::i32:
      return plain(tensor.as<std::int32_t>().data() + storage);
    case DType::i8:
      return plain(tensor.as<std::int8_t>().data() + storage);
    case DType::f16: {
      const std::uint16_t* from = tensor.as<std::uint16_t>().data() + storage;
      if (step == 1) return kernels::widen_f16(from, to, count);
      for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<Out>(f16_to_f32(from[i * step]));
      return;
    }
    case DType::bf16: {
      const std::uint16_t* from = tensor.as<std::uint16_t>().data() + storage;
      if (step == 1) return kernels::widen_bf16(from, to, count);
      for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<Out>(bf16_to_f32(from[i * step]));
      return;
    }
  }
}

template <class Out>
void widen_all(const Tensor& tensor, std::span<Out> out) {
  assert(static_cast<std::int64_t>(out.size()) == tensor.elements());
  layout::for_runs_parallel(
      tensor, [&](std::int64_t logical, std::int64_t storage, std::int64_t count, std::int64_t step) {
        widen_run(tensor, storage, step, count, out.data() + logical);
      });
}

template <class T>
void encode_run(const double* from, T* to, std::int64_t step, std::int64_t count, DType dtype,
                Rounding rounding) {
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint64_t bits = encode(dtype, from[i], rounding);
    std::memcpy(to + i * step, &bits, sizeof(T));
  }
}

/// Rounds `count` values into storage positions storage, storage + step, ...
void narrow_run(const double* from, Tensor& tensor, std::int64_t storage, std::int64_t step,
                std::int64_t count, Rounding rounding) {
  const bool fast = step == 1 && rounding == Rounding::nearest_even;
  const auto integers = [&](auto* to) {
    using Int = std::remove_reference_t<decltype(*to)>;
    for (std::int64_t i = 0; i < count; ++i) to[i * step] = to_int<Int>(from[i], rounding);
  };
  switch (tensor.dtype()) {
    case DType::f64: {
      double* to = tensor.as<double>().data() + storage;
      for (std::int64_t i = 0; i < count; ++i) to[i * step] = from[i];
      return;
    }
    case DType::f32: {
      float* to = tensor.as<float>().data() + storage;
      if (!fast) return encode_run(from, to, step, count, DType::f32, rounding);
      for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<float>(from[i]);
      return;
    }
    case DType::i32:
      return integers(tensor.as<std::int32_t>().data() + storage);
    case DType::i8:
      return integers(tensor.as<std::int8_t>().data() + storage);
    case DType::f16: {
      std::uint16_t* to = tensor.as<std::uint16_t>().data() + storage;
      if (!fast) return encode_run(from, to, step, count, DType::f16, rounding);
      return kernels::narrow_f16(from, to, count);
    }
    case DType::bf16: {
      std::uint16_t* to = tensor.as<std::uint16_t>().data() + storage;
      if (!fast) return encode_run(from, to, step, count, DType::bf16, rounding);
      return kernels::narrow_bf16(from, to, count);
    }
  }
}

/// The same bits without gaps.
void copy_elements(const Tensor& from, Tensor& to) {
  const std::size_t size = size_of(from.dtype());
  layout::for_runs_parallel(
      from, [&](std::int64_t logical, std::int64_t storage, std::int64_t count, std::int64_t step) {
        const std::byte* source = from.bytes().data() + static_cast<std::size_t>(storage) * size;
        std::byte* target = to.bytes().data() + static_cast<std::size_t>(logical) * size;
        if (step == 1) {
          std::memcpy(target, source, static_cast<std::size_t>(count) * size);
          return;
        }
        for (std::int64_t i = 0; i < count; ++i) {
          std::memcpy(target + static_cast<std::size_t>(i) * size,
                      source + static_cast<std::size_t>(i * step) * size, size);
        }
      });
}

}  // namespace

std::uint16_t f32_to_f16(float value, Rounding rounding) {
  return kernels::f32_to_f16_bits(std::bit_cast<std::uint32_t>(value), rounding == Rounding::toward_zero);
}

float f16_to_f32(std::uint16_t bits) {
  return kernels::f16_bits_to_f32(bits);
}

std::uint16_t f32_to_bf16(float value, Rounding rounding) {
  return kernels::f32_to_bf16_bits(std::bit_cast<std::uint32_t>(value), rounding == Rounding::toward_zero);
}

float bf16_to_f32(std::uint16_t bits) {
  return kernels::bf16_bits_to_f32(bits);
}

double round_to(const FloatFormat& format, double value, Rounding rounding) {
  if (!std::isfinite(value) || value == 0.0 || format.precision >= 53) return value;
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const int exponent = static_cast<int>((bits >> 52) & 0x7ff) - 1023;
  double rounded = 0.0;
  if (exponent < format.min_exponent || exponent == -1023) {
    // Below the normal range the spacing is fixed.
    const int eta_exponent = format.min_exponent - format.precision + 1;
    rounded = std::ldexp(to_integer(std::ldexp(value, -eta_exponent), rounding), eta_exponent);
    return std::copysign(rounded, value);
  }
  const int dropped = 53 - format.precision;
  const std::uint64_t mask = (std::uint64_t{1} << dropped) - 1;
  // nearest_even: adding half an ulp (less one when the last kept bit is 0) carries exactly when the value
  // rounds up, into the exponent if need be.
  const std::uint64_t carry = rounding == Rounding::toward_zero ? 0 : (mask >> 1) + ((bits >> dropped) & 1);
  rounded = std::bit_cast<double>((bits + carry) & ~mask);
  if (exponent < format.max_exponent) return rounded;
  const double largest = largest_finite(format);
  if (std::fabs(rounded) <= largest) return rounded;
  return std::copysign(rounding == Rounding::toward_zero ? largest : std::numeric_limits<double>::infinity(),
                       value);
}

std::uint64_t encode(DType dtype, double value, Rounding rounding) {
  const bool truncate = rounding == Rounding::toward_zero;
  switch (dtype) {
    case DType::f64:
      return std::bit_cast<std::uint64_t>(value);
    case DType::f32:
      return std::bit_cast<std::uint32_t>(truncate ? f64_to_f32_toward_zero(value)
                                                   : static_cast<float>(value));
    case DType::i32:
      return std::bit_cast<std::uint32_t>(to_int<std::int32_t>(value, rounding));
    case DType::i8:
      return std::bit_cast<std::uint8_t>(to_int<std::int8_t>(value, rounding));
    // Two truncations are one truncation; two roundings to nearest are not one.
    case DType::f16:
      return truncate ? f32_to_f16(f64_to_f32_toward_zero(value), rounding) : kernels::f64_to_f16_bits(value);
    case DType::bf16:
      return truncate ? f32_to_bf16(f64_to_f32_toward_zero(value), rounding)
                      : kernels::f64_to_bf16_bits(value);
  }
  return 0;
}

double decode(DType dtype, std::uint64_t bits) {
  switch (dtype) {
    case DType::f64:
      return std::bit_cast<double>(bits);
    case DType::f32:
      return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
    case DType::i32:
      return static_cast<double>(std::bit_cast<std::int32_t>(static_cast<std::uint32_t>(bits)));
    case DType::i8:
      return static_cast<double>(std::bit_cast<std::int8_t>(static_cast<std::uint8_t>(bits)));
    case DType::f16:
      return static_cast<double>(f16_to_f32(static_cast<std::uint16_t>(bits)));
    case DType::bf16:
      return static_cast<double>(bf16_to_f32(static_cast<std::uint16_t>(bits)));
  }
  return 0.0;
}

void widen(const Tensor& tensor, std::span<double> out) {
  widen_all(tensor, out);
}
void widen(const Tensor& tensor, std::span<float> out) {
  widen_all(tensor, out);
}

void widen_range(const Tensor& tensor, std::int64_t begin, std::span<double> out) {
  layout::for_runs(tensor, begin, begin + static_cast<std::int64_t>(out.size()),
                   [&](std::int64_t logical, std::int64_t storage, std::int64_t count, std::int64_t step) {
                     widen_run(tensor, storage, step, count, out.data() + (logical - begin));
                   });
}

std::vector<double> to_doubles(const Tensor& tensor) {
  std::vector<double> values(static_cast<std::size_t>(tensor.elements()));
  widen(tensor, values);
  return values;
}

void narrow(std::span<const double> values, Tensor& tensor, Rounding rounding) {
  assert(static_cast<std::int64_t>(values.size()) == tensor.elements());
  layout::for_runs_parallel(
      tensor, [&](std::int64_t logical, std::int64_t storage, std::int64_t count, std::int64_t step) {
        narrow_run(values.data() + logical, tensor, storage, step, count, rounding);
      });
}

void narrow_range(std::span<const double> values, Tensor& tensor, std::int64_t begin, Rounding rounding) {
  layout::for_runs(tensor, begin, begin + static_cast<std::int64_t>(values.size()),
                   [&](std::int64_t logical, std::int64_t storage, std::int64_t count, std::int64_t step) {
                     narrow_run(values.data() + (logical - begin), tensor, storage, step, count, rounding);
                   });
}

Result<Tensor> convert(const Tensor& tensor, DType dtype) {
  auto result = Tensor::create(dtype, tensor.shape());
  if (!result) return result;
  if (dtype == tensor.dtype()) {
    copy_elements(tensor, *result);
    return result;
  }
  const std::int64_t elements = tensor.elements();
  const std::int64_t blocks = (elements + layout::block - 1) / layout::block;
  // Through fp64, which holds every dtype exactly, a block at a time: no second copy of a large tensor.
#pragma omp parallel if (blocks > 4)
  {
    std::vector<double> buffer(static_cast<std::size_t>(std::min(elements, layout::block)));
#pragma omp for schedule(static)
    for (std::int64_t b = 0; b < blocks; ++b) {
      const std::int64_t begin = b * layout::block;
      const std::int64_t end = std::min(elements, begin + layout::block);
      widen_range(tensor, begin, std::span(buffer).first(static_cast<std::size_t>(end - begin)));
      narrow_range(std::span<const double>(buffer).first(static_cast<std::size_t>(end - begin)), *result,
                   begin);
    }
  }
  return result;
}

}  // namespace parity
