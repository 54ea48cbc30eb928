#include "harness/probe/integer_probes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "harness/numerics/integer_matmul.hpp"
#include "harness/probe/call_runner.hpp"
#include "harness/tensor/fill.hpp"

namespace parity {
namespace {

/// Half as many products of -128 and 127 pass 2^31; a multiple of 512, that any path takes.
constexpr std::int64_t sum_terms = 516 * 512;

enum class Planted : std::int64_t { above, below, returning };

/// Row `above` sums products of -128 with itself, `below` of 127 with -128, `returning` the one and then the
/// other: it leaves int32 on its way and ends inside. The rest is random.
double planted_term(Planted row, std::int64_t k) {
  if (row == Planted::above) return -128;
  if (row == Planted::below) return 127;
  return k < sum_terms / 2 ? -128 : 127;
}

/// What the wrong sum looks like.
std::string guess(double got, double sum) {
  using Limits = std::numeric_limits<std::int32_t>;
  if (got == Limits::max() && sum > Limits::max()) return "it saturates";
  if (got == Limits::min() && sum < Limits::min()) return "it saturates";
  return "it is no sum modulo 2^32";
}

}  // namespace

Result<ReductionFinding> probe_integers(Device& device, const Implementation& implementation,
                                        const ProbeSize& size, std::uint64_t seed) {
  const std::int64_t sum_rows = std::clamp<std::int64_t>(size.rows, 4, 16),
                     sum_cols = std::min<std::int64_t>(size.cols, 16);
  auto runner = CallRunner::load(device, implementation, {},
                                 {{"A", implementation.input, {sum_rows, sum_terms}},
                                  {"B", implementation.input, {sum_terms, sum_cols}},
                                  {}},
                                 {{"D", implementation.contract.precision.store, {sum_rows, sum_cols}}});
  if (!runner) return tl::unexpected(runner.error());
  Tensor &left = runner->input(0), &right = runner->input(1);
  FillRequest request;
  request.fill = Fill::uniform;
  request.seed = seed;
  request.reduction_length = sum_terms;
  request.accumulate = request.store = DType::i32;
  request.reduction_axis = 1;
  fill_tensor(left, request);
  request.role = FillRole::right;
  request.stream = 1;
  request.reduction_axis = 0;
  fill_tensor(right, request);
  for (std::int64_t k = 0; k < sum_terms; ++k) {
    for (const Planted row : {Planted::above, Planted::below, Planted::returning})
      left.set_value(static_cast<std::int64_t>(row) * sum_terms + k, planted_term(row, k));
    right.set_value(k * sum_cols, -128);  // column 0 meets them
  }
  const auto outputs = runner->run();
  if (!outputs) return tl::unexpected(outputs.error());

  ReductionFinding finding;
  finding.name = "sum over k of A B";
  finding.terms = sum_terms;
  finding.method = "sums inside and beyond int32";
  finding.revelation.outcome = Revelation::Outcome::any_order;
  // In fp64, which holds these sums exactly.
  const auto plain = make_exact_arithmetic();
  const Value sums = plain->matmul(plain->load(left), false, plain->load(right), false);
  std::int64_t wrong = 0;
  for (std::int64_t row = 0; row < sum_rows; ++row)
    for (std::int64_t col = 0; col < sum_cols; ++col) {
      const double sum = sums.v[static_cast<std::size_t>(row * sum_cols + col)], want = wrapped_i32(sum),
                   got = outputs->front().value(row * sum_cols + col);
      if (got == want) continue;
      if (++wrong == 1)
        finding.contradiction = fmt::format(
            "declared exact modulo 2^32; the sum {:.0f} at ({}, {}) came out as {:.0f}, not {:.0f}: {}", sum,
            row, col, got, want, guess(got, sum));
    }
  finding.revelation.questions = sum_rows * sum_cols;
  finding.agrees = wrong == 0;
  finding.revelation.why =
      wrong == 0 ? "exact in any order: integers, which wrap around modulo 2^32 where they leave int32"
                 : fmt::format("{} of {} sums are wrong", wrong, sum_rows * sum_cols);
  return finding;
}

}  // namespace parity
