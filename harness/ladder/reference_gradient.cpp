// An op against its gradient rule: the two are written apart, and one says what the other must be.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/ladder/gradient_builder.hpp"
#include "harness/ladder/program_reference.hpp"
#include "harness/ladder/reference_check.hpp"
#include "harness/tensor/random.hpp"

namespace parity {
namespace {

/// 1/4 .. 1 of either sign; the same everywhere.
double direction(std::uint64_t stream, std::uint64_t element) {
  const PhiloxBlock block = philox(0x5e1fc4ec, element, stream);
  const double size = 0.25 + 0.75 * uniform_open(block.word[0], block.word[1]);
  return (block.word[2] & 1U) != 0 ? size : -size;
}

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

/// The call alone in fp64, a little beside its inputs, with its backward pass.
class GradientProbe {
 public:
  GradientProbe(const OpTable& ops, const CallResult& call) : ops_(ops), call_(call) {}

  bool prepare();
  /// <w, f(x + h v)>; `spread`: sum of |w| times fp64's bound of f.
  std::optional<double> at(double h, const ArithmeticModel& fp64, double* spread = nullptr) const;
  /// <v, J^T w>, and the sum of its terms' magnitudes.
  std::optional<std::pair<double, double>> backward() const;

 private:
  TensorId add(std::string_view name, const Tensor& tensor, TensorSpec::Role role);

