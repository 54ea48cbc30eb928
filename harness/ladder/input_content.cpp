#include "harness/ladder/input_content.hpp"

#include <algorithm>
#include <cmath>

namespace parity {

namespace {

/// Keeps indices and masks apart from the values of the same seed and stream.
constexpr std::uint64_t index_purpose = 0x1d'1ce5;

void fill_case_values(Tensor& tensor, const Case& c, const TensorSpec& spec, std::uint32_t stream,
                      bool holds_nan) {
  const Content& content = spec.content;
  FillRequest request;
  request.fill = c.fill;
  request.role = content.role;
  request.seed = c.seed;
  request.stream = stream;
  request.reduction_axis = content.axis;
  if (content.axis >= 0)
    request.reduction_length =
        std::max<std::int64_t>(1, spec.shape.at(static_cast<std::size_t>(content.axis)));
  request.accumulate = c.accumulate;
  request.store = c.store;
  request.holds_nan = holds_nan;
  fill_tensor(tensor, request);
  const bool absolute = content.kind == Content::Kind::magnitudes;
  if (content.scale == 1 && !absolute) return;
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    const double value = tensor.value(i);
    tensor.set_value(i, content.scale * (absolute ? std::fabs(value) : value));
  }
}

/// base^n for a small n, the same on every machine.
double power(double base, std::int64_t n) {
  double result = 1;
  for (std::int64_t i = 0; i < n; ++i) result *= base;
  return result;
}

}  // namespace

Result<Tensor> make_content(const Case& c, const TensorSpec& spec, std::uint32_t stream, bool holds_nan) {
  auto tensor = Tensor::create(spec.dtype, spec.shape, spec.strides);
  if (!tensor) return tensor;
  const Content& content = spec.content;
  const std::int64_t columns = spec.shape.empty() ? 1 : std::max<std::int64_t>(1, spec.shape.back());
  const auto each = [&](auto value) {
    fill_tensor(*tensor, {.fill = Fill::zeros, .seed = c.seed});  // pads too
    for (std::int64_t i = 0; i < tensor->elements(); ++i) tensor->set_value(i, value(i));
  };
  const auto random = [&](std::int64_t i) {
    return philox(c.seed, static_cast<std::uint64_t>(i), index_purpose << 32 | stream);
  };
  const auto angle = [&](std::int64_t i) {
    const auto pair = static_cast<double>(i % columns);
    return static_cast<double>(i / columns) * std::pow(10000.0, -pair / static_cast<double>(columns));
  };
  switch (content.kind) {
    case Content::Kind::values:
    case Content::Kind::magnitudes:
      fill_case_values(*tensor, c, spec, stream, holds_nan && c.fill == Fill::nan_cone);
      break;
    case Content::Kind::constant:
      each([&](std::int64_t) { return content.scale; });
      break;
    case Content::Kind::indices:
      each([&](std::int64_t i) {
        const PhiloxBlock r = random(i);
        return static_cast<double>(below(static_cast<std::uint64_t>(std::max<std::int64_t>(1, content.limit)),
                                         r.word[0], r.word[1]));
      });
      break;
    case Content::Kind::mask:
      each([&](std::int64_t i) { return i < content.limit || random(i).word[0] % 8 == 0 ? 0.0 : 1.0; });
      break;
    case Content::Kind::cosines:
      each([&](std::int64_t i) { return std::cos(angle(i)); });
      break;
    case Content::Kind::sines:
      each([&](std::int64_t i) { return std::sin(angle(i)); });
      break;
    case Content::Kind::corrections:
      each([&](std::int64_t i) { return 1 - power(content.decays[i == 0 ? 0 : 1], content.limit); });
      break;
  }
  return tensor;
}

}  // namespace parity
