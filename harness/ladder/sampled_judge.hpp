#pragma once
#include <vector>

#include "harness/ladder/call_judge.hpp"

namespace parity {

/// How much of a result is compared with a reference of its own.
enum class ReferenceKind : std::uint8_t {
  automatic,  ///< sampled where the full reference of a product would exceed
              ///< most_reference_flops
  full,       ///< every element
  sampled,    ///< products: sampled rows and Freivalds' check of all; other ops:
              ///< every element
};

/// Beyond this many operations a product's full reference takes minutes on a
/// few cores (4096^3 is 1.4e11).
inline constexpr double most_reference_flops = 3e11;

/// Rows of a result that are compared element by element, and as many more that
/// Freivalds' check points at.
inline constexpr std::int64_t sampled_rows = 32;

/// What a replay may cost (replay_cost) where a sample was asked for.
inline constexpr double sampled_replay_operations = 0x1p28;

/// Whether the program's result is judged by a sample: it is one product, and
/// asked for or too large.
bool judges_by_sample(const OpTable& ops, const Program& program, ReferenceKind kind);

/// Bytes of host memory that running and judging it then takes, about.
double sampled_bytes_needed(const Program& program, int repeats);

/// Judges a product (judges_by_sample) without its full reference:
///  - every segment of every row, and every column, by Freivalds' check
///  (numerics/freivalds.hpp);
///  - by the full element contract, every column of sampled rows (first, last,
///  borders of tiles, seeded ones), of
///    the rows that the check points at, worst first, and every row of the
///    columns it points at.
/// The elements decide. A row that the check points at and whose elements are
/// within their contract is explained; when more rows were pointed at than
/// compared, the result is `suspect`; integers that do not add up are a failure
/// in any case. Where the check cannot be applied (NaN among the inputs, say) a
/// pass becomes `untrusted`. OutputRecord::sampled says what was done;
/// statistics are over the compared elements.
Result<std::vector<OutputRecord>> judge_call_sampled(const FinishedCall& call, Confirmations& confirmations);

}  // namespace parity
