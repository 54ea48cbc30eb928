// Faulty kernels on a host device: each fault is caught by `Runner`, both where the order of the path is
// declared (bits are the contract) and where nothing is known of it (bounds and aggregates).
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>

#include "backends/cpu/cpu_backend.hpp"
#include "harness/ladder/runner.hpp"
#include "harness/tensor/convert.hpp"
#include "harness/tensor/poison.hpp"
#include "references/op_table.hpp"

namespace parity {
namespace {

/// What a kernel sees: fp32 copies of its inputs, sizes, and the memory itself for stray reads and writes.
struct Gemm {
  std::int64_t m = 0, n = 0, k = 0;
  std::vector<float> a = {}, b = {}, bias = {};  // a [m, k], b [k, n]
  HostMemory& memory;
  const Program& program;
  const OpCall& call;

  float dot(std::int64_t i, std::int64_t j, std::int64_t from, std::int64_t to, float scale_b = 1) const {
    float sum = 0;
    for (std::int64_t p = from; p < to; ++p)
      sum = std::fma(a[static_cast<std::size_t>(i * k + p)], scale_b * b[static_cast<std::size_t>(p * n + j)],
                     sum);
    return sum;
  }
};

using Acc = std::vector<float>;
/// A fault: changes the inputs, the accumulators, how they are stored, or the memory afterwards.
struct Fault {
  std::string name;
  std::function<void(Gemm&)> inputs = {};
  std::function<void(const Gemm&, Acc&)> accumulators = {};
  Rounding store = Rounding::nearest_even;
  std::function<void(const Gemm&)> memory = {};
  /// Where an exact fill is needed, or another case shows it better.
  std::string case_text = "gemm m=96 n=80 k=300 in=f16 out=f16 pad_a=3 seed=11";
};

HostKernel faulty_kernel(const Fault& fault) {
  return [fault](const OpCall& call, const Program& program, HostMemory& memory) -> Result<void> {
    Gemm gemm{.memory = memory, .program = program, .call = call};
    const Shape out = program.spec(call.outputs[0]).shape;
    gemm.m = out[0], gemm.n = out[1], gemm.k = program.spec(call.inputs[0]).shape[1];
    const auto load = [&](TensorId id) {
      const Tensor tensor = *memory.tensor(id);
      std::vector<float> values(static_cast<std::size_t>(tensor.elements()));
      widen(tensor, std::span<float>(values));
      return values;
    };
    gemm.a = load(call.inputs[0]);
    gemm.b = load(call.inputs[1]);
    if (call.op == "linear") {  // W is [n, k]
      std::vector<float> transposed(gemm.b.size());
      for (std::int64_t j = 0; j < gemm.n; ++j)
        for (std::int64_t p = 0; p < gemm.k; ++p)
          transposed[static_cast<std::size_t>(p * gemm.n + j)] =
              gemm.b[static_cast<std::size_t>(j * gemm.k + p)];
      gemm.b = transposed;
      if (call.inputs[2] != no_tensor) gemm.bias = load(call.inputs[2]);
    }
    if (fault.inputs) fault.inputs(gemm);
    Acc acc(static_cast<std::size_t>(gemm.m * gemm.n));
    for (std::int64_t i = 0; i < gemm.m; ++i)
      for (std::int64_t j = 0; j < gemm.n; ++j) {
        float& value = acc[static_cast<std::size_t>(i * gemm.n + j)];
        value = gemm.dot(i, j, 0, gemm.k);
        if (!gemm.bias.empty()) value += gemm.bias[static_cast<std::size_t>(j)];
      }
    if (fault.accumulators) fault.accumulators(gemm, acc);
    Tensor result = *memory.tensor(call.outputs[0]);
    const std::vector<double> wide(acc.begin(), acc.end());
    narrow(wide, result, fault.store);
    if (auto ok = memory.assign(call.outputs[0], result); !ok) return ok;
    if (fault.memory) fault.memory(gemm);
    return {};
  };
}

float through_f16(float x) {
  return f16_to_f32(f32_to_f16(x));
}
float& at(const Gemm& g, Acc& acc, std::int64_t i, std::int64_t j) {
  return acc[static_cast<std::size_t>(i * g.n + j)];
}

/// The device's output storage as fp16 words.
std::uint16_t* words(const Gemm& g) {
  return reinterpret_cast<std::uint16_t*>(g.memory.payload(g.call.outputs[0]).data());
}

std::vector<Fault> faults() {
  const auto each_of_tile = [](std::int64_t row, std::int64_t col, auto change) {
    return [=](const Gemm& g, Acc& acc) {
      const Acc healthy = acc;
      for (std::int64_t i = 0; i < 16; ++i)
        for (std::int64_t j = 0; j < 16; ++j)
          at(g, acc, row + i, col + j) = change(g, healthy, row, col, i, j);
    };
  };
  std::vector<Fault> list;
  list.push_back({.name = "last k lost", .accumulators = [](const Gemm& g, Acc& acc) {
                    for (std::int64_t i = 0; i < g.m; ++i)
                      for (std::int64_t j = 0; j < g.n; ++j) at(g, acc, i, j) = g.dot(i, j, 0, g.k - 1);
                  }});
  list.push_back(
      {.name = "K tail of one tile lost",
       .accumulators = each_of_tile(32, 48, [](const Gemm& g, const Acc&, auto r, auto c, auto i, auto j) {
         return g.dot(r + i, c + j, 0, g.k / 32 * 32);
       })});
  list.push_back({.name = "one element off by 1%",
                  .accumulators = [](const Gemm& g, Acc& acc) { at(g, acc, 41, 7) *= 1.01f; }});
  list.push_back({.name = "a 16x16 tile transposed",
                  .accumulators =
                      each_of_tile(16, 64, [](const Gemm& g, const Acc& acc, auto r, auto c, auto i, auto j) {
                        return acc[static_cast<std::size_t>((r + j) * g.n + c + i)];
                      })});
  list.push_back(
      {.name = "a stale tile, weights moved 1%",
       .accumulators = each_of_tile(80, 0, [](const Gemm& g, const Acc&, auto r, auto c, auto i, auto j) {
         return g.dot(r + i, c + j, 0, g.k, 1.01f);
       })});
  list.push_back({.name = "bias missing in one column",
                  .accumulators =
                      [](const Gemm& g, Acc& acc) {
                        for (std::int64_t i = 0; i < g.m; ++i) at(g, acc, i, 13) -= g.bias[13];
                      },
                  .case_text = "linear m=96 n=80 k=300 in=f16 out=f16 seed=11"});
  list.push_back({.name = "result times two", .accumulators = [](const Gemm&, Acc& acc) {
                    for (float& x : acc) x *= 2;
                  }});
  list.push_back({.name = "a row zeroed", .accumulators = [](const Gemm& g, Acc& acc) {
                    for (std::int64_t j = 0; j < g.n; ++j) at(g, acc, 95, j) = 0;
                  }});
  list.push_back({.name = "fp16 accumulation", .accumulators = [](const Gemm& g, Acc& acc) {
                    for (std::int64_t i = 0; i < g.m; ++i)
                      for (std::int64_t j = 0; j < g.n; ++j) {
                        float sum = 0;
                        for (std::int64_t p = 0; p < g.k; ++p)
                          sum = through_f16(sum + g.a[static_cast<std::size_t>(i * g.k + p)] *
                                                      g.b[static_cast<std::size_t>(p * g.n + j)]);
                        at(g, acc, i, j) = sum;
                      }
                  }});
  list.push_back({.name = "a truncating store", .store = Rounding::toward_zero});
  list.push_back({.name = "inputs through bf16", .inputs = [](Gemm& g) {
                    for (auto* values : {&g.a, &g.b})
                      for (float& x : *values) x = bf16_to_f32(f32_to_bf16(x));
                  }});
  list.push_back(
      {.name = "a pad read", .accumulators = [](const Gemm& g, Acc& acc) {
         const TensorSpec& spec = g.program.spec(g.call.inputs[0]);
         std::uint16_t bits = 0;  // A[5, k], the first pad of row 5
         std::memcpy(&bits, g.memory.payload(g.call.inputs[0]).data() + 2 * (5 * spec.strides[0] + g.k), 2);
         for (std::int64_t j = 0; j < g.n; ++j) at(g, acc, 5, j) += f16_to_f32(bits);
       }});
  list.push_back({.name = "an element never written", .memory = [](const Gemm& g) {
                    // The kernel skips it: what was there before the run stays.
                    Tensor poison = *Tensor::create(DType::f16, {1});
                    poison_all(poison, Poison::unwritten);
                    std::memcpy(words(g) + 3 * g.n + 5, poison.bytes().data(), 2);
                  }});
  list.push_back(
      {.name = "a write past the end", .memory = [](const Gemm& g) { words(g)[g.m * g.n] = 0x3c00; }});
  list.push_back({.name = "a write into a pad",
                  .memory = [](const Gemm& g) { words(g)[g.n] = 0x3c00; },
                  .case_text = "gemm m=96 n=80 k=300 in=f16 out=f16 pad_d=2 seed=11"});
  list.push_back({.name = "an input overwritten",
                  .memory = [](const Gemm& g) { g.memory.payload(g.call.inputs[1])[0] = std::byte{0x55}; }});
  return list;
}

HostPath path_for(const std::string& op, HostKernel kernel, bool order_known) {
  Implementation implementation;
  implementation.path = "kernel_f16_f32";
  implementation.op = op;
  implementation.input = DType::f16;
  implementation.stores = {DType::f16, DType::f32};
  implementation.multiply = format_of(DType::f16);
  ArithmeticModel& model = implementation.contract;
  model.precision = {DType::f16, format_of(DType::f16), DType::f32, DType::f32, DType::f16};
  if (order_known) {
    implementation.knowledge = OrderKnowledge::declared;
    model.accumulation = Accumulation{};
    implementation.replays = {model};
  }
  return {implementation, std::move(kernel)};
}

class PlantedFaults : public ::testing::TestWithParam<bool> {
 protected:
  OpTable ops = make_op_table();
  StageTable stages = make_stage_table(ops);

