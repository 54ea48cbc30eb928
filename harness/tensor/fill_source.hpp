#pragma once
// What the fills are made of: random numbers by element, and the loop that stores them.
#include <algorithm>
#include <cmath>
#include <vector>

#include "harness/tensor/convert.hpp"
#include "harness/tensor/fill.hpp"
#include "harness/tensor/layout.hpp"
#include "harness/tensor/random.hpp"

namespace parity::fills {

/// Which of an element's independent random blocks is meant. Part of the bits' definition: never renumber.
enum class Purpose : std::uint32_t { value = 0, auxiliary = 1, position = 2, permutation = 3, nan = 4 };

/// The tensor seen along its reduction: index = (outer * length + k) * inner + j; (outer, j) names a line.
struct Axis {
  std::int64_t length = 1;
  std::int64_t inner = 1;

  std::int64_t k(std::int64_t index) const { return index / inner % length; }
  std::int64_t outer(std::int64_t index) const { return index / inner / length; }
  std::int64_t line(std::int64_t index) const { return outer(index) * inner + index % inner; }
};

inline Axis axis_of(const Shape& shape, int reduction_axis) {
  Axis axis;
  if (reduction_axis < 0 || static_cast<std::size_t>(reduction_axis) >= shape.size()) return axis;
  const auto a = static_cast<std::size_t>(reduction_axis);
  axis.length = shape[a];
  for (std::size_t d = a + 1; d < shape.size(); ++d) axis.inner *= shape[d];
  return axis;
}

/// Everything a value may depend on.
class Source {
 public:
  Source(const Tensor& tensor, const FillRequest& request)
      : request_(request),
        dtype_(tensor.dtype()),
        axis_(axis_of(tensor.shape(), request.reduction_axis)),
        integer_(integer_fill(request.reduction_length, request.accumulate, request.store, tensor.dtype())) {}

  const Axis& axis() const { return axis_; }
  FloatFormat format() const { return format_of(dtype_); }

  PhiloxBlock random(std::int64_t index, Purpose purpose) const {
    const std::uint64_t high =
        (static_cast<std::uint64_t>(request_.stream) << 32) | static_cast<std::uint32_t>(purpose);
    return philox(request_.seed, static_cast<std::uint64_t>(index), high);
  }

  double normal(std::int64_t index) const {
    const PhiloxBlock r = random(index, Purpose::value);
    return normal_quantile(uniform_open(r.word[0], r.word[1]));
  }

  double uniform(std::int64_t index) const {
    const PhiloxBlock r = random(index, Purpose::value);
    return 2.0 * uniform_open(r.word[0], r.word[1]) - 1.0;
  }

  /// Uniform in (1/2, 1) with a random sign.
  double half_to_one(std::int64_t index) const {
    const PhiloxBlock r = random(index, Purpose::value);
    const double magnitude = 0.5 + 0.5 * uniform_open(r.word[0], r.word[1]);
    return (r.word[2] & 1U) != 0 ? -magnitude : magnitude;
  }

  double integer(std::int64_t index) const {
    if (request_.role == FillRole::left && !occupied(index)) return 0.0;
    const PhiloxBlock r = random(index, Purpose::value);
    const double magnitude = 1.0 + static_cast<double>(below(static_cast<std::uint64_t>(integer_.magnitude),
                                                             r.word[0], r.word[1]));
    return (r.word[2] & 1U) != 0 ? -magnitude : magnitude;
  }

 private:
  /// One position in each of `nonzeros` blocks of the reduction, chosen by line and block.
  bool occupied(std::int64_t index) const {
    if (integer_.nonzeros >= axis_.length) return true;
    const std::int64_t k = axis_.k(index);
    // Block b is [b*K/n, (b+1)*K/n); the block of k is the last that starts at or before it.
    const std::int64_t n = integer_.nonzeros;
    const std::int64_t b = ((k + 1) * n - 1) / axis_.length;
    const std::int64_t begin = b * axis_.length / n;
    const std::int64_t end = (b + 1) * axis_.length / n;
    const PhiloxBlock r = random(axis_.line(index) * n + b, Purpose::position);
    return k == begin + static_cast<std::int64_t>(
                            below(static_cast<std::uint64_t>(end - begin), r.word[0], r.word[1]));
  }

  const FillRequest& request_;
  DType dtype_;
  Axis axis_;
  IntegerFill integer_;
};

/// Moves a value that the format could only hold as a subnormal (or zero) to the smallest normal number.
inline double keep_normal(double value, double smallest) {
  return std::fabs(value) < smallest ? std::copysign(smallest, value) : value;
}

/// Stores value(index) for every logical element, blocks in parallel.
template <class Value>
void generate(Tensor& tensor, Value&& value) {
  const std::int64_t elements = tensor.elements();
  const std::int64_t blocks = (elements + layout::block - 1) / layout::block;
#pragma omp parallel if (blocks > 1)
  {
    std::vector<double> buffer(static_cast<std::size_t>(std::min(elements, layout::block)));
#pragma omp for schedule(static)
    for (std::int64_t b = 0; b < blocks; ++b) {
      const std::int64_t begin = b * layout::block;
      const std::int64_t count = std::min(elements - begin, layout::block);
      for (std::int64_t i = 0; i < count; ++i) buffer[static_cast<std::size_t>(i)] = value(begin + i);
      narrow_range(std::span<const double>(buffer).first(static_cast<std::size_t>(count)), tensor, begin);
    }
  }
}

template <class Value>
void generate_normal_range(Tensor& tensor, Value&& value) {
  const double smallest = smallest_normal(format_of(tensor.dtype()));
  generate(tensor, [&](std::int64_t i) { return keep_normal(value(i), smallest); });
}

/// Right one-hot along the reduction, left normal, addend zero; an integer left factor is the caller's.
void fill_selector(Tensor& tensor, const FillRequest& request, const Source& source);
/// Fills of i32 and i8.
void fill_integers(Tensor& tensor, const FillRequest& request, const Source& source);

}  // namespace parity::fills
