#pragma once
#include <map>
#include <string>
#include <vector>

#include "harness/ladder/stage.hpp"

namespace parity::cli {

/// What a NaN in a tensor the user brings means.
enum class NanPolicy : std::uint8_t {
  reject,  ///< an error that names the first one
  allow,   ///< judged: exactly the outputs that depend on it may be NaN
};

/// Tensors named on the command line: --input A=weights.safetensors:layer.weight.
struct UserInputs {
  std::map<std::string, Tensor> tensors;
  std::map<std::string, std::string> sources;  ///< "weights.safetensors:layer.weight #hash", for the record
  std::string repro;                           ///< " --input A=...", as a shell reads it
  bool empty() const { return tensors.empty(); }
};

/// Reads every NAME=FILE[:TENSOR]. Errors name the argument, the file and what is wrong with it.
Result<UserInputs> read_user_inputs(const std::vector<std::string>& arguments, NanPolicy nan);

/// A case that takes its dimensions from the user's tensors, and the tensors in the dtypes it asks for.
struct BoundCase {
  Case c;
  std::map<std::string, Tensor> tensors;
  std::vector<std::string> notes;  ///< conversions, to be said out loud
};

/// Completes a case text from the inputs: `text` is a stage and the words that matter ("gemm tb=t");
/// dimensions come from the tensors, `in` from their dtype unless the text says it. A dimension that the text
/// gives and the tensors contradict is an error, and so is one that neither gives.
Result<std::vector<BoundCase>> bind_inputs(const std::string& text, const UserInputs& inputs,
                                           const StageTable& stages);

}  // namespace parity::cli
