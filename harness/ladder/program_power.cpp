#include "harness/ladder/program_power.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace parity {
namespace {

/// The call that makes a tensor; -1: none.
int call_of(const Program& program, TensorId id) {
  for (std::size_t i = 0; i < program.calls.size(); ++i)
    if (std::ranges::find(program.calls[i].outputs, id) != program.calls[i].outputs.end())
      return static_cast<int>(i);
  return -1;
}

/// "gemm -> d_x"
std::string maker_of(const Program& program, TensorId id) {
  const int call = call_of(program, id);
  const std::string op = call < 0 ? "" : program.calls[static_cast<std::size_t>(call)].op + " -> ";
  return op + program.spec(id).name;
}

bool is_result(const Program& program, TensorId id) {
  return program.spec(id).role == TensorSpec::Role::output ||
         std::ranges::any_of(program.carries, [&](const Carry& carry) { return carry.from == id; });
}

/// Whether an element of `mutant` is certain to be beyond its end-to-end bound.
bool shows(const Value& mutant, const Value& exact, const Value& bound) {
  for (std::size_t i = 0; i < exact.v.size(); ++i) {
    const double hard = bound.hard.empty() ? 0 : bound.hard[i];
    if (!std::isfinite(exact.v[i]) || !std::isfinite(hard)) continue;
    if (!(std::fabs(mutant.v[i] - exact.v[i]) <= 2 * hard)) return true;
  }
  return false;
}

/// The first result of the program that shows the mutant; empty: none.
Result<std::string> shown_by(const OpTable& ops, const Program& program,
                             const std::map<TensorId, Tensor>& inputs, const MissedMutant& mutant,
                             const ProgramEvaluation& exact, const ProgramEvaluation& tracked) {
  const auto changed = evaluate_exactly(ops, program, inputs, {}, {{mutant.tensor, mutant.values}});
  if (!changed) return tl::unexpected(changed.error());
  for (std::size_t i = 0; i < program.tensors.size(); ++i) {
    const auto id = static_cast<TensorId>(i);
    const TensorSpec& spec = program.tensors[i];
    if (spec.role != TensorSpec::Role::output || spec.is_view()) continue;
    const auto got = changed->values.find(id), want = exact.values.find(id), bound = tracked.values.find(id);
    if (got == changed->values.end() || want == exact.values.end() || bound == tracked.values.end()) continue;
    if (shows(got->second, want->second, bound->second)) return spec.name;
  }
  return std::string();
}

/// No mutant of any tensor is seen, and some would pass.
bool proves_nothing(const std::vector<OutputRecord>& outputs) {
  const auto sees = [](const OutputRecord& o) { return !o.power.seen.empty(); };
  const auto misses = [](const OutputRecord& o) { return !o.power.missed.empty(); };
  return std::ranges::any_of(outputs, misses) && std::ranges::none_of(outputs, sees);
}

}  // namespace

Result<ProgramPower> measure_program_power(const OpTable& ops, const Program& program,
                                           const std::map<TensorId, Tensor>& inputs,
                                           const std::vector<OutputRecord>& outputs,
                                           const std::vector<MissedMutant>& missed,
                                           const ProgramEvaluation& exact, const ProgramEvaluation* tracked) {
  ProgramPower power;
  struct Blind {
    std::vector<std::string> mutants, unseen, witnesses;
  };
  std::map<TensorId, Blind> blind;
  for (const MissedMutant& mutant : missed) {
    Blind& entry = blind[mutant.tensor];
    entry.mutants.push_back(mutant.name);
    std::string witness;
    if (tracked != nullptr) {
      auto shown = shown_by(ops, program, inputs, mutant, exact, *tracked);
      if (!shown) return tl::unexpected(shown.error());
      witness = *std::move(shown);
    }
    if (witness.empty())
      entry.unseen.push_back(mutant.name);
    else if (std::ranges::find(entry.witnesses, witness) == entry.witnesses.end())
      entry.witnesses.push_back(witness);
  }
  const auto call_sees = [&](TensorId id) {
    const int call = call_of(program, id);
    return std::ranges::any_of(outputs, [&](const OutputRecord& output) {
      return output.call == call && !output.power.seen.empty();
    });
  };
  for (const auto& [id, entry] : blind) {
    const std::string who = maker_of(program, id);
    const bool covered = entry.unseen.empty(), result = is_result(program, id);
    power.notes.push_back(fmt::format(
        "{}: wrong results would pass its own contract ({}); {}", who, fmt::join(entry.mutants, ", "),
        covered  ? fmt::format("the end-to-end bound of {} shows them", fmt::join(entry.witnesses, ", "))
        : result ? fmt::format("nothing else shows {}", fmt::join(entry.unseen, ", "))
                 : fmt::format("no result of the program shows {}", fmt::join(entry.unseen, ", "))));
    if (result && entry.witnesses.empty() && power.untrusted.empty() && !call_sees(id))
      power.untrusted =
          fmt::format("{}: a wrong result would pass too ({}): this case proves nothing about it", who,
                      fmt::join(entry.unseen, ", "));
  }
  if (power.untrusted.empty() && proves_nothing(outputs))
    for (const OutputRecord& output : outputs)
      if (!output.power.missed.empty()) {
        power.untrusted =
            fmt::format("wrong results would pass too (of {} -> {}: {}): this case proves nothing", output.op,
                        output.tensor, fmt::join(output.power.missed, ", "));
        break;
      }
  return power;
}

}  // namespace parity
