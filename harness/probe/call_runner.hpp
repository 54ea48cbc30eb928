#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "harness/ladder/execution.hpp"

namespace parity {

/// A tensor of a call that is probed.
struct ProbePort {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;
  Strides strides = {};  ///< on the device; empty: contiguous
};

/// One op call on one path of a device, loaded once: inputs are set, it is run, outputs are read. Nothing is
/// replaced: a path that cannot take the call is an error of kind unsupported with the reason.
class CallRunner {
 public:
  /// Ports in the op's order; an empty name leaves an optional input out.
  static Result<CallRunner> load(Device& device, const Implementation& implementation, Attributes attributes,
                                 const std::vector<ProbePort>& inputs, const std::vector<ProbePort>& outputs);

  /// Input `port`, to be filled; zeros at first.
  Tensor& input(std::size_t port);
  /// Runs with the inputs as they are and returns the outputs in the op's order.
  Result<std::vector<Tensor>> run();

  const OpCall& call() const { return program_.calls.front(); }
  const Tensor* port(std::size_t index) const;  ///< null when left out

 private:
  Program program_;
  std::map<TensorId, Tensor> inputs_;
  std::shared_ptr<Execution> execution_;
};

}  // namespace parity
