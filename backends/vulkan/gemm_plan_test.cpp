// Choices made from capabilities alone: no device is needed.
#include <gtest/gtest.h>

#include "backends/vulkan/gemm.hpp"
#include "backends/vulkan/testing.hpp"
#include "harness/numerics/arithmetic.hpp"

namespace parity::vulkan {
namespace {

CooperativeShape shape(std::uint32_t m, std::uint32_t n, std::uint32_t k, VkComponentTypeKHR factor,
                       VkComponentTypeKHR sum = VK_COMPONENT_TYPE_FLOAT32_KHR) {
  return {m, n, k, factor, factor, sum, sum, false, VK_SCOPE_SUBGROUP_KHR};
}

/// A GPU with everything.
Capabilities gpu() {
  Capabilities c;
  c.name = "test GPU";
  c.api_version = VK_API_VERSION_1_3;
  c.type = VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU;
  c.compute_queue = c.storage16 = c.float16 = c.int8 = c.memory_model = c.subgroup_basic = true;
  c.matrix_extension = c.matrix_feature = c.bfloat16_type = c.bfloat16_matrix = true;
  c.invocations = 1024;
  c.subgroup = c.subgroup_min = c.subgroup_max = 32;
  c.shared_bytes = 48 << 10;
  c.max_storage_range = 0xffffffffu;
  for (int i = 0; i < 3; ++i) c.group_count[i] = c.group_size[i] = 65535;
  c.shapes = {shape(16, 8, 16, VK_COMPONENT_TYPE_FLOAT16_KHR),
              shape(16, 16, 16, VK_COMPONENT_TYPE_FLOAT16_KHR),
              shape(16, 16, 16, VK_COMPONENT_TYPE_BFLOAT16_KHR),
              shape(16, 16, 32, VK_COMPONENT_TYPE_UINT8_KHR, VK_COMPONENT_TYPE_UINT32_KHR),
              shape(16, 16, 32, VK_COMPONENT_TYPE_SINT8_KHR, VK_COMPONENT_TYPE_SINT32_KHR),
              shape(16, 8, 8, VK_COMPONENT_TYPE_FLOAT16_KHR, VK_COMPONENT_TYPE_FLOAT16_KHR)};
  return c;
}

std::string reason(const Capabilities& c, const char* path) {
  const Support support = gemm_supports(c, *find_gemm_path(path));
  return support.legal() ? "" : support.reason;
}

TEST(GemmPlan, EverythingIsLegalOnTheFullDevice) {
  for (const Implementation& implementation : gemm_implementations(gpu()))
    EXPECT_EQ(reason(gpu(), implementation.path.c_str()), "");
}

TEST(GemmPlan, ReasonsNameWhatIsMissing) {
  Capabilities c = gpu();
  c.bfloat16_matrix = false;
  EXPECT_NE(reason(c, "coopmat_bf16_f32").find("VK_KHR_shader_bfloat16"), std::string::npos);
  EXPECT_EQ(reason(c, "coopmat_f16_f32"), "");
  c.shapes = {shape(16, 16, 16, VK_COMPONENT_TYPE_SINT8_KHR)};
  EXPECT_NE(reason(c, "coopmat_f16_f32").find("this device offers: 16x16x16 s8"), std::string::npos);
  c.shapes.clear();
  EXPECT_NE(reason(c, "coopmat_f16_f32").find("none"), std::string::npos);
  c.matrix_extension = false;
  EXPECT_NE(reason(c, "coopmat_f16_f32").find("does not have the extension"), std::string::npos);
  c.storage16 = false;
  EXPECT_NE(reason(c, "tiled_f16_f32").find("storageBuffer16BitAccess"), std::string::npos);
  EXPECT_EQ(reason(c, "tiled_f32"), "");
  c.api_version = VK_API_VERSION_1_1;
  EXPECT_NE(reason(c, "tiled_f32").find("1.2"), std::string::npos);
}

TEST(GemmPlan, AnFp16AccumulatorNeedsAShapeOfItsOwn) {
  Capabilities c = gpu();
  EXPECT_EQ(shape_of(c, *find_gemm_path("coopmat_f16_f16"))->k, 8u);
  EXPECT_EQ(shape_of(c, *find_gemm_path("coopmat_f16_f32"))->k, 16u);
  c.shapes.pop_back();
  EXPECT_NE(reason(c, "coopmat_f16_f16").find("f16 x f16 -> f16"), std::string::npos);
  EXPECT_EQ(reason(c, "coopmat_f16_f32"), "");
  for (const Implementation& implementation : gemm_implementations(gpu())) {
    const bool narrow = implementation.path == "coopmat_f16_f16";
    const DType wide = implementation.input == DType::i8 ? DType::i32 : DType::f32;
    EXPECT_EQ(implementation.accumulate, narrow ? DType::f16 : wide) << implementation.path;
    EXPECT_EQ(implementation.contract.precision.accumulate, implementation.accumulate);
    for (const ArithmeticModel& model : implementation.replays)
      EXPECT_TRUE(make_emulated_arithmetic(model)) << to_string(model);
  }
}

Dispatch integer_dispatch(const Capabilities& c, const char* path, std::int64_t pad = 0) {
  TestProblem p;
  p.m = p.n = p.k = 64;
  p.pad = pad;
  p.store = DType::i32;
  const Program program = program_of(p, DType::i8);
  const auto call = parse_gemm_call(program.calls[0], program);
  EXPECT_TRUE(call);
  const auto dispatches = plan_gemm(c, *find_gemm_path(path), *call);
  EXPECT_TRUE(dispatches && dispatches->size() == 1);
  return (*dispatches)[0];
}

TEST(GemmPlan, IntegersTakeTheShapeThatIsListed) {
  Capabilities c = gpu();
  const GemmPath& path = *find_gemm_path("coopmat_i8_i32");
  EXPECT_EQ(shape_of(c, path)->k, 32u);
  EXPECT_EQ(shape_of(c, path)->result, VK_COMPONENT_TYPE_SINT32_KHR);
  EXPECT_EQ(integer_dispatch(c, "coopmat_i8_i32").pipeline.shader, Shader::coopmat_i8);
  // Rows of eight bytes move in vectors of eight.
  for (const std::uint32_t n : {8u, 16u}) {
    c.shapes = {shape(8, n, 8, VK_COMPONENT_TYPE_SINT8_KHR, VK_COMPONENT_TYPE_SINT32_KHR)};
    EXPECT_EQ(vector_bytes(*shape_of(c, path)), 8u);
    EXPECT_EQ(integer_dispatch(c, "coopmat_i8_i32").pipeline.shader, Shader::coopmat_i8_vectors_of_8);
  }
  // Sums that saturate, or of another sign, are another arithmetic.
  c.shapes[0].saturating = true;
  EXPECT_NE(reason(c, "coopmat_i8_i32").find("i8 x i8 -> i32"), std::string::npos);
  c.shapes = {shape(16, 16, 32, VK_COMPONENT_TYPE_UINT8_KHR, VK_COMPONENT_TYPE_UINT32_KHR)};
  EXPECT_NE(reason(c, "coopmat_i8_i32").find("this device offers: 16x16x32 u8"), std::string::npos);
  c = gpu();
  c.int8 = false;
  EXPECT_NE(reason(c, "coopmat_i8_i32").find("shaderInt8"), std::string::npos);
  c.storage16 = false;
  EXPECT_EQ(reason(c, "tiled_i8_i32"), "") << "bytes are read as words: no 8-bit type is needed";
}

TEST(GemmPlan, VectorsOfBytesAreTakenWhereRowsAreAligned) {
  for (const auto& [pad, aligned] : {std::pair{0, true}, {16, true}, {8, false}, {1, false}})
    EXPECT_EQ((integer_dispatch(gpu(), "coopmat_i8_i32", pad).push_words.back() & 6u) == 6u, aligned) << pad;
}

TEST(GemmPlan, ProductsOfIntegersTakeWholeFactorsAndIntegers) {
  const GemmPath& path = *find_gemm_path("tiled_i8_i32");
  TestProblem p;
  p.m = p.n = p.k = 4;
  p.store = DType::i32;
  const auto reason_of = [&](DType store) {
    p.store = store;
    const Program program = program_of(p, DType::i8);
    const auto call = parse_gemm_call(program.calls[0], program);
    return call ? gemm_supports_call(gpu(), path, *call, program).reason : call.error().message;
  };
  EXPECT_EQ(reason_of(DType::i32), "");
  EXPECT_NE(reason_of(DType::f32).find("store i32"), std::string::npos);
  p.alpha = -7;
  EXPECT_EQ(reason_of(DType::i32), "");
  p.alpha = 0.5;
  EXPECT_NE(reason_of(DType::i32).find("whole"), std::string::npos);
}

TEST(GemmPlan, ShapeIsSixteenCubedWhereOffered) {
  const auto chosen = choose_shape(gpu(), VK_COMPONENT_TYPE_FLOAT16_KHR, VK_COMPONENT_TYPE_FLOAT32_KHR);
  ASSERT_TRUE(chosen);
  EXPECT_EQ(chosen->n, 16u);
  Capabilities other = gpu();
  other.shapes = {shape(8, 8, 4, VK_COMPONENT_TYPE_FLOAT16_KHR),
                  shape(8, 8, 8, VK_COMPONENT_TYPE_FLOAT16_KHR)};
  const auto small = choose_shape(other, VK_COMPONENT_TYPE_FLOAT16_KHR, VK_COMPONENT_TYPE_FLOAT32_KHR);
  ASSERT_TRUE(small);
  EXPECT_EQ(small->k, 8u);
}

TEST(GemmPlan, TilingStaysWithinTheLimits) {
  Capabilities c = gpu();
  const CooperativeShape s = shape(16, 16, 16, VK_COMPONENT_TYPE_FLOAT16_KHR);
  EXPECT_EQ(choose_tiling(c, s, 8192, 8192)->rows(s), 128u);
  EXPECT_EQ(choose_tiling(c, s, 64, 64)->rows(s), 64u);
  c.invocations = 64;
  EXPECT_EQ(choose_tiling(c, s, 8192, 8192)->rows(s), 32u);
  c.shared_bytes = 256;
  EXPECT_FALSE(choose_tiling(c, s, 64, 64));
}

TEST(GemmPlan, TransposedOperandsAreStrides) {
  TestProblem p;
  p.m = 5, p.n = 6, p.k = 7, p.pad = 2, p.batch = 3;
  p.trans_a = true;
  const Program program = program_of(p, DType::f32);
  const auto call = parse_gemm_call(program.calls[0], program);
  ASSERT_TRUE(call) << call.error().message;
  EXPECT_EQ(call->a.rows, 5);
  EXPECT_EQ(call->a.cols, 7);
  EXPECT_EQ(call->a.row_stride, 1);
  EXPECT_EQ(call->a.col_stride, 7);  // five elements and two of padding
  EXPECT_EQ(call->b.batch, 3);
  EXPECT_GT(call->b.batch_stride, 0);
}

TEST(GemmPlan, BetaZeroNeverBindsC) {
  TestProblem p;
  p.m = p.n = p.k = 4;
  p.with_c = true;
  p.beta = 0;
  const Program program = program_of(p, DType::f32);
  const auto call = parse_gemm_call(program.calls[0], program);
  ASSERT_TRUE(call);
  const auto dispatches = plan_gemm(gpu(), *find_gemm_path("tiled_f32"), *call);
  ASSERT_TRUE(dispatches);
  ASSERT_EQ(dispatches->size(), 1u);
  for (const TensorId id : (*dispatches)[0].buffers) EXPECT_NE(id, 3);
}

TEST(GemmPlan, ManyBatchesAreSeveralDispatches) {
  Capabilities c = gpu();
  c.group_count[2] = 4;
  TestProblem p;
  p.m = p.n = p.k = 2;
  p.batch = 10;
  const Program program = program_of(p, DType::f32);
  const auto call = parse_gemm_call(program.calls[0], program);
  ASSERT_TRUE(call);
  const auto dispatches = plan_gemm(c, *find_gemm_path("naive_f32"), *call);
  ASSERT_TRUE(dispatches);
  ASSERT_EQ(dispatches->size(), 3u);
  EXPECT_EQ((*dispatches)[2].groups[2], 2u);
  EXPECT_EQ((*dispatches)[2].push_words[3], 8u);
}

TEST(GemmPlan, LimitsAreReasons) {
  Capabilities c = gpu();
  c.max_storage_range = 16 << 10;
  TestProblem p;
  p.m = p.n = p.k = 64;
  const Program program = program_of(p, DType::f32);
  const auto call = parse_gemm_call(program.calls[0], program);
  ASSERT_TRUE(call);
  const Support support = gemm_supports_call(c, *find_gemm_path("naive_f32"), *call, program);
  EXPECT_EQ(support.kind, Support::Kind::unsupported);
  EXPECT_NE(support.reason.find("maxStorageBufferRange"), std::string::npos);
  p.store = DType::f16;
  c = gpu();
  c.storage16 = false;
  const Program half = program_of(p, DType::f32);
  const auto half_call = parse_gemm_call(half.calls[0], half);
  ASSERT_TRUE(half_call);
  EXPECT_FALSE(gemm_supports_call(c, *find_gemm_path("naive_f32"), *half_call, half).legal());
}

}  // namespace
}  // namespace parity::vulkan
