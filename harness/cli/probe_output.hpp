#pragma once
#include <string>

#include "harness/probe/probe.hpp"

namespace parity::cli {

/// A probed implementation for people: each reduction's order, a drawing of its tree, the replay.
std::string probe_text(const ProbeRecord& record);
/// The same as one line of JSON without a newline: the whole trees too. "schema" is its version.
std::string probe_json(const ProbeRecord& record, const DeviceInfo& device);
/// A file name for the drawing of reduction `index`, unlike any other of one run.
std::string drawing_name(const ProbeRecord& record, std::size_t index);

}  // namespace parity::cli
