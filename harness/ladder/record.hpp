#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/ladder/backend.hpp"
#include "harness/numerics/judge.hpp"
#include "harness/numerics/order_effects.hpp"

namespace parity {

/// How a product too large for a full reference was judged (sampled_judge.hpp): some rows element by element,
/// all of it by Freivalds' check.
struct SampledCheck {
  std::int64_t rows = 0, of_rows = 0;  ///< compared element by element, in every batch entry
  bool integers = false;               ///< the check was exact
  int vectors = 0;                     ///< errors that cancel in one random vector survive with 2^-vectors
  std::int64_t segments = 0;           ///< parts of a row, each checked by itself
  std::int64_t flagged_rows = 0, flagged_columns = 0;  ///< that the check points at
  double largest_ratio = 0;                            ///< worst residual over its threshold
  double rms_deviate = 0;                              ///< of the residuals, over what was predicted
  /// Smallest error of a single element that is certain to be seen, in the worst place and on average, and
  /// what the element contract allows on average.
  double certain_error = 0, typical_certain_error = 0, element_bound = 0;
  std::string refused;  ///< why the check could not be applied; empty: it was
};

/// Whether a case could fail: faults planted into its passing result, and whether the contract sees them.
struct Power {
  std::vector<std::string> seen;    ///< mutants that do not pass
  std::vector<std::string> missed;  ///< mutants that would pass: the case is untrusted
  /// Mutants that are no faults here: they leave the result as it is (zeros, a sum of one term).
  std::vector<std::string> void_mutants;
};

/// One output of one op call, judged locally: the reference was fed with the device's own inputs.
struct OutputRecord {
  int call = 0;  ///< index of the op call in the Program
  std::string op, path, port, tensor;
  int calls = 1;  ///< outputs of this op, path and port that this record, the worst of them, stands for
  Shape shape;
  DType dtype = DType::f32;
  std::uint64_t bits = 0;  ///< content_hash of the result, of every call it stands for; 0: not recorded
  Contract contract;
  Judgement judgement;
  std::optional<SampledCheck> sampled;  ///< absent: every element was compared
  Power power;                          ///< of a pass only
};

/// One order experiment on one op: the same call with its inputs permuted or in parts (Symmetry).
struct OrderExperiment {
  std::string op, path;
  std::string what;   ///< "permuted", "alone", "moved", "split 4"
  std::string along;  ///< the symmetry's name: "k", "rows"
  std::string port;   ///< the output that differs most
  OrderSpread spread;
};

/// Reduction-order effects of one case; each absent when it was not measured, with the reason in `notes`.
struct OrderEffects {
  std::optional<OrderSpread> run_to_run;        ///< repeated runs on the device
  std::optional<OrderSpread> batch_invariance;  ///< a row alone against the row in its batch
  std::optional<OrderSpread> permutation;       ///< the reduction axis permuted
  std::optional<OrderSpread> ensemble;          ///< emulated orders on the CPU
  /// Of every op that reduces; an op of a composite program once a run for one path and shape.
  std::vector<OrderExperiment> experiments;
  std::vector<std::string> notes;
};

/// One result of a composite program against the exact one, end to end.
struct DriftRecord {
  std::string tensor;
  std::int64_t step = 0;  ///< of a case with several steps
  std::int64_t elements = 0;
  std::int64_t nonfinite = 0;  ///< elements that are not finite on one side only
  bool all_zero = false;       ///< the device's are all zero, the exact ones are not; no fault by itself
  double max_abs = 0, relative_l2 = 0, cosine = 1;
  std::optional<double> max_bound_ratio;  ///< worst |error| / tracked hard bound; absent: not derived
};

/// A result of one element, step by step: a loss, a norm.
struct Trajectory {
  std::string tensor;
  std::vector<double> device, reference;  ///< the reference runs freely in fp64 from the same start
};

/// Time of the calls of one op on one path.
struct CallTime {
  std::string op, path;
  int calls = 0;
  double device_seconds = 0;     ///< by the device's clock; the least of the runs
  double reference_seconds = 0;  ///< the exact reference (fp64, Eigen) on this host
};

/// Where a record comes from.
struct Provenance {
  std::string commit, version, flags, compiler, started;  ///< started: UTC, ISO 8601
  std::map<std::string, std::string> inputs;              ///< user tensors by port: "file:tensor #hash"
  /// The device profile that the contracts were made with, what it tightened, and which tighter checks stayed
  /// inconclusive; empty where contracts come from no device.
  std::string profile = {};
};

/// A further run of a case that failed.
struct Rerun {
  Verdict verdict = Verdict::pass;
  std::string reason;          ///< of anything but a pass
  double max_bound_ratio = 0;  ///< worst of its outputs
  double seconds = 0;          ///< as Record::case_seconds
};

/// One case on one path of one device.
struct Record {
  std::string case_text, stage, path;
  int rung = 0;
  DeviceInfo device;
  Verdict verdict = Verdict::pass;
  std::string reason;              ///< of anything but a pass: one sentence
  std::vector<std::string> notes;  ///< what a pass does not prove: results that would not show a fault
  std::vector<OutputRecord> outputs;
  std::vector<GuardDamage> guard_damage;
  std::map<std::string, std::string> input_hashes;  ///< tensor name -> content hash, hex
  OrderEffects order;
  std::vector<DriftRecord> drift;                    ///< composite programs only
  std::vector<Trajectory> trajectories;              ///< cases of several steps only
  std::vector<CallTime> call_times;                  ///< composite programs on devices that measure them
  std::vector<double> device_seconds, host_seconds;  ///< one per run
  double judge_seconds = 0;
  double reference_seconds = 0;  ///< of the first step's tracked references (fp64) alone; 0: sampled
  double case_seconds = 0;       ///< all that the case took, from its inputs to its verdict
  double flops = 0, bytes = 0;   ///< of one run
  std::string repro;             ///< the command that runs this case again
  /// The last lines that a worker process printed before it was lost with this case.
  std::vector<std::string> last_words;
  /// Of a failure that was run again; everything else here is of the first run, the failure.
  std::vector<Rerun> reruns;
  Provenance provenance;
};

/// Whether a failure passed when it was run again.
inline bool is_flaky(const Record& record) {
  if (!is_failure(record.verdict)) return false;
  for (const Rerun& rerun : record.reruns)
    if (rerun.verdict == Verdict::pass) return true;
  return false;
}

}  // namespace parity
