#pragma once
#include <map>
#include <set>
#include <vector>

#include "harness/bisect/trace_session.hpp"
#include "harness/ladder/call_judge.hpp"

namespace parity {

/// Every tensor that the call reads or writes.
std::set<TensorId> ids_of(const OpCall& call);

/// Output `port` of a call of the program that `session` ran, with the call's inputs. `tensors`: all of
/// ids_of(call); they must outlive the result.
CallResult traced_result(const TraceSession& session, const BisectTarget& target, std::size_t call,
                         std::size_t port, const std::map<TensorId, Tensor>& tensors);

/// The outputs of a call by its local contract: its references get the device's own inputs. `users_own`: some
/// inputs are the user's, so that no case says that bits are the contract.
Result<std::vector<OutputRecord>> judge_traced(const TraceSession& session, const BisectTarget& target,
                                               Confirmations& confirmations, std::size_t call,
                                               const std::map<TensorId, Tensor>& tensors, bool users_own,
                                               std::vector<Value>* reference = nullptr);

/// Whether a judgement blames the call.
bool blames(const Judgement& judgement);

/// The call at `point` as the one to blame, with its inputs; it is run by itself once. First its reference is
/// asked whether it contradicts itself: then the cause is CauseKind::reference.
Producer blamed_call(TraceSession& session, const BisectTarget& target, const TracePoint& point,
                     ExaminedCall examined, const std::map<TensorId, Tensor>& tensors);

}  // namespace parity
