#pragma once
// Runs a stage's program on the host in exact arithmetic. For tests only.
#include <map>
#include <string>
#include <vector>

#include "harness/ladder/stage.hpp"
#include "references/op_table.hpp"

namespace parity {

/// Tensors live in the memory of their roots, as on a device; what nobody wrote is NaN. A test fails where
/// something cannot be built or evaluated.
class StageRun {
 public:
  /// The case's program with the inputs that its stage fills.
  explicit StageRun(const std::string& case_text);

  bool has(const std::string& name) const { return program_.find(name).has_value(); }
  /// Row-major values of a tensor, inputs too; gradients are called "d_<name>".
  std::vector<double> get(const std::string& name) const;
  /// Replaces an input.
  void set(const std::string& name, const std::vector<double>& values);
  void run();

  const Program& program() const { return program_; }
  const Case& parsed() const { return case_; }

 private:
  void load(const std::string& case_text);
  std::vector<std::int64_t> places(const TensorSpec& spec) const;
  Tensor read(TensorId id) const;
  void write(TensorId id, const Value& value);
  TensorId root(TensorId id) const;
  TensorId id_of(const std::string& name) const;

  OpTable ops_;
  StageTable stages_;
  Case case_;
  Program program_;
  std::map<TensorId, std::vector<double>> memory_;  ///< by root
};

}  // namespace parity
