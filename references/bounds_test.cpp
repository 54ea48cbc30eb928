// The emulated arithmetic lies within the tracked hard bounds of the exact one, on random and adversarial
// inputs.
#include <gtest/gtest.h>

#include "references/gradient_testing.hpp"
#include "references/reference_testing.hpp"

namespace parity {
namespace {

Tensor fp32(const Tensor& tensor) {
  return *convert(tensor, DType::f32);
}
Tensor random32(const Shape& shape, std::uint64_t seed, double least = 1e-3, double most = 3) {
  return fp32(random_tensor(shape, seed, least, most));
}

/// The numbers in a seeded order, repeated as often as needed.
Tensor drawn(const Shape& shape, const std::vector<double>& numbers, std::uint64_t seed) {
  Tensor tensor = *Tensor::create(DType::f32, shape);
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    const PhiloxBlock block = philox(seed, static_cast<std::uint64_t>(i), 0x64726177);
    tensor.set_value(i, numbers[below(numbers.size(), block.word[0], block.word[1])]);
  }
  return tensor;
}
/// Gates from silent to saturated, sums that cancel, values whose squares leave fp16 and fp32's normal range.
Tensor hard_gates(const Shape& shape, std::uint64_t seed) {
  return drawn(shape,
               {0, 1e-8, -1e-8, 0.5, -0.50000006, 8, -8, 20, -20, 90, -90, 104, -104, 1e4, -1e4, 1e30, -1e30},
               seed);
}
Tensor hard_numbers(const Shape& shape, std::uint64_t seed) {
  return drawn(shape, {0, 1, -1, 1.0000001, 1e-25, -1e-25, 1.2e-38, 3e-39, 300, -70000, 1e12, -1e12, 1e-3},
               seed);
}
/// What sigmoid and tanh give, the ends included.
Tensor gate_values(const Shape& shape, std::uint64_t seed, bool is_signed) {
  const double low = is_signed ? -1 : 0;
  return drawn(shape, {low, 1, 0.99999994, low + 1e-7, 0.5, 0.25, 1e-30}, seed);
}

std::vector<ArithmeticModel> models() {
  auto models = fp32_models();
  models.push_back(models[1]);
  models.back().denormals = Denormals::flush;
  return models;
}

/// Runs an op under every model; the median of error / hard bound is kept in the test's record and, for
/// random inputs of ordinary size, must show that the bound is not absurdly loose. (A sum of n terms is
/// typically off by about sqrt(n) of the n roundings that the bound allows for.)
void check_bounds(std::string_view op, const Attributes& attributes, const std::vector<Tensor>& inputs,
                  bool ordinary) {
  PortTensors ports;
  for (const Tensor& input : inputs) ports.push_back(input.shape().empty() ? nullptr : &input);
  std::vector<double> quotients;
  for (const ArithmeticModel& model : models()) {
    const auto more = expect_within_hard_bound(model, op, attributes, ports);
    quotients.insert(quotients.end(), more.begin(), more.end());
  }
  if (!ordinary) return;
  const double middle = median(quotients);
  testing::Test::RecordProperty(std::string(op) + " median", std::to_string(middle));
  EXPECT_GT(middle, 0.004) << op;
}

TEST(HardBounds, Elementwise) {
  for (const bool ordinary : {true, false}) {
    const Shape shape{13, 17};
    const auto make = [&](std::uint64_t seed) {
      return ordinary ? random32(shape, seed) : hard_numbers(shape, seed);
    };
    const Tensor x = make(1), y = make(2);
    check_bounds("axpby", {}, {x, y}, ordinary);
    check_bounds("axpby", {{"alpha", 0.997}, {"beta", 1 - 0.997}}, {x, y}, ordinary);
    check_bounds("mul", {}, {x, y}, ordinary);
    check_bounds("scale_by", {}, {x, random32({1}, 3)}, ordinary);
    for (const double cap : {30.0, 1e-3}) {
      check_bounds("softcap", {{"cap", cap}}, {x}, ordinary && cap > 1);
      const auto capped = evaluate_exact("softcap", {{"cap", cap}}, {&x}).front();
      Tensor result = x;
      for (std::int64_t i = 0; i < x.elements(); ++i)
        result.set_value(i, capped.v[static_cast<std::size_t>(i)]);
      check_bounds("softcap_backward", {{"cap", cap}}, {result, y}, ordinary && cap > 1);
    }
    for (const char* name : {"sigmoid", "tanh"}) {
      const Tensor result =
          ordinary ? random32(shape, 4, 0.01, 0.99) : gate_values(shape, 4, std::string_view(name) == "tanh");
      check_bounds("activation_backward", {{"activation", std::string(name)}}, {result, y}, ordinary);
    }
    // relu and cast round nothing by themselves.
    for (const ArithmeticModel& model : models()) {
      auto emulated = make_emulated_arithmetic(model);
      const Attributes relu{{"activation", std::string("relu")}};
      EXPECT_EQ(evaluate_op(**emulated, "activation_backward", relu, {&x, &y}).front().v,
                evaluate_exact("activation_backward", relu, {&x, &y}).front().v);
      EXPECT_EQ(evaluate_op(**emulated, "cast", {}, {&x}).front().v,
                evaluate_exact("cast", {}, {&x}).front().v);
    }
  }
}

TEST(HardBounds, Recurrent) {
  for (const bool ordinary : {true, false}) {
    const Shape shape{11, 7}, three{11, 21};
    const auto make = [&](const Shape& s, std::uint64_t seed) {
      return ordinary ? random32(s, seed) : hard_gates(s, seed);
    };
    const Tensor a = make(three, 1), u = make(three, 2), h = make(shape, 3), g = make(shape, 4);
    const auto gate = [&](std::uint64_t seed, bool is_signed) {
      return ordinary ? fp32(random_tensor(shape, seed, 0.05, 0.95)) : gate_values(shape, seed, is_signed);
    };
    const Tensor r = gate(5, false), z = gate(6, false), n = gate(7, true);
    for (const char* name : {"sigmoid", "tanh"})
      check_bounds("gru_gate", {{"activation", std::string(name)}}, {make(shape, 8), h}, ordinary);
    check_bounds("gru_gates", {}, {a, u, h}, ordinary);
    check_bounds("gru_gates_backward", {}, {u, h, r, z, n, g}, ordinary);
    check_bounds("gru_blend", {}, {z, n, h}, ordinary);
    check_bounds("gru_blend_backward", {}, {z, n, h, g}, ordinary);
  }
}

/// Rows that RMSNorm finds hard: zeros, all equal, squares that underflow, that leave fp16, one large among
/// small.
Tensor hard_rows(std::int64_t rows, std::int64_t cols) {
  Tensor x = random32({rows, cols}, 9);
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < cols; ++c) {
      const std::int64_t at = r * cols + c;
      const double usual = x.value(at);
      const double cases[] = {0, 0.7, usual * 1e-25, usual * 300, c == 3 ? 1e15 : usual, usual * 1e17};
      x.set_value(at, cases[r % 6]);
    }
  }
  return x;
}

