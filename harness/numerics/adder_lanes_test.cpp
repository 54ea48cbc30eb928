// The lanes of the multi-term adder against the general code, which emulated_matmul_test.cpp holds against
// exact integers: the same bits on any data, with every instruction set this machine has.
#include <cmath>
#include <limits>
#include <map>

#include "harness/numerics/arithmetic_testing.hpp"
#include "harness/numerics/multi_term_adder.hpp"
#include "harness/numerics/summation_tree.hpp"
#include "harness/numerics/tree_matmul.hpp"

namespace parity {
namespace {

using namespace parity::testing;
using Kind = SummationOrder::Kind;

enum class Data {
  normal,
  positive,
  wide,
  subnormal,
  cancelling,
  sparse,
  largest_significands,
  overflowing,
  special,
  zero
};
constexpr Data all_data[] = {Data::normal,
                             Data::positive,
                             Data::wide,
                             Data::subnormal,
                             Data::cancelling,
                             Data::sparse,
                             Data::largest_significands,
                             Data::overflowing,
                             Data::special,
                             Data::zero};

/// A rows x cols matrix in `format`; `right` tells the two factors of a product apart.
std::vector<double> adder_data(Data data, const FloatFormat& format, std::int64_t rows, std::int64_t cols,
                               bool right, std::uint64_t seed) {
  std::vector<double> out;
  for (std::int64_t i = 0; i < rows * cols; ++i) {
    const PhiloxBlock random = philox(seed, static_cast<std::uint64_t>(i), right ? 5 : 6);
    double x = std::ldexp(static_cast<double>(static_cast<std::int32_t>(random.word[0])), -31);
    const std::int64_t k = right ? i / cols : i % cols;
    switch (data) {
      case Data::normal:
      case Data::special:
        break;
      case Data::positive:
        x = std::fabs(x);
        break;
      case Data::wide:
        x = std::ldexp(x, static_cast<int>(random.word[1] % 24) - 12);
        break;
      case Data::subnormal:
        x = std::ldexp(x, format.min_exponent - static_cast<int>(random.word[1] % 6));
        if (right && format.min_exponent < -100) x = std::ldexp(x, 120);
        break;
      case Data::cancelling:  // neighbouring products cancel to their last bits
        x = right ? 1 + std::ldexp(x, -8) : (k % 2 == 0 ? 1 : -1) * (1 + std::ldexp(x, -8));
        break;
      case Data::sparse:
        if (random.word[1] % 8 != 0) x = 0;
        break;
      case Data::largest_significands:  // a step's sum at the end of 32 bits
        x = 2 - std::ldexp(1.0, 1 - format.precision);
        if (!right && seed % 2 == 0) x = -x;
        break;
      case Data::overflowing:  // a sum just below 2 and then a step of products just below 4: beyond 32 bits
        x = k == 0 || k > 15 ? 2 - std::ldexp(1.0, 1 - format.precision) : 0;
        if (k == 0 && right) x = 1;
        break;
      case Data::zero:
        x = random.word[1] % 2 == 0 ? 0.0 : -0.0;
        break;
    }
    if (data == Data::special && random.word[1] % 64 == 0)
      x = random.word[2] % 2 == 0 ? std::nan("") : std::copysign(HUGE_VAL, x);
    out.push_back(round_to(format, x));
  }
  return out;
}

bool same(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

struct AdderCase {
  const char* name;
  FloatFormat multiply;
  MultiTermAdder adder;
};
const AdderCase adder_cases[] = {{"f16 16+1 F25", format_of(DType::f16), {16, 25}},
                                 {"f16 8+1 F24", format_of(DType::f16), {8, 24}},
                                 {"f16 4+1 F23", format_of(DType::f16), {4, 23}},
                                 {"bf16 16+1 F25", format_of(DType::bf16), {16, 25}},
                                 {"tf32 8+1 F25", tf32_format, {8, 25}}};

std::map<std::string, const AdderLanes*> instruction_sets() {
  std::map<std::string, const AdderLanes*> sets{{"plain", &plain_adder_lanes()}};
  if (&adder_lanes() != &plain_adder_lanes()) sets["wide"] = &adder_lanes();
  return sets;
}

TEST(AdderLanes, GiveTheBitsOfTheGeneralCodeOnAnyData) {
  constexpr std::int64_t m = 5, n = 35;
  int held = 0;
  for (const AdderCase& c : adder_cases) {
    for (const SummationOrder& order : {SummationOrder{}, SummationOrder{Kind::split_k, 3, 0}}) {
      for (const std::int64_t k : {1, 16, 100, 301}) {
        for (const Data data : all_data) {
          const auto seed = static_cast<std::uint64_t>(k);
          const auto a = adder_data(data, c.multiply, m, k, false, seed);
          const auto b = adder_data(data, c.multiply, k, n, true, seed);
          const auto left = view(a.data(), m, k, false), right = view(b.data(), k, n, false);
          const auto plan = *plan_summation(order, k);
          std::vector<double> want(m * n), got(m * n);
          for (const bool flush : {false, true}) {
            multi_term_reference({c.adder, c.multiply, DType::f32, flush}, plan, left, right, want.data());
            for (const auto& [set, lanes] : instruction_sets()) {
              if (!multi_term_lanes(*lanes, {c.adder, c.multiply, DType::f32, flush}, plan, left, right,
                                    got.data()))
                continue;
              ++held;
              for (std::size_t i = 0; i < want.size(); ++i)
                ASSERT_TRUE(same(got[i], want[i]))
                    << c.name << ", " << set << ", K=" << k << ", data " << static_cast<int>(data)
                    << ", element " << i << ": " << got[i] << " for " << want[i];
            }
          }
        }
      }
    }
  }
  // Only bf16 and TF32 numbers at the ends of their range are too wide for the lanes.
  EXPECT_GE(held, 640 * static_cast<int>(instruction_sets().size()));
}

TEST(AdderLanes, RefuseWhatTheyCannotHold) {
  const AdderSteps hopper{16, 25, 0};
  EXPECT_TRUE(adder_lanes_fit(hopper, 11, -28, 30, 4096));
  EXPECT_FALSE(adder_lanes_fit(hopper, 24, -28, 30, 4096));       // products of 48 bits
  EXPECT_FALSE(adder_lanes_fit(hopper, 8, -252, 30, 4096));       // sums below fp32's range
  EXPECT_FALSE(adder_lanes_fit(hopper, 8, -28, 120, 4096));       // and above it
  EXPECT_FALSE(adder_lanes_fit({32, 25, 0}, 11, -28, 30, 4096));  // more than 31 bits a step
  EXPECT_FALSE(adder_lanes_fit({16, 22, 0}, 11, -28, 30, 4096));  // an old sum would lose bits
}

/// Steps of `fan` terms on two chains that meet at the end, with a three-term addition of sums among them.
SummationTree fused_tree(std::int64_t terms, std::int64_t fan) {
  SummationTreeBuilder builder;
  std::int32_t chains[3] = {-1, -1, -1};
  std::int64_t step = 0;
  for (std::int64_t first = 0; first < terms; first += fan, ++step) {
    std::int32_t& chain = chains[step % 3];
    std::vector<std::int32_t> parts{chain};
    for (std::int64_t k = first; k < std::min(terms, first + fan); ++k) parts.push_back(builder.term(k));
    chain = builder.add(parts);
  }
  return *builder.finish(builder.add(std::span<const std::int32_t>(chains)));
}

TEST(AdderLanes, FollowAnyTree) {
  constexpr std::int64_t m = 3, n = 35;
  for (const AdderCase& c : adder_cases) {
    for (const std::int64_t k : {1, 2, 33, 150}) {
      for (const Data data : all_data) {
        const auto a = adder_data(data, c.multiply, m, k, false, 3);
        const auto b = adder_data(data, c.multiply, k, n, true, 3);
        ArithmeticModel model = model_of(DType::f32, DType::f32, {}, MultiplyAdd::multi_term);
        model.precision.multiply = c.multiply;
        model.accumulation->adder = c.adder;
        model.accumulation->order = {Kind::tree, 0, 0,
                                     std::make_shared<const SummationTree>(fused_tree(k, c.adder.terms))};
        std::vector<double> want(m * n), got(m * n);
        const auto left = view(a.data(), m, k, false), right = view(b.data(), k, n, false);
        tree_matmul(model, left, right, want.data(), false);
        tree_matmul(model, left, right, got.data(), true);
        for (std::size_t i = 0; i < want.size(); ++i)
          ASSERT_TRUE(same(got[i], want[i])) << c.name << ", K=" << k << ", data " << static_cast<int>(data)
                                             << ", element " << i << ": " << got[i] << " for " << want[i];
      }
    }
  }
}

}  // namespace
}  // namespace parity
