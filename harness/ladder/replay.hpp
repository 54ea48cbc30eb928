#pragma once
#include <cstdint>
#include <vector>

#include "harness/ladder/backend.hpp"
#include "harness/ladder/op.hpp"
#include "harness/numerics/judge.hpp"

namespace parity {

/// One finished op call on the host: what went in, and output `output` as the device wrote it.
struct CallResult {
  const Op* op = nullptr;
  const Attributes* attributes = nullptr;
  PortTensors inputs;
  std::size_t output = 0;
  const Tensor* got = nullptr;
};

/// The rows and columns of an output that are replayed; both empty: all of it.
struct ReplaySample {
  std::vector<std::int64_t> rows, cols;
  /// All of a result: elements whose emulated values are held at once (bands of rows, at least 256).
  std::int64_t held = 1 << 24;
  bool all() const { return rows.empty() && cols.empty(); }
};
/// About `count` of 0..n-1, ascending: first and last, borders of tiles (multiples of 16, 64 and 128 and
/// their neighbours), tails, and seeded ones between.
std::vector<std::int64_t> choose_indices(std::int64_t n, std::int64_t count, std::uint64_t seed);
/// Everything up to `most` elements; beyond that first and last rows and columns, borders of tiles (multiples
/// of 16, 64 and 128 and their neighbours), tails, and seeded ones between.
ReplaySample choose_sample(const Shape& shape, std::int64_t most, std::uint64_t seed);

/// What replaying a result of `multiply_adds` in the model costs, in units of a multiply-add of a plain fp32
/// chain. The factors are measured (bench/replay_bench.cpp, docs/numerics.md): at least 10^10 such units a
/// second on two cores.
double replay_cost(const ArithmeticModel& model, double multiply_adds);
/// The budget of one replay, in these units: a minute on two cores. Every element of 8192^3 is within it.
inline constexpr double most_replay_operations = 6e11;
/// Elements of the sample that is replayed where all of them would exceed the budget.
inline constexpr std::int64_t replayed_sample = 1 << 20;

/// Evaluates the call in the emulated arithmetic of `model` and compares bits over the sample. Two NaNs are
/// equal whatever their payload, and so are the two zeros.
Result<ReplayResult> replay(const CallResult& call, const ArithmeticModel& model, const ReplaySample& sample);

/// The best fit among `models`: the first whose bits are all equal, else the one with the most equal.
Result<ReplayResult> replay_best(const CallResult& call, const std::vector<ArithmeticModel>& models,
                                 const ReplaySample& sample);

/// True per element (row-major index in the output) whose bits one of `models` reproduces.
std::vector<bool> replay_single_elements(const CallResult& call, const std::vector<ArithmeticModel>& models,
                                         const std::vector<std::int64_t>& elements);

/// What a kernel of unknown order (contract.accumulation empty) may compute as well as anything else: one
/// chain in sequence, products rounded or fused. Where the order does not matter (equal terms, zeros among
/// them) these are the bits of every chain, however far its errors, all of one sign, have taken the sum from
/// its expected spread.
std::vector<ArithmeticModel> plain_chains(const ArithmeticModel& contract);

}  // namespace parity
