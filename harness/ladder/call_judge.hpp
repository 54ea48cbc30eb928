#pragma once
#include <map>
#include <vector>

#include "harness/ladder/confirmation.hpp"
#include "harness/ladder/record.hpp"

namespace parity {

/// One call of a program that ran: the device's own inputs and results.
struct FinishedCall {
  const Program* program = nullptr;
  std::size_t index = 0;
  const Op* op = nullptr;
  const Implementation* implementation = nullptr;
  const std::map<TensorId, Tensor>* inputs = nullptr;   ///< inputs and states of the run
  const std::map<TensorId, Tensor>* results = nullptr;  ///< everything the run made
  bool exact = false;                                   ///< the case's contract is the bits
  std::uint64_t seed = 1;
  std::int64_t replay_elements = 1 << 16;
};

/// Judges every output of the call, the reference fed with the device's own inputs (design: judge locally).
/// `reference`: receives the tracked value of each output.
Result<std::vector<OutputRecord>> judge_call(const FinishedCall& call, Confirmations& confirmations,
                                             std::vector<Value>* reference = nullptr);

}  // namespace parity
