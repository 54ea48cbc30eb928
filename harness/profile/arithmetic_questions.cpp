// What a device's additions, products, minima and copies do: rounding, contraction, subnormals, NaN.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <tuple>

#include "harness/profile/function_calls.hpp"
#include "harness/profile/profile_answers.hpp"
#include "harness/tensor/convert.hpp"
#include "harness/tensor/random.hpp"

namespace parity {

namespace {

using Bits = std::vector<std::uint32_t>;

struct Arguments {
  std::vector<double> a, b, c;
  void add(double x, double y, double z = 0) {
    a.push_back(x);
    b.push_back(y);
    c.push_back(z);
  }
};

class ArithmeticAsker {
 public:
  ArithmeticAsker(Device& device, const Implementation& implementation)
      : device_(device),
        implementation_(implementation),
        dtype_(implementation.stores.front()),
        format_(format_of(dtype_)),
        promise_(arithmetic_promise(device.info(), dtype_)) {}

  Result<std::vector<ProfileAnswer>> ask() {
    for (const auto question :
         {&ArithmeticAsker::rounding, &ArithmeticAsker::contraction, &ArithmeticAsker::subnormals,
          &ArithmeticAsker::nans, &ArithmeticAsker::minima})
      if (auto ok = (this->*question)(); !ok) return tl::unexpected(ok.error());
    return answers_;
  }

 private:
  Bits encoded(const std::vector<double>& values) const {
    Bits bits;
    for (const double v : values) bits.push_back(static_cast<std::uint32_t>(encode(dtype_, v)));
    return bits;
  }
  /// Empty where the path lacks the function.
  Result<Bits> bits_of(DeviceFunction function, const Bits& a, const Bits& b = {}, const Bits& c = {}) {
    auto results = ask_function(device_, implementation_, function, a, b, c);
    if (!results && results.error().kind == ErrorKind::unsupported) return Bits{};
    return results;
  }
  Result<std::vector<double>> values_of(DeviceFunction function, const Arguments& arguments) {
    const auto bits = bits_of(function, encoded(arguments.a), encoded(arguments.b), encoded(arguments.c));
    if (!bits) return tl::unexpected(bits.error());
    std::vector<double> values;
    for (const std::uint32_t b : *bits) values.push_back(decode(dtype_, b));
    return values;
  }
  void answer(std::string group, std::string question, std::string answer, std::string promise = {},
              bool broken = false) {
    std::string finding =
        broken ? fmt::format("{} in {}: {}; promised: {}", question, format_name(), answer, promise) : "";
    answers_.push_back({format_name(), std::move(group), std::move(question), std::move(answer),
                        std::move(promise), std::move(finding)});
  }
  std::string format_name() const { return dtype_ == DType::f16 ? "fp16" : "fp32"; }
  double random(std::uint64_t counter, int bits) const {
    const auto mask = (std::uint32_t{1} << bits) - 1;
    return static_cast<double>((philox(17, counter, 0).word[0] & mask) | 1u);
  }
  /// A number of the format in [1, 2), all its bits in use.
  double full(std::uint64_t counter) const {
    return 1 + std::ldexp(random(counter, format_.precision - 1), 1 - format_.precision);
  }

  Result<void> rounding();
  Result<void> contraction();
  Result<void> subnormals();
  Result<void> nans();
  Result<void> minima();

