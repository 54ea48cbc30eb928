#include "harness/profile/argument_set.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>
#include <numbers>

#include "harness/tensor/convert.hpp"
#include "harness/tensor/random.hpp"

namespace parity {

namespace {

/// Scrambled bits (Steele, Lea & Flood's SplitMix64): there are 2^32 partners to make.
std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/// Overflow and underflow of exp, the branches of tanh and sigmoid, zeros of sin, cos and log.
std::vector<float> turning_points() {
  std::vector<float> points;
  const auto around = [&](double x) {
    const float middle = static_cast<float>(x);
    for (const float sign : {1.0f, -1.0f}) {
      float up = sign * middle, down = up;
      points.push_back(up);
      for (int i = 0; i < 8; ++i) {
        points.push_back(up = std::nextafter(up, HUGE_VALF));
        points.push_back(down = std::nextafter(down, -HUGE_VALF));
      }
    }
  };
  for (const double x : {0.5, 1.0, 2.0, 88.722839, 87.336548, 103.972084, 0.55, 0.625, 9.0109, 20.0, 126.0,
                         44.0, 10.0, 0.34657359, 16.635532, 105615.0})
    around(x);
  for (int k = 1; k <= 64; ++k) around(k * std::numbers::pi / 2);
  for (int k = 7; k < 24; ++k) around(std::ldexp(1.0, k) * std::numbers::pi);
  return points;
}

}  // namespace

ArgumentSet all_numbers(DType of, DType arithmetic) {
  ArgumentSet set;
  set.text = fmt::format("all {} numbers", of == DType::f16 ? "fp16" : "bf16");
  set.format = arithmetic;
  set.exhaustive = of == arithmetic;
  set.count = 65536;
  set.at = [of](std::int64_t i) {
    const auto bits = static_cast<std::uint16_t>(i);
    return of == DType::f16 ? f16_to_f32(bits) : bf16_to_f32(bits);
  };
  return set;
}

ArgumentSet all_fp32() {
  ArgumentSet set;
  set.text = "all fp32 numbers";
  set.exhaustive = true;
  set.count = std::int64_t{1} << 32;
  set.at = [](std::int64_t i) { return std::bit_cast<float>(static_cast<std::uint32_t>(i)); };
  return set;
}

ArgumentSet sample_fp32(std::int64_t each, std::uint64_t seed) {
  // Exponents around those of 1, where functions bend, are looked at eight times as closely.
  constexpr std::int64_t binades = 512, close = 20, lowest_close = 127 - 12, closer = 7;
  static constexpr std::uint32_t ends[] = {0, 1, 2, 0x3fffff, 0x400000, 0x400001, 0x7ffffe, 0x7fffff};
  const auto points = std::make_shared<const std::vector<float>>(turning_points());
  const auto turns = static_cast<std::int64_t>(points->size());
  ArgumentSet set;
  set.count = turns + (binades + closer * 2 * close) * each;
  set.text = fmt::format("{} fp32 numbers of all binades", set.count);
  set.at = [points, turns, each, seed](std::int64_t i) {
    if (i < turns) return (*points)[static_cast<std::size_t>(i)];
    std::int64_t binade = (i - turns) / each;
    const std::int64_t place = (i - turns) % each;
    const bool ending = binade < binades && place < std::ssize(ends);
    if (binade >= binades) {
      const std::int64_t extra = (binade - binades) % (2 * close);
      binade = lowest_close + extra % close + (extra < close ? 0 : 256);
    }
    const std::uint32_t mantissa =
        ending ? ends[place] : philox(seed, static_cast<std::uint64_t>(i), 0).word[0] & 0x7fffffu;
    return std::bit_cast<float>(static_cast<std::uint32_t>(binade) << 23 | mantissa);
  };
  return set;
}

float partner_of(float divisor, std::uint64_t seed, DType format) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(divisor);
  const std::uint64_t random = mixed(seed ^ bits);
  const FloatFormat f = format_of(format);
  const int exponent = static_cast<int>(bits >> 23 & 255) - 127,
            away = static_cast<int>((random >> 32) % 41) - 20;
  const int chosen = std::clamp(exponent + away, f.min_exponent, f.max_exponent);
  const std::uint32_t mantissa =
      (static_cast<std::uint32_t>(random) & 0x7fffffu) >> (24 - f.precision) << (24 - f.precision);
  return std::bit_cast<float>((static_cast<std::uint32_t>(random >> 23) & 0x80000000u) |
                              static_cast<std::uint32_t>(chosen + 127) << 23 | mantissa);
}

}  // namespace parity
