// Every op on every Vulkan device of the machine, against the reference, with the validation layer on.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <set>

#include "backends/vulkan/op_cases.hpp"
#include "backends/vulkan/op_kernel.hpp"
#include "backends/vulkan/session.hpp"
#include "backends/vulkan/testing.hpp"
#include "harness/bisect/scan_testing.hpp"
#include "harness/tensor/poison.hpp"
#include "references/op_table.hpp"

namespace parity::vulkan {
namespace {

class OpKernelsTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { opened_ = open_test_devices(); }
  static void TearDownTestSuite() { opened_ = {}; }
  void SetUp() override {
    if (opened_.devices.empty()) GTEST_SKIP() << opened_.absent;
  }

  /// Runs the cases of the given ops on every legal path.
  void run_ops(const std::set<std::string>& names) {
    for (const auto& device : opened_.devices) {
      for (const Implementation& implementation : device->implementations()) {
        if (!names.contains(implementation.op)) continue;
        const Support legal = device->supports(implementation);
        if (!legal.legal()) {
          EXPECT_FALSE(legal.reason.empty());
          continue;
        }
        int ran = 0;
        for (const OpCase& c : op_cases()) {
          if (c.op != implementation.op) continue;
          const auto program = program_of(c, ops_);
          ASSERT_TRUE(program) << program.error().message;
          const Support support = device->supports(implementation, program->calls[0], *program);
          if (support.kind == Support::Kind::not_applicable) continue;  // cast from another dtype
          ASSERT_TRUE(support.legal()) << support.reason;
          ++ran;
          EXPECT_EQ(run_case(*device, implementation, c, ops_), "")
              << device->info().name << ", " << implementation.path << ": " << to_string(c);
        }
        EXPECT_GT(ran, 0) << implementation.op << " " << implementation.path << " has no case";
      }
    }
  }

  inline static TestDevices opened_;
  OpTable ops_ = make_op_table();
};

TEST_F(OpKernelsTest, Elementwise) {
  run_ops({"cast", "axpby", "mul", "scale_by", "softcap", "softcap_backward", "activation_backward",
           "head_scale"});
}
TEST_F(OpKernelsTest, Recurrent) {
  run_ops({"gru_gate", "gru_gates", "gru_gates_backward", "gru_blend", "gru_blend_backward"});
}
TEST_F(OpKernelsTest, NormAndRope) {
  run_ops({"rms_norm", "rms_norm_backward", "rms_norm_weight_gradient", "rope", "head_scale_gain_gradient"});
}
TEST_F(OpKernelsTest, Attention) {
  run_ops({"attention", "attention_backward"});
}
TEST_F(OpKernelsTest, Xsa) {
  run_ops({"xsa", "xsa_backward"});
}
TEST_F(OpKernelsTest, Loss) {
  run_ops({"softmax_cross_entropy", "softmax_cross_entropy_backward", "mean", "mean_backward"});
}
TEST_F(OpKernelsTest, EmbeddingAndReductions) {
  run_ops({"embedding", "embedding_backward", "gradient_reduction", "square_sum", "clip_factor"});
}
TEST_F(OpKernelsTest, Optimizers) {
  run_ops({"adamw", "muon_momentum", "frobenius_normalize"});
}

TEST_F(OpKernelsTest, TraceScan) {
  for (const auto& device : opened_.devices)
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::i32})
      EXPECT_EQ(scan_mismatch(*device, dtype, fmt::format("direct_{}", name_of(dtype))), "")
          << device->info().name;
}

TEST_F(OpKernelsTest, EveryReferenceHasAPath) {
  for (const auto& device : opened_.devices) {
    std::set<std::string_view> implemented;
    for (const Implementation& implementation : device->implementations())
      implemented.insert(implementation.op);
    for (const auto& op : ops_.all()) EXPECT_TRUE(implemented.contains(op->name())) << op->name();
  }
}

/// A program of `mul` calls over views: two steps of a sequence, each a matrix of the root's rows.
struct Sequence {
  Program program;
  TensorId x = 0, y = 1, x_step[2] = {2, 3}, y_step[2] = {4, 5}, factor = 6, next = 7;
};
Sequence sequence_of_two() {
  using Role = TensorSpec::Role;
  Sequence s;
  const std::int64_t row = 64, cols = 35;  // rows of 256 bytes
  const auto root = [&](const char* name, Role role) {
    return TensorSpec{name, DType::f32, {2, 3, cols}, {3 * row, row, 1}, role};
  };
  const auto view = [&](const char* name, Role role, TensorId of, std::int64_t step) {
    return TensorSpec{name, DType::f32, {3, cols}, {row, 1}, role, of, step * 3 * row};
  };
  s.program.tensors = {root("X", Role::input),
                       root("Y", Role::output),
                       view("X0", Role::input, 0, 0),
                       view("X1", Role::input, 0, 1),
                       view("Y0", Role::output, 1, 0),
                       view("Y1", Role::output, 1, 1),
                       {"factor", DType::f32, {3, cols}, {cols, 1}, Role::state},
                       {"next", DType::f32, {3, cols}, {cols, 1}, Role::output}};
  for (const int i : {0, 1}) s.program.calls.push_back({"mul", {}, {s.x_step[i], s.factor}, {s.y_step[i]}});
  s.program.calls.push_back({"mul", {}, {s.y_step[1], s.factor}, {s.next}});
  s.program.carries = {{s.next, s.factor}};
  return s;
}

