#include "harness/tensor/fill_source.hpp"

namespace parity::fills {
namespace {

void fill_i32(Tensor& tensor, const FillRequest& request, const Source& source) {
  if (request.role == FillRole::addend && request.accumulate == DType::i32) {
    const auto word = [&](std::int64_t i) { return source.random(i, Purpose::value).word[0]; };
    if (request.fill == Fill::uniform)
      return generate(
          tensor, [&](std::int64_t i) { return static_cast<double>(static_cast<std::int32_t>(word(i))); });
    if (request.fill == Fill::overflow)
      return generate(tensor, [&](std::int64_t i) {
        const double inside = static_cast<double>(word(i) >> 12);  // below 2^20
        return (word(i) & 1U) != 0 ? 2147483647.0 - inside : -2147483648.0 + inside;
      });
  }
  if (request.fill == Fill::selector && request.role != FillRole::left)
    return fill_selector(tensor, request, source);
  if (request.fill == Fill::positive)
    return generate(tensor, [&](std::int64_t i) { return std::fabs(source.integer(i)); });
  generate(tensor, [&](std::int64_t i) { return source.integer(i); });
}

/// Values from end to end of the range wherever a fill means real numbers: a product of integers is exact
/// whatever its operands.
void fill_i8(Tensor& tensor, const FillRequest& request, const Source& source) {
  constexpr double least = -128, most = 127;
  constexpr double spread = 40;  // of a normal: 1 element in 600 is cut to the ends
  const auto normal = [&](std::int64_t i) {
    return std::clamp(std::nearbyint(spread * source.normal(i)), least, most);
  };
  const Axis& axis = source.axis();
  switch (request.fill) {
    case Fill::integer:
      return generate(tensor, [&](std::int64_t i) { return source.integer(i); });
    case Fill::selector:
      if (request.role != FillRole::left) return fill_selector(tensor, request, source);
      [[fallthrough]];
    case Fill::uniform:
      return generate(tensor, [&](std::int64_t i) {
        return least + static_cast<double>(source.random(i, Purpose::value).word[0] & 255U);
      });
    case Fill::positive:
      return generate(tensor, [&](std::int64_t i) { return std::clamp(std::fabs(normal(i)), 1.0, most); });
    case Fill::cancelling: {
      const std::int64_t distance = axis.length - axis.length / 2;
      // Three less than the ends, so that the moved value still fits.
      const auto first = [&](std::int64_t i) { return std::clamp(normal(i), -124.0, 124.0); };
      return generate(tensor, [&](std::int64_t i) {
        if (request.role == FillRole::addend || axis.k(i) < distance) return first(i);
        const double value = first(i - distance * axis.inner);
        if (request.role == FillRole::right) return value;
        const PhiloxBlock r = source.random(i, Purpose::auxiliary);
        const double moved = static_cast<double>(1 + below(3, r.word[0], r.word[1]));
        return -(value + ((r.word[2] & 1U) != 0 ? moved : -moved));
      });
    }
    case Fill::overflow:
      return generate(tensor, [&](std::int64_t i) {
        const double magnitude = std::round(64 + 64 * std::fabs(source.half_to_one(i)));  // 96 to 128
        const bool negative = (source.random(axis.line(i), Purpose::position).word[0] & 1U) != 0;
        return negative ? -magnitude : std::min(magnitude, most);
      });
    case Fill::saturated:
      return generate(tensor, [&](std::int64_t i) {
        return (source.random(i, Purpose::value).word[0] & 1U) != 0 ? least : most;
      });
    case Fill::rows_equal: {
      const std::int64_t columns =
          tensor.shape().empty() ? 1 : std::max<std::int64_t>(1, tensor.shape().back());
      return generate(tensor, [&](std::int64_t i) { return normal(i % columns); });
    }
    case Fill::zeros:
      return generate(tensor, [](std::int64_t) { return 0.0; });
    case Fill::normal:
    case Fill::wide:       // the rest means nothing for integers, and a case that asks for it is refused
    case Fill::subnormal:  // where it is read
    case Fill::nan_cone:
      return generate(tensor, normal);
  }
}

}  // namespace

void fill_integers(Tensor& tensor, const FillRequest& request, const Source& source) {
  if (tensor.dtype() == DType::i32) return fill_i32(tensor, request, source);
  fill_i8(tensor, request, source);
}

}  // namespace parity::fills
