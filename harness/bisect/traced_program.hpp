#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/ladder/op.hpp"
#include "harness/tensor/tensor_scan.hpp"

namespace parity {

/// One output of one call, looked at right after the call.
struct TracePoint {
  std::size_t call = 0, port = 0;  ///< of the program that is traced
  TensorId tensor = no_tensor;
  std::int64_t slot = 0;  ///< where its words lie in the traced program's `scans`
};

/// A state that a step begins with, looked at before the first call: it must be what the step before left in
/// `from`.
struct StatePoint {
  TensorId from = no_tensor, to = no_tensor;
  std::size_t made = 0;   ///< the last of the points where `from` was looked at
  std::int64_t slot = 0;  ///< as in TracePoint
};

/// The words of one run.
struct TraceScans {
  std::vector<TensorScan> points, states;  ///< as TracedProgram::points and ::states
};

/// A program with a call of `trace_scan` behind each of its own, so that a few bytes a tensor say what the
/// device holds. Tensors keep their numbers.
struct TracedProgram {
  Program program;
  TensorId scans = no_tensor;      ///< i32, one slot a point
  std::vector<TracePoint> points;  ///< in the order of the calls
  std::vector<StatePoint> states;
  /// The words of every point, from the downloaded `scans`.
  TraceScans read(const Tensor& scans) const;
};

/// Errors: no output can be looked at.
Result<TracedProgram> traced(const OpTable& ops, const Program& program);

/// Where a tensor belongs, read off its name: "l1.t12_u" is layer 1, timestep 12.
struct TracePlace {
  std::optional<std::int64_t> layer, timestep;
  std::string name;  ///< without these: "u"
};
TracePlace place_of(const std::string& tensor);

}  // namespace parity
