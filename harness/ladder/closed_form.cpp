#include "harness/ladder/closed_form.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace parity {
namespace {

using Long = long double;

struct Asked {
  const Attributes& attributes;
  const PortTensors& inputs;
  std::size_t output;
  std::int64_t element;

  Long at(std::size_t port) const { return static_cast<Long>(inputs[port]->value(element)); }
  /// Attributes reach a device as fp32 numbers.
  static Long narrow(double x) { return static_cast<Long>(static_cast<float>(x)); }
};

/// Loshchilov and Hutter: the gradient's moving averages, corrected for their start at zero, and a decay that
/// is no part of the gradient.
Long adamw_element(const Asked& a) {
  const double lr = a.attributes.real("lr"), beta1 = a.attributes.real("beta1", 0.9),
               beta2 = a.attributes.real("beta2", 0.95);
  const Long p = a.at(0), g = a.at(1);
  const Long m = a.at(2) * Asked::narrow(beta1) + g * Asked::narrow(1 - beta1);
  const Long v = a.at(3) * Asked::narrow(beta2) + g * g * Asked::narrow(1 - beta2);
  if (a.output == 1) return m;
  if (a.output == 2) return v;
  const Long m_hat = m / static_cast<Long>(a.inputs[4]->value(0));
  const Long v_hat = v / static_cast<Long>(a.inputs[4]->value(1));
  const Long kept = Asked::narrow(1 - lr * a.attributes.real("weight_decay", 0));
  return kept * p -
         Asked::narrow(lr) * m_hat / (std::sqrt(v_hat) + Asked::narrow(a.attributes.real("eps", 1e-8)));
}

/// B' = mu B + G, and Nesterov's look ahead.
Long momentum_element(const Asked& a) {
  const Long mu = Asked::narrow(a.attributes.real("mu", 0.95)), g = a.at(1);
  const Long b = mu * a.at(0) + g;
  return a.output == 0 ? b : g + mu * b;
}

Long normalized_element(const Asked& a) {
  Long sum = 0;
  for (std::int64_t i = 0; i < a.inputs[0]->elements(); ++i) {
    const Long x = static_cast<Long>(a.inputs[0]->value(i));
    sum += x * x;
  }
  return a.at(0) / (std::sqrt(sum) + Asked::narrow(a.attributes.real("eps", 1e-7)));
}

struct Form {
  std::string_view op;
  Long (*element)(const Asked&);
};
constexpr std::array<Form, 3> forms{{{"adamw", adamw_element},
                                     {"muon_momentum", momentum_element},
                                     {"frobenius_normalize", normalized_element}}};

}  // namespace

std::optional<long double> closed_form(std::string_view op, const Attributes& attributes,
                                       const PortTensors& inputs, std::size_t output, std::int64_t element) {
  const auto found = std::ranges::find(forms, op, &Form::op);
  if (found == forms.end()) return std::nullopt;
  return found->element({attributes, inputs, output, element});
}

}  // namespace parity
