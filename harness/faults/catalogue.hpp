#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.hpp"
#include "harness/ladder/device_reason.hpp"

namespace parity::faults {

/// A change of a kernel's source: `from`, which stands there exactly once, becomes `to`.
struct Mutation {
  std::string backend;               ///< "vulkan", "cuda"
  std::string file;                  ///< beside the backend's other sources: "tiled.comp", "rows.cu"
  std::vector<std::string> modules;  ///< Vulkan: compiled modules that change; empty: the file's own name
  enum class Form : std::uint8_t {
    replace,     ///< one kernel a fault
    expression,  ///< chosen at run time: planted ? (to) : (from)
    statement,   ///< chosen at run time: if (planted) { to } else { from }
  } form = Form::replace;
  std::string from, to;
};

/// One planted fault. Either a faulty kernel, on the backends that have it, or a change to a healthy result.
struct CatalogueFault {
  std::string name;                ///< a word: letters, digits, '-'
  std::string what;                ///< what is wrong, in words
  std::vector<std::string> cases;  ///< patterns of cases that show it: its nominal severity and place
  std::vector<std::string> also;   ///< other sizes, data and places: other severities
  std::vector<std::string> paths;  ///< the kernel paths it is on; empty: the first that takes the case
  bool in_cpu = false;             ///< a faulty kernel of the CPU device
  std::vector<Mutation> mutations;
  std::string corruption;              ///< the kind of change to a healthy result; empty: a faulty kernel
  std::vector<double> severities;      ///< of a change, strongest first
  double nominal = 0;                  ///< one of them
  int positions = 1;                   ///< places where the change is made
  std::vector<DeviceReason> not_here;  ///< where it cannot act or be planted
  std::vector<DeviceReason> misses;    ///< where it is known to be missed

  bool planted_in(std::string_view backend) const;
};

/// Reads a catalogue; the error names line and word. Form, one word first on each line:
///
///   fault NAME                  what TEXT
///   case PATTERN                also PATTERN            path PATH...
///   in cpu                      not WHERE REASON        missed WHERE REASON
///   in vulkan FILE [MODULE...]  or  in cuda FILE expression|statement; then
///   - text of the source        each line of it
///   + text instead
///   corrupt KIND                severities S...         nominal S        positions N
///
/// '#' starts a comment line; blanks in front of the first word do not count, those behind "- " and "+ " do.
Result<std::vector<CatalogueFault>> parse_catalogue(std::string_view text, const std::string& name);

/// `source` with the mutation made; an error unless `from` stands in it exactly once. `number` is what a
/// form chosen at run time asks for.
Result<std::string> mutate(const std::string& source, const Mutation& mutation, int number,
                           const std::string& fault);

}  // namespace parity::faults