  const OpTable& ops_;
  const CallResult& call_;
  Program program_, forward_;
  std::map<TensorId, Tensor> inputs_;
  std::map<TensorId, std::vector<double>> v_;
  std::map<TensorId, TensorId> gradients_;
  std::vector<double> w_;
};

TensorId GradientProbe::add(std::string_view name, const Tensor& tensor, TensorSpec::Role role) {
  TensorSpec spec;
  spec.name = name;
  spec.dtype = tensor.dtype(), spec.shape = tensor.shape(), spec.strides = tensor.strides();
  spec.role = role;
  program_.tensors.push_back(std::move(spec));
  return static_cast<TensorId>(program_.tensors.size() - 1);
}

bool GradientProbe::prepare() {
  program_.accumulate = DType::f64;
  OpCall call{std::string(call_.op->name()), *call_.attributes, {}, {}};
  std::vector<std::optional<Shape>> shapes;
  for (std::size_t port = 0; port < call_.inputs.size(); ++port) {
    const Tensor* given = call_.inputs[port];
    shapes.push_back(given == nullptr ? std::nullopt : std::optional(given->shape()));
    if (given == nullptr) {
      call.inputs.push_back(no_tensor);
      continue;
    }
    const bool real = is_float(given->dtype());
    auto tensor = Tensor::create(real ? DType::f64 : given->dtype(), given->shape());
    if (!tensor) return false;
    double scale = 0;
    for (std::int64_t i = 0; real && i < given->elements(); ++i) {
      if (!std::isfinite(given->value(i))) return false;
      scale = std::max(scale, std::fabs(given->value(i)));
    }
    if (scale == 0) scale = 1;
    std::vector<double> v;
    for (std::int64_t i = 0; i < given->elements(); ++i) {
      const auto element = static_cast<std::uint64_t>(i);
      // Beside the data: what is zero stands on the kinks of some functions.
      tensor->set_value(i, given->value(i) + (real ? 0x1p-10 * scale * direction(3 * port, element) : 0));
      v.push_back(scale * direction(3 * port + 1, element));
    }
    const TensorId id = add(call_.op->inputs()[port].name, *tensor, TensorSpec::Role::input);
    call.inputs.push_back(id);
    inputs_.emplace(id, *std::move(tensor));
    if (real) v_.emplace(id, std::move(v));
  }
  const auto outputs = call_.op->infer(*call_.attributes, shapes);
  if (!outputs) return false;
  TensorId output = no_tensor;
  for (std::size_t port = 0; port < outputs->size(); ++port) {
    const auto tensor = Tensor::create(DType::f64, (*outputs)[port]);
    if (!tensor) return false;
    call.outputs.push_back(add(call_.op->outputs()[port].name, *tensor, TensorSpec::Role::output));
    if (port == call_.output) output = call.outputs.back();
  }
  program_.calls.push_back(std::move(call));
  forward_ = program_;

  auto seed = Tensor::create(DType::f64, (*outputs)[call_.output]);
  if (!seed) return false;
  for (std::int64_t i = 0; i < seed->elements(); ++i) {
    w_.push_back(direction(2, static_cast<std::uint64_t>(i)));
    seed->set_value(i, w_.back());
  }
  const TensorId seed_id = add("seed", *seed, TensorSpec::Role::input);
  // A table, or a label, has no gradient: the inputs that have one, of all that could.
  std::vector<TensorId> wanted;
  for (const auto& [id, v] : v_) {
    Program trial = program_;
    if (add_backward(ops_, trial, {{output, seed_id}}, {id})) wanted.push_back(id);
  }
  std::erase_if(v_,
                [&](const auto& entry) { return std::ranges::find(wanted, entry.first) == wanted.end(); });
  if (wanted.empty()) return false;
  auto gradients = add_backward(ops_, program_, {{output, seed_id}}, wanted);
  if (!gradients || !check_program(ops_, program_)) return false;
  gradients_ = *std::move(gradients);
  inputs_.emplace(seed_id, *std::move(seed));
  return true;
}

std::optional<double> GradientProbe::at(double h, const ArithmeticModel& fp64, double* spread) const {
  std::map<TensorId, Tensor> moved = inputs_;
  for (const auto& [id, v] : v_) {
    Tensor& tensor = moved.at(id);
    for (std::int64_t i = 0; i < tensor.elements(); ++i)
      tensor.set_value(i, tensor.value(i) + h * v[static_cast<std::size_t>(i)]);
  }
  PortTensors ports;
  for (const TensorId id : forward_.calls[0].inputs)
    ports.push_back(id == no_tensor ? nullptr : &moved.at(id));
  const auto arithmetic = spread != nullptr ? make_tracked_arithmetic(fp64) : make_exact_arithmetic();
  const auto values = call_.op->evaluate(*arithmetic, *call_.attributes, ports);
  if (!values || (*values)[call_.output].v.size() != w_.size()) return std::nullopt;
  const Value& f = (*values)[call_.output];
  for (std::size_t i = 0; spread != nullptr && i < f.hard.size(); ++i)
    *spread += std::fabs(w_[i]) * f.hard[i];
  const double result = dot(w_, f.v);
  return std::isfinite(result) ? std::optional(result) : std::nullopt;
}

std::optional<std::pair<double, double>> GradientProbe::backward() const {
  const auto evaluated = evaluate_exactly(ops_, program_, inputs_);
  if (!evaluated) return std::nullopt;
  double sum = 0, magnitude = 0;
  for (const auto& [id, v] : v_) {
    const auto found = evaluated->values.find(gradients_.at(id));
    if (found == evaluated->values.end() || found->second.v.size() != v.size()) return std::nullopt;
    for (std::size_t i = 0; i < v.size(); ++i) {
      sum += v[i] * found->second.v[i];
      magnitude += std::fabs(v[i] * found->second.v[i]);
    }
  }
  return std::isfinite(sum) ? std::optional(std::pair(sum, magnitude)) : std::nullopt;
}

}  // namespace

std::string gradient_contradiction(const OpTable& ops, const CallResult& call, const ArithmeticModel& fp64,
                                   bool& made) {
  made = false;
  GradientProbe probe(ops, call);
  if (!probe.prepare()) return {};
  const auto gradient = probe.backward();
  double spread = 0;
  if (!gradient || !probe.at(0, fp64, &spread)) return {};
  // An error of the difference quotient shrinks with h (truncation, a kink that is stepped over) or grows
  // with 1/h (rounding, bounded below); a wrong derivative stays what it is.
  double apart[2] = {}, quotient = 0;
  constexpr double steps[2] = {0x1p-15, 0x1p-17};
  for (int i = 0; i < 2; ++i) {
    const auto ahead = probe.at(steps[i], fp64), behind = probe.at(-steps[i], fp64);
    if (!ahead || !behind) return {};
    quotient = (*ahead - *behind) / (2 * steps[i]);
    apart[i] = quotient - gradient->first;
  }
  made = true;
  const double limit = 1e-6 * gradient->second + 2 * spread / steps[1];
  const bool stays = std::fabs(apart[0] - apart[1]) < 0.1 * std::fabs(apart[1]);
  if (!stays || !(std::fabs(apart[1]) > limit)) return {};
  return fmt::format(
      "the derivative along one direction is {:.10g} by differences of the op and {:.10g} by the "
      "rule, where they may be {:.3g} apart",
      quotient, gradient->first, limit);
}

}  // namespace parity
