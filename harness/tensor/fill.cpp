#include "harness/tensor/fill.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "harness/tensor/convert.hpp"
#include "harness/tensor/fill_source.hpp"
#include "harness/tensor/poison.hpp"

namespace parity {

using namespace fills;

namespace {

constexpr std::pair<std::string_view, Fill> fill_names[] = {
    {"normal", Fill::normal},     {"uniform", Fill::uniform},     {"integer", Fill::integer},
    {"selector", Fill::selector}, {"positive", Fill::positive},   {"cancelling", Fill::cancelling},
    {"wide", Fill::wide},         {"overflow", Fill::overflow},   {"subnormal", Fill::subnormal},
    {"nan_cone", Fill::nan_cone}, {"saturated", Fill::saturated}, {"rows_equal", Fill::rows_equal},
    {"zeros", Fill::zeros},
};

void fill_cancelling(Tensor& tensor, const FillRequest& request, const Source& source) {
  const FloatFormat format = source.format();
  if (request.role == FillRole::addend) {
    // The remainder of K/2 products, each off by about 2 ulp.
    const double scale =
        4.0 * unit_roundoff(format) * std::sqrt(static_cast<double>(request.reduction_length));
    return generate_normal_range(tensor, [&](std::int64_t i) { return scale * source.normal(i); });
  }
  const Axis& axis = source.axis();
  const std::int64_t distance = axis.length - axis.length / 2;
  const double smallest = smallest_normal(format);
  generate(tensor, [&](std::int64_t i) {
    if (axis.k(i) < distance) return keep_normal(source.normal(i), smallest);
    const double first = round_to(format, keep_normal(source.normal(i - distance * axis.inner), smallest));
    if (request.role == FillRole::right) return first;
    const PhiloxBlock r = source.random(i, Purpose::auxiliary);
    const double ulps = static_cast<double>(1 + below(3, r.word[0], r.word[1]));
    const double moved = ((r.word[2] & 1U) != 0 ? ulps : -ulps) * ulp_at(format, first);
    return keep_normal(-(first + moved), smallest);
  });
}

void fill_wide(Tensor& tensor, const FillRequest& request, const Source& source) {
  const int range =
      wide_exponent(request.reduction_length, request.accumulate, request.store, tensor.dtype());
  generate_normal_range(tensor, [&](std::int64_t i) {
    const PhiloxBlock r = source.random(i, Purpose::auxiliary);
    const int exponent =
        static_cast<int>(below(static_cast<std::uint64_t>(2 * range + 1), r.word[0], r.word[1])) - range;
    return std::ldexp(source.normal(i), exponent);
  });
}

void fill_overflow(Tensor& tensor, const FillRequest& request, const Source& source) {
  const double accumulator = largest_finite(format_of(request.accumulate));
  const double store = largest_finite(format_of(request.store));
  const double k = static_cast<double>(std::max<std::int64_t>(1, request.reduction_length));
  const bool straddle = accumulator / store >= 4.0;
  // A product of two entries in +-(s/2, s) has standard deviation 7/12 s^2. When sums must stay finite,
  // Hoeffding: P(|sum| > t) <= 2 exp(-t^2 / (2 K s^4)), with t = max/2 and s^2 = max/(16 sqrt(K)): 2
  // exp(-32).
  const double limit = std::min(accumulator, store);
  const double square =
      straddle ? store / (7.0 / 12.0) / std::sqrt(k) : std::max(limit / 16.0 / std::sqrt(k), limit / 2.0 / k);
  const double own = largest_finite(source.format()) / 2.0;
  const double addend = straddle ? store / 4.0 : limit / 8.0;
  const double scale = std::min(own, request.role == FillRole::addend ? addend : std::sqrt(square));
  generate(tensor, [&](std::int64_t i) { return scale * source.half_to_one(i); });
}

void fill_subnormal(Tensor& tensor, const FillRequest& request, const Source& source) {
  const FloatFormat own = source.format();
  const FloatFormat store = format_of(request.store);
  const double own_floor = smallest_normal(own);
  const double store_floor = std::max(own_floor, smallest_normal(store));
  // magnitude in (1/2, 1) * 2^e around `floor`: from the format's last bit to a few binades above.
  const auto tiny = [&](std::int64_t i, double floor, int precision) {
    const PhiloxBlock r = source.random(i, Purpose::auxiliary);
    const int exponent =
        2 - static_cast<int>(below(static_cast<std::uint64_t>(precision + 1), r.word[0], r.word[1]));
    return source.half_to_one(i) * std::ldexp(floor, exponent);
  };
  const Axis& axis = source.axis();
  switch (request.role) {
    case FillRole::left:
      return generate(tensor, [&](std::int64_t i) {
        return axis.line(i) % 2 == 0 ? tiny(i, store_floor, store.precision)
                                     : tiny(i, own_floor, own.precision);
      });
    case FillRole::right: {
      const double scale =
          1.0 / std::sqrt(static_cast<double>(std::max<std::int64_t>(1, request.reduction_length)));
      return generate(tensor, [&](std::int64_t i) {
        const bool small = (source.random(i, Purpose::auxiliary).word[3] & 7U) == 0;
        return small ? tiny(i, own_floor, own.precision) : keep_normal(scale * source.normal(i), own_floor);
      });
    }
    case FillRole::addend:
      return generate(tensor, [&](std::int64_t i) { return tiny(i, store_floor, store.precision); });
  }
}

void place_nan(Tensor& tensor, const Source& source) {
  if (tensor.elements() == 0 || !is_float(tensor.dtype())) return;
  const PhiloxBlock r = source.random(0, Purpose::nan);
  const std::uint64_t at = below(static_cast<std::uint64_t>(tensor.elements()), r.word[0], r.word[1]);
  tensor.set_value(static_cast<std::int64_t>(at), std::numeric_limits<double>::quiet_NaN());
}

void fill_elements(Tensor& tensor, const FillRequest& request, const Source& source) {
  if (!is_float(tensor.dtype())) return fill_integers(tensor, request, source);
  switch (request.fill) {
    case Fill::normal:
      return generate_normal_range(tensor, [&](std::int64_t i) { return source.normal(i); });
    case Fill::uniform:
      return generate_normal_range(tensor, [&](std::int64_t i) { return source.uniform(i); });
    case Fill::integer:
      return generate(tensor, [&](std::int64_t i) { return source.integer(i); });
    case Fill::selector:
      return fill_selector(tensor, request, source);
    case Fill::positive:
      return generate_normal_range(tensor, [&](std::int64_t i) { return std::fabs(source.normal(i)); });
    case Fill::cancelling:
      return fill_cancelling(tensor, request, source);
    case Fill::wide:
      return fill_wide(tensor, request, source);
    case Fill::overflow:
      return fill_overflow(tensor, request, source);
    case Fill::subnormal:
      return fill_subnormal(tensor, request, source);
    case Fill::nan_cone:
      generate_normal_range(tensor, [&](std::int64_t i) { return source.normal(i); });
      if (request.holds_nan) place_nan(tensor, source);
      return;
    case Fill::saturated:
      return generate(tensor, [&](std::int64_t i) {
        const double x = source.half_to_one(i);  // (1/2, 1), signed
        return std::copysign(8 + 160 * (std::fabs(x) - 0.5), x);
      });
    case Fill::rows_equal: {
      const std::int64_t columns =
          tensor.shape().empty() ? 1 : std::max<std::int64_t>(1, tensor.shape().back());
      return generate_normal_range(tensor, [&](std::int64_t i) { return source.normal(i % columns); });
    }
    case Fill::zeros:
      return generate(tensor, [](std::int64_t) { return 0.0; });
  }
}

}  // namespace

std::string_view name_of(Fill fill) {
  for (const auto& [name, value] : fill_names) {
    if (value == fill) return name;
  }
  return "?";
}

std::optional<Fill> parse_fill(std::string_view text) {
  for (const auto& [name, value] : fill_names) {
    if (name == text) return value;
  }
  return std::nullopt;
}

bool suits(Fill fill, DType dtype) {
  const bool real = fill == Fill::wide || fill == Fill::subnormal || fill == Fill::nan_cone;
  return is_float(dtype) || !real;
}

IntegerFill integer_fill(std::int64_t reduction_length, DType accumulate, DType store, DType input) {
  const int precision = std::min(format_of(accumulate).precision, format_of(store).precision);
  const std::int64_t budget = std::int64_t{1} << (precision - 1);
  // Integers up to 2^precision of the input are exact: no limit below 4 for any dtype here.
  const int largest = std::min(4, 1 << std::min(4, format_of(input).precision));
  const std::int64_t length = std::max<std::int64_t>(1, reduction_length);
  IntegerFill chosen{1, 1.0, 1};
  for (int magnitude = largest; magnitude >= 1; --magnitude) {
    const std::int64_t nonzeros = std::max<std::int64_t>(1, (budget - magnitude) / (magnitude * magnitude));
    chosen.magnitude = magnitude;
    chosen.nonzeros = std::min(nonzeros, length);
    // Larger entries distinguish more; but with fewer than 16 terms a sum no longer mixes much.
    if (chosen.nonzeros >= std::min<std::int64_t>(length, 16)) break;
  }
  chosen.density = static_cast<double>(chosen.nonzeros) / static_cast<double>(length);
  return chosen;
}

int wide_exponent(std::int64_t reduction_length, DType accumulate, DType store, DType input) {
  const FloatFormat own = format_of(input);
  const double limit =
      std::min(largest_finite(format_of(accumulate)), largest_finite(format_of(store))) / 2.0;
  const double floor = std::max(smallest_normal(format_of(accumulate)), smallest_normal(format_of(store)));
  const double terms = std::sqrt(static_cast<double>(std::max<std::int64_t>(1, reduction_length)));
  for (int range = 20; range > 0; --range) {
    const double largest_square = std::ldexp(1.0, 2 * range);
    // E[4^e] for e uniform in {-range..range}; 8 standard deviations of the sum, and one product of 5.7 sigma
    // each.
    const double mean_square = (4.0 * largest_square - 1.0 / largest_square) / 3.0 / (2.0 * range + 1.0);
    const bool fits = 8.0 * terms * mean_square + 32.0 * largest_square <= limit;
    const bool normal =
        0x1p-4 / largest_square >= floor && std::ldexp(0x1p-6, -range) >= smallest_normal(own);
    if (fits && normal && std::ldexp(8.0, range) <= largest_finite(own)) return range;
  }
  return 0;
}

void fill_tensor(Tensor& tensor, const FillRequest& request) {
  fill_elements(tensor, request, Source(tensor, request));
  poison_pads(tensor, Poison::guard);
}

}  // namespace parity
