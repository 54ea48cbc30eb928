#pragma once
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "harness/ladder/op.hpp"

namespace parity {

/// An op whose reference makes a mistake; the rest is that of a right one, which must outlive it. For showing
/// that no device is blamed by a wrong reference.
class MistakenOp final : public Op {
 public:
  using Mistake = std::function<void(std::vector<Value>&)>;

  MistakenOp(const Op& right, Mistake mistake) : right_(right), mistake_(std::move(mistake)) {}
  std::string_view name() const override { return right_.name(); }
  std::string_view summary() const override { return right_.summary(); }
  std::span<const Port> inputs() const override { return right_.inputs(); }
  std::span<const Port> outputs() const override { return right_.outputs(); }
  Result<std::vector<Shape>> infer(const Attributes& attributes,
                                   std::span<const std::optional<Shape>> shapes) const override {
    return right_.infer(attributes, shapes);
  }
  Result<std::vector<Value>> evaluate(Arithmetic& arithmetic, const Attributes& attributes,
                                      const PortTensors& tensors) const override {
    auto values = right_.evaluate(arithmetic, attributes, tensors);
    if (values && mistake_) mistake_(*values);
    return values;
  }
  Work work(const OpCall& call, const Program& program) const override { return right_.work(call, program); }
  std::int64_t reduction_length(const OpCall& call, const Program& program) const override {
    return right_.reduction_length(call, program);
  }
  Result<void> gradient(const OpCall& call, GradientBuilder& builder) const override {
    return right_.gradient(call, builder);
  }
  std::vector<Symmetry> symmetries(const Attributes& attributes,
                                   std::span<const std::optional<Shape>> shapes) const override {
    return right_.symmetries(attributes, shapes);
  }
  std::optional<std::vector<Tensor>> restrict_to(const Attributes& attributes, const PortTensors& tensors,
                                                 std::span<const std::int64_t> rows,
                                                 std::span<const std::int64_t> cols) const override {
    return right_.restrict_to(attributes, tensors, rows, cols);
  }

 private:
  const Op& right_;
  Mistake mistake_;
};

/// The ops of `right`, of which that of the name makes the mistake. `right` must outlive the result.
inline OpTable with_mistake(const OpTable& right, std::string_view op, const MistakenOp::Mistake& mistake) {
  std::vector<std::unique_ptr<const Op>> ops;
  for (const auto& each : right.all())
    ops.push_back(std::make_unique<MistakenOp>(*each, each->name() == op ? mistake : MistakenOp::Mistake()));
  return OpTable(std::move(ops));
}

}  // namespace parity
