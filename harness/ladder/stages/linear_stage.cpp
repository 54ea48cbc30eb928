#include <fmt/format.h>

#include "harness/ladder/composed_stage.hpp"
#include "harness/ladder/stages/matrix_stage.hpp"

namespace parity {

namespace {

const std::vector<std::string_view> activations{"identity", "relu", "leaky_relu_squared", "sigmoid", "tanh"};

/// Y = activation(X W^T + bias).
class LinearStage final : public Stage {
 public:
  explicit LinearStage(const OpTable& ops) : ops_(ops) {}

  std::string_view name() const override { return "linear"; }
  std::string_view summary() const override {
    return "Y = activation(X W^T + bias), in fp32 up to the store";
  }
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
          size("m", "rows of X and Y"),
          size("n", "columns of Y, rows of W"),
          size("k", "columns of X and W: length of the sums"),
          {"bias", std::string("y"), false, 0, 0, {"n", "y"}, "n: there is none"},
          {"activation", std::string("identity"), false, 0, 0, activations, "applied in fp32 after the bias"},
          pad("pad_x", "elements between the rows of X"),
          pad("pad_w", "the same for W"),
          pad("pad_y", "the same for Y"),
          gradient_parameter(),
      };
    }();
    return list;
  }

  Result<Program> build(const Case& c) const override {
    const Attributes& p = c.parameters;
    const std::int64_t m = p.integer("m"), n = p.integer("n"), k = p.integer("k");
    using Role = TensorSpec::Role;
    Program program;
    program.accumulate = c.accumulate;
    program.tensors = {
        matrix_spec("X", c.input, 1, m, k, p.integer("pad_x"), Role::input),
        matrix_spec("W", c.input, 1, n, k, p.integer("pad_w"), Role::input),
        matrix_spec("Y", c.store, 1, m, n, p.integer("pad_y"), Role::output),
    };
    OpCall call{"linear", {{"activation", p.text("activation", "identity")}}, {0, 1, no_tensor}, {2}};
    if (p.text("bias", "y") == "y") {
      program.tensors.push_back({"bias", c.store, {n}, {1}, Role::input});
      call.inputs[2] = 3;
    }
    program.calls.push_back(std::move(call));
    if (asks_gradient(c)) return with_gradients(ops_, std::move(program));
    return program;
  }

  Result<Tensor> fill(const Case& c, const Program& program, TensorId input) const override {
    const TensorSpec& spec = program.spec(input);
    const bool nan_in_x = c.seed % 2 == 0;
    if (spec.name == "X") return fill_matrix(c, spec, FillRole::left, 1, 0, nan_in_x);
    if (spec.name == "W") return fill_matrix(c, spec, FillRole::right, 1, 1, !nan_in_x);
    return fill_matrix(c, spec, FillRole::addend, -1, 2, false);
  }

  Result<Case> bind(const Case& c, const std::map<std::string, Tensor>& inputs) const override {
    if (auto ok = check_names(inputs, {"X", "W", "bias"}); !ok) return tl::unexpected(ok.error());
    Case bound = c;
    std::optional<std::int64_t> k;
    for (const char* name : {"X", "W"}) {
      const auto found = inputs.find(name);
      if (found == inputs.end()) continue;
      const auto shape = matrix_shape(name, found->second);
      if (!shape) return tl::unexpected(shape.error());
      if (shape->batch != 1)
        return bad_input(fmt::format("input '{}' has a batch dimension; linear takes none", name));
      if (k && *k != shape->cols)
        return bad_input(fmt::format("inputs do not fit: X has {} columns, W has {}", *k, shape->cols));
      k = shape->cols;
      bound.parameters.set(name[0] == 'X' ? "m" : "n", shape->rows);
      bound.parameters.set("k", shape->cols);
    }
    if (const auto bias = inputs.find("bias"); bias != inputs.end()) {
      const Shape wanted{bound.parameters.integer("n")};
      if (bias->second.shape() != wanted)
        return bad_input(fmt::format("input 'bias' has shape {}; {} is wanted",
                                     to_string(bias->second.shape()), to_string(wanted)));
      bound.parameters.set("bias", std::string("y"));
    }
    for (const char* pad : {"pad_x", "pad_w"}) bound.parameters.set(pad, std::int64_t{0});
    return bound;
  }

  bool exact(const Case& c) const override {
    const std::string activation = c.parameters.text("activation", "identity");
    return (c.fill == Fill::integer || c.fill == Fill::selector) &&
           (activation == "identity" || activation == "relu") && !asks_gradient(c);
  }

  Case calibration(const Case& c, DType store) const override {
    Case small{"linear", {}, c.input, c.accumulate, store, Fill::normal, 20200};
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

std::unique_ptr<const Stage> make_linear_stage(const OpTable& ops) {
  return std::make_unique<LinearStage>(ops);
}

}  // namespace parity
