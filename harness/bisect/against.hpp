#pragma once
#include <optional>
#include <string>
#include <vector>

#include "harness/bisect/program_bisection.hpp"

namespace parity {

/// Where two implementations of a program stand apart.
struct Apart {
  std::size_t call = 0;
  std::int64_t step = 0;
  std::string op, first_path, second_path, tensor;
  TracePlace place;
  std::int64_t elements = 0, differing = 0;  ///< of the tensor; whose bits differ
  std::vector<std::int64_t> index;           ///< of the element below
  double first = 0, second = 0;
  /// Beyond what the inputs explain, in units of what the two contracts allow together: |(a - b) - (ref(a's
  /// inputs) - ref(b's inputs))| / (bound(a) + bound(b)). At most 1 while neither breaks its contract.
  double part = 0;
};

/// How far the two are apart in one kind of tensor, from inputs on: max |a - b| / max |a|, of judged steps.
struct Drift {
  std::string tensor;  ///< without layer and timestep
  std::optional<std::int64_t> layer;
  struct Point {
    std::int64_t step = 0, timestep = 0;
    double relative = 0;
  };
  std::vector<Point> points;
};

struct AgainstReport {
  enum class Kind : std::uint8_t {
    equal,               ///< every bit of every step
    noise,               ///< other bits, each side within its contract
    diverges,            ///< a call of one side, or of both, breaks its contract
    reference_at_fault,  ///< so it seems, by a reference that contradicts itself
  } kind = Kind::equal;
  std::int64_t steps = 0, calls = 0;
  bool same_kernels = false;              ///< every call has the same path on the same device on both sides
  std::optional<Apart> begins;            ///< the first step and call whose results have other bits
  std::optional<Apart> widest;            ///< of the judged calls, the largest `part`
  std::optional<Apart> divergence;        ///< the call that breaks a contract
  std::optional<Producer> first, second;  ///< the same call, on the side whose contract it breaks
  std::vector<Drift> drift;
  std::int64_t differing = 0;  ///< results with other bits in the last step that ran
  std::vector<std::int64_t> judged_steps;
  BisectCost cost;  ///< of both sides
};

/// Runs the case on two paths (of one device or of two) side by side. Calls whose results have equal bits by
/// their scans are passed over. At steps 0, 1, 2, 4, ... and the last one, and where only one side has NaN or
/// Inf, the others are judged on either side by their local contract; a step in which one breaks it is then
/// searched by bisection. `second.c` is not read. Errors: as bisect_program, of either side.
Result<AgainstReport> bisect_against(const BisectTarget& first, const BisectTarget& second,
                                     const BisectOptions& options);

}  // namespace parity
