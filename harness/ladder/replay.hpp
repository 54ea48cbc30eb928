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
  bool all() const { return rows.empty() && cols.empty(); }
};
/// About `count` of 0..n-1, ascending: first and last, borders of tiles (multiples of 16, 64 and 128 and
/// their neighbours), tails, and seeded ones between.
std::vector<std::int64_t> choose_indices(std::int64_t n, std::int64_t count, std::uint64_t seed);
/// Everything up to `most` elements; beyond that first and last rows and columns, borders of tiles (multiples
/// of 16, 64 and 128 and their neighbours), tails, and seeded ones between.
ReplaySample choose_sample(const Shape& shape, std::int64_t most, std::uint64_t seed);

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
