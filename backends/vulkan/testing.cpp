#include "backends/vulkan/testing.hpp"

#include <fmt/format.h>

#include <cmath>

#include "backends/vulkan/vulkan_backend.hpp"
#include "harness/numerics/integer_matmul.hpp"
#include "harness/tensor/convert.hpp"
#include "harness/tensor/poison.hpp"

namespace parity::vulkan {

namespace {

TensorSpec matrix(std::string name, DType dtype, std::int64_t batch, std::int64_t rows, std::int64_t cols,
                  std::int64_t pad, TensorSpec::Role role) {
  TensorSpec spec{std::move(name), dtype, {}, {}, role};
  if (batch != 1) spec.shape.push_back(batch);
  spec.shape.insert(spec.shape.end(), {rows, cols});
  spec.strides = leading_strides(spec.shape, cols + pad);
  return spec;
}

/// Exact for these integers; the activations that are exact for integers and halves only.
double activate(const std::string& name, double x) {
  if (name == "relu") return x < 0 ? 0 : x;
  if (name == "leaky_relu_squared") return x < 0 ? x * x / 4 : x * x;
  return x;
}

std::uint64_t mixed(std::uint64_t stream, std::int64_t index) {
  return (static_cast<std::uint64_t>(index) + 1 + stream * 0x51ed27) * 0x9e3779b97f4a7c15ull;
}

/// Element `index` of A (stream 0), B (1) or C (2).
double value_of(const TestProblem& p, std::uint64_t stream, std::int64_t index) {
  if (p.values == TestValues::small) return element_of(stream, index);
  if (p.values == TestValues::lowest) return stream == 2 ? -0x1p31 : -0x1p7;
  const auto word = static_cast<std::int32_t>(mixed(stream, index) >> 32);
  return stream == 2 ? word : word >> 24;
}

double expected(const TestProblem& p, std::int64_t batch, std::int64_t row, std::int64_t col) {
  const bool linear = p.op == "linear";
  const bool tb = linear || p.trans_b;
  double sum = 0;
  for (std::int64_t k = 0; k < p.k; ++k) {
    const std::int64_t a = batch * p.m * p.k + (p.trans_a ? k * p.m + row : row * p.k + k);
    const std::int64_t b = (p.share_b ? 0 : batch * p.n * p.k) + (tb ? col * p.k + k : k * p.n + col);
    sum += value_of(p, 0, a) * value_of(p, 1, b);
  }
  if (linear) return activate(p.activation, p.with_c ? sum + value_of(p, 2, col) : sum);
  sum *= p.alpha;
  if (p.with_c && p.beta != 0) sum += p.beta * value_of(p, 2, (batch * p.m + row) * p.n + col);
  return p.store == DType::i32 ? wrapped_i32(sum) : sum;
}

Result<Tensor> filled(const TestProblem& p, const TensorSpec& spec, std::uint64_t stream) {
  auto tensor = Tensor::create(spec.dtype, spec.shape, spec.strides);
  if (!tensor) return tensor;
  poison_all(*tensor, Poison::guard);  // pads are NaN
  for (std::int64_t i = 0; i < tensor->elements(); ++i) tensor->set_value(i, value_of(p, stream, i));
  return tensor;
}

std::string compare(const TestProblem& p, const Tensor& got) {
  for (std::int64_t i = 0; i < got.elements(); ++i) {
    const std::int64_t col = i % p.n, row = i / p.n % p.m, batch = i / (p.n * p.m);
    const double exact = expected(p, batch, row, col);
    const double want = is_float(p.store) ? round_to(format_of(p.store), exact) : exact;
    if (got.value(i) == want) continue;
    return fmt::format("element [{}, {}, {}] is {} (bits {:#x}), {} is right", batch, row, col, got.value(i),
                       got.bits(i), want);
  }
  if (const auto pads = damaged_pads(got); !pads.empty()) return fmt::format("pad {} was written", pads[0]);
  return {};
}

std::string run_loaded(Session& session, const TestProblem& p, const Program& program) {
  for (std::size_t i = 0; i < program.tensors.size(); ++i) {
    const TensorSpec& spec = program.tensors[i];
    if (spec.role != TensorSpec::Role::input) continue;
    const auto tensor = filled(p, spec, spec.name == "A" ? 0 : spec.name == "B" ? 1 : 2);
    if (!tensor) return tensor.error().message;
    if (auto ok = session.write(static_cast<TensorId>(i), *tensor); !ok) return ok.error().message;
  }
  for (int repeat = 0; repeat < 2; ++repeat) {
    const auto timing = session.run();
    if (!timing) return timing.error().message;
    const auto got = session.read(2);
    if (!got) return got.error().message;
    if (std::string fault = compare(p, *got); !fault.empty()) return fault;
  }
  const auto damage = session.check_guards();
  if (!damage) return damage.error().message;
  if (!damage->empty())
    return fmt::format("guard of {} damaged at byte {}", (*damage)[0].tensor, (*damage)[0].byte_offset);
  return {};
}

}  // namespace

double element_of(std::uint64_t stream, std::int64_t index) {
  return static_cast<double>(mixed(stream, index) >> 61) - 3;  // -3 .. 4
}

TestDevices open_test_devices() {
  BackendOptions options;
  options.validate = true;
  TestDevices opened;
  opened.backend = make_vulkan_backend(options);
  auto devices = opened.backend->devices();
  if (devices)
    opened.devices = std::move(*devices);
  else
    opened.absent = devices.error().message;
  return opened;
}

std::string to_string(const TestProblem& p) {
  return fmt::format(
      "{} m={} n={} k={} batch={} ta={} tb={} share_b={} c={} alpha={} beta={} pad={} {} out={} values={}",
      p.op, p.m, p.n, p.k, p.batch, p.trans_a, p.trans_b, p.share_b, p.with_c, p.alpha, p.beta, p.pad,
      p.activation, name_of(p.store), static_cast<int>(p.values));
}

Program program_of(const TestProblem& p, DType input) {
  using Role = TensorSpec::Role;
  const bool linear = p.op == "linear";
  const bool tb = linear || p.trans_b;
  Program program;
  program.accumulate = DType::f32;
  program.tensors = {
      matrix("A", input, p.batch, p.trans_a ? p.k : p.m, p.trans_a ? p.m : p.k, p.pad, Role::input),
      matrix("B", input, p.share_b ? 1 : p.batch, tb ? p.n : p.k, tb ? p.k : p.n, p.pad, Role::input),
      matrix("Y", p.store, p.batch, p.m, p.n, p.pad, Role::output),
  };
  OpCall call{p.op, {}, {0, 1, no_tensor}, {2}};
  if (linear)
    call.attributes = Attributes{{"activation", p.activation}};
  else
    call.attributes = Attributes{{"trans_a", std::int64_t{p.trans_a}},
                                 {"trans_b", std::int64_t{p.trans_b}},
                                 {"alpha", p.alpha},
                                 {"beta", p.beta}};
  if (p.with_c) {
    program.tensors.push_back(linear ? TensorSpec{"C", p.store, {p.n}, {1}, Role::input}
                                     : matrix("C", p.store, p.batch, p.m, p.n, p.pad, Role::input));
    call.inputs[2] = 3;
  }
  program.calls.push_back(std::move(call));
  return program;
}

TestOutcome run_problem(Device& device, const Implementation& implementation, const TestProblem& problem) {
  Program program = program_of(problem, implementation.input);
  program.accumulate = implementation.accumulate;
  const Support support = device.supports(implementation, program.calls[0], program);
  TestOutcome outcome;
  if (!support.legal()) {
    outcome.supported = false;
    outcome.reason = support.reason;
    return outcome;
  }
  auto session = device.load(program, {implementation.path});
  outcome.fault = session ? run_loaded(**session, problem, program) : session.error().message;
  return outcome;
}

}  // namespace parity::vulkan