Tensor counted(const TensorSpec& spec, double first, double step) {
  Tensor tensor = *Tensor::create(spec.dtype, spec.shape, spec.strides);
  poison_pads(tensor, Poison::guard);
  for (std::int64_t i = 0; i < tensor.elements(); ++i)
    tensor.set_value(i, first + step * static_cast<double>(i % 5));
  return tensor;
}

TEST_F(OpKernelsTest, ViewsShareTheirRootsMemory) {
  for (const auto& device : opened_.devices) {
    const Sequence s = sequence_of_two();
    auto session = device->load(s.program, {"direct_f32", "direct_f32", "direct_f32"});
    ASSERT_TRUE(session) << session.error().message;
    const Tensor x = counted(s.program.spec(s.x), 1, 1), factor = counted(s.program.spec(s.factor), 2, 0);
    ASSERT_TRUE((*session)->write(s.x, x));
    ASSERT_TRUE((*session)->write(s.factor, factor));
    // A view's write leaves what lies around it: the other step, and the pads of its own rows.
    Tensor step = counted(s.program.spec(s.x_step[1]), 10, 2);
    ASSERT_TRUE((*session)->write(s.x_step[1], step));
    const auto timing = (*session)->run();
    ASSERT_TRUE(timing) << timing.error().message;
    EXPECT_EQ(timing->call_seconds.size(), timing->device_seconds ? 3u : 0u);

    const auto x_now = (*session)->read(s.x), y = (*session)->read(s.y), y1 = (*session)->read(s.y_step[1]);
    ASSERT_TRUE(x_now && y && y1);
    EXPECT_TRUE(damaged_pads(*x_now).empty());
    EXPECT_TRUE(damaged_pads(*y).empty());
    for (std::int64_t i = 0; i < step.elements(); ++i) {
      EXPECT_EQ(x_now->value(i), x.value(i));
      EXPECT_EQ(x_now->value(step.elements() + i), step.value(i));
      EXPECT_EQ(y->value(i), 2 * x.value(i));
      EXPECT_EQ(y->value(step.elements() + i), 2 * step.value(i));
      EXPECT_EQ(y1->value(i), 2 * step.value(i));
    }
    const auto damage = (*session)->check_guards();
    ASSERT_TRUE(damage) << damage.error().message;
    EXPECT_TRUE(damage->empty());
  }
}

TEST_F(OpKernelsTest, AdvanceCarriesResultsIntoTheNextRun) {
  for (const auto& device : opened_.devices) {
    const Sequence s = sequence_of_two();
    auto session = device->load(s.program, {"direct_f32", "direct_f32", "direct_f32"});
    ASSERT_TRUE(session) << session.error().message;
    ASSERT_TRUE((*session)->write(s.x, counted(s.program.spec(s.x), 2, 0)));
    ASSERT_TRUE((*session)->write(s.factor, counted(s.program.spec(s.factor), 3, 0)));
    double factor = 3;
    for (int run = 0; run < 3; ++run) {
      ASSERT_TRUE((*session)->run());
      const auto next = (*session)->read(s.next);
      ASSERT_TRUE(next);
      factor = 2 * factor * factor;  // next = (x factor) factor
      for (std::int64_t i = 0; i < next->elements(); ++i) EXPECT_EQ(next->value(i), factor) << "run " << run;
      const auto moved = (*session)->advance();
      ASSERT_TRUE(moved) << moved.error().message;
      const auto state = (*session)->read(s.factor);
      ASSERT_TRUE(state);
      EXPECT_EQ(content_hash(*state), content_hash(*next));
    }
  }
}

TEST_F(OpKernelsTest, ViewsAndCarriesThatDoNotFitAreRefused) {
  for (const auto& device : opened_.devices) {
    const std::vector<std::string> paths(3, "direct_f32");
    const auto message = [&](const Program& program) {
      const auto session = device->load(program, paths);
      return session ? std::string() : session.error().message;
    };
    Sequence s = sequence_of_two();
    s.program.tensors[3].view_offset += 1;
    EXPECT_NE(message(s.program).find("256 bytes"), std::string::npos);
    s = sequence_of_two();
    s.program.tensors[3].view_offset *= 2;  // beyond the root
    EXPECT_NE(message(s.program).find("'X1' does not fit 'X'"), std::string::npos);
    s = sequence_of_two();
    s.program.carries = {{s.y, s.factor}};
    EXPECT_NE(message(s.program).find("cannot be carried"), std::string::npos);
  }
}

