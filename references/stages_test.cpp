// Every stage builds its programs, takes the formats it says, and has all of its gradients.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "references/stages_testing.hpp"

namespace parity {
namespace {

constexpr const char* f64 = " in=f64 acc=f64 out=f64";
constexpr const char* f32 = " in=f32 acc=f32 out=f32";

struct Subject {
  std::string smallest, typical;
  bool differentiable = true;
  bool products = false;
};

const std::vector<Subject>& subjects() {
  static const std::vector<Subject> list{
      {"gemm m=1 n=1 k=1", "gemm m=5 n=7 k=9 ta=t pad_a=2 pad_d=3 alpha=0.5 beta=-1.5", true, true},
      {"linear m=1 n=1 k=1", "linear m=5 n=7 k=9 activation=tanh pad_x=2 pad_y=3", true, true},
      {"linear m=1 n=1 k=1 bias=n", "linear m=5 n=7 k=9 activation=leaky_relu_squared pad_y=3", true, true},
      {"gru_gate batch=0 hidden=1", "gru_gate batch=3 hidden=5 activation=tanh"},
      {"gru_cell batch=0 inputs=1 hidden=1", "gru_cell batch=3 inputs=5 hidden=7", true, true},
      {"gru_cell batch=1 inputs=1 hidden=1 variant=reset_before",
       "gru_cell batch=3 inputs=5 hidden=7 variant=reset_before", true, true},
      {"gru_sequence steps=1 batch=0 inputs=1 hidden=1", "gru_sequence steps=4 batch=3 inputs=5 hidden=7",
       true, true},
      {"gru_sequence steps=3 batch=0 inputs=1 hidden=1", "gru_sequence steps=1 batch=3 inputs=5 hidden=65",
       true, true},
      {"gru_stack layers=1 steps=1 batch=0 hidden=1", "gru_stack layers=2 steps=3 batch=3 hidden=5", true,
       true},
      {"rms_norm rows=0 cols=1", "rms_norm rows=5 cols=7"},
      {"rms_norm rows=1 cols=1 weight=n", "rms_norm rows=5 cols=12 weight=n group=4"},
      {"rope batch=0 seq=1 heads=1 head_dim=2 rotary=2",
       "rope batch=2 seq=5 heads=3 head_dim=8 rotary=6 pairing=interleaved"},
      {"qk_norm batch=0 seq=1 heads=1 head_dim=2 rotary=2",
       "qk_norm batch=2 seq=5 heads=3 head_dim=8 rotary=6"},
      {"attention batch=0 seq=1 heads=1 kv_heads=1 head_dim=1",
       "attention batch=3 seq=5 heads=4 kv_heads=2 head_dim=3 mask=y"},
      {"attention batch=1 seq=1 heads=1 kv_heads=1 head_dim=1",
       "attention batch=2 seq=5 heads=2 kv_heads=1 head_dim=3 causal=n"},
      {"xsa rows=0 heads=1 kv_heads=1 head_dim=1", "xsa rows=5 heads=4 kv_heads=2 head_dim=3"},
      {"attention_block batch=0 seq=1 heads=1 kv_heads=1 head_dim=2 rotary=2",
       "attention_block batch=3 seq=4 heads=4 kv_heads=2 head_dim=6 rotary=4 width=10 mask=y", true, true},
      {"softcap rows=0 cols=1", "softcap rows=3 cols=5 cap=2"},
      {"classifier rows=0 inputs=1 classes=1", "classifier rows=3 inputs=5 classes=7", true, true},
      {"softmax_cross_entropy rows=1 classes=1", "softmax_cross_entropy rows=5 classes=7 softcap=3"},
      {"softmax_cross_entropy rows=0 classes=1 mean=n", "softmax_cross_entropy rows=5 classes=7 mean=n"},
      {"embedding rows=0 vocabulary=1 width=1", "embedding rows=9 vocabulary=4 width=5"},
      {"gradient_reduction replicas=0 size=1", "gradient_reduction replicas=5 size=7", false},
      {"grad_norm_clip tensors=1 rows=0 cols=1", "grad_norm_clip tensors=3 rows=4 cols=5", false},
      {"adamw rows=0 cols=1", "adamw rows=3 cols=5 step=7", false},
      {"muon rows=1 cols=1", "muon rows=7 cols=4", false, true},
      {"muon rows=1 cols=5", "muon rows=4 cols=7", false, true},
      {"ema rows=0 cols=1", "ema rows=3 cols=5", false},
  };
  return list;
}

std::string stage_of(const std::string& text) {
  return text.substr(0, text.find(' '));
}

/// Every result and every gradient of the program is there and was written.
void expect_complete(const StageRun& run) {
  for (const TensorSpec& spec : run.program().tensors) {
    if (spec.role != TensorSpec::Role::output) continue;
    for (const double value : run.get(spec.name)) EXPECT_TRUE(std::isfinite(value)) << spec.name;
  }
}

void expect_gradients(const StageRun& run) {
  for (const TensorSpec& spec : run.program().tensors) {
    const bool values = spec.role == TensorSpec::Role::input && is_float(spec.dtype) &&
                        spec.content.kind == Content::Kind::values && !spec.name.starts_with("d_");
    if (!values) continue;
    // What many share (the gradient of a + u) has the first one's name.
    const auto id = run.program().find("d_" + spec.name);
    const bool shared = run.parsed().stage == "gru_gate" && spec.name == "u";
    if (!id && shared) continue;
    ASSERT_TRUE(id.has_value()) << "the gradient of " << spec.name << " is missing";
    const TensorSpec& gradient = run.program().spec(*id);
    EXPECT_EQ(gradient.shape, spec.shape) << spec.name;
    EXPECT_NE(gradient.dtype, DType::f16) << spec.name;
    EXPECT_NE(gradient.dtype, DType::bf16) << spec.name;
  }
}

TEST(Stages, EveryStageIsTested) {
  std::set<std::string> tested{"training_step"};  // by tests of its own
  for (const Subject& subject : subjects()) tested.insert(stage_of(subject.typical));
  const StageTable stages = make_stage_table(make_op_table());
  for (const auto& stage : stages.all()) EXPECT_TRUE(tested.contains(std::string(stage->name())));
}

TEST(Stages, SmallestAndTypicalCasesBuildAndRun) {
  for (const Subject& subject : subjects()) {
    for (const std::string& text : {subject.smallest, subject.typical}) {
      for (const char* formats : {f32, f64}) {
        for (const char* gradient : {"", " gradient=y"}) {
          if (*gradient != 0 && !subject.differentiable) continue;
          SCOPED_TRACE(text + gradient + formats);
          StageRun run(text + gradient + formats);
          run.run();
          expect_complete(run);
          if (*gradient != 0) expect_gradients(run);
        }
      }
    }
  }
}

TEST(Stages, NarrowProductsKeepStateAndGradientsWide) {
  for (const Subject& subject : subjects()) {
    if (!subject.products) continue;
    for (const char* in : {"f16", "bf16"}) {
      for (const char* gradient : {"", " gradient=y"}) {
        if (*gradient != 0 && !subject.differentiable) continue;
        const std::string text = fmt::format("{}{} in={} acc=f32 out=f32", subject.typical, gradient, in);
        SCOPED_TRACE(text);
        StageRun run(text);
        run.run();
        expect_complete(run);
        if (*gradient != 0) expect_gradients(run);
        for (const OpCall& call : run.program().calls) {
          const bool product = call.op == "gemm" || call.op == "linear";
          const DType factor = run.program().spec(call.inputs[0]).dtype;
          if (product) {
            EXPECT_EQ(name_of(factor), std::string_view(in)) << call.op;
          }
          if (product || call.op == "cast") continue;
          for (const TensorId id : call.inputs) {
            const bool floating = id != no_tensor && is_float(run.program().spec(id).dtype);
            EXPECT_TRUE(!floating || run.program().spec(id).dtype == DType::f32) << call.op;
          }
        }
      }
    }
  }
}

TEST(Stages, OtherFormatsAreRefused) {
  const OpTable ops = make_op_table();
  const StageTable stages = make_stage_table(ops);
  const auto message = [&](const std::string& text) {
    const auto c = parse_case(text, stages);
    EXPECT_TRUE(c.has_value()) << c.error().message;
    const auto program = stages.find(c->stage)->build(*c);
    return program ? std::string() : program.error().message;
  };
  for (const Subject& subject : subjects()) {
    const std::string name = stage_of(subject.typical);
    if (name == "gemm" || name == "linear") continue;  // any formats; a path may not have them
    for (const char* formats : {"in=f16 acc=f32 out=f16", "in=f32 acc=f16 out=f32", "in=f32 acc=f32 out=f64",
                                "in=f64 acc=f32 out=f32", "in=bf16 acc=f64 out=f64"}) {
      const std::string text = fmt::format("{} {}", subject.typical, formats);
      EXPECT_NE(message(text).find(name), std::string::npos) << text;
      EXPECT_NE(message(text).find("there is in="), std::string::npos) << text << ": " << message(text);
    }
    const std::string narrow = message(subject.typical + " in=f16 acc=f32 out=f32");
    EXPECT_EQ(narrow.empty(), subject.products) << subject.typical << ": " << narrow;
  }
}

TEST(Stages, WhatDoesNotFitIsNamed) {
  const StageTable stages = make_stage_table(make_op_table());
  const auto message = [&](const std::string& text) {
    const auto c = parse_case(text, stages);
    if (!c) return c.error().message;
    const auto program = stages.find(c->stage)->build(*c);
    return program ? std::string() : program.error().message;
  };
  const std::pair<std::string, std::string> wrong[] = {
      {"rope batch=1 seq=2 heads=1 head_dim=4 rotary=3", "rotary is 3"},
      {"rope batch=1 seq=2 heads=1 head_dim=4 rotary=6", "rotary is 6"},
      {"attention batch=1 seq=2 heads=3 kv_heads=2 head_dim=4", "kv_heads"},
      {"attention_block batch=1 seq=2 heads=3 kv_heads=2 head_dim=4 rotary=2", "kv_heads"},
      {"xsa rows=2 heads=3 kv_heads=2 head_dim=4", "kv_heads"},
      {"rms_norm rows=2 cols=7 weight=n group=3", "group is 3"},
      {"rms_norm rows=2 cols=6 group=3", "weight"},
      {"softcap rows=2 cols=6 cap=0", "cap"},
      {"softmax_cross_entropy rows=0 classes=3", "one element"},
      {"gru_sequence steps=0 batch=1 inputs=1 hidden=1", "steps"},
      {"muon rows=2 cols=2 mu=2", "mu"},
      {"gemm m=2 n=2 k=2 batch=3 share_b=y gradient=y", "batch"},
      {"ema rows=1 cols=1 gradient=y", "gradient"},
  };
  for (const auto& [text, part] : wrong)
    EXPECT_NE(message(text).find(part), std::string::npos) << text << ": " << message(text);
}

TEST(Stages, GradientIsNoPartOfAnOldCaseText) {
  const StageTable stages = make_stage_table(make_op_table());
  for (const char* text : {"gemm m=3 n=4 k=5 in=f32 acc=f32 out=f32 fill=normal seed=1",
                           "linear m=3 n=4 k=5 bias=n in=f16 acc=f32 out=f32 fill=integer seed=2"}) {
    const auto c = parse_case(text, stages);
    ASSERT_TRUE(c.has_value());
    EXPECT_EQ(print_case(*c, stages), text);
    EXPECT_TRUE(stages.find(c->stage)->build(*c)->calls.size() == 1);
  }
}

TEST(Stages, AdamwTakesItsSettings) {
  StageRun run("adamw rows=2 cols=3 lr=0.5 beta1=0.5 beta2=0.25 eps=0.125 weight_decay=0.25 step=3" +
               std::string(f64));
  run.run();
  const auto p = run.get("p"), g = run.get("g"), m = run.get("m"), v = run.get("v");
  const double c0 = 1 - 0.125, c1 = 1 - 0x1p-6;
  EXPECT_EQ(run.get("correction"), (std::vector<double>{c0, c1}));
  for (std::size_t i = 0; i < p.size(); ++i) {
    const double m_next = 0.5 * m[i] + 0.5 * g[i], v_next = 0.25 * v[i] + 0.75 * g[i] * g[i];
    EXPECT_DOUBLE_EQ(run.get("m_next")[i], m_next);
    EXPECT_DOUBLE_EQ(run.get("v_next")[i], v_next);
    EXPECT_NEAR(run.get("p_next")[i],
                p[i] * (1 - 0.5 * 0.25) - 0.5 * (m_next / c0) / (std::sqrt(v_next / c1) + 0.125), 1e-12);
  }
  const StageTable stages = make_stage_table(make_op_table());
  const auto printed = [&](const std::string& text) { return print_case(*parse_case(text, stages), stages); };
  const std::string tail = " in=f32 acc=f32 out=f32 fill=normal seed=1";
  EXPECT_EQ(printed("adamw rows=2 cols=3 beta1=0.9 beta2=0.95"), "adamw rows=2 cols=3" + tail);
  EXPECT_EQ(printed("adamw rows=2 beta2=0.999 cols=3 beta1=0.8"),
            "adamw rows=2 cols=3 beta1=0.8 beta2=0.999" + tail);
  for (const char* wrong : {"beta1=1", "beta2=-0.1"})
    EXPECT_FALSE(parse_case(std::string("adamw rows=2 cols=3 ") + wrong, stages).has_value()) << wrong;
}

TEST(Stages, ExactOnlyWhereEveryOrderIs) {
  const StageTable stages = make_stage_table(make_op_table());
  const auto exact = [&](const std::string& text) {
    const auto c = parse_case(text, stages);
    EXPECT_TRUE(c.has_value()) << c.error().message;
    return stages.find(c->stage)->exact(*c);
  };
  EXPECT_TRUE(exact("embedding rows=3 vocabulary=4 width=5 fill=selector"));
  EXPECT_FALSE(exact("embedding rows=3 vocabulary=4 width=5 fill=integer gradient=y"));
  EXPECT_TRUE(exact("gradient_reduction replicas=3 size=4 fill=integer"));
  EXPECT_FALSE(exact("gradient_reduction replicas=3 size=4 fill=normal"));
  EXPECT_TRUE(exact("ema rows=3 cols=4 decay=0.75 fill=integer"));
  EXPECT_FALSE(exact("ema rows=3 cols=4 decay=0.75 fill=selector"));
  EXPECT_FALSE(exact("ema rows=3 cols=4 fill=integer"));
  EXPECT_FALSE(exact("gru_cell batch=3 inputs=4 hidden=5 fill=integer"));
  EXPECT_TRUE(exact("gemm m=3 n=4 k=5 fill=integer"));
  EXPECT_FALSE(exact("gemm m=3 n=4 k=5 fill=integer gradient=y"));
}

/// The values that the calibration relies on: some stage's calibration case contains every op.
TEST(Stages, EveryOpIsCalibratedSomewhere) {
  const OpTable ops = make_op_table();
  const StageTable stages = make_stage_table(ops);
  std::set<std::string> seen;
  for (const auto& stage : stages.all()) {
    if (stage->name() == "training_step") continue;
    for (const DType in : {DType::f32, DType::f16}) {
      Case c;
      c.input = in;
      const auto program = stage->build(stage->calibration(c, DType::f32));
      if (!program) continue;
      for (const OpCall& call : program->calls) seen.insert(call.op);
    }
  }
  seen.insert("trace_scan");  // counts bits: there is no arithmetic to confirm
  for (const auto& op : ops.all()) EXPECT_TRUE(seen.contains(std::string(op->name()))) << op->name();
}

}  // namespace
}  // namespace parity
