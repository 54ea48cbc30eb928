#pragma once
// Runs and records made up for the tests of histories.
#include <fmt/core.h>

#include "reports/gate/gate_testing.hpp"

namespace parity::history_testing {

/// The record of one case in run `run`, on its day and at its commit; errors with this spread.
inline Record recorded(int run, double spread, const std::string& case_text = "gemm m=1") {
  Record r = gate_testing::record_of(
      case_text, "tiled_f32", gate_testing::result_with(static_cast<std::uint64_t>(run) + 100, 4096, spread));
  r.provenance.commit = fmt::format("commit{}", run);
  r.provenance.started = fmt::format("2026-01-{:02}T00:00:00Z", run + 1);
  r.case_seconds = 1 + run;
  return r;
}

}  // namespace parity::history_testing