/// The results of a case planned for a device with these limits, run on one that may have more.
std::map<TensorId, Tensor> results_within(const std::shared_ptr<LogicalDevice>& device,
                                          const Capabilities& limits, const OpCase& c,
                                          const Program& program) {
  std::map<TensorId, Tensor> results;
  const OpCall& call = program.calls[0];
  for (const auto& family : {make_elementwise_family(), make_row_family(), make_embedding_family()}) {
    for (const Implementation& i : family->implementations(limits)) {
      if (i.op != c.op || i.path != "direct_f32") continue;
      const auto dispatches = family->plan(limits, i, call, program);
      if (!dispatches) continue;
      auto session = VulkanSession::load(device, program, {*dispatches});
      if (!session || !write_inputs(**session, c, program) || !(*session)->run()) continue;
      for (const TensorId id : call.outputs)
        if (auto got = (*session)->read(id)) results.emplace(id, *std::move(got));
    }
  }
  return results;
}

TEST_F(OpKernelsTest, AGridSmallerThanTheWorkIsWalked) {
  auto instance = Instance::create(true);
  ASSERT_TRUE(instance) << instance.error().message;
  const auto physical = (*instance)->physical_devices();
  ASSERT_TRUE(physical);
  for (const VkPhysicalDevice handle : *physical) {
    const auto full = query_capabilities(**instance, handle);
    ASSERT_TRUE(full);
    auto device = LogicalDevice::create(*instance, handle, *full, 60);
    ASSERT_TRUE(device) << device.error().message;
    Capabilities few = *full;
    few.group_count[0] = few.group_count[1] = 2;
    for (const OpCase& c : op_cases()) {
      if (c.op != "mul" && c.op != "rms_norm" && c.op != "embedding_backward") continue;
      const auto program = program_of(c, ops_);
      ASSERT_TRUE(program);
      const auto want = results_within(*device, *full, c, *program);
      const auto got = results_within(*device, few, c, *program);
      ASSERT_EQ(want.size(), program->calls[0].outputs.size());
      ASSERT_EQ(got.size(), want.size());
      for (const auto& [id, tensor] : want)
        EXPECT_EQ(content_hash(got.at(id)), content_hash(tensor)) << to_string(c);
    }
  }
}

TEST_F(OpKernelsTest, EmptyTensorsNeedNoDispatch) {
  for (const auto& device : opened_.devices) {
    OpCase c{"mul", {}, {{{0, 5}}, {{0, 5}}}};
    const auto program = program_of(c, ops_);
    ASSERT_TRUE(program) << program.error().message;
    auto session = device->load(*program, {"direct_f32"});
    ASSERT_TRUE(session) << session.error().message;
    EXPECT_TRUE((*session)->run());
  }
}

TEST_F(OpKernelsTest, MaskedKeysAreNeverRead) {
  // NaN in K and V of the keys that take no part reaches nothing.
  for (const auto& device : opened_.devices) {
    for (const OpCase& c : op_cases()) {
      if ((c.op != "attention" && c.op != "attention_backward") || c.inputs.size() < 4) continue;
      if (c.inputs[3].content != Content::mask) continue;
      const auto program = program_of(c, ops_);
      ASSERT_TRUE(program);
      const OpCall& call = program->calls[0];
      auto session = device->load(*program, {"direct_f32"});
      ASSERT_TRUE(session) << session.error().message;
      for (std::size_t i = 0; i < c.inputs.size(); ++i) {
        Tensor tensor = counted(program->spec(call.inputs[i]), -1, 0.5);
        if (i == 3)
          for (std::int64_t row = 0; row < tensor.elements(); ++row)
            tensor.set_value(row, row % 3 == 0 ? 0 : 1);
        if (i == 1 || i == 2)
          for (std::int64_t at = 0; at < tensor.elements(); ++at)
            if (at / tensor.shape()[1] % 3 == 0) tensor.set_value(at, std::nan(""));
        ASSERT_TRUE((*session)->write(call.inputs[i], tensor));
      }
      ASSERT_TRUE((*session)->run());
      for (const TensorId id : call.outputs) {
        const auto got = (*session)->read(id);
        ASSERT_TRUE(got);
        for (std::int64_t i = 0; i < got->elements(); ++i)
          ASSERT_TRUE(std::isfinite(got->value(i)))
              << program->spec(id).name << " " << i << " " << to_string(c);
        // The first query of a causal sequence has no key at all.
        if (c.attributes.integer("causal") == 1 && id == call.outputs[0]) {
          EXPECT_EQ(got->value(0), 0);
        }
      }
    }
  }
}

}  // namespace
}  // namespace parity::vulkan
