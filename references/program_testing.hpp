#pragma once
#include <map>
#include <string>
#include <vector>

#include "harness/ladder/op.hpp"

namespace parity {

/// A Program put together and run on the host in exact arithmetic. For tests only.
class HostProgram {
 public:
  explicit HostProgram(const OpTable& ops) : ops_(ops) {}

  TensorId input(const std::string& name, Tensor tensor);
  /// Adds a call; its outputs (f64, of the inferred shapes) are new tensors. Fails the test when the inputs
  /// do not fit.
  std::vector<TensorId> call(const std::string& op, const Attributes& attributes,
                             const std::vector<TensorId>& inputs);
  /// add_backward from output to inputs, given the output's gradient; fails the test on an error.
  std::map<TensorId, TensorId> backward(TensorId output, Tensor gradient,
                                        const std::vector<TensorId>& wanted);
  /// Runs every call.
  Result<void> run();

  Program& program() { return program_; }
  const Tensor& tensor(TensorId id) const { return tensors_.at(id); }
  Tensor& tensor(TensorId id) { return tensors_.at(id); }
  std::vector<double> values(TensorId id) const;

 private:
  TensorId add(std::string name, DType dtype, const Shape& shape, TensorSpec::Role role);

  const OpTable& ops_;
  Program program_;
  std::map<TensorId, Tensor> tensors_;
};

}  // namespace parity
