#include "harness/ladder/sampled_judge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/ladder/power.hpp"
#include "harness/ladder/product_op.hpp"
#include "harness/ladder/product_part.hpp"
#include "harness/numerics/freivalds.hpp"
#include "harness/numerics/freivalds_modular.hpp"

namespace parity {
namespace {

constexpr std::int64_t most_columns = 8;  ///< compared because of a finding

/// Freivalds' check of every batch entry, rows and columns.
struct Checks {
  FreivaldsReport rows, columns;  ///< worst figures and all findings
  std::string refused;            ///< why it could not be applied
};

void merge(FreivaldsReport& into, const FreivaldsReport& from, bool first) {
  if (first) {
    into = from;
    return;
  }
  into.findings.insert(into.findings.end(), from.findings.begin(), from.findings.end());
  into.flagged_rows += from.flagged_rows;
  into.unsummed_rows += from.unsummed_rows;
  into.nonfinite += from.nonfinite, into.not_integer += from.not_integer;
  into.largest_ratio = std::max(into.largest_ratio, from.largest_ratio);
  into.rms_deviate = std::max(into.rms_deviate, from.rms_deviate);
  into.certain_error = std::max(into.certain_error, from.certain_error);
}

FreivaldsSettings settings_for(std::uint64_t seed, std::int64_t batch) {
  FreivaldsSettings settings;
  settings.seed = seed + static_cast<std::uint64_t>(batch);
  return settings;
}

Result<Checks> run_checks(const ProductOp& op, const CallResult& result, const ArithmeticModel& model,
                          const Contract& contract, std::uint64_t seed) {
  Checks checks;
  const std::int64_t batches = dimension(result.got->shape(), 2);
  for (std::int64_t batch = 0; batch < batches; ++batch) {
    const ProductForm form = op.product_form(*result.attributes, result.inputs, batch);
    const StoredMatrix got = stored_matrix(*result.got, batch, false);
    FreivaldsSettings settings = settings_for(seed, batch);
    auto rows = freivalds_rows(form, got, model, contract, settings);
    settings.segments = 1;  // columns only serve to find the place
    auto columns = rows ? freivalds_rows(form.transposed(), got.transposed(), model, contract, settings)
                        : Result<FreivaldsReport>(tl::unexpected(rows.error()));
    if (!columns && columns.error().kind != ErrorKind::unsupported) return tl::unexpected(columns.error());
    if (!columns) {
      checks.refused = columns.error().message;
      return checks;
    }
    merge(checks.rows, *rows, batch == 0);
    merge(checks.columns, *columns, batch == 0);
  }
  return checks;
}

/// What both judgements of parts need.
struct Subject {
  const CallResult& result;
  Arithmetic& tracked;
  const Contract& contract;
  const std::vector<ArithmeticModel>& models;  ///< that explain single elements
};

Result<Judgement> judge_part(const Subject& subject, const Part& part, const ReplayResult& replay) {
  const Shape& shape = subject.result.got->shape();
  const auto rows = chosen_or_all(part.rows, dimension(shape, 1)),
             cols = chosen_or_all(part.cols, dimension(shape, 0));
  auto got = part_of(*subject.result.got, part);
  if (!got) return tl::unexpected(got.error());
  auto want = reference_of(subject.result, subject.tracked, part);
  if (!want) return tl::unexpected(want.error());
  const auto in_whole = [&](std::int64_t index) {
    const std::int64_t col = index % want->cols, row = index / want->cols % want->rows;
    const std::int64_t batch = index / want->cols / want->rows;
    return (batch * dimension(shape, 1) + rows[static_cast<std::size_t>(row)]) * dimension(shape, 0) +
           cols[static_cast<std::size_t>(col)];
  };
  Judgement judgement = judge(*got, *want, subject.contract, replay,
                              [&](const std::vector<std::int64_t>& elements) {
                                std::vector<std::int64_t> mapped;
                                for (const std::int64_t e : elements) mapped.push_back(in_whole(e));
                                return replay_single_elements(subject.result, subject.models, mapped);
                              },
                              {part.rows, part.cols});
  add_pictures(judgement, *got, *want, subject.contract);
  return judgement;
}

/// The rows that findings point at, worst first, at most `most`.
std::vector<std::int64_t> pointed_at(const FreivaldsReport& report, std::int64_t most) {
  std::vector<std::int64_t> rows;
  for (const FreivaldsFinding& f : report.findings)
    if (static_cast<std::int64_t>(rows.size()) < most && std::ranges::find(rows, f.row) == rows.end())
      rows.push_back(f.row);
  return rows;
}

std::string describe(const FreivaldsFinding& f, bool column) {
  if (std::isinf(f.residual)) return fmt::format("{} {}", column ? "column" : "row", f.row);
  return fmt::format("{} {}, {} {} to {}: {:.4g} where {:.4g} is allowed", column ? "column" : "row", f.row,
                     column ? "rows" : "columns", f.first_col, f.last_col, f.residual, f.threshold);
}

SampledCheck summary_of(const Checks& checks, std::int64_t rows, std::int64_t of_rows) {
  SampledCheck out;
  out.rows = rows;
  out.of_rows = of_rows;
  out.refused = checks.refused;
  if (!checks.refused.empty()) return out;
  out.integers = checks.rows.integers;
  out.vectors = checks.rows.vectors;
  out.segments = checks.rows.segments;
  out.flagged_rows = checks.rows.flagged_rows;
  out.flagged_columns = checks.columns.flagged_rows;
  out.largest_ratio = std::max(checks.rows.largest_ratio, checks.columns.largest_ratio);
  out.rms_deviate = checks.rows.rms_deviate;
  out.certain_error = checks.rows.certain_error;
  out.typical_certain_error = checks.rows.typical_certain_error;
  out.element_bound = checks.rows.element_bound;
  return out;
}

/// Mutants of the compared rows, by the element contract; then one row that nobody compares, dropped and
/// without its last terms, by what it moves the residuals of Freivalds' check by.
Result<Power> measure_sampled_power(const Subject& subject, const Part& compared, ReplayResult replay,
                                    const Checks& checks, std::uint64_t seed) {
  const CallResult& result = subject.result;
  const Shape& shape = result.got->shape();
  const std::int64_t height = dimension(shape, 1), width = dimension(shape, 0);
  const Part part{compared.rows, choose_indices(width, panel_columns, seed)};
  std::vector<Tensor> held;
  auto call = restricted(result, part, held);
  if (!call) return tl::unexpected(call.error());
  auto got = part_of(*result.got, part);
  if (!got) return tl::unexpected(got.error());
  const auto want = reference_of(result, subject.tracked, part);
  if (!want) return tl::unexpected(want.error());
  call->got = &*got;
  // Where a sample has the bits of a confirmed order, a mutant of the whole result changes the sample.
  if (replay.confirmed && replay.all_equal()) replay.compared = replay.equal = want->size();
  Power power = measure_power(*call, *want, subject.contract, replay);

  std::int64_t row = height / 2;
  const auto is_compared = [&](std::int64_t r) { return std::ranges::binary_search(compared.rows, r); };
  while (row < height && is_compared(row)) ++row;
  if (row == height) return power;
  std::vector<double> changes(static_cast<std::size_t>(width));
  const auto note = [&](std::string name) {
    if (std::ranges::all_of(changes, [](double x) { return x == 0; }))
      return power.void_mutants.push_back(std::move(name));
    const double certain =
        checks.rows.integers ? 0 : checks.rows.row_certain.at(static_cast<std::size_t>(row));
    const FreivaldsSettings settings = settings_for(seed, 0);
    const bool seen = checks.rows.modular ? modular_check_sees(changes, settings.seed)
                                          : freivalds_shift(changes, settings) > certain;
    (seen ? power.seen : power.missed).push_back(std::move(name));
  };
  for (std::int64_t j = 0; j < width; ++j) {
    const double value = result.got->value(row * width + j);
    changes[static_cast<std::size_t>(j)] = std::isfinite(value) ? -value : 0;
  }
  note("a row that is not compared dropped");

  const Part line{{row}, choose_indices(width, panel_columns, seed)};
  auto whole = restricted(result, line, held);
  if (!whole) return tl::unexpected(whole.error());
  const auto exact = make_exact_arithmetic();
  for (const LostTail& lost : lost_tails(*whole)) {
    const auto cut = without_last_units(*whole->inputs[lost.axis.port], lost.axis, lost.count);
    if (!cut) return tl::unexpected(cut.error());
    PortTensors ports = whole->inputs;
    const auto before = whole->op->evaluate(*exact, *whole->attributes, ports);
    ports[lost.axis.port] = &*cut;
    const auto after = whole->op->evaluate(*exact, *whole->attributes, ports);
    if (!before) return tl::unexpected(before.error());
    if (!after) return tl::unexpected(after.error());
    std::ranges::fill(changes, 0.0);
    for (std::size_t j = 0; j < line.cols.size(); ++j)
      changes[static_cast<std::size_t>(line.cols[j])] = after->front().v[j] - before->front().v[j];
    note(fmt::format("{} in a row that is not compared", lost.name));
  }
  return power;
}

/// What the check says beyond the compared elements.
void conclude(const Checks& checks, std::size_t compared_rows, Judgement& judgement) {
  const auto add = [&](Verdict verdict, std::string reason) {
    judgement.verdict = worse(judgement.verdict, verdict);
    judgement.reasons.push_back(std::move(reason));
  };
  if (!checks.refused.empty()) {
    if (judgement.verdict == Verdict::pass)
      add(Verdict::untrusted,
          "only sampled rows were compared, all within "
          "contract; the rest is unknown: " +
              checks.refused);
    return;
  }
  const FreivaldsReport& rows = checks.rows;
  if (rows.flagged_rows > 0 && judgement.verdict != Verdict::pass)
    judgement.reasons.push_back(fmt::format("Freivalds' check points at {} of {} rows, the worst {}",
                                            rows.flagged_rows, rows.rows,
                                            describe(rows.findings.front(), false)));
  if (judgement.verdict != Verdict::pass) return;
  for (const auto* report : {&checks.rows, &checks.columns})
    for (const FreivaldsFinding& f : report->findings)
      if (f.certain)
        return add(Verdict::fail, fmt::format("the sums of the result are wrong, though its "
                                              "compared elements "
                                              "are within contract: {}",
                                              describe(f, report == &checks.columns)));
  const auto compared = static_cast<std::int64_t>(compared_rows);
  if (rows.unsummed_rows > compared && rows.flagged_rows == rows.unsummed_rows)
    return add(Verdict::untrusted,
               fmt::format("{} rows hold infinite or NaN elements, which Freivalds' check cannot sum; the {} "
                           "of them that were compared are within contract, the rest is unknown: use the "
                           "full reference",
                           rows.unsummed_rows, compared));
  if (rows.flagged_rows > compared)
    add(Verdict::suspect, fmt::format("Freivalds' check points at {} rows; the worst {} were "
                                      "compared and are "
                                      "within contract, the others are not explained",
                                      rows.flagged_rows, compared_rows));
}

}  // namespace

bool judges_by_sample(const OpTable& ops, const Program& program, ReferenceKind kind) {
  if (kind == ReferenceKind::full || program.calls.size() != 1) return false;
  const OpCall& call = program.calls.front();
  const Op* op = ops.find(call.op);
  if (op == nullptr || as_product(*op, call.attributes) == nullptr) return false;
  if (program.spec(call.outputs.front()).shape.size() < 2) return false;
  return kind == ReferenceKind::sampled || op->work(call, program).flops > most_reference_flops;
}

double sampled_bytes_needed(const Program& program, int repeats) {
  // Inputs: as filled, as written, a copy while the device's are compared, and
  // one the device may hold. Results: poison, every run's, one being read. Then
  // sketches, panels and the arrays of the sampled rows.
  double bytes = 0, longest = 1;
  for (const TensorSpec& spec : program.tensors) {
    double stored = 1;
    for (std::size_t d = 0; d < spec.shape.size(); ++d) {
      stored += static_cast<double>(std::max<std::int64_t>(0, spec.shape[d] - 1)) *
                static_cast<double>(d < spec.strides.size() ? spec.strides[d] : 1);
      longest = std::max(longest, static_cast<double>(spec.shape[d]));
    }
    const bool input = spec.role == TensorSpec::Role::input || spec.role == TensorSpec::Role::state;
    bytes += (input ? 4 : repeats + 3) * stored * static_cast<double>(size_of(spec.dtype));
  }
  return bytes + longest * (12 * 256 + 6.0 * panel_columns + 16.0 * 2 * sampled_rows) * sizeof(double);
}

Result<std::vector<OutputRecord>> judge_call_sampled(const FinishedCall& call, Confirmations& confirmations) {
  const OpCall& op_call = call.program->calls[call.index];
  CallResult result = result_of(call);
  const TensorId id = op_call.outputs.front();
  const Tensor& got = call.results->at(id);
  result.got = &got;
  const ProductOp* product = as_product(*call.op, op_call.attributes);
  if (product == nullptr) return fail(ErrorKind::internal, op_call.op + " is no product");
  const auto known = confirmations.of(*call.implementation);
  if (!known) return tl::unexpected(known.error());

  ArithmeticModel model = call.implementation->contract;
  model.precision.store = got.dtype();
  OutputRecord record = output_record(call, 0);
  record.contract = derive_contract(model, got.dtype(), call.exact);
  if (!call.exact || call.op->reduction_length(op_call, *call.program) == 0)
    record.contract.untrusted_zero_fraction = 1;
  auto checks = run_checks(*product, result, model, record.contract, call.seed);
  if (!checks) return tl::unexpected(checks.error());

  const std::int64_t height = dimension(got.shape(), 1);
  Part sample;
  sample.rows = choose_indices(height, sampled_rows, call.seed);
  const std::vector<std::int64_t> pointed = pointed_at(checks->rows, sampled_rows);
  sample.rows.insert(sample.rows.end(), pointed.begin(), pointed.end());
  std::ranges::sort(sample.rows);
  sample.rows.erase(std::unique(sample.rows.begin(), sample.rows.end()), sample.rows.end());

  const auto tracked = make_tracked_arithmetic(model);
  const std::vector<ArithmeticModel> models = explaining_models(*call.implementation, **known);
  const Subject subject{result, *tracked, record.contract, models};
  auto judged = judge_part(subject, sample, replay_output(result, call, **known));
  if (!judged) return tl::unexpected(judged.error());
  // A column is off and no row shows it: its elements are compared, all of
  // them.
  if (judged->verdict == Verdict::pass && !checks->columns.findings.empty()) {
    auto columns = judge_part(subject, {{}, pointed_at(checks->columns, most_columns)}, judged->replay);
    if (!columns) return tl::unexpected(columns.error());
    if (columns->verdict != Verdict::pass) judged = *std::move(columns);
  }
  record.judgement = *std::move(judged);
  conclude(*checks, pointed.size(), record.judgement);
  if (call.power && record.judgement.verdict == Verdict::pass && got.elements() > 0) {
    auto power = measure_sampled_power(subject, sample, record.judgement.replay, *checks, call.seed);
    if (!power) return tl::unexpected(power.error());
    record.power = *std::move(power);
    distrust_powerless(record.power, record.judgement);
  }
  record.sampled = summary_of(*checks, static_cast<std::int64_t>(sample.rows.size()), height);
  std::vector<OutputRecord> records;
  records.push_back(std::move(record));
  return records;
}

}  // namespace parity
