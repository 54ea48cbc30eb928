#pragma once
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/ladder/case.hpp"
#include "harness/ladder/op.hpp"
#include "harness/ladder/program.hpp"

namespace parity {

struct Implementation;

/// A rung: a named builder of Programs. Stateless.
class Stage {
 public:
  virtual ~Stage() = default;
  virtual std::string_view name() const = 0;
  virtual std::string_view summary() const = 0;
  virtual int rung() const = 0;  ///< its place on the ladder, 1 is the lowest
  virtual std::span<const Parameter> parameters() const = 0;

  /// Whether the rung has integer arithmetic (in=i8 acc=i32 out=i32) and this case's settings suit it.
  virtual Result<void> check_integers(const Case& c) const;

  /// The Program of a case; an error when the dimensions do not fit together.
  virtual Result<Program> build(const Case& c) const = 0;
  /// Fills one input tensor of the case's Program (shape, strides and dtype are the spec's).
  virtual Result<Tensor> fill(const Case& c, const Program& program, TensorId input) const = 0;
  /// Sets the dimensions of `c` from tensors the user brings (by input name), so that build(c) fits them.
  virtual Result<Case> bind(const Case& c, const std::map<std::string, Tensor>& inputs) const = 0;

  /// Whether, with this case's fill and settings, every value before the store is exactly representable in
  /// the accumulate format, in every order of summation. Then the result's bits are the contract.
  virtual bool exact(const Case& c) const = 0;
  /// A small healthy case of the same op and precision that shows which declared order a path follows: normal
  /// data, the store `store`, no function whose bits are unknown.
  virtual Case calibration(const Case& c, DType store) const = 0;

  /// How often the case's Program runs, each time with the state that the run before left (Session::advance).
  virtual std::int64_t steps(const Case&) const { return 1; }
  /// The inputs that change at the given step (0: the first, whose inputs `fill` makes).
  virtual Result<std::map<TensorId, Tensor>> step_inputs(const Case&, const Program&,
                                                         std::int64_t /*step*/) const {
    return std::map<TensorId, Tensor>{};
  }
};

/// Every input and state of a case's Program at its first step: the user's own by name, converted to the
/// dtype that is asked for, else filled. Errors: a shape that does not fit, what fill and step_inputs refuse.
Result<std::map<TensorId, Tensor>> first_inputs(const Stage& stage, const Case& c, const Program& program,
                                                const std::map<std::string, Tensor>& own);

/// Whether the case's contract on this path is the bits: Stage::exact, and the path multiplies its inputs
/// unrounded, or they are integers that its format holds.
bool bits_are_contract(const Stage& stage, const Case& c, const Implementation& implementation);

class StageTable {
 public:
  explicit StageTable(std::vector<std::unique_ptr<const Stage>> stages) : stages_(std::move(stages)) {}
  const Stage* find(std::string_view name) const {
    for (const auto& stage : stages_)
      if (stage->name() == name) return stage.get();
    return nullptr;
  }
  std::span<const std::unique_ptr<const Stage>> all() const { return stages_; }

 private:
  std::vector<std::unique_ptr<const Stage>> stages_;
};

/// The stages the command knows, lowest rung first.
StageTable make_stage_table(const OpTable& ops);

}  // namespace parity
