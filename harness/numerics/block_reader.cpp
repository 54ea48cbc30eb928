#include "harness/numerics/block_reader.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace parity {
namespace {

/// fp16 bits to double without branches: the exponent field is moved and rebased by a multiplication;
/// infinities and NaN (field 31) get the full exponent, their payload stays in the upper significand bits.
inline double widen_f16(std::uint16_t h) {
  const std::uint64_t magnitude = h & 0x7fffu;
  const double rebased = std::bit_cast<double>(magnitude << 42) * 0x1p1008;
  const std::uint64_t special = magnitude >= 0x7c00u ? 0x7ff0000000000000ULL : 0;
  const std::uint64_t sign = static_cast<std::uint64_t>(h & 0x8000u) << 48;
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(rebased) | special | sign);
}

inline double widen_bf16(std::uint16_t h) {
  return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(h) << 16));
}

void copy_or_zero(double* out, const std::vector<double>& from, std::int64_t index, std::size_t count,
                  std::size_t padded) {
  std::size_t done = 0;
  if (!from.empty()) {
    std::memcpy(out, from.data() + index, count * sizeof(double));
    done = count;
  }
  std::fill(out + done, out + padded, 0.0);
}

bool any_nonzero(const double* from, std::size_t count) {
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < count; ++i) bits |= std::bit_cast<std::uint64_t>(from[i]) << 1;
  return bits != 0;
}

}  // namespace

BlockReader::BlockReader(const Tensor& got, const Value& want, bool bits_only)
    : got_(got), want_(want), bits_only_(bits_only) {
  const Shape& shape = got.shape();
  if (got.contiguous() || shape.empty()) {
    run_length_ = std::max<std::int64_t>(got.elements(), 1);
  } else {
    const bool unit = got.strides().back() == 1 || shape.back() == 1;
    run_length_ = unit ? std::max<std::int64_t>(shape.back(), 1) : 1;
  }
}

void BlockReader::widen_run(double* out, std::int64_t offset, std::size_t count) const {
  const auto from = static_cast<std::size_t>(offset);
  switch (got_.dtype()) {
    case DType::f64:
      std::memcpy(out, got_.as<double>().data() + from, count * sizeof(double));
      break;
    case DType::f32: {
      const float* in = got_.as<float>().data() + from;
      for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<double>(in[i]);
      break;
    }
    case DType::f16: {
      const std::uint16_t* in = got_.as<std::uint16_t>().data() + from;
      for (std::size_t i = 0; i < count; ++i) out[i] = widen_f16(in[i]);
      break;
    }
    case DType::bf16: {
      const std::uint16_t* in = got_.as<std::uint16_t>().data() + from;
      for (std::size_t i = 0; i < count; ++i) out[i] = widen_bf16(in[i]);
      break;
    }
    case DType::i32: {
      const std::int32_t* in = got_.as<std::int32_t>().data() + from;
      for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<double>(in[i]);
      break;
    }
    case DType::i8: {
      const std::int8_t* in = got_.as<std::int8_t>().data() + from;
      for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<double>(in[i]);
      break;
    }
  }
}

void BlockReader::load_got(double* out, std::int64_t index, std::size_t count) const {
  while (count > 0) {
    const auto run = std::min(count, static_cast<std::size_t>(run_length_ - index % run_length_));
    widen_run(out, got_.offset_of(index), run);
    out += run;
    index += static_cast<std::int64_t>(run);
    count -= run;
  }
}

void BlockReader::load(ElementBlock& block, std::int64_t index, std::size_t count) const {
  const std::size_t padded = (count + 7) / 8 * 8;
  load_got(block.got, index, count);
  std::fill(block.got + count, block.got + padded, 0.0);
  copy_or_zero(block.v, want_.v, index, count, padded);
  static const std::vector<double> none;
  copy_or_zero(block.hard, bits_only_ ? none : want_.hard, index, count, padded);
  copy_or_zero(block.systematic, bits_only_ ? none : want_.systematic, index, count, padded);
  copy_or_zero(block.mean, bits_only_ ? none : want_.mean, index, count, padded);
  copy_or_zero(block.variance, bits_only_ ? none : want_.variance, index, count, padded);
}

ElementRun BlockReader::run(ElementBlock& block, std::int64_t index, std::size_t count, bool offsets) const {
  static constexpr std::array<double, ElementBlock::capacity> zeros{};
  const auto at = [&](const std::vector<double>& from) {
    return from.empty() || bits_only_ ? zeros.data() : from.data() + index;
  };
  ElementRun run{nullptr,        want_.v.data() + index, at(want_.hard), at(want_.systematic),
                 at(want_.mean), at(want_.variance),     count,          false};
  const std::int64_t to_end = run_length_ - index % run_length_;
  if (got_.dtype() == DType::f64 && to_end >= static_cast<std::int64_t>(count)) {
    run.got = got_.as<double>().data() + got_.offset_of(index);
  } else {
    load_got(block.got, index, count);
    run.got = block.got;
  }
  const auto has = [&](const std::vector<double>& array, const double* from) {
    return !array.empty() && !bits_only_ && any_nonzero(from, count);
  };
  run.offsets = offsets || has(want_.mean, run.mean) || has(want_.systematic, run.systematic);
  return run;
}

void BlockReader::load_one(ElementBlock& block, std::size_t slot, std::int64_t index) const {
  const auto at = [&](const std::vector<double>& from) {
    return from.empty() || bits_only_ ? 0.0 : from[static_cast<std::size_t>(index)];
  };
  block.got[slot] = got_.value(index);
  block.v[slot] = want_.v[static_cast<std::size_t>(index)];
  block.hard[slot] = at(want_.hard);
  block.systematic[slot] = at(want_.systematic);
  block.mean[slot] = at(want_.mean);
  block.variance[slot] = at(want_.variance);
}

}  // namespace parity
