#include "harness/ladder/gradient_builder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "harness/tensor/tensor.hpp"

namespace parity {

namespace {

std::int64_t gradient_elements(const Shape& shape) {
  std::int64_t elements = 1;
  for (const std::int64_t size : shape) elements *= size;
  return elements;
}

/// Gradients of a program's tensors while its calls are walked backwards.
class Backward final : public GradientBuilder {
 public:
  Backward(const OpTable& ops, Program& program) : ops_(ops), program_(program) {}

  Result<std::map<TensorId, TensorId>> run(const std::map<TensorId, TensorId>& seeds,
                                           const std::vector<TensorId>& wanted) {
    mark_relevant(wanted);
    for (const auto& [tensor, gradient] : seeds) arrived_[tensor].push_back(gradient);
    const std::vector<OpCall> forward = program_.calls;
    for (std::size_t i = forward.size(); i-- > 0;)
      if (auto ok = differentiate(forward[i], i); !ok) return tl::unexpected(ok.error());
    std::map<TensorId, TensorId> gradients;
    for (const TensorId tensor : wanted) {
      const auto gradient = gather(tensor);
      if (!gradient) return tl::unexpected(gradient.error());
      if (*gradient == no_tensor)
        return bad_input(fmt::format("the gradient of '{}' is missing: nothing that depends on it has one",
                                     program_.spec(tensor).name));
      gradients.emplace(tensor, *gradient);
    }
    return gradients;
  }

  const Program& program() const override { return program_; }
  TensorId output_gradient(std::size_t port) const override { return output_gradients_.at(port); }
  bool wants(std::size_t port) const override {
    return port < call_->inputs.size() && relevant_.contains(call_->inputs[port]);
  }

  TensorId input_gradient(std::size_t port) override {
    if (const auto found = input_gradients_.find(port); found != input_gradients_.end()) return found->second;
    const TensorId input = call_->inputs.at(port);
    const TensorSpec spec = program_.spec(input);
    const TensorId gradient =
        spec.is_view() ? view_gradient(input) : add_tensor("d_" + spec.name, gradient_dtype(spec), spec);
    input_gradients_.emplace(port, gradient);
    arrived_[input].push_back(gradient);
    return gradient;
  }

  void pass_gradient(std::size_t port, TensorId gradient) override {
    arrived_[call_->inputs.at(port)].push_back(gradient);
  }

  TensorId intermediate(const std::string& name, DType dtype, const Shape& shape) override {
    return add_tensor(fmt::format("grad{}_{}", call_index_, name), dtype,
                      {{}, dtype, shape, contiguous_strides(shape)});
  }

  TensorId rounded(TensorId tensor, DType dtype) override {
    const TensorSpec spec = program_.spec(tensor);
    if (spec.dtype == dtype) return tensor;
    const auto key = std::pair(tensor, dtype);
    if (const auto found = rounded_.find(key); found != rounded_.end()) return found->second;
    const TensorId cast = add_tensor(fmt::format("{}_{}", spec.name, name_of(dtype)), dtype,
                                     {{}, dtype, spec.shape, contiguous_strides(spec.shape)});
    emit({"cast", {}, {tensor}, {cast}});
    rounded_.emplace(key, cast);
    return cast;
  }

  void emit(OpCall call) override { program_.calls.push_back(std::move(call)); }

 private:
  /// A tensor of the size of another, written view by view: the gradients of views of one root, none of which
  /// overlap.
  struct Slot {
    TensorId root = no_tensor;
    std::set<std::int64_t> offsets;
    std::int64_t elements = 0;
  };

  static DType gradient_dtype(const TensorSpec& spec) {
    return spec.dtype == DType::f64 ? DType::f64 : DType::f32;
  }

  /// A new intermediate tensor with the shape and strides of `like`, under a name that is still free.
  TensorId add_tensor(std::string name, DType dtype, const TensorSpec& like) {
    const std::string stem = name;
    for (int i = 2; !names_.insert(name).second; ++i) name = fmt::format("{}_{}", stem, i);
    TensorSpec spec{name, dtype, like.shape, like.strides, TensorSpec::Role::intermediate};
    if (spec.strides.empty()) spec.strides = contiguous_strides(spec.shape);
    program_.tensors.push_back(std::move(spec));
    return static_cast<TensorId>(program_.tensors.size() - 1);
  }

  /// The part of `root` (laid out like the view's own root) where `view` lies.
  TensorId view_into(TensorId root, TensorId view, const std::string& name) {
    const TensorSpec spec = program_.spec(view);
    const TensorId id = add_tensor(name, program_.spec(root).dtype, spec);
    TensorSpec& made = program_.tensors[static_cast<std::size_t>(id)];
    made.view_of = root;
    made.view_offset = spec.view_offset;
    made.role = program_.spec(root).role;
    return id;
  }

