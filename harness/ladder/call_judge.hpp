#pragma once
#include <functional>
#include <map>
#include <vector>

#include "harness/ladder/confirmation.hpp"
#include "harness/ladder/power.hpp"
#include "harness/ladder/record.hpp"
#include "harness/ladder/replay.hpp"

namespace parity {

/// Told of an output once it is judged: what was made of it, the device's result, the tracked reference.
using ObserveOutput = std::function<void(const OutputRecord&, const Tensor& got, const Value& want)>;

struct FinishedCall;
/// The models that a call's sums may follow, found by asking the device with sums of the same shape
/// (harness/probe); without models: why there are none.
using RevealOrder = std::function<ConfirmedModels(Device&, const FinishedCall&)>;

/// One call of a program that ran: the device's own inputs and results.
struct FinishedCall {
  const Program* program = nullptr;
  std::size_t index = 0;
  const Op* op = nullptr;
  const Implementation* implementation = nullptr;
  const std::map<TensorId, Tensor>* inputs = nullptr;   ///< inputs and states of the run
  const std::map<TensorId, Tensor>* results = nullptr;  ///< everything the run made
  bool exact = false;                                   ///< the case's contract is the bits
  bool power = true;                                    ///< measure whether wrong results would be seen
  std::uint64_t seed = 1;
  double replay_operations = most_replay_operations;  ///< replay all elements up to here, else a sample
  const ObserveOutput* on_output = nullptr;
  Device* device = nullptr;                     ///< with `reveal`: the one that it ran on
  const RevealOrder* reveal = nullptr;          ///< asked where no candidate of the path gives all bits
  double* reference_seconds = nullptr;          ///< if given, the time of the tracked reference is added
  std::vector<MissedMutant>* missed = nullptr;  ///< receives the mutants that would pass
};

// What judging a part of a result shares with judging all of it (sampled_judge.hpp).

/// The contract of one output: what the case and the path's model say, nothing else.
Contract derive_contract(const ArithmeticModel& model, DType store, bool exact);
/// The call with its inputs, without an output.
CallResult result_of(const FinishedCall& call);
/// What is known of an output before it is judged.
OutputRecord output_record(const FinishedCall& call, std::size_t output);
/// The models that may explain single elements: the confirmed ones, else those the path may have, else plain
/// chains.
std::vector<ArithmeticModel> explaining_models(const Implementation& implementation,
                                               const ConfirmedModels& confirmed);
/// The best fit of the path's models over a sample of the output.
ReplayResult replay_output(const CallResult& result, const FinishedCall& call,
                           const ConfirmedModels& confirmed);

/// Judges every output of the call, the reference fed with the device's own inputs (design: judge locally).
/// `reference`: receives the tracked value of each output.
Result<std::vector<OutputRecord>> judge_call(const FinishedCall& call, Confirmations& confirmations,
                                             std::vector<Value>* reference = nullptr);

}  // namespace parity
