// attention and attention_backward: golden vectors, who takes part, gradients, bounds.
#include <gtest/gtest.h>

#include "references/gradient_testing.hpp"
#include "references/reference_testing.hpp"
#include "references/vectors_testing.hpp"

namespace parity {
namespace {

using Index = std::int64_t;

struct Sizes {
  Index batch, seq, heads, kv_heads, dim;
  bool causal;
  double scale;

  Attributes attributes() const {
    return {
        {"seq", seq}, {"heads", heads}, {"kv_heads", kv_heads}, {"causal", Index{causal}}, {"scale", scale}};
  }
  Shape queries() const { return {batch * seq, heads * dim}; }
  Shape keys() const { return {batch * seq, kv_heads * dim}; }
};

struct Inputs {
  Tensor q, k, v, d_o;
  std::optional<Tensor> valid;

  PortTensors forward() const { return {&q, &k, &v, valid ? &*valid : nullptr}; }
  PortTensors backward() const { return {&q, &k, &v, valid ? &*valid : nullptr, &d_o}; }
};

Inputs random_inputs(const Sizes& sizes, std::uint64_t seed) {
  return {random_tensor(sizes.queries(), seed, 0, 2),
          random_tensor(sizes.keys(), seed + 1, 0, 2),
          random_tensor(sizes.keys(), seed + 2, 0, 2),
          random_tensor(sizes.queries(), seed + 3, 0, 2),
          {}};
}

Tensor as_f32(const Tensor& tensor) {
  return *convert(tensor, DType::f32);
}

TEST(AttentionVectors, ForwardAndBackward) {
  const Vectors vectors("attention_vectors.safetensors");
  EXPECT_EQ(vectors.cases().size(), 6u);
  for (const std::string& name : vectors.cases()) {
    SCOPED_TRACE(name);
    const auto integer = [&](const char* key) { return static_cast<Index>(number_after(name, key)); };
    const Attributes attributes{{"seq", integer("s")},
                                {"heads", integer("_h")},
                                {"kv_heads", integer("_kv")},
                                {"causal", integer("_causal")},
                                {"scale", number_after(name, "_scale")}};
    for (const Index pad : {0, 3}) {
      const auto get = [&](const char* port) { return strided(*vectors.get(name, port), pad); };
      const Tensor q = get("Q"), k = get("K"), v = get("V"), d_o = get("dO");
      std::optional<Tensor> valid = vectors.get(name, "valid");
      if (valid) valid = as_indices(*valid);
      const Tensor* mask = valid ? &*valid : nullptr;
      const auto forward = evaluate_exact("attention", attributes, {&q, &k, &v, mask});
      ASSERT_EQ(forward.size(), 1u);
      expect_close(forward[0], *vectors.get(name, "O"), 1);
      const auto backward = evaluate_exact("attention_backward", attributes, {&q, &k, &v, mask, &d_o});
      ASSERT_EQ(backward.size(), 3u);
      expect_close(backward[0], *vectors.get(name, "dQ"), 1);
      expect_close(backward[1], *vectors.get(name, "dK"), 1);
      expect_close(backward[2], *vectors.get(name, "dV"), 1);
    }
  }
}

TEST(AttentionGradients, AgreeWithTheFunction) {
  const OpTable ops = make_op_table();
  const std::vector<Sizes> all = {
      {3, 5, 4, 2, 3, true, 0.5},    // batch 3, grouped heads
      {1, 1, 1, 1, 2, true, 1.0},    // one token, one head
      {2, 1, 2, 1, 3, true, 0.5},    // one timestep
      {2, 4, 2, 2, 2, false, 0.75},  // every key
      {1, 19, 1, 1, 2, true, 0.5},   // a length off every block
  };
  for (const Sizes& sizes : all) {
    SCOPED_TRACE(to_string(sizes.queries()));
    const Inputs in = random_inputs(sizes, 21);
    expect_right_gradient(ops, {"attention", sizes.attributes(), {in.q, in.k, in.v, std::nullopt}});
    // A batch entry whose first query has no key, one without any key, and one key masked elsewhere.
    std::vector<Index> valid(static_cast<std::size_t>(sizes.batch * sizes.seq), 1);
    valid[0] = 0;
    valid[valid.size() / 2] = 0;
    for (Index t = 0; t < sizes.seq; ++t)
      valid[static_cast<std::size_t>((sizes.batch - 1) * sizes.seq + t)] &= sizes.batch == 1;
    expect_right_gradient(ops, {"attention", sizes.attributes(), {in.q, in.k, in.v, index_tensor(valid)}});
  }
  // Only one of the inputs is asked for.
  const Sizes sizes{1, 3, 2, 1, 2, true, 0.5};
  const Inputs in = random_inputs(sizes, 22);
  for (std::size_t port = 0; port < 3; ++port)
    expect_right_gradient(ops, {"attention", sizes.attributes(), {in.q, in.k, in.v, std::nullopt}, {port}});
}

TEST(Attention, NothingIsNothing) {
  const Sizes sizes{0, 4, 2, 1, 3, true, 0.5};
  const Inputs in = random_inputs(sizes, 1);
  EXPECT_EQ(evaluate_exact("attention", sizes.attributes(), in.forward())[0].size(), 0);
  EXPECT_EQ(evaluate_exact("attention_backward", sizes.attributes(), in.backward())[2].size(), 0);
}

TEST(Attention, AQueryWithoutAKeyGivesZerosAndTakesNoPart) {
  const Sizes sizes{2, 3, 2, 1, 2, true, 0.5};
  Inputs in = random_inputs(sizes, 5);
  in.valid = index_tensor({0, 1, 1, 0, 0, 0});
  for (const Index row : {0, 3, 4, 5}) {
    for (Index c = 0; c < 4; ++c) {
      in.q.set_value(row * 4 + c, NAN);
      in.d_o.set_value(row * 4 + c, NAN);
    }
    for (Index c = 0; c < 2; ++c) {
      in.k.set_value(row * 2 + c, NAN);
      in.v.set_value(row * 2 + c, NAN);
    }
  }
  const auto check = [&](Arithmetic& arithmetic) {
    std::vector<Value> all = evaluate_op(arithmetic, "attention", sizes.attributes(), in.forward());
    for (Value& value : evaluate_op(arithmetic, "attention_backward", sizes.attributes(), in.backward()))
      all.push_back(std::move(value));
    for (const Value& value : all) {
      for (Index i = 0; i < value.size(); ++i) {
        const Index row = i / value.cols;
        const double got = value.v[static_cast<std::size_t>(i)];
        EXPECT_TRUE(std::isfinite(got));
        if (row == 0 || row >= 3) {
          EXPECT_EQ(got, 0);
        }
      }
      for (const double hard : value.hard) {
        EXPECT_TRUE(std::isfinite(hard));
      }
    }
  };
  check(*make_exact_arithmetic());
  check(*make_tracked_arithmetic(fp32_models()[0]));
  check(**make_emulated_arithmetic(fp32_models()[0]));
}

/// Where the exact results differ when one element of `tensor` becomes NaN: "NaN", bits equal, or anything
/// else.
struct Cone {
  std::vector<std::vector<bool>> nan;  ///< by output and element
  bool others_unchanged = true;
};
Cone cone_of(const std::string& op, const Sizes& sizes, Inputs& in, Tensor& tensor, Index element) {
  const auto ports = [&] { return op == "attention" ? in.forward() : in.backward(); };
  const auto before = evaluate_exact(op, sizes.attributes(), ports());
  const double kept = tensor.value(element);
  tensor.set_value(element, NAN);
  const auto after = evaluate_exact(op, sizes.attributes(), ports());
  tensor.set_value(element, kept);
  Cone cone;
  for (std::size_t port = 0; port < after.size(); ++port) {
    std::vector<bool> nan;
    for (std::size_t i = 0; i < after[port].v.size(); ++i) {
      nan.push_back(std::isnan(after[port].v[i]));
      if (!nan.back() && after[port].v[i] != before[port].v[i]) cone.others_unchanged = false;
    }
    cone.nan.push_back(std::move(nan));
  }
  return cone;
}

class AttentionCone : public ::testing::Test {
 protected:
  // Entry 0 has all keys, entry 1 lacks key 2.
  const Sizes sizes{2, 5, 4, 2, 3, true, 0.5};
  Inputs in = [this] {
    Inputs inputs = random_inputs(sizes, 31);
    inputs.valid = index_tensor({1, 1, 1, 1, 1, 1, 1, 0, 1, 1});
    return inputs;
  }();

