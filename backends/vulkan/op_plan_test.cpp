// What becomes of a call, from capabilities alone: no device is needed.
#include <gtest/gtest.h>

#include <set>

#include "backends/vulkan/op_cases.hpp"
#include "backends/vulkan/op_kernel.hpp"
#include "references/op_table.hpp"

namespace parity::vulkan {
namespace {

Capabilities capable_gpu() {
  Capabilities c;
  c.api_version = VK_API_VERSION_1_3;
  c.type = VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU;
  c.compute_queue = c.storage16 = c.atomic_add_f32 = true;
  c.invocations = 1024;
  c.storage_buffers = 32;
  c.max_storage_range = 0xffffffffu;
  for (int i = 0; i < 3; ++i) c.group_count[i] = c.group_size[i] = 65535;
  return c;
}

std::vector<std::unique_ptr<const KernelFamily>> families() {
  std::vector<std::unique_ptr<const KernelFamily>> list;
  list.push_back(make_elementwise_family());
  list.push_back(make_recurrent_family());
  list.push_back(make_row_family());
  list.push_back(make_attention_family());
  list.push_back(make_loss_family());
  list.push_back(make_embedding_family());
  list.push_back(make_reduction_family());
  list.push_back(make_optimizer_family());
  list.push_back(make_trace_family());
  return list;
}

/// The family and implementation of a path.
struct Found {
  std::unique_ptr<const KernelFamily> family;
  Implementation implementation;
};
Found find(const Capabilities& c, const std::string& op, const std::string& path = "direct_f32") {
  for (auto& family : families())
    for (Implementation& i : family->implementations(c))
      if (i.op == op && i.path == path) return {std::move(family), std::move(i)};
  ADD_FAILURE() << op << " has no path " << path;
  return {};
}

Program mul_of(Shape shape, Strides strides) {
  Program program;
  for (const char* name : {"X", "Y", "Z"}) program.tensors.push_back({name, DType::f32, shape, strides});
  program.calls.push_back({"mul", {}, {0, 1}, {2}});
  return program;
}

TEST(OpPlan, EveryCaseFitsItsShader) {
  const OpTable ops = make_op_table();
  std::set<std::string> planned;
  for (const OpCase& c : op_cases()) {
    const auto program = program_of(c, ops);
    ASSERT_TRUE(program) << to_string(c) << ": " << program.error().message;
    for (const auto& family : families()) {
      for (const Implementation& i : family->implementations(capable_gpu())) {
        if (!matches_precision(i, program->calls[0], *program).legal()) continue;
        ASSERT_TRUE(family->supports(capable_gpu(), i).legal());
        const Support support = family->supports(capable_gpu(), i, program->calls[0], *program);
        ASSERT_TRUE(support.legal()) << to_string(c) << ": " << support.reason;
        const auto dispatches = family->plan(capable_gpu(), i, program->calls[0], *program);
        ASSERT_TRUE(dispatches);
        EXPECT_FALSE(dispatches->empty());
        for (const Dispatch& d : *dispatches) {
          EXPECT_EQ(d.buffers.size(), d.pipeline.bindings);
          EXPECT_EQ(d.push_words.size(), 29u);  // op_interface.glsl; at most 32 everywhere
          for (std::uint32_t n = 0; n < d.pipeline.constants.size(); ++n)
            EXPECT_EQ(d.pipeline.constants[n].id, n);
          for (const std::uint32_t groups : d.groups) EXPECT_TRUE(groups >= 1 && groups <= 65535);
        }
        planned.insert(i.op + "/" + i.path);
      }
    }
  }
  for (const auto& family : families())
    for (const Implementation& i : family->implementations(capable_gpu()))
      EXPECT_TRUE(planned.contains(i.op + "/" + i.path)) << i.op << "/" << i.path;
}

TEST(OpPlan, GridsStayWithinTheLimits) {
  Capabilities c = capable_gpu();
  c.group_count[0] = 3, c.group_count[1] = 4;
  const Found mul = find(c, "mul");
  const Program program = mul_of({1000, 1000}, {1000, 1});
  const auto dispatches = mul.family->plan(c, mul.implementation, program.calls[0], program);
  ASSERT_TRUE(dispatches);
  EXPECT_EQ((*dispatches)[0].groups[0], 3u);
  EXPECT_EQ((*dispatches)[0].groups[1], 4u);
  EXPECT_EQ((*dispatches)[0].push_words[0], 1000u);
}

TEST(OpPlan, StridesThatTheShadersCannotTakeAreReasons) {
  const Found mul = find(capable_gpu(), "mul");
  const auto support = [&](const Program& p) {
    return mul.family->supports(capable_gpu(), mul.implementation, p.calls[0], p);
  };
  EXPECT_TRUE(support(mul_of({2, 3, 5}, {24, 8, 1})).legal());
  EXPECT_NE(support(mul_of({2, 3, 5}, {32, 8, 1})).reason.find("'X'"), std::string::npos);
  EXPECT_NE(support(mul_of({3, 5}, {1, 3})).reason.find("gaps"), std::string::npos);
  EXPECT_TRUE(support(mul_of({3, 1}, {8, 1})).legal());
}

TEST(OpPlan, AStridedVectorIsForClipFactorAlone) {
  Program program;
  program.tensors = {
      {"S", DType::f32, {3}, {64}}, {"factor", DType::f32, {1}, {1}}, {"norm", DType::f32, {1}, {1}}};
  program.calls.push_back({"clip_factor", {{"max_norm", 1.0}}, {0}, {1, 2}});
  const Found clip = find(capable_gpu(), "clip_factor");
  ASSERT_TRUE(clip.family->supports(capable_gpu(), clip.implementation, program.calls[0], program).legal());
  const auto dispatches = clip.family->plan(capable_gpu(), clip.implementation, program.calls[0], program);
  ASSERT_TRUE(dispatches);
  EXPECT_EQ((*dispatches)[0].push_words[13 + 2], 64u);
}

TEST(OpPlan, MissingFeaturesAreReasons) {
  Capabilities c = capable_gpu();
  c.atomic_add_f32 = false;
  const Found atomic = find(c, "embedding_backward", "atomic_f32");
  EXPECT_NE(atomic.family->supports(c, atomic.implementation).reason.find("VK_EXT_shader_atomic_float"),
            std::string::npos);
  EXPECT_EQ(atomic.implementation.knowledge, OrderKnowledge::unknown);
  EXPECT_FALSE(atomic.implementation.contract.accumulation);
  const Found direct = find(c, "embedding_backward");
  EXPECT_TRUE(direct.family->supports(c, direct.implementation).legal());
  c.storage_buffers = 4;
  const Found gates = find(c, "gru_gates");
  EXPECT_NE(gates.family->supports(c, gates.implementation).reason.find("storage buffers"),
            std::string::npos);
  c.storage16 = false;
  const Found cast = find(c, "cast");
  EXPECT_NE(cast.family->supports(c, cast.implementation).reason.find("storageBuffer16BitAccess"),
            std::string::npos);
}

TEST(OpPlan, ReductionsDeclareTheirOrder) {
  Capabilities c = capable_gpu();
  c.invocations = 256;
  using Kind = SummationOrder::Kind;
  const auto order = [&](const char* op) { return find(c, op).implementation.contract.accumulation->order; };
  EXPECT_EQ(order("rms_norm"), (SummationOrder{Kind::strided, 64}));
  EXPECT_EQ(order("square_sum"), (SummationOrder{Kind::strided, 256}));
  EXPECT_EQ(order("gradient_reduction"), (SummationOrder{Kind::sequential}));
}

TEST(OpPlan, GradientOfAttentionUsesScratchMemory) {
  const OpTable ops = make_op_table();
  const Found backward = find(capable_gpu(), "attention_backward");
  for (const OpCase& c : op_cases()) {
    if (c.op != "attention_backward") continue;
    const auto program = program_of(c, ops);
    ASSERT_TRUE(program);
    const auto dispatches =
        backward.family->plan(capable_gpu(), backward.implementation, program->calls[0], *program);
    ASSERT_TRUE(dispatches);
    ASSERT_EQ(dispatches->size(), 2u);
    for (const Dispatch& d : *dispatches) {
      EXPECT_EQ(d.buffers.back(), scratch_buffer);
      EXPECT_EQ(d.scratch_floats, c.inputs[0].shape[0] * 4 * 3);
    }
  }
}

}  // namespace
}  // namespace parity::vulkan
