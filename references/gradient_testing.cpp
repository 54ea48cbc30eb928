#include "references/gradient_testing.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "harness/ladder/gradient_builder.hpp"
#include "harness/tensor/random.hpp"
#include "references/program_testing.hpp"

namespace parity {
namespace {

/// Derivatives below this are compared absolutely: a function may be constant.
constexpr double vanishing = 1e-4;

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

double norm(const std::vector<double>& a) {
  return std::sqrt(dot(a, a));
}

/// The function under test: all wanted inputs as one vector, the seeded output as another.
class Subject {
 public:
  static Result<Subject> create(const OpTable& ops, const GradientProblem& problem, std::uint64_t seed) {
    Subject s(ops);
    const Op* op = ops.find(problem.op);
    if (op == nullptr) return bad_input(fmt::format("no op is called '{}'", problem.op));
    std::vector<TensorId> inputs;
    for (std::size_t port = 0; port < problem.inputs.size(); ++port) {
      const auto& input = problem.inputs[port];
      inputs.push_back(input ? s.forward_.input(std::string(op->inputs()[port].name), *input) : no_tensor);
      const bool chosen = problem.wanted.empty() || std::ranges::count(problem.wanted, port) > 0;
      if (chosen && input && input->dtype() == DType::f64) s.wanted_.push_back(inputs.back());
    }
    s.output_ = s.forward_.call(problem.op, problem.attributes, inputs)[problem.seeded];
    if (s.output_ == no_tensor) return bad_input("the inputs do not fit");
    // Differences run the forward call alone, so the backward pass gets a copy.
    HostProgram both = s.forward_;
    const Tensor w = random_tensor(both.program().spec(s.output_).shape, seed * 2 + 1);
    const TensorId seed_tensor = both.input("seed", w);
    s.w_ = both.values(seed_tensor);
    const auto gradients = add_backward(ops, both.program(), {{s.output_, seed_tensor}}, s.wanted_);
    if (!gradients) return tl::unexpected(gradients.error());
    if (auto ok = check_program(ops, both.program()); !ok) return tl::unexpected(ok.error());
    if (auto ok = both.run(); !ok) return tl::unexpected(ok.error());
    for (const TensorId id : s.wanted_) {
      const TensorId gradient = gradients->at(id);
      if (both.tensor(gradient).shape() != both.tensor(id).shape())
        return fail(ErrorKind::internal,
                    fmt::format("the gradient of {} has shape {}", both.program().spec(id).name,
                                to_string(both.tensor(gradient).shape())));
      const std::vector<double> values = both.values(gradient);
      s.gradient_.insert(s.gradient_.end(), values.begin(), values.end());
      s.sizes_.push_back(values.size());
    }
    return s;
  }

  const std::vector<double>& gradient() const { return gradient_; }
  const std::vector<double>& w() const { return w_; }
  const std::vector<std::size_t>& sizes() const { return sizes_; }  ///< elements of each wanted input

  /// f(x + h v), v over all wanted inputs.
  std::vector<double> at(double h, const std::vector<double>& v) const {
    HostProgram moved = forward_;
    std::size_t next = 0;
    for (const TensorId id : wanted_) {
      Tensor& tensor = moved.tensor(id);
      for (std::int64_t i = 0; i < tensor.elements(); ++i)
        tensor.set_value(i, tensor.value(i) + h * v[next++]);
    }
    const auto ok = moved.run();
    EXPECT_TRUE(ok.has_value()) << (ok ? "" : ok.error().message);
    return moved.values(output_);
  }

  /// J v: central differences at h, h/2 and h/4, extrapolated twice (error of order h^6).
  std::vector<double> derivative(const std::vector<double>& v, double h) const {
    std::vector<std::vector<double>> quotients;
    for (int level = 0; level < 3; ++level, h /= 2) {
      std::vector<double> quotient = at(h, v);
      const std::vector<double> behind = at(-h, v);
      for (std::size_t i = 0; i < quotient.size(); ++i) quotient[i] = (quotient[i] - behind[i]) / (2 * h);
      quotients.push_back(std::move(quotient));
    }
    std::vector<double> result(quotients[0].size());
    for (std::size_t i = 0; i < result.size(); ++i) {
      const double first = (4 * quotients[1][i] - quotients[0][i]) / 3;
      const double second = (4 * quotients[2][i] - quotients[1][i]) / 3;
      result[i] = (16 * second - first) / 15;
    }
    return result;
  }

