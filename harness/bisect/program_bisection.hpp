#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/bisect/examined_call.hpp"
#include "harness/bisect/traced_program.hpp"
#include "harness/ladder/stage.hpp"

namespace parity {

/// What is bisected: a case on one path of one device.
struct BisectTarget {
  const OpTable& ops;
  const StageTable& stages;
  Device& device;
  Case c;
  std::string path;
  /// In place of the case's: one that `stages` does not hold. Must outlive the search.
  const Stage* own_stage = nullptr;

  const Stage* stage() const { return own_stage != nullptr ? own_stage : stages.find(c.stage); }
};

struct BisectOptions {
  std::int64_t steps = 0;  ///< runs of the program with its state carried on; 0: as many as the case says
  int repeats = 2;         ///< runs of the first step, whose bits are compared
  /// Judge finite results too, at step 0, at powers of two and at the last one; a step that does not pass is
  /// then searched by bisection, from the state of the last one that did.
  bool judge = true;
  std::map<std::string, Tensor> inputs{};  ///< the user's own tensors, by name
  /// Called before each run with its step.
  std::function<void(std::int64_t)> before_run{};
  /// Called after each run: (runs so far, step).
  std::function<void(std::int64_t, std::int64_t)> progress{};
};

/// One input of the producer, as the device held it.
struct ProducerInput {
  std::string port, tensor;
  DType dtype = DType::f32;
  TensorScan scan;
};

/// The call that is to blame.
struct Producer {
  std::size_t call = 0;
  std::int64_t step = 0;
  std::string op, path, precision, port, tensor;
  TracePlace place;
  std::vector<std::int64_t> index;  ///< of the element
  std::int64_t elements = 0;        ///< of the tensor
  ExaminedCall examined;
  std::vector<ProducerInput> inputs;
  std::map<std::string, Tensor> tensors;  ///< inputs by port, and results as "got:PORT"
  std::string title;                      ///< of the call: its first result's name
  std::string kind;                       ///< of the op, as docs/operations.md names it; empty: not said
  DType accumulate = DType::f32;
  Attributes attributes;
  std::string alone;                ///< what the call did when it was run by itself with the same inputs
  std::vector<std::string> checks;  ///< of the reference, made before the call was blamed
};

/// Largest finite |x| of one kind of tensor on the way.
struct Growth {
  std::string tensor;  ///< without layer and timestep
  std::optional<std::int64_t> layer;
  DType dtype = DType::f32;
  struct Point {
    std::int64_t at = 0;
    float largest = 0;
    bool finite = true;  ///< no element is NaN or Inf
  };
  std::vector<Point> steps;      ///< one a step, over all of its timesteps
  std::vector<Point> timesteps;  ///< of the last step; of a trace, its ops in order
};

struct BisectCost {
  std::int64_t runs = 0, bytes_written = 0, bytes_read = 0;
  std::int64_t scan_bytes = 0;  ///< of bytes_read
  double seconds = 0;
};

struct BisectReport {
  enum class Kind : std::uint8_t {
    healthy,
    not_finite,          ///< a NaN or an infinity
    out_of_contract,     ///< finite and wrong
    varies,              ///< in contract, but other bits from run to run: reported, no fault by itself
    given,               ///< an input holds NaN or Inf from the start
    reference_at_fault,  ///< a call would be blamed by a reference that contradicts itself
  } kind = Kind::healthy;
  std::int64_t steps = 0, calls = 0, timesteps = 0;
  std::optional<Producer> producer;
  /// not_finite: the first call of that step, before the producer, whose finite result is outside its
  /// contract: where it may have begun.
  std::optional<Producer> before;
  std::vector<std::string> given;      ///< inputs that hold NaN or Inf from the start
  std::vector<std::string> passed_on;  ///< tensors that only carry it on, in order, at most 32
  std::int64_t passed_on_count = 0;
  std::vector<std::string> varying;  ///< tensors whose bits differ between runs of the first step
  std::vector<Growth> growth;
  std::vector<std::int64_t> judged_steps;
  BisectCost cost;
};

/// "healthy", "not_finite", ...
std::string_view name_of(BisectReport::Kind kind);

/// Runs the case and names the first call that makes a NaN, an infinity or a result outside its contract.
/// Only scans are downloaded at each step, and the producer's own tensors. Errors: the path cannot run the
/// case, the device failed.
Result<BisectReport> bisect_program(const BisectTarget& target, const BisectOptions& options);

}  // namespace parity
