// Casts between every pair of formats on the CPU device: the bits of one rounding to nearest even.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "backends/cpu/cpu_backend.hpp"
#include "harness/ladder/assignment.hpp"
#include "harness/ladder/execution.hpp"
#include "harness/tensor/convert.hpp"
#include "harness/tensor/fill.hpp"
#include "references/op_table.hpp"

namespace parity {
namespace {

Program cast_program(DType from, DType to, DType accumulate) {
  using Role = TensorSpec::Role;
  Program program;
  program.accumulate = accumulate;
  program.tensors = {{"X", from, {3, 40}, {40, 1}, Role::input}, {"Y", to, {3, 40}, {40, 1}, Role::output}};
  program.calls = {{"cast", {}, {0}, {1}}};
  return program;
}

void expect_cast(Device& device, DType from, DType to, DType accumulate) {
  SCOPED_TRACE(fmt::format("{} to {} in {}", name_of(from), name_of(to), name_of(accumulate)));
  const Program program = cast_program(from, to, accumulate);
  Tensor x = *Tensor::create(from, {3, 40});
  fill_tensor(x, {.fill = Fill::wide, .seed = 5});
  x.set_value(0, 65520);                   // to fp16: a tie beyond the largest number
  x.set_value(1, 1 + std::ldexp(1, -24));  // to fp32: a tie
  x.set_value(2, 1e-46);
  x.set_value(3, std::nan(""));
  const std::vector<std::string> paths = assignable_paths(device, program);
  ASSERT_FALSE(paths.empty());
  const auto assignment = assign(device, program, paths.front());
  ASSERT_TRUE(assignment.has_value()) << assignment.error().message;
  auto execution = Execution::load(device, program, assignment->paths(), {{0, x}});
  ASSERT_TRUE(execution.has_value()) << execution.error().message;
  const auto run = execution->run();
  ASSERT_TRUE(run.has_value()) << run.error().message;
  const Tensor& got = run->tensors.at(1);
  const Tensor want = *convert(x, to);
  for (std::int64_t i = 0; i < x.elements(); ++i) {
    if (i == 3) {
      EXPECT_TRUE(std::isnan(got.value(i)));
    } else {
      EXPECT_EQ(got.value(i), want.value(i)) << i;
    }
  }
}

TEST(Cast, BetweenAllFormats) {
  const OpTable ops = make_op_table();
  const auto devices = *make_cpu_backend(ops)->devices();
  for (const DType from : {DType::f32, DType::f16, DType::bf16})
    for (const DType to : {DType::f32, DType::f16, DType::bf16})
      expect_cast(*devices.front(), from, to, DType::f32);
  for (const DType to : {DType::f64, DType::f32, DType::f16, DType::bf16})
    expect_cast(*devices.front(), DType::f64, to, DType::f64);
  expect_cast(*devices.front(), DType::f32, DType::f64, DType::f64);
}

}  // namespace
}  // namespace parity
