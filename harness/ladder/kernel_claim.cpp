#include "harness/ladder/kernel_claim.hpp"

#include "harness/ladder/call_judge.hpp"

namespace parity {

const std::vector<std::string>& claim_models() {
  static const std::vector<std::string> models = {"unknown", "fma", "separate", "pairwise", "tensor-core"};
  return models;
}

ArithmeticModel claimed_model(const KernelClaim& claim, DType input, DType store) {
  using Kind = SummationOrder::Kind;
  if (claim.accumulate == DType::i32) return integer_model();
  ArithmeticModel model;
  // A definite arithmetic with a narrow accumulator goes on in fp32; of an unknown one that is not assumed.
  const bool narrow = claim.accumulate == DType::f16 || claim.accumulate == DType::bf16;
  const DType scratch = narrow && claim.model != "unknown" ? DType::f32 : claim.accumulate;
  model.precision = {input, format_of(input), claim.accumulate, scratch, store};
  model.exp = model.tanh = {2, 0, 0};
  model.sigmoid = {3, 0, 0};
  model.denormals = Denormals::preserve;
  if (claim.model == "unknown") {
    model.may_truncate = input == DType::f16 || input == DType::bf16;
    model.denormals = Denormals::either;
    return model;
  }
  Accumulation accumulation;
  if (claim.model == "separate") accumulation.multiply_add = MultiplyAdd::separate;
  if (claim.model == "pairwise") accumulation.order.kind = Kind::pairwise;
  if (claim.model == "tensor-core") accumulation.multiply_add = MultiplyAdd::multi_term;
  if (claim.accumulate == DType::f16) accumulation.adder.rounding = Rounding::nearest_even;
  model.accumulation = accumulation;
  return model;
}

Result<ClaimedJudgement> judge_claimed(const CallResult& call, const ArithmeticModel& model) {
  auto want = call.op->evaluate(*make_tracked_arithmetic(model), *call.attributes, call.inputs);
  if (!want) return tl::unexpected(want.error());
  ReplayResult replayed;
  if (model.accumulation) {
    auto bits = replay(call, model, {});
    if (!bits) return tl::unexpected(bits.error());
    replayed = *std::move(bits);
    replayed.confirmed = true;
  }
  ClaimedJudgement claimed{derive_contract(model, call.got->dtype(), false), {}};
  const std::vector<ArithmeticModel> chains = plain_chains(model);
  claimed.judgement = judge(*call.got, (*want)[call.output], claimed.contract, replayed,
                            [&](const std::vector<std::int64_t>& elements) {
                              return replay_single_elements(call, chains, elements);
                            });
  return claimed;
}

}  // namespace parity
