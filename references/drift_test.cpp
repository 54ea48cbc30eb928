// What is zero everywhere because a gate is saturated, and what is zero because nobody computed it.
#include "harness/ladder/drift.hpp"

#include <gtest/gtest.h>

#include "harness/ladder/stage.hpp"
#include "references/op_table.hpp"

namespace parity {
namespace {

TEST(Drift, ZerosAreRightWhereTheBoundReachesThem) {
  const OpTable ops = make_op_table();
  const StageTable stages = make_stage_table(ops);
  const auto c = parse_case("gru_cell batch=3 inputs=7 hidden=9 gradient=y fill=saturated", stages);
  ASSERT_TRUE(c.has_value()) << c.error().message;
  const Stage& stage = *stages.find(c->stage);
  const auto program = stage.build(*c);
  ASSERT_TRUE(program.has_value()) << program.error().message;
  std::map<TensorId, Tensor> inputs;
  for (std::size_t i = 0; i < program->tensors.size(); ++i)
    if (program->tensors[i].role == TensorSpec::Role::input)
      inputs.emplace(static_cast<TensorId>(i), *stage.fill(*c, *program, static_cast<TensorId>(i)));
  Implementation fp32;
  fp32.contract.accumulation = Accumulation{};
  const Assignment assignment{std::vector<const Implementation*>(program->calls.size(), &fp32)};

  const auto exact = evaluate_exactly(ops, *program, inputs);
  const auto tracked = evaluate_tracked(ops, *program, inputs, assignment);
  ASSERT_TRUE(exact.has_value() && tracked.has_value());
  // A device that writes zeros everywhere.
  std::map<TensorId, Tensor> zeros;
  for (std::size_t i = 0; i < program->tensors.size(); ++i)
    if (program->tensors[i].role == TensorSpec::Role::output)
      zeros.emplace(static_cast<TensorId>(i), *Tensor::create(DType::f32, program->tensors[i].shape));
  std::map<std::string, double> ratio;
  for (const DriftRecord& drift : measure_drift(*program, zeros, *exact, &*tracked)) {
    EXPECT_TRUE(drift.all_zero) << drift.tensor;
    ASSERT_TRUE(drift.max_bound_ratio.has_value()) << drift.tensor;
    ratio[drift.tensor] = *drift.max_bound_ratio;
  }
  EXPECT_LE(ratio.at("d_w_hh"), 1);  // every gate is 0 or 1 in fp32: nothing passes through
  EXPECT_GT(ratio.at("d_h"), 1);
  EXPECT_GT(ratio.at("h_next"), 1);
}

}  // namespace
}  // namespace parity