  /// The path is calibrated healthy (as a device seen before), then runs the faulty kernel.
  Record run(const Fault& fault) {
    auto broken = std::make_shared<bool>(false);
    const HostKernel healthy = faulty_kernel({.name = "none"}), faulty = faulty_kernel(fault);
    const HostKernel kernel = [=](const OpCall& call, const Program& program, HostMemory& memory) {
      return (*broken ? faulty : healthy)(call, program, memory);
    };
    std::vector<HostPath> paths{path_for("gemm", kernel, GetParam()), path_for("linear", kernel, GetParam())};
    auto device = make_host_device({"host:0", "host", "planted", "", "", {}}, std::move(paths));
    Runner runner(ops, stages, *device,
                  {.repeats = 2, .order_effects = false, .inputs = {}, .provenance = {}, .repro_suffix = {}});
    const Case c = *parse_case(fault.case_text, stages);
    const Record before = runner.run(c, "kernel_f16_f32");
    EXPECT_EQ(before.verdict, Verdict::pass) << "the healthy kernel: " << before.reason;
    *broken = true;
    return runner.run(c, "kernel_f16_f32");
  }
};

TEST_P(PlantedFaults, EachIsCaught) {
  for (const Fault& fault : faults()) {
    const Record record = run(fault);
    EXPECT_TRUE(record.verdict == Verdict::fail || record.verdict == Verdict::suspect)
        << fault.name << ": " << name_of(record.verdict);
    EXPECT_FALSE(record.reason.empty()) << fault.name;
    RecordProperty(fault.name, record.reason);
  }
}

// Another order of summation stays within every bound; where the order is declared and was confirmed on the
// device, the bits are the contract and it is caught all the same.
TEST_P(PlantedFaults, AnotherOrderIsAFaultOnlyWhereTheOrderIsDeclared) {
  const Fault reversed{.name = "k reversed",
                       .accumulators =
                           [](const Gemm& g, Acc& acc) {
                             for (std::int64_t i = 0; i < g.m; ++i)
                               for (std::int64_t j = 0; j < g.n; ++j) {
                                 float sum = 0;
                                 for (std::int64_t p = g.k - 1; p >= 0; --p)
                                   sum = std::fma(g.a[static_cast<std::size_t>(i * g.k + p)],
                                                  g.b[static_cast<std::size_t>(p * g.n + j)], sum);
                                 at(g, acc, i, j) = sum;
                               }
                           },
                       .case_text = "gemm m=96 n=80 k=300 in=f16 out=f32 seed=11"};
  const Record record = run(reversed);
  EXPECT_EQ(record.verdict, GetParam() ? Verdict::fail : Verdict::pass) << record.reason;
  if (!GetParam()) return;
  std::string reasons;
  for (const std::string& reason : record.outputs.front().judgement.reasons) reasons += reason + "; ";
  EXPECT_NE(reasons.find("bits differ from the confirmed order"), std::string::npos) << reasons;
}

// What a kernel's end says, the record repeats: never a pass, never an exception.
TEST_P(PlantedFaults, AKernelThatDoesNotFinishHasAVerdictOfItsOwn) {
  for (const auto& [kind, verdict] :
       std::map<ErrorKind, Verdict>{{ErrorKind::timed_out, Verdict::timeout},
                                    {ErrorKind::device_failed, Verdict::crash},
                                    {ErrorKind::unsupported, Verdict::unsupported}}) {
    const HostKernel kernel = [kind](const OpCall&, const Program&, HostMemory&) -> Result<void> {
      return fail(kind, "the kernel stopped");
    };
    auto device =
        make_host_device({"host:0", "host", "planted", "", "", {}}, {path_for("gemm", kernel, GetParam())});
    Runner runner(ops, stages, *device, {});
    const Record record = runner.run(*parse_case("gemm m=4 n=4 k=4 in=f16", stages), "kernel_f16_f32");
    EXPECT_EQ(record.verdict, verdict);
    EXPECT_EQ(record.reason, "the kernel stopped");
  }
}

INSTANTIATE_TEST_SUITE_P(Order, PlantedFaults, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "declared" : "unknown"; });

}  // namespace
}  // namespace parity