  TensorId view_gradient(TensorId view) {
    const TensorSpec spec = program_.spec(view);
    const TensorSpec root = program_.spec(spec.view_of);
    auto& slots = slots_[spec.view_of];
    auto slot =
        std::ranges::find_if(slots, [&](const Slot& s) { return !s.offsets.contains(spec.view_offset); });
    if (slot == slots.end()) {
      slots.push_back({add_tensor("d_" + root.name, gradient_dtype(root), root), {}, 0});
      slot = std::prev(slots.end());
    }
    slot->offsets.insert(spec.view_offset);
    slot->elements += gradient_elements(spec.shape);
    return view_into(slot->root, view, "d_" + spec.name);
  }

  /// Tensors whose gradient something wanted depends on: from each wanted one on through the calls.
  void mark_relevant(const std::vector<TensorId>& wanted) {
    for (const TensorSpec& spec : program_.tensors) names_.insert(spec.name);
    relevant_.insert(wanted.begin(), wanted.end());
    const auto reaches = [&](TensorId id) {
      if (id == no_tensor) return false;
      const TensorSpec& spec = program_.spec(id);
      return relevant_.contains(id) || (spec.is_view() && relevant_.contains(spec.view_of));
    };
    for (const OpCall& call : program_.calls) {
      if (std::ranges::none_of(call.inputs, reaches)) continue;
      for (const TensorId id : call.inputs)
        if (reaches(id)) relevant_.insert(id);
      for (const TensorId id : call.outputs) {
        if (!is_float(program_.spec(id).dtype)) continue;
        relevant_.insert(id);
        if (program_.spec(id).is_view()) relevant_.insert(program_.spec(id).view_of);
      }
    }
  }

  Result<void> differentiate(const OpCall& call, std::size_t index) {
    if (std::ranges::none_of(call.inputs, [&](TensorId id) { return relevant_.contains(id); })) return {};
    const Op* op = ops_.find(call.op);
    if (op == nullptr) return bad_input(fmt::format("no op is called '{}'", call.op));
    output_gradients_.clear();
    for (const TensorId id : call.outputs) {
      const auto gradient = gather(id);
      if (!gradient) return tl::unexpected(gradient.error());
      output_gradients_.push_back(*gradient);
    }
    if (std::ranges::all_of(output_gradients_, [](TensorId id) { return id == no_tensor; })) return {};
    call_ = &call;
    call_index_ = index;
    input_gradients_.clear();
    return op->gradient(call, *this);
  }

  /// The sum of everything that has arrived at a tensor, its root or its views; no_tensor when nothing has.
  Result<TensorId> gather(TensorId tensor) {
    const TensorSpec spec = program_.spec(tensor);
    std::vector<TensorId> parts = arrived_[tensor];
    if (spec.is_view()) {
      for (const TensorId whole : arrived_[spec.view_of])
        parts.push_back(view_into(laid_out_like(whole, spec.view_of), tensor, "d_" + spec.name));
    }
    for (const Slot& slot : slots_[tensor]) {
      if (slot.elements != gradient_elements(spec.shape))
        return bad_input(fmt::format("{} of the {} elements of the gradient of '{}' are never written",
                                     gradient_elements(spec.shape) - slot.elements,
                                     gradient_elements(spec.shape), spec.name));
      parts.push_back(slot.root);
    }
    if (parts.empty()) return no_tensor;
    TensorId sum = parts.front();
    for (std::size_t i = 1; i < parts.size(); ++i) {
      const TensorId next = add_tensor("sum_d_" + spec.name, gradient_dtype(spec), spec);
      emit({"axpby", {}, {sum, parts[i]}, {next}});
      sum = next;
    }
    // What was summed is not summed again for another view or use of this tensor.
    arrived_[tensor] = {sum};
    slots_[tensor].clear();
    return sum;
  }

  /// `tensor` itself when it has the strides of `like`, else a copy that has.
  TensorId laid_out_like(TensorId tensor, TensorId like) {
    const TensorSpec spec = program_.spec(tensor);
    const TensorSpec wanted = program_.spec(like);
    if (spec.strides == wanted.strides && !spec.is_view()) return tensor;
    const auto key = std::pair(tensor, like);
    if (const auto found = copies_.find(key); found != copies_.end()) return found->second;
    const TensorId copy = add_tensor(spec.name + "_copy", spec.dtype, wanted);
    emit({"cast", {}, {tensor}, {copy}});
    copies_.emplace(key, copy);
    return copy;
  }

  const OpTable& ops_;
  Program& program_;
  std::set<std::string> names_;
  std::set<TensorId> relevant_;
  std::map<TensorId, std::vector<TensorId>> arrived_;  ///< gradients of exactly this tensor
  std::map<TensorId, std::vector<Slot>> slots_;        ///< by root
  std::map<std::pair<TensorId, DType>, TensorId> rounded_;
  std::map<std::pair<TensorId, TensorId>, TensorId> copies_;

  // The call whose rule is being applied.
  const OpCall* call_ = nullptr;
  std::size_t call_index_ = 0;
  std::vector<TensorId> output_gradients_;
  std::map<std::size_t, TensorId> input_gradients_;
};

}  // namespace

Result<std::map<TensorId, TensorId>> add_backward(const OpTable& ops, Program& program,
                                                  const std::map<TensorId, TensorId>& seeds,
                                                  const std::vector<TensorId>& wanted) {
  return Backward(ops, program).run(seeds, wanted);
}

}  // namespace parity
