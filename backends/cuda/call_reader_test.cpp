#include "backends/cuda/call_reader.hpp"

#include <gtest/gtest.h>

#include "backends/cuda/elementwise_kernels.hpp"
#include "backends/cuda/paths.hpp"
#include "backends/cuda/test_programs.hpp"

namespace parity::cuda {
namespace {

Program mul_program() {
  Program program;
  program.tensors = {matrix("X", DType::f32, 2, 3, 4, 1), matrix("Y", DType::f32, 2, 3, 4, 2),
                     matrix("Z", DType::f32, 2, 3, 4, 0, TensorSpec::Role::output)};
  program.calls = {{"mul", {}, {0, 1}, {2}}};
  return program;
}

TEST(CallReader, GivesAddressesAndStrides) {
  const Program program = mul_program();
  float x = 0, y = 0, z = 0;
  StepContext context;
  context.tensors = {&x, &y, &z};
  CallReader reader(program.calls[0], program, &context);
  const Extent extent = reader.output_extent(0);
  EXPECT_EQ(extent, (Extent{2, 3, 4}));
  const Input in = reader.input(1, extent);
  EXPECT_EQ(in.data, &y);
  EXPECT_EQ(in.batch, 3 * 6);
  EXPECT_EQ(in.row, 6);
  EXPECT_EQ(in.col, 1);
  EXPECT_EQ(reader.output(0, extent).data, &z);
  EXPECT_TRUE(reader.prepare(Mul{}));
}

TEST(CallReader, KeepsTheFirstErrorAndNamesTheTensor) {
  Program program = mul_program();
  program.tensors[1].shape = {2, 3, 5};
  CallReader reader(program.calls[0], program);
  const Extent extent = reader.output_extent(0);
  reader.input(0, extent);
  reader.input(1, extent);
  reader.require(false, "something later");
  const auto prepared = reader.prepare(Mul{});
  ASSERT_FALSE(prepared);
  EXPECT_EQ(prepared.error().kind, ErrorKind::internal);
  EXPECT_NE(prepared.error().message.find("'Y'"), std::string::npos) << prepared.error().message;
}

TEST(CallReader, VectorsMayHaveAnyStride) {
  Program program;
  program.tensors = {{"S", DType::f32, {5}, {64}, TensorSpec::Role::input},
                     {"R", DType::f32, {5, 1}, {9, 1}, TensorSpec::Role::input},
                     {"M", DType::f32, {5, 2}, {2, 1}, TensorSpec::Role::input}};
  program.calls = {{"mul", {}, {0, 1, 2}, {}}};
  CallReader reader(program.calls[0], program);
  EXPECT_EQ(reader.input_vector(0, 5).stride, 64);
  EXPECT_EQ(reader.input_vector(1, 5).stride, 9);
  EXPECT_TRUE(reader.prepare(Mul{}));
  reader.input_vector(2, 10);
  EXPECT_FALSE(reader.prepare(Mul{})) << "a matrix is no vector";
  CallReader other(program.calls[0], program);
  other.indices(0, 5);
  const auto prepared = other.prepare(Mul{});
  ASSERT_FALSE(prepared);
  EXPECT_NE(prepared.error().message.find("i32"), std::string::npos) << prepared.error().message;
}

Support attention_support(const std::string& op, std::int64_t seq, std::int64_t dim) {
  DeviceTraits traits;
  traits.major = 9;
  const auto paths = make_paths(traits);
  Program program;
  OpCall call{op,
              {{"heads", std::int64_t{1}}, {"kv_heads", std::int64_t{1}}, {"seq", seq}, {"scale", 1.0}},
              {0, 0, 0, no_tensor},
              {1}};
  program.tensors = {matrix("Q", DType::f32, 1, seq, dim, 0),
                     matrix("O", DType::f32, 1, seq, dim, 0, TensorSpec::Role::output)};
  if (op == "attention_backward") {
    call.inputs.push_back(0);
    call.outputs = {1, 1, 1};
  }
  return supports_call(*find_path(paths, "direct_f32", op), call, program);
}

TEST(CallReader, AttentionSaysHowManyKeysFit) {
  EXPECT_TRUE(attention_support("attention", 8192, 4).legal());
  const Support refused = attention_support("attention", 8193, 4);
  EXPECT_EQ(refused.kind, Support::Kind::unsupported);
  EXPECT_NE(refused.reason.find("8192"), std::string::npos) << refused.reason;
  EXPECT_TRUE(attention_support("attention_backward", 4096, 4096).legal());
  EXPECT_FALSE(attention_support("attention_backward", 4097, 4).legal());
  EXPECT_FALSE(attention_support("attention_backward", 8, 4097).legal());
}

}  // namespace
}  // namespace parity::cuda
