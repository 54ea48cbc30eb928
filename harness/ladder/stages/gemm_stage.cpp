#include <fmt/format.h>

#include "harness/ladder/composed_stage.hpp"
#include "harness/ladder/stages/matrix_stage.hpp"

namespace parity {

namespace {

const std::vector<std::string_view> transposition{"n", "t"};

/// D = alpha op(A) op(B) + beta C.
class GemmStage final : public Stage {
 public:
  explicit GemmStage(const OpTable& ops) : ops_(ops) {}

  std::string_view name() const override { return "gemm"; }
  std::string_view summary() const override { return "D = alpha op(A) op(B) + beta C"; }
  int rung() const override { return 1; }

  std::span<const Parameter> parameters() const override {
    static const std::vector<Parameter> list = [] {
      const auto size = [](std::string_view name, std::string_view help) {
        return Parameter{name, std::int64_t{0}, true, 0, most_dimension, {}, help};
      };
      const auto pad = [](std::string_view name, std::string_view help) {
        return Parameter{name, std::int64_t{0}, false, 0, 4096, {}, help};
      };
      return std::vector<Parameter>{
          size("m", "rows of D"),
          size("n", "columns of D"),
          size("k", "length of the sums"),
          {"batch",
           std::int64_t{1},
           false,
           0,
           most_dimension,
           {},
           "number of matrices; 1: no batch dimension"},
          {"share_b", std::string("n"), false, 0, 0, {"n", "y"}, "one B for the whole batch"},
          {"ta", std::string("n"), false, 0, 0, transposition, "t: A is stored [k, m]"},
          {"tb", std::string("n"), false, 0, 0, transposition, "t: B is stored [n, k]"},
          {"alpha", 1.0, false, -1e6, 1e6, {}, "factor of the product (rounded to fp32)"},
          {"beta", 0.0, false, -1e6, 1e6, {}, "factor of C; 0: there is no C"},
          pad("pad_a", "elements between the rows of A: lda = row length + pad_a"),
          pad("pad_b", "the same for B"),
          pad("pad_c", "the same for C"),
          pad("pad_d", "the same for D"),
          gradient_parameter(),
      };
    }();
    return list;
  }

  Result<void> check_integers(const Case& c) const override {
    const double alpha = c.parameters.real("alpha", 1), beta = c.parameters.real("beta", 0);
    if (alpha != 1 || (beta != 0 && beta != 1))
      return bad_input(fmt::format(
          "alpha={} beta={}: a product of integers is A B or A B + C (alpha=1, beta=0 or 1)", alpha, beta));
    if (asks_gradient(c))
      return bad_input("gradient=y: a product of integers has no derivative; leave it out or take in=f32");
    return {};
  }

  Result<Program> build(const Case& c) const override {
    const Attributes& p = c.parameters;
    const std::int64_t m = p.integer("m"), n = p.integer("n"), k = p.integer("k"),
                       batch = p.integer("batch", 1);
    const bool ta = p.text("ta") == "t", tb = p.text("tb") == "t";
    const double alpha = static_cast<float>(p.real("alpha", 1)), beta = static_cast<float>(p.real("beta", 0));
    using Role = TensorSpec::Role;
    Program program;
    program.accumulate = c.accumulate;
    program.tensors = {
        matrix_spec("A", c.input, batch, ta ? k : m, ta ? m : k, p.integer("pad_a"), Role::input),
        matrix_spec("B", c.input, p.text("share_b") == "y" ? 1 : batch, tb ? n : k, tb ? k : n,
                    p.integer("pad_b"), Role::input),
        matrix_spec("D", c.store, batch, m, n, p.integer("pad_d"), Role::output),
    };
    OpCall call{"gemm", {}, {0, 1, no_tensor}, {2}};
    call.attributes = Attributes{
        {"trans_a", std::int64_t{ta}}, {"trans_b", std::int64_t{tb}}, {"alpha", alpha}, {"beta", beta}};
    if (beta != 0) {
      program.tensors.push_back(matrix_spec("C", c.store, batch, m, n, p.integer("pad_c"), Role::input));
      call.inputs[2] = 3;
    }
    program.calls.push_back(std::move(call));
    if (asks_gradient(c)) return with_gradients(ops_, std::move(program));
    return program;
  }