  Device& device_;
  const Implementation& implementation_;
  DType dtype_;
  FloatFormat format_;
  ArithmeticPromise promise_;
  std::vector<ProfileAnswer> answers_;
};

constexpr std::uint64_t rounding_cases = 120;

Result<void> ArithmeticAsker::rounding() {
  const int p = format_.precision;
  Arguments sums, products, fused;
  std::vector<double> sum, product, multiply_add;
  for (std::uint64_t i = 0; i < rounding_cases; ++i) {
    const double sign = i % 2 == 0 ? 1 : -1, x = sign * full(2 * i), y = full(2 * i + 1);
    // Half a spacing, and a little more or less, of either sign; and numbers of like size.
    const double half = std::ldexp(1.0, -p);
    const double small[] = {half, -half, 1.5 * half, 0.5 * half, -1.25 * half, 0.75 * y, -0.375 * y};
    const double other = decode(dtype_, encode(dtype_, small[i % std::size(small)]));
    sums.add(x, other);
    sum.push_back(x + other);
    // A product of p + 1 bits, the last of them one, is a tie.
    const double odd = random(3 * i, (p + 2) / 2), partner = random(3 * i + 1, p + 1 - (p + 2) / 2);
    const bool tie = i % 3 == 0;
    products.add(tie ? sign * odd : x, tie ? partner : y);
    product.push_back(tie ? sign * odd * partner : x * y);
    const double c = (i % 4 < 2 ? 1 : -1) * std::ldexp(full(5 * i), static_cast<int>(i % 5) - 2);
    const double rounded = decode(dtype_, encode(dtype_, c));
    fused.add(x, y, rounded);
    multiply_add.push_back(x * y + rounded);
  }
  for (const auto& [function, name, arguments, exact] :
       {std::tuple{DeviceFunction::add, "a + b", &sums, &sum},
        std::tuple{DeviceFunction::mul, "a * b", &products, &product},
        std::tuple{DeviceFunction::fma, "fma(a, b, c)", &fused, &multiply_add}}) {
    const auto got = values_of(function, *arguments);
    if (!got) return tl::unexpected(got.error());
    if (got->empty()) continue;
    const std::string mode = rounding_of(*exact, *got, format_);
    const bool rounded = !mode.starts_with("not "), nearest = mode == "to nearest even";
    const bool vulkan_fma = function == DeviceFunction::fma && !rounded;
    // Vulkan's fma may be a product and a sum.
    const bool may_be_two = vulkan_fma && device_.info().backend == "vulkan";
    answer("rounding", name, may_be_two ? "not fused" : mode,
           may_be_two ? "fused or a product and a sum" : promise_.rounding_text,
           !may_be_two && (!rounded || (promise_.nearest && !nearest)));
  }
  return {};
}

Result<void> ArithmeticAsker::contraction() {
  Arguments arguments;
  std::vector<double> one, two;
  for (std::uint64_t i = 0; one.size() < rounding_cases; ++i) {
    const double a = full(7 * i), b = full(7 * i + 1), product = decode(dtype_, encode(dtype_, a * b));
    // What the product's rounding loses is all that is left.
    const double fused = decode(dtype_, encode(dtype_, a * b - product));
    if (fused == 0) continue;
    arguments.add(a, b, -product);
    one.push_back(fused);
    two.push_back(0);
  }
  for (const auto& [function, name, declared] :
       {std::tuple{DeviceFunction::mul_add, "a * b + c as the kernels write it", true},
        std::tuple{DeviceFunction::mul_add_free, "a * b + c left to the compiler", false}}) {
    const auto got = values_of(function, arguments);
    if (!got) return tl::unexpected(got.error());
    if (got->empty()) continue;
    const auto count = [&](const std::vector<double>& like) {
      return std::inner_product(got->begin(), got->end(), like.begin(), 0, std::plus<>(), std::equal_to<>());
    };
    const int fused = count(one), separate = count(two), all = static_cast<int>(got->size());
    const std::string found = separate == all ? "a product and a sum"
                              : fused == all
                                  ? "one fma"
                                  : fmt::format("neither: {} of {} fused, {} separate", fused, all, separate);
    answer("contraction", name, found, declared ? "a product and a sum" : "",
           declared && separate != all && promise_.nearest);
  }
  return {};
}

/// An operation on numbers around the smallest normal one, n, with what comes out when subnormals are kept.
struct SubnormalCase {
  DeviceFunction function;
  const char* name;
  bool argument;  ///< else the result is subnormal
  double a, b, c, kept, flushed;
};

std::vector<SubnormalCase> subnormal_cases(double n) {
  using enum DeviceFunction;
  const double h = n / 2;
  return {{add, "a + b", true, h, h, 0, n, 0},
          {add, "a + b", false, 1.5 * n, -n, 0, h, 0},
          {mul, "a * b", true, h, 4, 0, 2 * n, 0},
          {mul, "a * b", false, n, 0.5, 0, h, 0},
          {fma, "fma(a, b, c)", true, h, 4, 0, 2 * n, 0},
          {fma, "fma(a, b, c), c", true, n, 1, h, 1.5 * n, n},
          {fma, "fma(a, b, c)", false, n, 0.5, 0, h, 0},
          {div, "a / b", true, h, 0.25, 0, 2 * n, 0},
          {div, "a / b", false, n, 2, 0, h, 0},
          {DeviceFunction::max, "max(a, b)", true, h, 0, 0, h, 0},
          {copy, "load and store", true, h, 0, 0, h, 0}};
}

Result<void> ArithmeticAsker::subnormals() {
  for (const SubnormalCase& s : subnormal_cases(smallest_normal(format_))) {
    Arguments arguments;
    for (const double sign : {1.0, -1.0}) {
      // max of a negative number and zero is zero anyway.
      if (s.function == DeviceFunction::max)
        arguments.add(s.a, s.b);
      else if (s.function == DeviceFunction::add)
        arguments.add(sign * s.a, sign * s.b);
      else
        arguments.add(sign * s.a, s.b, sign * s.c);
    }
    const auto got = values_of(s.function, arguments);
    if (!got) return tl::unexpected(got.error());
    if (got->empty()) continue;
    const auto all = [&](double want) {
      return std::ranges::all_of(*got, [&](double g) { return std::fabs(g) == want; });
    };
    const bool kept = all(s.kept), flushed = all(s.flushed);
    const std::string found = kept ? "kept" : flushed ? "flushed" : fmt::format("neither: {}", got->front());
    const bool quotient = s.function == DeviceFunction::div;
    const bool must = quotient ? promise_.functions_keep_subnormals : promise_.keeps_subnormals;
    answer("subnormals", fmt::format("{}: {}", s.name, s.argument ? "argument" : "result"), found,
           quotient && !must ? "may be flushed" : promise_.subnormal_text,
           (must && !kept) || (!kept && !flushed));
  }
  return {};
}

std::string nan_text(std::uint32_t bits, DType dtype) {
  return fmt::format("0x{:0{}x}", bits, dtype == DType::f16 ? 4 : 8);
}

Result<void> ArithmeticAsker::nans() {
  const bool half = dtype_ == DType::f16;
  // Quiet with a payload, the same with the sign, signalling.
  const Bits given = half ? Bits{0x7e55, 0xfe55, 0x7d55} : Bits{0x7fd23456, 0xffd23456, 0x7fa34567};
  const std::uint32_t quiet = half ? 0x0200 : 0x00400000;
  const std::uint32_t one = half ? 0x3c00 : 0x3f800000, infinity = half ? 0x7c00 : 0x7f800000,
                      sign = half ? 0x8000 : 0x80000000;
  const auto is_nan = [&](std::uint32_t bits) { return (bits & ~sign) > infinity; };
  const auto kept = [&](const Bits& got) {
    if (!std::ranges::all_of(got, is_nan)) return fmt::format("not a NaN: {}", nan_text(got[0], dtype_));
    if (got == given) return std::string("every bit kept");
    bool payload = true;
    for (std::size_t i = 0; i < got.size(); ++i) payload = payload && (got[i] | quiet) == (given[i] | quiet);
    if (payload) return std::string("payload and sign kept, made quiet");
    return fmt::format("{} becomes {}", nan_text(given[1], dtype_), nan_text(got[1], dtype_));
  };
  const auto copied = bits_of(DeviceFunction::copy, given);
  if (!copied) return tl::unexpected(copied.error());
  if (!copied->empty()) answer("NaN", "load and store", kept(*copied));
  const auto added = bits_of(DeviceFunction::add, given, Bits(3, one));
  if (!added) return tl::unexpected(added.error());
  if (!added->empty()) answer("NaN", "NaN + 1", kept(*added), "a NaN", !std::ranges::all_of(*added, is_nan));
  const auto made = bits_of(DeviceFunction::add, {infinity, infinity}, {infinity | sign, infinity | sign});
  if (!made) return tl::unexpected(made.error());
  if (!made->empty())
    answer("NaN", "Inf - Inf", nan_text(made->front(), dtype_), "a NaN", !is_nan(made->front()));
  return {};
}

Result<void> ArithmeticAsker::minima() {
  const double nan = std::nan("");
  for (const auto& [function, name] :
       {std::pair{DeviceFunction::min, "min"}, std::pair{DeviceFunction::max, "max"}}) {
    Arguments arguments;
    arguments.add(nan, 2);
    arguments.add(2, nan);
    arguments.add(nan, nan);
    arguments.add(0.0, -0.0);
    arguments.add(-0.0, 0.0);
    const auto got = values_of(function, arguments);
    if (!got) return tl::unexpected(got.error());
    if (got->empty()) continue;
    const auto side = [](double g) {
      return std::isnan(g) ? "NaN" : g == 2 ? "the number" : "something else";
    };
    const std::string first = side((*got)[0]), second = side((*got)[1]);
    const std::string found =
        first == second ? first : fmt::format("{} if a is NaN, {} if b is", first, second);
    const bool odd = found.find("something") != std::string::npos;
    answer("min and max", fmt::format("{} with one NaN", name), found, promise_.minmax_text,
           odd || (promise_.number_beats_nan && found != "the number"));
    const auto zero = [](double g) { return std::signbit(g) ? "-0" : "+0"; };
    answer("min and max", fmt::format("{}(+0, -0), {}(-0, +0)", name, name),
           fmt::format("{}, {}", zero((*got)[3]), zero((*got)[4])));
  }
  return {};
}

}  // namespace

Result<std::vector<ProfileAnswer>> ask_arithmetic(Device& device, const Implementation& implementation) {
  return ArithmeticAsker(device, implementation).ask();
}

Denormals denormals_of(std::span<const ProfileAnswer> answers, std::string_view format) {
  bool kept = true, flushed = true, any = false;
  for (const ProfileAnswer& a : answers) {
    if (a.format != format || a.group != "subnormals") continue;
    // No arithmetic: what passes untouched says nothing of it.
    if (a.question.starts_with("load") || a.question.starts_with("max")) continue;
    any = true;
    kept = kept && a.answer == "kept";
    flushed = flushed && a.answer == "flushed";
  }
  if (!any || (!kept && !flushed)) return Denormals::either;
  return kept ? Denormals::preserve : Denormals::flush;
}

}  // namespace parity