 private:
  explicit Subject(const OpTable& ops) : forward_(ops) {}

  HostProgram forward_;
  std::vector<TensorId> wanted_;
  std::vector<std::size_t> sizes_;
  TensorId output_ = no_tensor;
  std::vector<double> w_, gradient_;
};

/// Every element of the gradient against a difference quotient of <w, f>.
double worst_difference(const Subject& subject) {
  double worst = 0;
  std::size_t element = 0;
  std::vector<double> v(subject.gradient().size());
  for (const std::size_t size : subject.sizes()) {
    double largest = 0, error = 0;
    for (std::size_t i = 0; i < size; ++i, ++element) {
      v[element] = 1;
      const double want = dot(subject.w(), subject.derivative(v, 0.02));
      v[element] = 0;
      largest = std::max(largest, std::fabs(want));
      const double difference = std::fabs(subject.gradient()[element] - want);
      error = std::isnan(difference) ? difference : std::max(error, difference);
      if (std::isnan(error)) return error;
    }
    worst = std::max(worst, error / std::max(largest, vanishing));
  }
  return worst;
}

double taylor_order(const Subject& subject, const std::vector<double>& v) {
  const std::vector<double> here = subject.at(0, v);
  const double slope = dot(subject.gradient(), v);
  const auto remainder = [&](double h) {
    return std::fabs(dot(subject.w(), subject.at(h, v)) - dot(subject.w(), here) - h * slope);
  };
  constexpr double wide = 0x1p-7, narrow = 0x1p-11;
  const double rounding = 1e-13 * norm(subject.w()) * norm(here) + 1e-300;
  if (remainder(wide) <= rounding) return std::numeric_limits<double>::infinity();
  return std::log2(remainder(wide) / std::max(remainder(narrow), rounding)) / std::log2(wide / narrow);
}

}  // namespace

Tensor random_tensor(Shape shape, std::uint64_t seed, double least, double most) {
  Tensor tensor = *Tensor::create(DType::f64, std::move(shape));
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    const PhiloxBlock block = philox(seed, static_cast<std::uint64_t>(i), 0x67726164);
    const double magnitude = least + (most - least) * uniform_open(block.word[0], block.word[1]);
    tensor.set_value(i, (block.word[2] & 1u) != 0 ? -magnitude : magnitude);
  }
  return tensor;
}

Tensor index_tensor(const std::vector<std::int64_t>& values) {
  Tensor tensor = *Tensor::create(DType::i32, {static_cast<std::int64_t>(values.size())});
  for (std::size_t i = 0; i < values.size(); ++i)
    tensor.set_value(static_cast<std::int64_t>(i), static_cast<double>(values[i]));
  return tensor;
}

Result<GradientAgreement> gradient_agreement(const OpTable& ops, const GradientProblem& problem,
                                             std::uint64_t seed) {
  const auto subject = Subject::create(ops, problem, seed);
  if (!subject) return tl::unexpected(subject.error());
  const Tensor direction =
      random_tensor({static_cast<std::int64_t>(subject->gradient().size())}, seed * 2 + 2, 0.1, 1.0);
  const std::span<const double> numbers = direction.as<double>();
  const std::vector<double> v(numbers.begin(), numbers.end());
  const std::vector<double> jv = subject->derivative(v, 0.02);
  GradientAgreement agreement;
  agreement.difference = worst_difference(*subject);
  agreement.adjoint = std::fabs(dot(jv, subject->w()) - dot(v, subject->gradient())) /
                      (std::max(norm(jv), vanishing) * norm(subject->w()));
  agreement.taylor_order = taylor_order(*subject, v);
  return agreement;
}

void expect_right_gradient(const OpTable& ops, const GradientProblem& problem, std::uint64_t seed) {
  const auto agreement = gradient_agreement(ops, problem, seed);
  ASSERT_TRUE(agreement.has_value()) << problem.op << ": " << agreement.error().message;
  EXPECT_LE(agreement->difference, 1e-8) << problem.op;
  EXPECT_LE(agreement->adjoint, 1e-11) << problem.op;
  EXPECT_GE(agreement->taylor_order, 1.9) << problem.op;
}

}  // namespace parity
