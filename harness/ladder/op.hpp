#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "harness/ladder/program.hpp"
#include "harness/ladder/symmetry.hpp"
#include "harness/numerics/arithmetic.hpp"

namespace parity {

struct Port {
  std::string_view name;
  bool optional = false;
};

/// Floating-point operations (a multiply-add is two) and bytes that must at least move (each input read once,
/// each output written once).
struct Work {
  double flops = 0;
  double bytes = 0;
};

/// The tensors of one op call on the host, in port order; an empty optional port is null.
using PortTensors = std::vector<const Tensor*>;

class GradientBuilder;

/// The smallest thing with a numerical contract: ports, shape rule, reference, work. Stateless.
class Op {
 public:
  virtual ~Op() = default;
  virtual std::string_view name() const = 0;
  virtual std::string_view summary() const = 0;  ///< one line: the formula
  virtual std::span<const Port> inputs() const = 0;
  virtual std::span<const Port> outputs() const = 0;

  /// Shape rule: the outputs' shapes for these input shapes (absent port: nullopt), attributes checked too.
  /// The error names the port, what it has and what it needs.
  virtual Result<std::vector<Shape>> infer(const Attributes& attributes,
                                           std::span<const std::optional<Shape>> inputs) const = 0;

  /// The reference, written once over the arithmetics: one Value per output, *before* the conversion to the
  /// store type (the caller applies Arithmetic::store). Inputs must satisfy infer().
  virtual Result<std::vector<Value>> evaluate(Arithmetic& arithmetic, const Attributes& attributes,
                                              const PortTensors& inputs) const = 0;

  virtual Work work(const OpCall& call, const Program& program) const = 0;

  /// Length of the reduction behind each output element (1: elementwise). Decides density of integer fills.
  virtual std::int64_t reduction_length(const OpCall& call, const Program& program) const = 0;

  /// Gradient rule: adds the calls that turn the gradients of the call's outputs into those of its inputs
  /// (gradient_builder.hpp). An op without one cannot be differentiated: an error of kind unsupported.
  virtual Result<void> gradient(const OpCall& call, GradientBuilder& builder) const;

  /// What may be permuted without another result: terms of sums, entries of a batch, rows and columns. The
  /// order experiments and the mutants of a case follow from it. Empty: nothing, or nothing that is declared.
  virtual std::vector<Symmetry> symmetries(const Attributes&, std::span<const std::optional<Shape>>) const {
    return {};
  }
  /// The sub-problem whose outputs are the given rows and columns of output 0 (per batch entry; empty: all);
  /// nullopt where the op has no independent rows or columns. Used to replay a sample of a large result.
  /// Tensors are contiguous copies.
  virtual std::optional<std::vector<Tensor>> restrict_to(const Attributes&, const PortTensors&,
                                                         std::span<const std::int64_t> /*rows*/,
                                                         std::span<const std::int64_t> /*cols*/) const {
    return std::nullopt;
  }
};

/// The ops the command knows; hand-listed by references/op_table.cpp. Copies share the ops.
class OpTable {
 public:
  explicit OpTable(std::vector<std::unique_ptr<const Op>> ops)
      : ops_(std::make_shared<const std::vector<std::unique_ptr<const Op>>>(std::move(ops))) {}
  const Op* find(std::string_view name) const {
    for (const auto& op : *ops_)
      if (op->name() == name) return op.get();
    return nullptr;
  }
  std::span<const std::unique_ptr<const Op>> all() const { return *ops_; }

 private:
  std::shared_ptr<const std::vector<std::unique_ptr<const Op>>> ops_;
};

/// Builds the shapes of a call's inputs and runs Op::infer; also checks that every tensor id exists, that
/// outputs have the inferred shapes and that the number of ports fits.
Result<void> check_call(const Op& op, const OpCall& call, const Program& program);
/// check_call for every call, and: every tensor read is an input, a state or written by an earlier call.
Result<void> check_program(const OpTable& ops, const Program& program);

}  // namespace parity
