#pragma once
#include <string>

#include "harness/ladder/record.hpp"

namespace parity {

/// What a person needs of a record that is not a pass, in plain lines: the reason, where in the matrix the
/// errors sit, the worst elements (indices, expected, got, bound), guard damage and the repro line.
/// `elements`: how many of the worst elements to show.
std::string failure_text(const Record& record, std::size_t elements = 5);
/// One finding over many elements: "bias of tile 3: 12.5 standard deviations".
std::string aggregate_text(const AggregateFinding& finding);

}  // namespace parity
