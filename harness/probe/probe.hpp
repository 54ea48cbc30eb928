#pragma once
#include <optional>
#include <string>
#include <vector>

#include "harness/ladder/op.hpp"
#include "harness/ladder/replay.hpp"
#include "harness/probe/probed_reduction.hpp"

namespace parity {

/// What was found about one reduction.
struct ReductionFinding {
  std::string name, method;
  std::int64_t terms = 0;
  Revelation revelation;
  std::string order;  ///< describe() of the tree
  std::string scale;  ///< masks and units that worked
  /// The trees the path declares for its reductions, by name; empty: it declares none.
  std::vector<std::string> declared;
  std::optional<bool> agrees;  ///< the revealed tree is one of them; absent: nothing to compare
  std::string contradiction;   ///< agrees == false: what is declared and what is not so
};

/// The emulated arithmetic on the revealed tree, against the device's own result on normal data.
struct TreeReplay {
  std::optional<ReplayResult> result;  ///< the model that fits best
  std::string note;                    ///< why there is none
};

/// One implementation, probed.
struct ProbeRecord {
  std::string op, path, device;
  DType input = DType::f32, accumulate = DType::f32, store = DType::f32;
  ProbeSize size;
  std::vector<ReductionFinding> reductions;
  TreeReplay replay;

  bool contradicts() const;  ///< a revealed tree is not the declared one
  bool revealed() const;     ///< at least one tree was
  bool any_order() const;    ///< every reduction is of integers, whose order does not matter
};

/// The tree of one reduction; `scale_text` receives the masks and units that worked.
Result<Revelation> reveal_reduction(const ProbedReduction& reduction, const RevealOptions& options,
                                    std::string& scale_text);

/// Reveals every reduction of the implementation and replays what was found. `options.seed` is also that of
/// the normal data. Errors: the path cannot take the call (unsupported), the device failed.
Result<ProbeRecord> probe_implementation(const OpTable& ops, Device& device,
                                         const Implementation& implementation, const ProbeSize& size,
                                         const RevealOptions& options);

/// The models whose tree is the given one and that the implementation may have: known orders on their fast
/// paths, any other tree as Kind::tree; fused and separate multiply-adds, or multi-term adders of 23 to 28
/// fraction bits; each with the denormal modes the implementation declares and, where inputs are narrowed
/// before they are multiplied (TF32), cut as well as rounded, and not narrowed at all where no addition takes
/// more than two.
std::vector<ArithmeticModel> models_of_tree(const Implementation& implementation, const SummationTree& tree);

}  // namespace parity
