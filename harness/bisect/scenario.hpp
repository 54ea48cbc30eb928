#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/bisect/planted_change.hpp"
#include "harness/ladder/device_reason.hpp"

namespace parity {

/// "NAME[3, *] = VALUE": elements of an input.
struct InputSetting {
  ElementPlace place;
  double value = 0;
};
Result<InputSetting> parse_setting(std::string_view text);

/// Something that goes wrong on purpose, and what bisecting must say of it.
struct Scenario {
  std::string name, what, case_text;
  std::vector<std::string> paths;  ///< the first of these that is legal and shows it; empty: of all
  std::vector<InputSetting> settings;
  std::string fault;  ///< of the catalogue of faulty kernels
  std::optional<PlantedChange> change;
  std::string reference;  ///< the op whose reference is wrong, by reference_factor
  double reference_factor = 1;

  std::vector<std::string> finds;  ///< name_of(BisectReport::Kind); any of them is right
  std::vector<std::string> ops;    ///< any of them is right
  std::string tensor;
  std::optional<std::int64_t> step, timestep;
  std::vector<std::int64_t> element;  ///< empty: one of those whose bits are not the healthy device's
  std::vector<std::string> causes;    ///< name_of(CauseKind); any of them is right
  /// Above 0: a race, which may be won. It is run up to so often, until a run shows it; what that run left
  /// outside its contract is judged by itself, for no other run need leave the same.
  std::int64_t race_runs = 0;

  std::vector<DeviceReason> other_causes, not_here, misses;
};

/// Reads a list of scenarios; the error names file and line. One word first on each line:
///
///   scenario NAME            what TEXT              case TEXT             path PATH...
///   set NAME[I, *] = VALUE   fault NAME             plant CHANGE (planted_change.hpp)
///   reference OP FACTOR      finds KIND | KIND      op NAME | NAME        tensor NAME
///   step N   timestep N      element I, J           cause CAUSE | CAUSE   race RUNS
///   on WHERE cause CAUSE | CAUSE     not WHERE REASON     missed WHERE REASON
///
/// '#' starts a comment line. Without `case`, a fault's own first one is meant.
Result<std::vector<Scenario>> parse_scenarios(std::string_view text, const std::string& name);

}  // namespace parity
