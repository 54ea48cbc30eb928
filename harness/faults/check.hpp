#pragma once
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "harness/ladder/case.hpp"
#include "harness/ladder/record.hpp"

namespace parity::faults {

/// The checks a verdict is made of; a fault may be seen by several.
enum class Check : std::uint8_t {
  replay,     ///< bits of a confirmed order
  integer,    ///< exact bits of integer inputs
  selector,   ///< exact bits of selector inputs
  copy,       ///< exact bits of an op that does not round
  hard,       ///< the hard bound of an element
  spread,     ///< the expected spread of an element
  aggregate,  ///< rows, columns, tiles and the tensor together
  nan_cone,   ///< one NaN reaches too many elements or too few
  nonfinite,  ///< NaN or infinite where it may not be, in any other data
  zeros,      ///< a result that is zero throughout
  unwritten,  ///< the poison of before the run
  guards,     ///< memory outside a tensor's elements, or an input, was written
  repeats,    ///< a repeated run that the first run's bits do not excuse
  state,      ///< what a step leaves for the next one
  drift,      ///< the end-to-end bound of a composite program
  crash,      ///< the device or the harness broke
};
inline constexpr std::size_t check_count = static_cast<std::size_t>(Check::crash) + 1;
std::string_view name_of(Check check);
/// One line: what the check looks at.
std::string_view help_of(Check check);

/// What each check alone says of a record: true: it is not what a healthy device gives.
using Findings = std::array<bool, check_count>;
Findings findings_of(const Record& record, const Case& c);

/// Names of the four thresholds in common use (CommonThresholds), in its order.
inline constexpr std::array<std::string_view, 4> threshold_names = {"cos > 0.999", "NMSE 5e-4",
                                                                    "assert_close", "allclose 1e-2"};

}  // namespace parity::faults
