#include "harness/cli/compare_contract.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "harness/cli/output.hpp"
#include "harness/ladder/call_judge.hpp"
#include "harness/ladder/trivial_result.hpp"
#include "harness/numerics/judge.hpp"

namespace parity::cli {
namespace {

OutputRecord record_of(const std::string& op, const std::string& tensor, const Tensor& got, Contract contract,
                       Judgement judgement) {
  OutputRecord record;
  record.op = op;
  record.path = "elsewhere";
  record.tensor = tensor;
  record.shape = got.shape();
  record.dtype = got.dtype();
  record.contract = contract;
  record.judgement = std::move(judgement);
  return record;
}

Result<void> same_shape(const Tensor& got, const Tensor& want) {
  if (got.shape() == want.shape()) return {};
  return bad_input(
      fmt::format("GOT has shape {} and WANT has shape {}", to_string(got.shape()), to_string(want.shape())));
}

/// WANT as a reference value without any error of its own.
Result<Value> value_of(const Tensor& want) {
  if (want.shape().empty() || want.shape().size() > 3)
    return bad_input(
        fmt::format("WANT has shape {}; one to three dimensions are compared", to_string(want.shape())));
  return make_tracked_arithmetic(ArithmeticModel{})->load(want);
}

}  // namespace

Result<OutputRecord> judge_with_inputs(const Tensor& got, const std::string& case_text,
                                       const UserInputs& inputs, const KernelClaim& claim,
                                       const Context& context) {
  auto bound = bind_inputs(case_text, inputs, context.stages);
  if (!bound) return tl::unexpected(bound.error());
  if (bound->size() != 1)
    return bad_input(fmt::format("'{}' is {} cases; one is compared", case_text, bound->size()));
  for (const std::string& note : bound->front().notes) complain(note);
  Case c = bound->front().c;
  c.store = got.dtype();
  auto program = context.stages.find(c.stage)->build(c);
  if (!program) return tl::unexpected(program.error());
  if (auto checked = check_program(context.ops, *program); !checked) return tl::unexpected(checked.error());
  if (program->calls.size() != 1)
    return bad_input(fmt::format("{} is more than one op; compare takes one", c.stage));
  const OpCall& call = program->calls.front();
  const Op* op = context.ops.find(call.op);

  CallResult result{op, &call.attributes, {}, 0, &got};
  std::map<std::string, Tensor> tensors;
  for (const TensorId id : call.inputs) {
    if (id == no_tensor) {
      result.inputs.push_back(nullptr);
      continue;
    }
    const TensorSpec& spec = program->spec(id);
    const auto given = inputs.tensors.find(spec.name);
    if (given == inputs.tensors.end())
      return bad_input(
          fmt::format("the contract of {} needs its input {} too: --input {}=FILE (or a --set that "
                      "leaves it out; `parity list` shows the settings)",
                      call.op, spec.name, spec.name));
    auto made = convert(given->second, spec.dtype);
    if (!made) return tl::unexpected(made.error());
    result.inputs.push_back(&tensors.emplace(spec.name, std::move(*made)).first->second);
  }
  const TensorSpec& output = program->spec(call.outputs.front());
  if (output.shape != got.shape())
    return bad_input(fmt::format("GOT has shape {} and {} of these inputs is {}", to_string(got.shape()),
                                 call.op, to_string(output.shape)));

  if (c.accumulate == DType::i32 && claim.model != "unknown")
    return bad_input(
        fmt::format("--model {}: sums of integers are the same in any order; leave it out", claim.model));
  const ArithmeticModel model = claimed_model({c.accumulate, claim.model}, c.input, got.dtype());
  auto claimed = judge_claimed(result, model);
  if (!claimed) return tl::unexpected(claimed.error());
  distrust_trivial(claimed->judgement);
  return record_of(call.op, "GOT", got, claimed->contract, std::move(claimed->judgement));
}

Result<OutputRecord> judge_with_products(const Tensor& got, const Tensor& want, std::int64_t k,
                                         double largest_product, const KernelClaim& claim, DType input) {
  if (auto same = same_shape(got, want); !same) return tl::unexpected(same.error());
  auto value = value_of(want);
  if (!value) return tl::unexpected(value.error());
  const ArithmeticModel model = claimed_model(claim, input, got.dtype());
  const double u = unit_roundoff(format_of(claim.accumulate));
  const double n = static_cast<double>(k), sum = n * largest_product;
  // (1+u)^K - 1 times M, hard bound of any order: gamma_K M where K u is small, and right where it is not.
  const double chain = std::expm1(n * std::log1p(u)) * sum;
  // A truncating adder loses up to (terms + 1) 2^-23 + 2^-23 of the largest sum in each of its steps.
  const double steps = std::ceil(n / model.adder_terms) + 1;
  const double truncation =
      model.may_truncate ? steps * (model.adder_terms + 2) * std::ldexp(1.0, -23) * sum : 0;
  for (std::vector<double>* bound : {&value->hard, &value->systematic, &value->mean, &value->variance})
    bound->assign(value->v.size(), 0);
  for (std::size_t i = 0; i < value->v.size(); ++i) {
    const double y = value->v[i];
    value->hard[i] = chain + truncation;
    value->systematic[i] = truncation;
    value->variance[i] = std::pow(0.41 * u, 2) * n * (y * y / 3 + n * largest_product * largest_product / 6);
  }
  const Contract contract = derive_contract(model, got.dtype(), false);
  Judgement judgement = judge(got, *value, contract, {});
  distrust_trivial(judgement);
  return record_of("gemm", "GOT", got, contract, std::move(judgement));
}

Result<OutputRecord> judge_copy(const Tensor& got, const Tensor& want) {
  if (auto same = same_shape(got, want); !same) return tl::unexpected(same.error());
  auto value = value_of(want);
  if (!value) return tl::unexpected(value.error());
  Contract contract;
  contract.store = got.dtype();
  contract.exact = true;
  Judgement judgement = judge(got, *value, contract, {});
  if (got.elements() == 0) distrust_trivial(judgement);  // a copy of zeros is a copy
  return record_of("identity", "GOT", got, contract, std::move(judgement));
}

Result<OutputRecord> measure_only(const Tensor& got, const Tensor& want) {
  if (auto same = same_shape(got, want); !same) return tl::unexpected(same.error());
  auto value = value_of(want);
  if (!value) return tl::unexpected(value.error());
  const double reach = is_float(got.dtype()) ? largest_finite(format_of(got.dtype())) / 2 : HUGE_VAL;
  Judgement judgement = judge(got, *value, derive_contract(ArithmeticModel{}, got.dtype(), false), {});
  judgement.aggregates.clear();
  judgement.worst_aggregate = 0;
  std::int64_t wrong = 0;
  for (std::int64_t i = 0; i < got.elements(); ++i)
    wrong += !std::isfinite(got.value(i)) && std::abs(value->v[static_cast<std::size_t>(i)]) < reach;
  judgement.verdict = wrong > 0 ? Verdict::fail : Verdict::untrusted;
  judgement.reasons = {
      wrong > 0 ? fmt::format("{} elements are not finite where WANT is finite and far from overflow", wrong)
                : std::string("no contract follows from WANT alone: how far a healthy kernel may be off "
                              "depends on the products it adds up; give --input A=... --input B=..., or "
                              "--k and --max-product")};
  return record_of("gemm", "GOT", got, derive_contract(ArithmeticModel{}, got.dtype(), false),
                   std::move(judgement));
}

}  // namespace parity::cli
