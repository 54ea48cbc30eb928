#pragma once
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "harness/ladder/op.hpp"
#include "harness/ladder/program.hpp"

namespace parity {

/// Writes a Program call by call: shapes are inferred by the ops, names are the caller's and must be unique.
/// The first error is kept and returned by finish(); calls after it do nothing. Tensors are of dtype `real`
/// unless said otherwise.
class Composer {
 public:
  explicit Composer(const OpTable& ops, DType real = DType::f32) : ops_(ops), real_(real) {}

  TensorId input(const std::string& name, const Shape& shape, Content content = {},
                 std::optional<DType> dtype = {});
  /// Written once, carried from run to run (see carry).
  TensorId state(const std::string& name, const Shape& shape, Content content = {},
                 std::optional<DType> dtype = {});
  /// One call; its outputs are new intermediate tensors named `names`.
  std::vector<TensorId> call(const std::string& op, Attributes attributes, std::vector<TensorId> inputs,
                             const std::vector<std::string>& names, std::optional<DType> dtype = {});
  /// The same for an op with one output.
  TensorId apply(const std::string& op, Attributes attributes, std::vector<TensorId> inputs,
                 const std::string& name, std::optional<DType> dtype = {});
  /// A tensor without a producer yet, for call_into.
  TensorId intermediate(const std::string& name, const Shape& shape, std::optional<DType> dtype = {});
  /// A call whose outputs are tensors (or views) that exist.
  void call_into(const std::string& op, Attributes attributes, std::vector<TensorId> inputs,
                 std::vector<TensorId> outputs);

  /// A tensor without a producer yet whose rows start on view_alignment, to be written and read in parts.
  TensorId sequence(const std::string& name, std::int64_t rows, std::int64_t cols,
                    std::optional<DType> dtype = {});
  /// `rows` rows of a `sequence` (or of any tensor whose rows are so aligned), all columns: first, first +
  /// step, ... With step = seq these are the tokens of one timestep, one a batch entry.
  TensorId rows_of(TensorId tensor, std::int64_t first, std::int64_t rows, const std::string& name,
                   std::int64_t step = 1);
  /// One element, as a [1] tensor, of a `scalars` tensor.
  TensorId scalars(const std::string& name, std::int64_t count);
  TensorId scalar_of(TensorId scalars, std::int64_t index, const std::string& name);

  /// Makes a tensor one of the program's results.
  void output(TensorId tensor);
  void carry(TensorId from, TensorId to) { program_.carries.push_back({from, to}); }
  /// Adds the backward pass (gradient_builder.hpp); the gradients become outputs.
  std::map<TensorId, TensorId> backward(const std::map<TensorId, TensorId>& seeds,
                                        const std::vector<TensorId>& wanted);

  DType real() const { return real_; }
  const Program& program() const { return program_; }
  const Shape& shape(TensorId id) const { return program_.spec(id).shape; }
  bool failed() const { return error_.has_value(); }
  void fail_with(Error error);
  /// The program, checked, accumulating in `accumulate`.
  Result<Program> finish(DType accumulate);

 private:
  TensorId add(TensorSpec spec);

  const OpTable& ops_;
  DType real_;
  Program program_;
  std::set<std::string, std::less<>> names_;  ///< of the first `named_` tensors
  std::size_t named_ = 0;
  std::optional<Error> error_;
};

}  // namespace parity
