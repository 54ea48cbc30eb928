#pragma once
#include <map>
#include <optional>
#include <vector>

#include "harness/ladder/execution.hpp"

namespace parity {

/// One op call of a program as a program of its own, on the same path: run it with some inputs changed.
class IsolatedCall {
 public:
  /// `inputs`: the call's own, in port order; they must outlive this.
  IsolatedCall(Device& device, const Op& op, const OpCall& call, const Implementation& implementation,
               PortTensors inputs, std::vector<DType> stores);

  const PortTensors& inputs() const { return inputs_; }
  /// Outputs by port with the tensors in `changed` in place of the call's own. Other shapes are loaded anew.
  /// Error of kind unsupported where the path does not take them.
  Result<std::vector<Tensor>> run(const std::map<std::size_t, Tensor>& changed);

 private:
  struct Loaded {
    Program program;
    Execution execution;
  };
  Result<Loaded> load(const PortTensors& ports);
  static Result<std::vector<Tensor>> run(Loaded& loaded);

  Device& device_;
  const Op& op_;
  const OpCall& call_;
  const Implementation& implementation_;
  PortTensors inputs_;
  std::vector<DType> stores_;
  std::optional<Loaded> same_shapes_;
};

}  // namespace parity