  Result<Tensor> fill(const Case& c, const Program& program, TensorId input) const override {
    const TensorSpec& spec = program.spec(input);
    // The NaN goes to one of the two factors, by seed.
    const bool nan_in_a = c.seed % 2 == 0;
    if (spec.name == "A")
      return fill_matrix(c, spec, FillRole::left, c.parameters.text("ta") == "t" ? 0 : 1, 0, nan_in_a);
    if (spec.name == "B")
      return fill_matrix(c, spec, FillRole::right, c.parameters.text("tb") == "t" ? 1 : 0, 1, !nan_in_a);
    return fill_matrix(c, spec, FillRole::addend, -1, 2, false);
  }

  Result<Case> bind(const Case& c, const std::map<std::string, Tensor>& inputs) const override {
    if (auto ok = check_names(inputs, {"A", "B", "C"}); !ok) return tl::unexpected(ok.error());
    Case bound = c;
    const auto set = [&](const char* dimension, std::int64_t value) {
      bound.parameters.set(dimension, value);
    };
    const auto mismatch = [](std::string_view what, std::int64_t has, std::int64_t wants) {
      return bad_input(
          fmt::format("inputs do not fit: {} is {}, but {} is wanted (ta= and tb= say how A and B are "
                      "stored)",
                      what, has, wants));
    };
    std::int64_t batch = 1;
    std::optional<std::int64_t> k;
    if (const auto a = inputs.find("A"); a != inputs.end()) {
      const auto shape = matrix_shape("A", a->second);
      if (!shape) return tl::unexpected(shape.error());
      const bool t = c.parameters.text("ta") == "t";
      set("m", t ? shape->cols : shape->rows);
      k = t ? shape->rows : shape->cols;
      set("k", *k);
      batch = shape->batch;
    }
    if (const auto b = inputs.find("B"); b != inputs.end()) {
      const auto shape = matrix_shape("B", b->second);
      if (!shape) return tl::unexpected(shape.error());
      const bool t = c.parameters.text("tb") == "t";
      const std::int64_t b_k = t ? shape->cols : shape->rows;
      if (k && *k != b_k) return mismatch("k of B", b_k, *k);
      set("k", b_k);
      set("n", t ? shape->rows : shape->cols);
      if (batch != 1 && shape->batch == 1)
        bound.parameters.set("share_b", std::string("y"));
      else if (inputs.contains("A") && shape->batch != batch)
        return mismatch("batch of B", shape->batch, batch);
      else
        batch = shape->batch;
    }
    if (inputs.contains("A") || inputs.contains("B")) set("batch", batch);
    if (const auto addend = inputs.find("C"); addend != inputs.end()) {
      const auto shape = matrix_shape("C", addend->second);
      if (!shape) return tl::unexpected(shape.error());
      if (shape->rows != bound.parameters.integer("m"))
        return mismatch("rows of C", shape->rows, bound.parameters.integer("m"));
      if (shape->cols != bound.parameters.integer("n"))
        return mismatch("columns of C", shape->cols, bound.parameters.integer("n"));
      if (bound.parameters.real("beta") == 0) bound.parameters.set("beta", 1.0);
    }
    for (const char* pad : {"pad_a", "pad_b", "pad_c"}) set(pad, 0);
    return bound;
  }

  bool exact(const Case& c) const override {
    if (c.input == DType::i8) return true;  // modulo 2^32, whatever the values
    return (c.fill == Fill::integer || c.fill == Fill::selector) &&
           exact_factor(c.parameters.real("alpha", 1)) && exact_factor(c.parameters.real("beta", 0)) &&
           !asks_gradient(c);
  }

  Case calibration(const Case& c, DType store) const override {
    Case small{"gemm", {}, c.input, c.accumulate, store, Fill::normal, 20200};
    for (const Parameter& p : parameters()) small.parameters.set(std::string(p.name), p.fallback);
    small.parameters.set("m", std::int64_t{48});
    small.parameters.set("n", std::int64_t{48});
    small.parameters.set("k", std::int64_t{320});
    return small;
  }

 private:
  OpTable ops_;
};

}  // namespace

std::unique_ptr<const Stage> make_gemm_stage(const OpTable& ops) {
  return std::make_unique<GemmStage>(ops);
}

}  // namespace parity