TEST(HardBounds, RmsNorm) {
  for (const bool ordinary : {true, false}) {
    for (const std::int64_t cols : {1, 33, 96}) {
      const Shape shape{12, cols};
      const Tensor x = ordinary ? random32(shape, 1) : hard_rows(12, cols);
      const Tensor weight = ordinary ? random32({cols}, 2) : hard_numbers({cols}, 2);
      const Tensor g = random32(shape, 3);
      for (const double eps : {1e-5, 1.1920928955078125e-07, 1e-20}) {
        for (const std::int64_t group : {std::int64_t{0}, cols % 3 == 0 ? cols / 3 : 1}) {
          const bool whole = group == 0;
          const Tensor w = whole ? weight : Tensor{};
          const Attributes attributes{{"eps", eps}, {"group", group}};
          check_bounds("rms_norm", attributes, {x, w}, ordinary);
          const auto values = evaluate_exact("rms_norm", attributes, {&x, whole ? &w : nullptr});
          Tensor r = *Tensor::create(DType::f32, {12, values[1].cols});
          for (std::int64_t i = 0; i < r.elements(); ++i)
            r.set_value(i, values[1].v[static_cast<std::size_t>(i)]);
          check_bounds("rms_norm_backward", {{"group", group}}, {x, w, r, g}, ordinary);
          if (whole) check_bounds("rms_norm_weight_gradient", {}, {x, r, g}, ordinary);
        }
      }
    }
  }
}

