// Conversions between fp32 and the 16-bit formats: the kernels' own (op cast) and the language's.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "harness/probe/call_runner.hpp"
#include "harness/profile/function_calls.hpp"
#include "harness/profile/profile_answers.hpp"
#include "harness/tensor/convert.hpp"
#include "harness/tensor/random.hpp"

namespace parity {

namespace {

/// Numbers of fp32 to their conversions, as numbers; an error of kind unsupported where there is none.
using Conversion = std::function<Result<std::vector<double>>(const std::vector<double>&)>;

/// The op cast on the first of its paths that takes it, legal or not.
Result<std::vector<double>> cast_numbers(Device& device, DType from, DType to,
                                         const std::vector<double>& values) {
  const auto size = std::ssize(values);
  Result<CallRunner> runner = fail(ErrorKind::unsupported, "the device has no op cast");
  for (const Implementation& implementation : device.implementations()) {
    if (implementation.op != "cast" || implementation.input != from ||
        implementation.accumulate != DType::f32 ||
        std::ranges::find(implementation.stores, to) == implementation.stores.end())
      continue;
    runner = CallRunner::load(device, implementation, {}, {{"X", from, {size}}}, {{"Y", to, {size}}});
    break;
  }
  if (!runner) return tl::unexpected(runner.error());
  for (std::int64_t i = 0; i < size; ++i) runner->input(0).set_value(i, values[static_cast<std::size_t>(i)]);
  const auto outputs = runner->run();
  if (!outputs) return tl::unexpected(outputs.error());
  return to_doubles(outputs->front());
}

Conversion cast_to(Device& device, DType to) {
  return [&device, to](const std::vector<double>& values) {
    return cast_numbers(device, DType::f32, to, values);
  };
}

Conversion language_to(Device& device, DeviceFunction function) {
  return [&device, function](const std::vector<double>& values) -> Result<std::vector<double>> {
    for (const Implementation& implementation : device.implementations()) {
      if (implementation.op != device_function_op || implementation.input != DType::f32) continue;
      std::vector<std::uint32_t> bits;
      for (const double v : values) bits.push_back(static_cast<std::uint32_t>(encode(DType::f32, v)));
      const auto got = ask_function(device, implementation, function, bits);
      if (!got) return tl::unexpected(got.error());
      std::vector<double> numbers;
      for (const std::uint32_t b : *got) numbers.push_back(decode(DType::f32, b));
      return numbers;
    }
    return fail(ErrorKind::unsupported, "the device has no op device_function");
  };
}

/// Normal results that stay in range: numbers between two of the format, and ties.
std::vector<double> conversion_cases(const FloatFormat& to) {
  std::vector<double> cases;
  for (std::uint64_t i = 0; i < 240; ++i) {
    const PhiloxBlock random = philox(23, i, 0);
    const int span = to.max_exponent - to.min_exponent;
    const int exponent =
        to.min_exponent + static_cast<int>(random.word[1] % static_cast<std::uint32_t>(span));
    const std::uint32_t bits = random.word[0] >> (32 - (to.precision - 1));
    // Mantissa of the target's, and a part of its spacing that fp32 has: halves are ties.
    constexpr double parts[] = {0.5, 0.25, 0.75, 0.4375, 0.5625, 0.5};
    const double mantissa =
        1 + std::ldexp(static_cast<double>(bits) + parts[i % std::size(parts)], 1 - to.precision);
    cases.push_back((i % 2 == 0 ? 1 : -1) * std::ldexp(mantissa, exponent));
  }
  return cases;
}

Result<void> ask_conversion(const std::string& name, const FloatFormat& to, const Conversion& convert,
                            bool nearest, bool keeps_subnormals, std::vector<ProfileAnswer>& answers) {
  const std::vector<double> cases = conversion_cases(to);
  const auto got = convert(cases);
  if (!got) {
    if (got.error().kind == ErrorKind::unsupported) return {};
    return tl::unexpected(got.error());
  }
  const auto answer = [&](std::string question, std::string found, std::string promise, bool broken) {
    std::string finding =
        broken ? fmt::format("{}, {}: {}; promised: {}", name, question, found, promise) : "";
    answers.push_back({"fp32", "conversion", name + ": " + question, std::move(found), std::move(promise),
                       std::move(finding)});
  };
  // No case is a number of the format: back unchanged they never were in it. Vulkan ("Evaluation of
  // Expressions") lets a compiler use what holds in precise arithmetic, with fewer roundings, and there
  // unpack(pack(x)) is x; only NoContraction forbids it, which this round trip does not carry.
  const bool left_out = *got == cases;
  const std::string mode =
      left_out ? "none: the compiler left the conversion out" : rounding_of(cases, *got, to);
  answer("rounding", mode, nearest ? "to nearest even" : "to either neighbour, or left out",
         left_out ? nearest : mode.starts_with("not ") || (nearest && mode != "to nearest even"));

  const double largest = largest_finite(to), ulp = ulp_at(to, largest);
  // Below the middle between the largest number and infinity, on it, beyond; a subnormal result; NaN.
  const bool wide = to.max_exponent == 127;
  const double below_middle =
      wide ? static_cast<double>(std::nextafter(static_cast<float>(largest + ulp / 2), 0.0f))
           : largest + 0.4375 * ulp;
  const double small = 3 * smallest_subnormal(to);
  const auto odd = convert({below_middle, largest + ulp / 2, small, -small, std::nan("")});
  if (!odd) return tl::unexpected(odd.error());
  const auto at = [&](std::size_t i) { return (*odd)[i]; };
  const bool overflows = at(0) == largest && at(1) == HUGE_VAL;
  answer("overflow",
         left_out            ? "none: left out"
         : overflows         ? "Inf from the middle on"
         : at(1) == largest  ? "the largest number"
         : at(0) == HUGE_VAL ? "Inf too early"
                             : fmt::format("{} becomes {}", largest + ulp / 2, at(1)),
         nearest ? "Inf from the middle on" : "either", nearest && !overflows);
  const bool kept = at(2) == small && at(3) == -small, flushed = at(2) == 0 && at(3) == 0;
  answer("subnormal results",
         left_out  ? "none: left out"
         : kept    ? "kept"
         : flushed ? "flushed"
                   : fmt::format("neither: {}", at(2)),
         keeps_subnormals ? "kept" : "may be flushed", (keeps_subnormals && !kept) || (!kept && !flushed));
  answer("NaN", std::isnan(at(4)) ? "a NaN" : fmt::format("{}", at(4)), "a NaN", !std::isnan(at(4)));
  return {};
}

/// From a 16-bit format to fp32: exact but for subnormals.
Result<void> ask_widening(Device& device, DType from, std::vector<ProfileAnswer>& answers) {
  const FloatFormat format = format_of(from);
  const double small = 3 * smallest_subnormal(format);
  std::vector<double> values{small, -small, smallest_normal(format), largest_finite(format), 1, -1.5};
  const auto got = cast_numbers(device, from, DType::f32, values);
  if (!got) {
    if (got.error().kind == ErrorKind::unsupported) return {};
    return tl::unexpected(got.error());
  }
  const bool exact = *got == values;
  const bool flushed =
      (*got)[0] == 0 && (*got)[1] == 0 && std::equal(got->begin() + 2, got->end(), values.begin() + 2);
  const std::string name = fmt::format("{} to fp32 by the kernels", from == DType::f16 ? "fp16" : "bf16");
  const std::string found = exact ? "exact, subnormals kept" : flushed ? "subnormals flushed" : "not exact";
  answers.push_back({"fp32", "conversion", name, found, "exact, subnormals kept",
                     exact ? "" : fmt::format("{}: {}; promised: exact", name, found)});
  return {};
}

}  // namespace

Result<std::vector<ProfileAnswer>> ask_conversions(Device& device) {
  std::vector<ProfileAnswer> answers;
  const bool vulkan = device.info().backend == "vulkan";
  struct Question {
    const char* name;
    DType to;
    Conversion convert;
    bool nearest, keeps_subnormals;
  };
  const Question questions[] = {
      {"fp32 to fp16 by the kernels", DType::f16, cast_to(device, DType::f16), true, true},
      {"fp32 to fp16 by the language", DType::f16, language_to(device, DeviceFunction::to_f16), !vulkan,
       !vulkan},
      {"fp32 to bf16 by the kernels", DType::bf16, cast_to(device, DType::bf16), true, true},
      {"fp32 to bf16 by the language", DType::bf16, language_to(device, DeviceFunction::to_bf16), true,
       true}};
  for (const Question& q : questions)
    if (auto ok = ask_conversion(q.name, format_of(q.to), q.convert, q.nearest, q.keeps_subnormals, answers);
        !ok)
      return tl::unexpected(ok.error());
  for (const DType from : {DType::f16, DType::bf16})
    if (auto ok = ask_widening(device, from, answers); !ok) return tl::unexpected(ok.error());
  return answers;
}

}  // namespace parity
