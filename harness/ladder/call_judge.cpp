#include "harness/ladder/call_judge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace parity {

Contract derive_contract(const ArithmeticModel& model, DType store, bool exact) {
  Contract contract;
  contract.store = store;
  contract.exact = exact;
  contract.order_known = model.accumulation.has_value();
  contract.store_rounding_known = model.store_rounding_known;
  contract.store_rounding = model.store_rounding;
  contract.store_rounds = format_of(store).precision < format_of(model.precision.scratch).precision;
  contract.untrusted_zero_fraction = exact ? 0.75 : 1;
  return contract;
}

namespace {

/// All elements where the budget allows it.
ReplaySample affordable_sample(const CallResult& result, const FinishedCall& call,
                               const std::vector<ArithmeticModel>& models) {
  const double multiply_adds = call.op->work(call.program->calls[call.index], *call.program).flops / 2;
  double cost = 0;
  for (const ArithmeticModel& model : models) cost = std::max(cost, replay_cost(model, multiply_adds));
  if (cost <= call.replay_operations) return {};
  const double elements = static_cast<double>(result.got->elements()) * call.replay_operations / cost;
  return choose_sample(result.got->shape(),
                       std::clamp<std::int64_t>(static_cast<std::int64_t>(elements), 4096, replayed_sample),
                       call.seed);
}

/// A vendor's kernel may add in an order that nobody thought of; it can be asked for it. Only a full fit
/// counts: it proves this result. A misfit proves nothing, for the sums that were asked need not have been
/// given to the same kernel.
void try_revealed(const CallResult& result, const FinishedCall& call, ReplayResult& best) {
  if (call.reveal == nullptr || !*call.reveal || call.implementation->knowledge != OrderKnowledge::candidates)
    return;
  const ConfirmedModels revealed = (*call.reveal)(*call.device, call);
  if (revealed.models.empty()) {
    best.note = revealed.note;
    return;
  }
  auto replayed = replay_best(result, revealed.models, affordable_sample(result, call, revealed.models));
  if (!replayed) {
    best.note = replayed.error().message;
    return;
  }
  if (!replayed->all_equal()) {
    best.note = fmt::format("the order that the device was seen to add in ({}) gives {} of {} elements",
                            replayed->model, replayed->equal, replayed->compared);
    return;
  }
  best = *std::move(replayed);
  best.revealed = true;
}

}  // namespace

ReplayResult replay_output(const CallResult& result, const FinishedCall& call,
                           const ConfirmedModels& confirmed) {
  const auto none = [](std::string note) {
    ReplayResult nothing;
    nothing.note = std::move(note);
    return nothing;
  };
  if (result.got->elements() == 0) return {};
  const bool is_confirmed = !confirmed.models.empty();
  const auto& models = is_confirmed ? confirmed.models : call.implementation->replays;
  if (models.empty() || call.implementation->knowledge == OrderKnowledge::unknown)
    return none("the order of this path is not known");
  auto replayed = replay_best(result, models, affordable_sample(result, call, models));
  if (!replayed) return none(replayed.error().message);
  replayed->confirmed = is_confirmed;
  if (!is_confirmed) replayed->note = confirmed.note;
  if (!is_confirmed && !replayed->all_equal()) try_revealed(result, call, *replayed);
  return *std::move(replayed);
}

CallResult result_of(const FinishedCall& call) {
  const OpCall& op_call = call.program->calls[call.index];
  CallResult result{call.op, &op_call.attributes, {}, 0, nullptr};
  for (const TensorId id : op_call.inputs) {
    const auto made = call.results->find(id);
    result.inputs.push_back(id == no_tensor               ? nullptr
                            : made != call.results->end() ? &made->second
                                                          : &call.inputs->at(id));
  }
  return result;
}

OutputRecord output_record(const FinishedCall& call, std::size_t output) {
  const OpCall& op_call = call.program->calls[call.index];
  const TensorId id = op_call.outputs[output];
  const Tensor& got = call.results->at(id);
  OutputRecord record;
  record.call = static_cast<int>(call.index);
  record.op = op_call.op;
  record.path = call.implementation->path;
  record.port = call.op->outputs()[output].name;
  record.tensor = call.program->spec(id).name;
  record.shape = got.shape();
  record.dtype = got.dtype();
  record.bits = content_hash(got);
  return record;
}

std::vector<ArithmeticModel> explaining_models(const Implementation& implementation,
                                               const ConfirmedModels& confirmed) {
  const auto& models = confirmed.models.empty() ? implementation.replays : confirmed.models;
  return models.empty() ? plain_chains(implementation.contract) : models;
}

Result<std::vector<OutputRecord>> judge_call(const FinishedCall& call, Confirmations& confirmations,
                                             std::vector<Value>* reference) {
  const OpCall& op_call = call.program->calls[call.index];
  CallResult result = result_of(call);
  ArithmeticModel model = call.implementation->contract;
  model.precision.store = call.program->spec(op_call.outputs.front()).dtype;
  const auto tracked = make_tracked_arithmetic(model);
  const auto start = std::chrono::steady_clock::now();
  auto want = call.op->evaluate(*tracked, op_call.attributes, result.inputs);
  if (!want) return tl::unexpected(want.error());
  if (call.reference_seconds != nullptr)
    *call.reference_seconds +=
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();

  const auto known = confirmations.of(*call.implementation);
  if (!known) return tl::unexpected(known.error());
  const ConfirmedModels& confirmed = **known;
  const std::vector<ArithmeticModel> models = explaining_models(*call.implementation, confirmed);
  std::vector<OutputRecord> records;
  for (std::size_t output = 0; output < op_call.outputs.size(); ++output) {
    const Tensor& got = call.results->at(op_call.outputs[output]);
    result.output = output;
    result.got = &got;
    model.precision.store = got.dtype();
    OutputRecord record = output_record(call, output);
    // Nothing was rounded on the way (a copy, a cast, a gather): the store's bits are the contract.
    const bool copies = !(*want)[output].tracked() && model.store_rounding_known;
    record.contract = derive_contract(model, got.dtype(), call.exact || copies);
    if (!call.exact) record.contract.untrusted_zero_fraction = 1;
    if (call.op->reduction_length(op_call, *call.program) == 0) record.contract.untrusted_zero_fraction = 1;
    const ReplayResult replayed = replay_output(result, call, confirmed);
    record.judgement = judge(got, (*want)[output], record.contract, replayed,
                             [&](const std::vector<std::int64_t>& elements) {
                               return replay_single_elements(result, models, elements);
                             });
    add_pictures(record.judgement, got, (*want)[output], record.contract);
    if (call.on_output != nullptr && *call.on_output) (*call.on_output)(record, got, (*want)[output]);
    if (call.power && record.judgement.verdict == Verdict::pass) {
      std::vector<MissedMutant> missed;
      record.power = measure_power(result, (*want)[output], record.contract, replayed,
                                   call.missed == nullptr ? nullptr : &missed);
      for (MissedMutant& mutant : missed) {
        mutant.tensor = op_call.outputs[output];
        call.missed->push_back(std::move(mutant));
      }
      if (call.program->calls.size() == 1) distrust_powerless(record.power, record.judgement);
    }
    records.push_back(std::move(record));
  }
  if (reference != nullptr) *reference = *std::move(want);
  return records;
}

}  // namespace parity