  Index key_element(Index b, Index t, Index kv, Index d) const {
    return ((b * sizes.seq + t) * sizes.kv_heads + kv) * sizes.dim + d;
  }
  Index query_element(Index b, Index t, Index head, Index d) const {
    return ((b * sizes.seq + t) * sizes.heads + head) * sizes.dim + d;
  }
  /// Checks the NaNs of one output with `heads` heads against wanted(b, t, head, d).
  template <class Wanted>
  void expect_nan_where(const std::vector<bool>& nan, Index heads, const Wanted& wanted) const {
    for (std::size_t i = 0; i < nan.size(); ++i) {
      const auto at = static_cast<Index>(i);
      const Index d = at % sizes.dim, head = at / sizes.dim % heads, row = at / sizes.dim / heads;
      EXPECT_EQ(nan[i], wanted(row / sizes.seq, row % sizes.seq, head, d))
          << "row " << row << ", head " << head << ", column " << d;
    }
  }
};

TEST_F(AttentionCone, ForwardOfAKeyAndAValue) {
  const Cone key = cone_of("attention", sizes, in, in.k, key_element(0, 3, 1, 2));
  EXPECT_TRUE(key.others_unchanged);
  expect_nan_where(key.nan[0], sizes.heads,
                   [](Index b, Index t, Index head, Index) { return b == 0 && t >= 3 && head >= 2; });
  const Cone value = cone_of("attention", sizes, in, in.v, key_element(0, 1, 0, 2));
  EXPECT_TRUE(value.others_unchanged);
  expect_nan_where(value.nan[0], sizes.heads, [](Index b, Index t, Index head, Index d) {
    return b == 0 && t >= 1 && head < 2 && d == 2;
  });
}

TEST_F(AttentionCone, AMaskedKeyReachesNothing) {
  for (const char* op : {"attention", "attention_backward"}) {
    for (Tensor* tensor : {&in.k, &in.v}) {
      for (const double bad : {std::nan(""), HUGE_VAL}) {
        const auto ports = [&] { return std::string(op) == "attention" ? in.forward() : in.backward(); };
        const auto before = evaluate_exact(op, sizes.attributes(), ports());
        const Index element = key_element(1, 2, 1, 0);
        const double kept = tensor->value(element);
        tensor->set_value(element, bad);
        const auto after = evaluate_exact(op, sizes.attributes(), ports());
        tensor->set_value(element, kept);
        for (std::size_t port = 0; port < after.size(); ++port) EXPECT_EQ(before[port].v, after[port].v);
      }
    }
  }
}

TEST_F(AttentionCone, Backward) {
  // A query or its gradient: its own dQ, and the keys it attends to.
  const auto query = [](Index b, Index t, Index head, Index) { return b == 0 && t == 1 && head == 2; };
  const auto its_keys = [](Index b, Index t, Index kv, Index) { return b == 0 && t <= 1 && kv == 1; };
  for (Tensor* tensor : {&in.q, &in.d_o}) {
    const Cone cone = cone_of("attention_backward", sizes, in, *tensor, query_element(0, 1, 2, 0));
    EXPECT_TRUE(cone.others_unchanged);
    expect_nan_where(cone.nan[0], sizes.heads, query);
    expect_nan_where(cone.nan[1], sizes.kv_heads, its_keys);
    if (tensor == &in.q) expect_nan_where(cone.nan[2], sizes.kv_heads, its_keys);
    if (tensor == &in.d_o) {
      expect_nan_where(cone.nan[2], sizes.kv_heads,
                       [&](Index b, Index t, Index kv, Index d) { return its_keys(b, t, kv, d) && d == 0; });
    }
  }
  // The last key or value: only the last query, which attends to all keys of its batch entry but the masked
  // one.
  for (Tensor* tensor : {&in.k, &in.v}) {
    const Cone cone = cone_of("attention_backward", sizes, in, *tensor, key_element(1, 4, 0, 1));
    EXPECT_TRUE(cone.others_unchanged);
    expect_nan_where(cone.nan[0], sizes.heads,
                     [](Index b, Index t, Index head, Index) { return b == 1 && t == 4 && head < 2; });
    const auto keys = [](Index b, Index t, Index kv, Index) { return b == 1 && t != 2 && kv == 0; };
    expect_nan_where(cone.nan[1], sizes.kv_heads, keys);
    expect_nan_where(cone.nan[2], sizes.kv_heads, [&](Index b, Index t, Index kv, Index d) {
      return tensor == &in.k && keys(b, t, kv, d);
    });
  }
}

TEST(Attention, LargeScoresDoNotOverflow) {
  // exp(200) is beyond fp32: only a softmax with the maximum taken off gets through.
  const Sizes sizes{1, 4, 1, 1, 1, true, 1.0};
  const Tensor q = as_f32(random_tensor(sizes.queries(), 3, 100, 101));
  const Tensor k = as_f32(random_tensor(sizes.keys(), 4, 2, 3));
  const Tensor v = as_f32(random_tensor(sizes.keys(), 5));
  const auto emulated = make_emulated_arithmetic(fp32_models()[0]);
  for (const auto& value : evaluate_op(**emulated, "attention", sizes.attributes(), {&q, &k, &v, nullptr}))
    for (const double x : value.v) EXPECT_TRUE(std::isfinite(x));
}

TEST(Attention, EmulatedLiesWithinTheHardBound) {
  struct Setting {
    const char* name;
    Sizes sizes;
    double q, k, v;  ///< largest magnitudes
    bool masked;
  };
  const std::vector<Setting> settings = {
      {"random", {2, 17, 4, 2, 16, true, 0.25}, 2, 2, 2, false},
      {"masked", {2, 17, 4, 2, 16, true, 0.25}, 2, 2, 2, true},
      {"every key", {2, 33, 2, 1, 8, false, 0.5}, 2, 2, 2, true},
      {"nearly one-hot", {1, 19, 2, 2, 8, true, 4.0}, 8, 8, 2, false},
      {"scores of thousands", {1, 9, 1, 1, 8, true, 16.0}, 32, 32, 2, false},
      {"uniform", {1, 19, 2, 2, 8, true, 0.5}, 0, 2, 2, false},
      {"tiny values", {1, 19, 2, 2, 8, true, 0.5}, 2, 2, 1e-37, false},
      {"huge values", {1, 19, 2, 2, 8, true, 0.5}, 2, 2, 1e30, false},
      {"one token", {3, 1, 2, 1, 5, true, 0.5}, 2, 2, 2, false},
  };
  std::vector<double> forward, backward;
  for (const Setting& setting : settings) {
    SCOPED_TRACE(setting.name);
    const Sizes& sizes = setting.sizes;
    Inputs in{as_f32(random_tensor(sizes.queries(), 41, 0, setting.q)),
              as_f32(random_tensor(sizes.keys(), 42, 0, setting.k)),
              as_f32(random_tensor(sizes.keys(), 43, 0, setting.v)),
              as_f32(random_tensor(sizes.queries(), 44, 0, 2)),
              {}};
    if (setting.masked) {
      std::vector<Index> valid;
      for (Index i = 0; i < sizes.batch * sizes.seq; ++i) valid.push_back(i % 32 == 0 || i % 3 == 0 ? 0 : 1);
      in.valid = index_tensor(valid);
    }
    for (const ArithmeticModel& model : fp32_models()) {
      for (const double x : expect_within_hard_bound(model, "attention", sizes.attributes(), in.forward()))
        forward.push_back(x);
      for (const double x :
           expect_within_hard_bound(model, "attention_backward", sizes.attributes(), in.backward()))
        backward.push_back(x);
    }
  }
  // Not vacuous: the bound is of the errors' order. (Medians: 0.006 and 0.002.)
  EXPECT_GT(median(forward), 0.001);
  EXPECT_GT(median(backward), 0.001);
  RecordProperty("median_forward", std::to_string(median(forward)));
  RecordProperty("median_backward", std::to_string(median(backward)));
}

TEST(Attention, ShapeRuleNamesWhatIsWrong) {
  const Sizes sizes{2, 3, 4, 2, 5, true, 0.5};
  const std::vector<std::optional<Shape>> good{sizes.queries(), sizes.keys(), sizes.keys(), std::nullopt};
  const auto with = [&](const char* name, AttributeValue value) {
    Attributes attributes = sizes.attributes();
    attributes.set(name, std::move(value));
    return attributes;
  };
  const auto has = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  EXPECT_EQ(infer_error("attention", sizes.attributes(), good), "");
  EXPECT_TRUE(has(infer_error("attention", with("kv_heads", Index{3}), good), "kv_heads = 3"));
  EXPECT_TRUE(has(infer_error("attention", with("seq", Index{4}), good), "seq = 4"));
  EXPECT_TRUE(has(infer_error("attention", with("seq", Index{0}), good), "seq"));
  EXPECT_TRUE(has(infer_error("attention", with("causal", Index{2}), good), "causal"));
  EXPECT_TRUE(has(infer_error("attention", {}, good), "must be given"));
  auto shapes = good;
  shapes[2] = Shape{6, 20};
  EXPECT_TRUE(has(infer_error("attention", sizes.attributes(), shapes), "V has shape"));
  shapes = good;
  shapes[3] = Shape{5};
  EXPECT_TRUE(has(infer_error("attention", sizes.attributes(), shapes), "valid has shape"));
  shapes = {sizes.queries(), sizes.keys(), sizes.keys(), std::nullopt, sizes.keys()};
  EXPECT_TRUE(has(infer_error("attention_backward", sizes.attributes(), shapes), "dO has shape"));
  const Inputs in = random_inputs(sizes, 1);
  const Tensor wrong = random_tensor({6}, 1);
  EXPECT_TRUE(has(evaluate_error("attention", sizes.attributes(), {&in.q, &in.k, &in.v, &wrong}), "i32"));
}

}  // namespace
}  // namespace parity
