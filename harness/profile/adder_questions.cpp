// What adds up the products of a GEMM path: the bits that are left of small products beside a large one, the
// rounding of the sum, subnormal operands (docs/numerics.md, section 6).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "harness/probe/call_runner.hpp"
#include "harness/profile/profile_answers.hpp"

namespace parity {

namespace {

constexpr std::int64_t adder_rows = 16, adder_cols = 16, adder_terms = 64;
// B is 1 in its first row, a large power of two in the second, and 2^-12 in the others.
constexpr int small_exponent = -12;

/// One row of A: its products are what is added up.
struct AdderProbe {
  std::vector<std::pair<std::int64_t, double>> products;  ///< place, value; places from 2 on, and 0
};

/// `count` products of 2^exponent at the end, beside a 1 in front.
AdderProbe beside_one(int count, int exponent) {
  AdderProbe probe{{{0, 1}}};
  for (int i = 0; i < count; ++i) probe.products.emplace_back(adder_terms - 1 - i, std::ldexp(1.0, exponent));
  return probe;
}

std::string sum_text(double sum) {
  return sum == 1 ? "1" : fmt::format("1 + {} x 2^-23", (sum - 1) * 0x1p23);
}

/// The probes, in the order in which answers_of() reads their sums.
std::vector<AdderProbe> adder_probes() {
  std::vector<AdderProbe> probes;
  for (int bits = 1; bits <= 4; ++bits) probes.push_back(beside_one(1 << bits, -23 - bits));
  // One and a half spacings beside 1 and -1, and a quarter of one.
  for (const double sign : {1.0, -1.0}) {
    probes.push_back({{{0, sign}, {adder_terms - 1, sign * 1.5 * 0x1p-23}}});
    probes.push_back({{{0, sign}, {adder_terms - 1, sign * 1.25 * 0x1p-23}}});
  }
  return probes;
}

std::string rounding_text(double up, double up_quarter, double down, double down_quarter) {
  constexpr double one = 1 + 0x1p-23, two = 1 + 0x1p-22;
  const auto are = [&](double a, double b, double c, double d) {
    return up == a && up_quarter == b && down == c && down_quarter == d;
  };
  if (are(two, one, -two, -one)) return "to nearest even";
  if (are(one, one, -one, -one)) return "toward zero";
  if (are(one, one, -two, -two)) return "downward";
  if (are(two, two, -one, -one)) return "upward";
  return fmt::format("other: {:a}, {:a}, {:a}, {:a}", up, up_quarter, down, down_quarter);
}

/// Bits after those of the largest term that survive: as far as whole groups of small products arrive. Where
/// sums are rounded to nearest, they arrive because they meet each other before they meet the large term.
std::string fraction_text(const std::vector<double>& sums, bool truncates) {
  int arrived = 0;
  while (arrived < 4 && sums[static_cast<std::size_t>(arrived)] == 1 + 0x1p-23) ++arrived;
  if (arrived == 0)
    return fmt::format("2 x 2^-24 beside 1 give {}: {}", sum_text(sums[0]),
                       truncates ? "at most 23 bits" : "one by one");
  std::string text = fmt::format("{} x 2^-{} beside 1 arrive", 1 << arrived, 23 + arrived);
  if (arrived < 4)
    text += fmt::format(", {} x 2^-{} give {}", 1 << (arrived + 1), 24 + arrived,
                        sum_text(sums[static_cast<std::size_t>(arrived)]));
  if (!truncates) return text + ": added to each other first";
  return text + fmt::format(": {}{} bits", arrived < 4 ? "" : "at least ", 23 + arrived);
}

Result<std::vector<ProfileAnswer>> ask_adder(Device& device, const Implementation& implementation) {
  const DType in = implementation.input;
  auto runner =
      CallRunner::load(device, implementation, {},
                       {{"A", in, {adder_rows, adder_terms}}, {"B", in, {adder_terms, adder_cols}}, {}},
                       {{"D", DType::f32, {adder_rows, adder_cols}}});
  if (!runner) return tl::unexpected(runner.error());
  const FloatFormat format = format_of(in);
  const double large = std::ldexp(1.0, std::min(60, format.max_exponent - 2));
  for (std::int64_t k = 0; k < adder_terms; ++k)
    for (std::int64_t c = 0; c < adder_cols; ++c)
      runner->input(1).set_value(k * adder_cols + c, k == 0   ? 1
                                                     : k == 1 ? large
                                                              : std::ldexp(1.0, small_exponent));
  const std::vector<AdderProbe> probes = adder_probes();
  for (std::size_t r = 0; r < probes.size(); ++r)
    for (const auto& [place, value] : probes[r].products)
      runner->input(0).set_value(static_cast<std::int64_t>(r) * adder_terms + place,
                                 place == 0 ? value : std::ldexp(value, -small_exponent));
  const double subnormal = 3 * smallest_subnormal(format);
  const auto last = static_cast<std::int64_t>(probes.size());
  runner->input(0).set_value(last * adder_terms + 1, subnormal);
  const auto outputs = runner->run();
  if (!outputs) return tl::unexpected(outputs.error());
  std::vector<double> sums;
  for (std::int64_t r = 0; r <= last; ++r) sums.push_back(outputs->front().value(r * adder_cols));

  const auto answer = [&](const char* question, std::string found) {
    return ProfileAnswer{"products", implementation.path, question, std::move(found), "", ""};
  };
  const double kept = sums.back();
  const std::string rounding = rounding_text(sums[4], sums[5], sums[6], sums[7]);
  return std::vector<ProfileAnswer>{
      answer("bits", fraction_text(sums, rounding == "toward zero")), answer("rounding of the sum", rounding),
      answer("subnormal operand", kept == subnormal * large ? "kept"
                                  : kept == 0               ? "taken as zero"
                                              : fmt::format("{:a} for {:a}", kept, subnormal * large))};
}

}  // namespace

Result<std::vector<ProfileAnswer>> ask_adders(Device& device) {
  std::vector<ProfileAnswer> answers;
  for (const Implementation& implementation : device.implementations()) {
    if (implementation.op != "gemm" || implementation.accumulate != DType::f32 ||
        std::ranges::find(implementation.stores, DType::f32) == implementation.stores.end() ||
        !device.supports(implementation).legal())
      continue;
    auto found = ask_adder(device, implementation);
    if (!found) {
      if (found.error().kind == ErrorKind::unsupported) continue;
      return tl::unexpected(found.error());
    }
    std::ranges::move(*found, std::back_inserter(answers));
  }
  return answers;
}

}  // namespace parity
