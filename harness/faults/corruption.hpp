#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "harness/ladder/backend.hpp"

namespace parity::faults {

/// How strongly and where a healthy result is changed.
struct Damage {
  double severity = 0;  ///< what it means is the kind's
  int position = 0;     ///< 0: the first element, row or tile; 1: the last; others: drawn from `seed`
  std::uint64_t seed = 1;
};

/// A tensor that is changed: [batch, rows, cols], a vector is one row.
struct DamagedTensor {
  Tensor& tensor;
  const Tensor* other = nullptr;  ///< what the device gives for the changed inputs, where the kind has such
  const Damage& damage;
  int run = 1;  ///< number of the run

  std::int64_t rows() const;  ///< of all batch entries
  std::int64_t cols() const;
  std::int64_t batch_rows() const;  ///< of one batch entry
  /// One of `count` places by damage.position; `salt` tells several choices apart.
  std::int64_t place(std::int64_t count, std::uint64_t salt = 0) const;
};

/// A kind of change. Kinds with `input` run the same kernels a second time, on inputs changed by it, and
/// `result` takes what it needs from there: a kernel that read something else.
struct CorruptionKind {
  std::string_view name, help;
  std::string_view severity;  ///< what the number means; empty: there is none
  /// Whether it acts on each tensor of the program's last results or on the first only.
  bool all_outputs = false;
  std::function<void(const TensorSpec&, const Damage&, Tensor&)> input = {};
  bool stores_f32 = false;  ///< the second run stores fp32: the accumulator
  std::function<void(const DamagedTensor&)> result = {};
  /// Changes to anything else of the session, after a run.
  std::function<Result<void>(const Program&, const Damage&, Session&)> memory = {};
  bool forgets_to_advance = false;
};

/// The kinds, by name; hand-listed.
std::span<const CorruptionKind> corruption_kinds();
const CorruptionKind* find_corruption(std::string_view name);

/// Loads the program on a healthy device; after every run its results are changed.
Result<std::unique_ptr<Session>> load_corrupted(Device& healthy, const Program& program,
                                                const std::vector<std::string>& paths,
                                                const CorruptionKind& kind, const Damage& damage);

}  // namespace parity::faults