TEST(HardBounds, RopeAndHeadScale) {
  for (const bool ordinary : {true, false}) {
    const Shape shape{10, 24};
    const Tensor x = ordinary ? random32(shape, 1) : hard_numbers(shape, 1);
    const Tensor g = ordinary ? random32(shape, 2) : hard_numbers(shape, 2);
    const Tensor cosines = random32({5, 3}, 3, 0.01, 1), sines = random32({5, 3}, 4, 0.01, 1);
    for (const char* pairing : {"half_split", "interleaved"})
      for (const std::int64_t inverse : {0, 1})
        check_bounds("rope",
                     {{"head_dim", std::int64_t{8}},
                      {"rotary", std::int64_t{6}},
                      {"seq", std::int64_t{5}},
                      {"pairing", std::string(pairing)},
                      {"inverse", inverse}},
                     {x, cosines, sines}, ordinary);
    check_bounds("head_scale", {}, {x, random32({3}, 5)}, ordinary);
    check_bounds("head_scale_gain_gradient", {{"heads", std::int64_t{3}}}, {x, g}, ordinary);
  }
}

TEST(HardBounds, Reductions) {
  for (const bool ordinary : {true, false}) {
    const Shape shape{29, 12};
    const Tensor x = ordinary ? random32(shape, 1) : hard_numbers(shape, 1);
    check_bounds("gradient_reduction", {}, {x}, ordinary);
    check_bounds("square_sum", {}, {x}, false);  // one number: its median is no median
    // Sums around the limit, far above, far below and zero; a quotient of about 1 is the clamp's hardest.
    const Tensor s = drawn({9}, ordinary ? std::vector{1.5, 2.0, 0.3} : std::vector{0.0, 1e-30, 1e20}, 2);
    double sum = 0;
    for (std::int64_t i = 0; i < s.elements(); ++i) sum += s.value(i);
    for (const double factor : {1.0, 1.0 + 1e-7, 1.0 - 1e-7, 0.01, 100.0})
      check_bounds("clip_factor", {{"max_norm", std::sqrt(sum) * factor}}, {s}, false);
    check_bounds("clip_factor", {{"max_norm", 1.0}}, {drawn({5}, {0}, 3)}, false);
  }
}

TEST(HardBounds, ABoundTooSmallIsSeen) {
  // The comparison must be able to fail: an emulation in other arithmetic than the bound's.
  ArithmeticModel fp64 = fp32_model({SummationOrder::Kind::sequential, 0, 0});
  fp64.precision = {DType::f64, format_of(DType::f64), DType::f64, DType::f64, DType::f64};
  const Tensor x = random32({13, 17}, 1), y = random32({13, 17}, 2);
  const auto bound = evaluate_op(*make_tracked_arithmetic(fp64), "mul", {}, {&x, &y}).front();
  const auto got = evaluate_op(**make_emulated_arithmetic(fp32_models()[0]), "mul", {}, {&x, &y}).front();
  std::size_t outside = 0;
  for (std::size_t i = 0; i < got.v.size(); ++i) outside += std::fabs(got.v[i] - bound.v[i]) > bound.hard[i];
  EXPECT_GT(outside, got.v.size() * 3 / 4);
}

}  // namespace
}  // namespace parity
