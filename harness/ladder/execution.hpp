#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "harness/ladder/backend.hpp"
#include "harness/ladder/op.hpp"

namespace parity {

/// What one run left behind, on the host.
struct RunResult {
  std::map<TensorId, Tensor>
      tensors;  ///< what was read: outputs, or every output and intermediate; views too
  RunTiming timing;
};
enum class ReadBack : std::uint8_t { outputs, everything };

/// The part of `root` where a view lies, as a tensor of its own. Error: it reaches outside.
Result<Tensor> view_of(const Tensor& root, const TensorSpec& view);

/// The view's elements alone, without what lies between its rows: of a timestep, whose rows are a sequence
/// apart, that is the far smaller part.
Result<Tensor> compact_view_of(const Tensor& root, const TensorSpec& view);

/// A Program loaded on a device with its inputs: run it as often as wanted. Outputs and intermediates are
/// poisoned before each run.
class Execution {
 public:
  static Result<Execution> load(Device& device, const Program& program, const std::vector<std::string>& paths,
                                const std::map<TensorId, Tensor>& inputs);

  /// Replaces inputs (same shapes and strides).
  Result<void> write(const std::map<TensorId, Tensor>& inputs);
  Result<RunResult> run(ReadBack what = ReadBack::everything);
  /// Fills outputs and intermediates with poison; `run` does so itself.
  Result<void> poison();
  /// One run without poisoning and without reading.
  Result<RunTiming> run_only();
  /// One tensor that is no view, as the device holds it now.
  Result<Tensor> read(TensorId id);
  /// Reads what `run`, the last one, has not read yet.
  Result<void> complete(RunResult& run);
  /// Carries state to the next run (Session::advance), unchecked.
  Result<void> carry();
  /// The same, with a look at every state before and after; then replaces the inputs that change.
  /// Returns the names of states that do not hold what the run before left for them.
  Result<std::vector<std::string>> advance(const std::map<TensorId, Tensor>& inputs);
  /// Every input and state as it was for the last run: states are read from the device. Valid until the next
  /// write or advance.
  Result<const std::map<TensorId, Tensor>*> inputs();
  /// Guard zones of every buffer, and pads of the given run's outputs.
  Result<std::vector<GuardDamage>> damage(const RunResult& run);
  /// Names of inputs and states whose bytes on the device are no longer those that were written.
  Result<std::vector<std::string>> modified_inputs();

 private:
  Execution() = default;
  Result<void> read(RunResult& run, ReadBack what);
  Program program_;
  std::unique_ptr<Session> session_;
  std::map<TensorId, Tensor> inputs_;
  std::map<TensorId, Tensor> poisoned_;
  bool advanced_ = false;
};

}  // namespace parity
