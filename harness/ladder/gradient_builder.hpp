#pragma once
#include <map>
#include <string>
#include <vector>

#include "harness/ladder/op.hpp"

namespace parity {

/// What an op's gradient rule works with: one call of the forward program, the gradients of its outputs, and
/// the program to which it adds calls.
class GradientBuilder {
 public:
  virtual ~GradientBuilder() = default;

  /// The program as it grows; ids stay valid, references to its specs do not.
  virtual const Program& program() const = 0;
  /// The gradient that has arrived at output `port`; no_tensor when nothing uses that output.
  virtual TensorId output_gradient(std::size_t port) const = 0;
  /// Whether anything depends on the gradient of input `port` (an index port's never is).
  virtual bool wants(std::size_t port) const = 0;
  /// The tensor that receives the gradient of input `port`: made on the first call, of the input's shape,
  /// fp32 (fp64 for an fp64 input). Whoever asks must emit a call that writes all of it; it may go unused.
  virtual TensorId input_gradient(std::size_t port) = 0;
  /// Lets an existing tensor be the gradient of input `port` (a sum passes its gradient on).
  virtual void pass_gradient(std::size_t port, TensorId gradient) = 0;
  /// An intermediate tensor of the rule's own; the name gets a prefix that makes it unique.
  virtual TensorId intermediate(const std::string& name, DType dtype, const Shape& shape) = 0;
  /// `tensor` rounded to `dtype` by a `cast` call, made once however often it is asked for; the tensor itself
  /// when it has that dtype.
  virtual TensorId rounded(TensorId tensor, DType dtype) = 0;
  virtual void emit(OpCall call) = 0;
};

/// Adds the backward pass to a program: from the gradients of some tensors (`seeds`: tensor -> tensor that
/// holds its gradient, an input or a tensor written before) to those of `wanted`. Calls are walked backwards,
/// each op's rule applied; where a tensor is used more than once its gradients are added with `axpby`. Views
/// and the tensors they lie in share their gradients. Returns wanted tensor -> gradient tensor. Errors: an op
/// without a gradient rule; a wanted tensor that no seed depends on ("the gradient of 'w_hh' is missing"); a
/// gradient of which a part is never written.
Result<std::map<TensorId, TensorId>> add_backward(const OpTable& ops, Program& program,
                                                  const std::map<TensorId, TensorId>& seeds,
                                                  const std::vector<TensorId>& wanted);

}  // namespace parity
