// Faults of every rung, and data that breaks a format: the call, the timestep and the class of the cause.
#include <cmath>
#include <limits>
#include <optional>

#include "harness/bisect/bisect_testing.hpp"
#include "harness/tensor/poison.hpp"

namespace parity::bisecting {
namespace {

using Kind = BisectReport::Kind;
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double inf = std::numeric_limits<double>::infinity();

struct Scenario {
  std::string name, text;
  std::string op, output;  ///< whose kernel is spoilt; empty: none is, the data is to blame
  Spoil spoil;
  std::function<void(std::map<std::string, Tensor>&)> inputs;  ///< the user's own
  Kind kind = Kind::not_finite;
  std::string blamed;  ///< the op
  CauseKind cause = CauseKind::kernel;
  std::optional<std::int64_t> timestep = {};
  std::string path = "sequential_f32";
};

/// Writes the unwritten or the guard pattern at one element.
Spoil poison_at(std::int64_t element, Poison poison) {
  return [=](const OpCall& call, const Program& program, HostMemory& memory) {
    Tensor t = *memory.tensor(call.outputs[0]);
    t.set_bits(element, poison_bits(program.spec(call.outputs[0]).dtype, poison));
    ASSERT_TRUE(memory.assign(call.outputs[0], t));
  };
}

/// NaN in the rows of the result for which `holds(row of the input at port)`.
Spoil nan_where(std::size_t port, std::function<bool(const std::vector<double>&)> holds) {
  return [=](const OpCall& call, const Program&, HostMemory& memory) {
    const Tensor in = *memory.tensor(call.inputs[port]);
    Tensor out = *memory.tensor(call.outputs[0]);
    const std::int64_t width = in.shape().back(), rows = in.elements() / width,
                       per_row = out.elements() / rows;
    for (std::int64_t r = 0; r < rows; ++r) {
      std::vector<double> row;
      for (std::int64_t c = 0; c < width; ++c) row.push_back(in.value(r * width + c));
      if (!holds(row)) continue;
      for (std::int64_t c = 0; c < per_row; ++c) out.set_value(r * per_row + c, nan);
    }
    ASSERT_TRUE(memory.assign(call.outputs[0], out));
  };
}

Spoil scaled(std::size_t port, std::int64_t element, double factor) {
  return [=](const OpCall& call, const Program&, HostMemory& memory) {
    Tensor t = *memory.tensor(call.outputs[port]);
    t.set_value(element, t.value(element) * factor);
    ASSERT_TRUE(memory.assign(call.outputs[port], t));
  };
}

Tensor filled(Shape shape, double value) {
  Tensor t = Tensor::create(DType::f32, std::move(shape)).value();
  for (std::int64_t i = 0; i < t.elements(); ++i) t.set_value(i, value);
  return t;
}

bool largest_above(const std::vector<double>& row, double limit) {
  return *std::max_element(row.begin(), row.end()) > limit;
}
bool all_zero(const std::vector<double>& row) {
  return std::all_of(row.begin(), row.end(), [](double x) { return x == 0; });
}

const std::vector<Scenario>& scenarios() {
  static const std::vector<Scenario> list{
      {"gemm: one NaN", "gemm m=5 n=7 k=9", "gemm", "", set_element(0, 8, nan), {}, Kind::not_finite, "gemm"},
      {"gemm: an element never written",
       "gemm m=5 n=7 k=9",
       "gemm",
       "",
       poison_at(34, Poison::unwritten),
       {},
       Kind::not_finite,
       "gemm",
       CauseKind::never_written},
      {"gemm: a read past the end",
       "gemm m=5 n=7 k=9",
       "gemm",
       "",
       poison_at(33, Poison::guard),
       {},
       Kind::not_finite,
       "gemm",
       CauseKind::stray_read},
      {"gemm: one element off by 1%",
       "gemm m=5 n=7 k=9",
       "gemm",
       "",
       scaled(0, 3, 1.01),
       {},
       Kind::out_of_contract,
       "gemm",
       CauseKind::wrong_value},
      {"gemm: fp32 overflow of the sum",
       "gemm m=2 n=2 k=4",
       "",
       "",
       {},
       [](auto& in) {
         in.emplace("A", filled({2, 4}, 1e30)), in.emplace("B", filled({4, 2}, 1e9));
       },
       Kind::not_finite,
       "gemm",
       CauseKind::overflow},
      {"gemm: 0 * Inf of the inputs",
       "gemm m=2 n=2 k=4",
       "",
       "",
       {},
       [](auto& in) {
         in.emplace("A", filled({2, 4}, inf)), in.emplace("B", filled({4, 2}, 0));
       },
       Kind::not_finite,
       "gemm",
       CauseKind::zero_times_inf},
      {"linear: fp16 store",
       "linear m=5 n=7 k=64 in=f16 out=f16 fill=overflow",
       "",
       "",
       {},
       {},
       Kind::not_finite,
       "linear",
       CauseKind::store_overflow,
       {},
       "sequential_f16_f32"},
      {"gru_gate: NaN where saturated",
       "gru_gate batch=3 hidden=9 activation=sigmoid",
       "gru_gate",
       "",
       set_element(0, 11, nan),
       {},
       Kind::not_finite,
       "gru_gate"},
      {"gru_cell: a wrong blend",
       "gru_cell batch=3 inputs=4 hidden=5 variant=reset_before",
       "gru_blend",
       "",
       scaled(0, 2, 1.001),
       {},
       Kind::out_of_contract,
       "gru_blend",
       CauseKind::wrong_value},
      {"gru_sequence: NaN at timestep 37 of 50",
       "gru_sequence steps=50 batch=2 inputs=3 hidden=4",
       "gru_gates",
       "t37_h",
       set_element(0, 3, nan),
       {},
       Kind::not_finite,
       "gru_gates",
       CauseKind::kernel,
       37},
      {"gru_sequence: state never written at timestep 0",
       "gru_sequence steps=9 batch=2 inputs=3 hidden=4",
       "gru_gates",
       "t0_h",
       poison_at(1, Poison::unwritten),
       {},
       Kind::not_finite,
       "gru_gates",
       CauseKind::never_written,
       0},
      {"gru_sequence: a product wrong at timestep 5",
       "gru_sequence steps=9 batch=2 inputs=3 hidden=4",
       "linear",
       "t5_u",
       scaled(0, 4, 1.01),
       {},
       Kind::out_of_contract,
       "linear",
       CauseKind::wrong_value,
       5},
      {"gru_stack: a norm's row in layer 1",
       "gru_stack layers=2 steps=3 batch=2 hidden=8",
       "rms_norm",
       "l1.normed",
       set_element(0, 9, nan),
       {},
       Kind::not_finite,
       "rms_norm"},
      {"rms_norm: rsqrt(0)",
       "rms_norm rows=4 cols=8 fill=zeros",
       "rms_norm",
       "",
       nan_where(0, all_zero),
       {},
       Kind::not_finite,
       "rms_norm",
       CauseKind::rsqrt_of_nonpositive},
      {"rms_norm: one row not scaled",
       "rms_norm rows=4 cols=8",
       "rms_norm",
       "",
       scaled(0, 5, 2),
       {},
       Kind::out_of_contract,
       "rms_norm",
       CauseKind::wrong_value},
      {"rope: a pair rotated wrong",
       "rope batch=1 seq=4 heads=2 head_dim=8 rotary=8",
       "rope",
       "",
       scaled(0, 9, 1.5),
       {},
       Kind::out_of_contract,
       "rope",
       CauseKind::wrong_value},
      {"softmax_cross_entropy: unshifted", "softmax_cross_entropy rows=5 classes=16 fill=saturated",
       "softmax_cross_entropy", "", nan_where(0, [](const auto& row) { return largest_above(row, 60); }),
       [](auto& in) {
         in.emplace("logits", filled({5, 16}, 120));
       },
       Kind::not_finite, "softmax_cross_entropy", CauseKind::exp_overflow},
      {"softmax_cross_entropy: log(0)", "softmax_cross_entropy rows=2 classes=4", "softmax_cross_entropy", "",
       set_element(0, 0, inf),
       [](auto& in) {
         Tensor logits = filled({2, 4}, -200);
         logits.set_value(0, 0), logits.set_value(4, 0);
         in.emplace("logits", std::move(logits));
       },
       Kind::not_finite, "softmax_cross_entropy", CauseKind::log_of_nonpositive},
      {"embedding: a row never written",
       "embedding rows=7 vocabulary=5 width=6",
       "embedding",
       "",
       poison_at(13, Poison::unwritten),
       {},
       Kind::not_finite,
       "embedding",
       CauseKind::never_written},
      {"embedding backward: a lost addition",
       "embedding rows=7 vocabulary=5 width=6 gradient=y",
       "embedding_backward",
       "",
       scaled(0, 3, 0.5),
       {},
       Kind::out_of_contract,
       "embedding_backward",
       CauseKind::wrong_value},
      {"gradient_reduction: one column",
       "gradient_reduction replicas=9 size=12",
       "gradient_reduction",
       "",
       scaled(0, 7, 1.02),
       {},
       Kind::out_of_contract,
       "gradient_reduction",
       CauseKind::wrong_value},
      {"grad_norm_clip: NaN factor",
       "grad_norm_clip tensors=2 rows=3 cols=5",
       "clip_factor",
       "",
       set_element(0, 0, nan),
       {},
       Kind::not_finite,
       "clip_factor"},
      {"adamw: second moment NaN",
       "adamw rows=3 cols=5 step=7",
       "adamw",
       "",
       set_element(2, 4, nan),
       {},
       Kind::not_finite,
       "adamw"},
      {"muon: a matrix of zeros without epsilon",
       "muon rows=4 cols=6 fill=zeros",
       "frobenius_normalize",
       "",
       set_element(0, 0, nan),
       {},
       Kind::not_finite,
       "frobenius_normalize",
       CauseKind::rsqrt_of_nonpositive},
      {"ema: stale",
       "ema rows=3 cols=5",
       "axpby",
       "",
       scaled(0, 6, 0.9),
       {},
       Kind::out_of_contract,
       "axpby",
       CauseKind::wrong_value},
      {"training_step: a clipped gradient",
       "training_step batch=2 seq=4 width=8 steps=2 optimizer=adamw",
       "scale_by",
       "",
       set_element(0, 0, inf),
       {},
       Kind::not_finite,
       "scale_by"},
  };
  return list;
}

class Scenarios : public ::testing::TestWithParam<std::size_t> {};

TEST_P(Scenarios, IsFound) {
  const Scenario& s = scenarios()[GetParam()];
  SCOPED_TRACE(s.name);
  Bench bench;
  bench.path_ = s.path;
  const auto run = [&] {
    BisectOptions options;
    if (s.inputs) s.inputs(options.inputs);
    return bench.bisect(s.text, options);
  };
  if (!s.op.empty()) {
    const auto healthy = run();
    ASSERT_TRUE(healthy) << healthy.error().message;
    EXPECT_EQ(healthy->kind, Kind::healthy) << healthy->producer->examined.cause.evidence;
    bench.spoil(s.op, s.output, s.spoil);
  }
  const auto report = run();
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_EQ(report->kind, s.kind);
  ASSERT_TRUE(report->producer);
  EXPECT_EQ(report->producer->op, s.blamed);
  EXPECT_EQ(name_of(report->producer->examined.cause.kind), name_of(s.cause))
      << report->producer->examined.cause.evidence;
  if (s.timestep) {
    EXPECT_EQ(report->producer->place.timestep, s.timestep);
  }
  EXPECT_FALSE(report->before);
}

INSTANTIATE_TEST_SUITE_P(OfEveryRung, Scenarios, ::testing::Range(std::size_t{0}, scenarios().size()));

}  // namespace
}  // namespace parity::bisecting
