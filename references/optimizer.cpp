// adamw, muon_momentum and frobenius_normalize (docs/operations.md). They are not differentiated.
#include <fmt/format.h>

#include "harness/numerics/value_shape.hpp"
#include "references/defined_op.hpp"
#include "references/formulas.hpp"
#include "references/op_table.hpp"

namespace parity {
namespace {

using Index = std::int64_t;

Result<std::vector<Value>> evaluate_adamw(Arithmetic& arithmetic, const Attributes& attributes,
                                          const PortTensors& inputs) {
  const double lr = attributes.real("lr"), beta1 = attributes.real("beta1"), beta2 = attributes.real("beta2");
  const Value p = arithmetic.load(*inputs[0]), g = arithmetic.load(*inputs[1]);
  const Value m = arithmetic.load(*inputs[2]), v = arithmetic.load(*inputs[3]);
  const Value correction = arithmetic.load(*inputs[4]);
  const Value first = take_cols(correction, 0, 1), second = take_cols(correction, 1, 1);
  const Value square = arithmetic.mul(g, g);
  Value m_next = arithmetic.scale_add(fp32_number(beta1), m, fp32_number(1 - beta1), &g);
  Value v_next = arithmetic.scale_add(fp32_number(beta2), v, fp32_number(1 - beta2), &square);
  const Value root = arithmetic.apply(Function::sqrt, arithmetic.div(v_next, second));
  const Value below = arithmetic.add(root, constant(fp32_number(attributes.real("eps"))));
  const Value update = arithmetic.div(arithmetic.div(m_next, first), below);
  Value p_next = arithmetic.scale_add(fp32_number(1 - lr * attributes.real("weight_decay")), p,
                                      -fp32_number(lr), &update);
  return std::vector<Value>{std::move(p_next), std::move(m_next), std::move(v_next)};
}

Result<std::vector<Value>> evaluate_momentum(Arithmetic& arithmetic, const Attributes& attributes,
                                             const PortTensors& inputs) {
  const double mu = fp32_number(attributes.real("mu"));
  const Value g = arithmetic.load(*inputs[1]);
  Value b_next = arithmetic.scale_add(mu, arithmetic.load(*inputs[0]), 1, &g);
  Value u = arithmetic.scale_add(mu, b_next, 1, &g);
  return std::vector<Value>{std::move(b_next), std::move(u)};
}

Result<std::vector<Value>> evaluate_normalize(Arithmetic& arithmetic, const Attributes& attributes,
                                              const PortTensors& inputs) {
  const Value x = arithmetic.load(*inputs[0]);
  const Value all = reshape(x, 1, 1, x.size());
  const Value norm = arithmetic.apply(Function::sqrt, arithmetic.row_dot(all, &all));
  return std::vector<Value>{
      arithmetic.div(x, arithmetic.add(norm, constant(fp32_number(attributes.real("eps")))))};
}

/// Matrices of one size, or with `vectors` vectors of one length, ports 0 .. names.size() - 1.
Result<void> expect_alike(std::initializer_list<std::string_view> names, PortShapes in,
                          bool vectors = false) {
  if (auto size = matrix_size(*names.begin(), *in[0]); !size && !(vectors && in[0]->size() == 1))
    return tl::unexpected(size.error());
  std::size_t port = 0;
  for (const std::string_view name : names)
    if (auto ok = expect_shape(name, *in[port++], *in[0]); !ok) return ok;
  return {};
}

}  // namespace

std::vector<std::unique_ptr<const Op>> make_optimizer_ops() {
  std::vector<std::unique_ptr<const Op>> ops;
  ops.push_back(make_op({
      .name = "adamw",
      .summary = "m, v moving averages; p' = p (1 - lr wd) - lr (m' / c0) / (sqrt(v' / c1) + eps)",
      .inputs = {{"P"}, {"G"}, {"M"}, {"V"}, {"correction"}},
      .outputs = {{"P_next"}, {"M_next"}, {"V_next"}},
      .attributes = {{"lr", 1e-3, true, 0, 1e30},
                     {"beta1", 0.9, false, 0, 1},
                     {"beta2", 0.95, false, 0, 1},
                     {"eps", 1e-8, false, 0, 1e30},
                     {"weight_decay", 0.0, false, 0, 1e30}},
      .infer = [](const Attributes&, PortShapes in) -> Result<std::vector<Shape>> {
        if (auto ok = expect_alike({"P", "G", "M", "V"}, in, true); !ok) return tl::unexpected(ok.error());
        if (auto ok = expect_shape("correction", *in[4], {2}); !ok) return tl::unexpected(ok.error());
        return std::vector<Shape>(3, *in[0]);
      },
      .evaluate = evaluate_adamw,
      .gradient = {},
      .flops_per_element = [](const OpCall&, const Program&) { return 15.0; },
      .reduction_length = {},
  }));
  ops.push_back(make_op({
      .name = "muon_momentum",
      .summary = "B' = mu B + G, U = G + mu B'",
      .inputs = {{"B"}, {"G"}},
      .outputs = {{"B_next"}, {"U"}},
      .attributes = {{"mu", 0.95, true, 0, 1}},
      .infer = [](const Attributes&, PortShapes in) -> Result<std::vector<Shape>> {
        if (auto ok = expect_alike({"B", "G"}, in); !ok) return tl::unexpected(ok.error());
        return std::vector<Shape>(2, *in[0]);
      },
      .evaluate = evaluate_momentum,
      .gradient = {},
      .flops_per_element = [](const OpCall&, const Program&) { return 4.0; },
      .reduction_length = {},
  }));
  ops.push_back(make_op({
      .name = "frobenius_normalize",
      .summary = "Y = X / (sqrt(sum X^2) + eps)",
      .inputs = {{"X"}},
      .outputs = {{"Y"}},
      .attributes = {{"eps", 1e-7, false, 0, 1e30}},
      .infer = [](const Attributes&, PortShapes in) -> Result<std::vector<Shape>> {
        if (auto ok = expect_alike({"X"}, in); !ok) return tl::unexpected(ok.error());
        return std::vector<Shape>{*in[0]};
      },
      .evaluate = evaluate_normalize,
      .gradient = {},
      .flops_per_element = [](const OpCall&, const Program&) { return 3.0; },
      .reduction_length =
          [](const OpCall& call, const Program& program) {
            const Shape& shape = program.spec(call.inputs[0]).shape;
            return shape[0] * shape[1];
          },
      .symmetries = [](const Attributes&, PortShapes) -> std::vector<Symmetry> {
        return {{Symmetry::Kind::reduction, "columns", {{0, 0}}, {{0, 0}}},
                {Symmetry::Kind::reduction, "rows", {{0, 1}}, {{0, 1}}}};
      },
  }));
  return ops;
}

}  // namespace parity
