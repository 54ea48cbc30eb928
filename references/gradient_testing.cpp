#include "references/gradient_testing.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "harness/ladder/gradient_builder.hpp"
#include "harness/tensor/random.hpp"

namespace parity {
namespace {

using Tensors = std::map<TensorId, Tensor>;

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

std::vector<double> values_of(const Tensor& tensor) {
  std::vector<double> values(static_cast<std::size_t>(tensor.elements()));
  for (std::int64_t i = 0; i < tensor.elements(); ++i) values[static_cast<std::size_t>(i)] = tensor.value(i);
  return values;
}

/// Runs the program's calls on the host in exact arithmetic.
Result<void> run(const OpTable& ops, const Program& program, Tensors& tensors) {
  const auto exact = make_exact_arithmetic();
  for (const OpCall& call : program.calls) {
    PortTensors ports;
    for (const TensorId id : call.inputs) ports.push_back(id == no_tensor ? nullptr : &tensors.at(id));
    auto values = ops.find(call.op)->evaluate(*exact, call.attributes, ports);
    if (!values) return tl::unexpected(values.error());
    for (std::size_t i = 0; i < call.outputs.size(); ++i) {
      const TensorSpec& spec = program.spec(call.outputs[i]);
      auto tensor = Tensor::create(spec.dtype, spec.shape);
      if (!tensor) return tl::unexpected(tensor.error());
      if ((*values)[i].size() != tensor->elements())
        return fail(ErrorKind::internal, fmt::format("{}: output {} has {} elements, its shape is {}",
                                                     call.op, i, (*values)[i].size(), to_string(spec.shape)));
      for (std::int64_t e = 0; e < tensor->elements(); ++e)
        tensor->set_value(e, (*values)[i].v[static_cast<std::size_t>(e)]);
      tensors[call.outputs[i]] = std::move(*tensor);
    }
  }
  return {};
}

/// The function under test: all wanted inputs as one vector, the seeded output as another.
class Subject {
 public:
  static Result<Subject> create(const OpTable& ops, const GradientProblem& problem, std::uint64_t seed) {
    Subject s(ops);
    const Op* op = ops.find(problem.op);
    if (op == nullptr) return bad_input(fmt::format("no op is called '{}'", problem.op));
    OpCall call{problem.op, problem.attributes, {}, {}};
    std::vector<std::optional<Shape>> shapes;
    for (std::size_t port = 0; port < problem.inputs.size(); ++port) {
      const auto& input = problem.inputs[port];
      shapes.push_back(input ? std::optional(input->shape()) : std::nullopt);
      call.inputs.push_back(input ? s.add(std::string(op->inputs()[port].name), input->dtype(),
                                          input->shape(), TensorSpec::Role::input)
                                  : no_tensor);
      if (!input) continue;
      s.inputs_[call.inputs.back()] = *input;
      const bool chosen = problem.wanted.empty() || std::ranges::count(problem.wanted, port) > 0;
      if (chosen && input->dtype() == DType::f64) s.wanted_.push_back(call.inputs.back());
    }
    auto outputs = op->infer(problem.attributes, shapes);
    if (!outputs) return tl::unexpected(outputs.error());
    for (std::size_t i = 0; i < outputs->size(); ++i)
      call.outputs.push_back(s.add(std::string(op->outputs()[i].name) + " (out)", DType::f64, (*outputs)[i],
                                   TensorSpec::Role::output));
    s.output_ = call.outputs[problem.seeded];
    s.program_.calls.push_back(call);
    const Tensor w = random_tensor((*outputs)[problem.seeded], seed * 2 + 1);
    s.w_ = values_of(w);
    // The backward pass has its own copy of the program: differences run the forward call alone.
    Program backward = s.program_;
    const TensorId seed_tensor = s.add("seed", DType::f64, w.shape(), TensorSpec::Role::input);
    backward.tensors = s.program_.tensors;
    Tensors tensors = s.inputs_;
    tensors[seed_tensor] = w;
    auto gradients = add_backward(ops, backward, {{s.output_, seed_tensor}}, s.wanted_);
    if (!gradients) return tl::unexpected(gradients.error());
    if (auto ok = check_program(ops, backward); !ok) return tl::unexpected(ok.error());
    if (auto ok = run(ops, backward, tensors); !ok) return tl::unexpected(ok.error());
    for (const TensorId id : s.wanted_) {
      const Tensor& gradient = tensors.at(gradients->at(id));
      if (gradient.shape() != s.inputs_.at(id).shape())
        return fail(ErrorKind::internal, fmt::format("the gradient of {} has shape {}",
                                                     s.program_.spec(id).name, to_string(gradient.shape())));
      const std::vector<double> values = values_of(gradient);
      s.gradient_.insert(s.gradient_.end(), values.begin(), values.end());
      s.sizes_.push_back(values.size());
    }
    return s;
  }

  const std::vector<double>& gradient() const { return gradient_; }
  const std::vector<double>& w() const { return w_; }
  const std::vector<std::size_t>& sizes() const { return sizes_; }

  /// f(x + h v), v over all wanted inputs.
  std::vector<double> at(double h, const std::vector<double>& v) const {
    Tensors tensors = inputs_;
    std::size_t next = 0;
    for (const TensorId id : wanted_) {
      Tensor& tensor = tensors.at(id);
      for (std::int64_t i = 0; i < tensor.elements(); ++i)
        tensor.set_value(i, tensor.value(i) + h * v[next++]);
    }
    const auto ok = run(ops_, program_, tensors);
    EXPECT_TRUE(ok.has_value()) << (ok ? "" : ok.error().message);
    return values_of(tensors.at(output_));
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
  explicit Subject(const OpTable& ops) : ops_(ops) {}

  TensorId add(std::string name, DType dtype, const Shape& shape, TensorSpec::Role role) {
    TensorSpec spec;
    spec.name = std::move(name);
    spec.dtype = dtype;
    spec.shape = shape;
    spec.strides = contiguous_strides(shape);
    spec.role = role;
    program_.tensors.push_back(std::move(spec));
    return static_cast<TensorId>(program_.tensors.size()) - 1;
  }

  const OpTable& ops_;
  Program program_;
  Tensors inputs_;
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
  const std::vector<double> v = values_of(
      random_tensor({static_cast<std::int64_t>(subject->gradient().size())}, seed * 2 + 2, 0.1, 1.0));
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
