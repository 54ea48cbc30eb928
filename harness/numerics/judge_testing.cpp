#include "harness/numerics/judge_testing.hpp"

#include <fmt/format.h>

namespace parity::judge_testing {
namespace {

ArithmeticModel model_of(const Problem& p, bool order_known) {
  ArithmeticModel model;
  const DType scratch = p.accumulate == DType::f64 ? DType::f64 : DType::f32;
  model.precision = {p.input, format_of(p.input), p.accumulate, scratch, p.store};
  if (order_known) model.accumulation = p.accumulation;
  if (!order_known && p.accumulation.multiply_add == MultiplyAdd::multi_term &&
      p.accumulation.adder.rounding == Rounding::toward_zero)
    model.may_truncate = true;
  model.store_rounding = p.store_rounding;
  model.store_rounding_known = order_known || p.store_rounding_known;
  return model;
}

Value evaluate(Arithmetic& arithmetic, const Problem& p, const Inputs& inputs) {
  Value y = arithmetic.matmul(arithmetic.load(inputs.a), false, arithmetic.load(inputs.b), false);
  if (p.bias == 0) return y;
  Tensor bias = Tensor::create(DType::f32, {p.n}).value();
  bias.set_value(3, p.bias);
  return arithmetic.add(y, arithmetic.load(bias));
}

}  // namespace

Inputs inputs_of(const Problem& p) {
  Inputs in{Tensor::create(p.input, {p.m, p.k}).value(), Tensor::create(p.input, {p.k, p.n}).value()};
  FillRequest request{
      .fill = p.fill, .seed = p.seed, .reduction_length = p.k, .accumulate = p.accumulate, .store = p.store};
  request.role = FillRole::left, request.stream = 0, request.reduction_axis = 1;
  fill_tensor(in.a, request);
  request.role = FillRole::right, request.stream = 1, request.reduction_axis = 0;
  fill_tensor(in.b, request);
  return in;
}

Tensor run(const Problem& p, const Inputs& inputs) {
  const auto arithmetic = make_emulated_arithmetic(model_of(p, true)).value();
  const Value y = arithmetic->store(evaluate(*arithmetic, p, inputs), p.store);
  Tensor got = Tensor::create(p.store, {p.m, p.n}).value();
  narrow(y.v, got);
  return got;
}

Value reference(const Problem& p, const Inputs& inputs) {
  return evaluate(*make_tracked_arithmetic(model_of(p, p.order_known)), p, inputs);
}

Contract contract_of(const Problem& p) {
  Contract contract;
  contract.store = p.store;
  contract.order_known = p.order_known;
  contract.store_rounding = p.store_rounding;
  contract.store_rounding_known = p.store_rounding_known;
  contract.store_rounds = p.store != p.accumulate;
  return contract;
}

Healthy healthy(const Problem& p) {
  Healthy h{p, inputs_of(p), {}, {}, contract_of(p)};
  h.got = run(p, h.inputs);
  h.want = reference(p, h.inputs);
  return h;
}

std::string reasons(const Judgement& j) {
  std::string text = fmt::format("{} [{}]", name_of(j.verdict), j.location.pattern);
  for (const std::string& reason : j.reasons) text += "\n  " + reason;
  return text;
}

}  // namespace parity::judge_testing
