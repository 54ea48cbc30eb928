#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

#include "harness/ladder/record.hpp"

// The fields of a record, named once: writing and reading both walk these lists, so that they cannot
// disagree. An archive is called as archive("name", field); `bits` marks a bit pattern, `sparse` a field that
// is left out of the text while it has its usual value. Struct is the plain type, const when it is written.
namespace parity {

template <class E>
struct EnumEntry {
  E value;
  std::string_view name;
};
inline constexpr EnumEntry<AggregateFinding::Scope> scope_names[] = {
    {AggregateFinding::Scope::row, "row"},
    {AggregateFinding::Scope::column, "column"},
    {AggregateFinding::Scope::tile, "tile"},
    {AggregateFinding::Scope::tensor, "tensor"},
};
inline constexpr EnumEntry<AggregateFinding::Kind> kind_names[] = {
    {AggregateFinding::Kind::bias, "bias"},
    {AggregateFinding::Kind::magnitude, "magnitude"},
    {AggregateFinding::Kind::spread, "spread"},
};
inline constexpr EnumEntry<Rounding> rounding_names[] = {
    {Rounding::nearest_even, "nearest_even"},
    {Rounding::toward_zero, "toward_zero"},
};
constexpr const auto& enum_table(AggregateFinding::Scope) {
  return scope_names;
}
constexpr const auto& enum_table(AggregateFinding::Kind) {
  return kind_names;
}
constexpr const auto& enum_table(Rounding) {
  return rounding_names;
}

template <class E>
std::string_view enum_name(E value) {
  for (const auto& entry : enum_table(value))
    if (entry.value == value) return entry.name;
  return "?";
}
inline std::string_view enum_name(DType value) {
  return name_of(value);
}
inline std::string_view enum_name(Verdict value) {
  return name_of(value);
}

template <class E>
bool parse_enum(std::string_view text, E& value) {
  for (const auto& entry : enum_table(E{}))
    if (entry.name == text) return value = entry.value, true;
  return false;
}
inline bool parse_enum(std::string_view text, DType& value) {
  const auto found = parse_dtype(text);
  return found && (value = *found, true);
}
inline bool parse_enum(std::string_view text, Verdict& value) {
  const auto found = parse_verdict(text);
  return found && (value = *found, true);
}

template <class T, class Struct>
concept Fields = std::is_same_v<std::remove_const_t<T>, Struct>;

template <class A>
void record_fields(A& a, Fields<DeviceFact> auto& s) {
  a("group", s.group);
  a("name", s.name);
  a("value", s.value);
}

template <class A>
void record_fields(A& a, Fields<DeviceInfo> auto& s) {
  a("id", s.id);
  a("backend", s.backend);
  a("name", s.name);
  a("driver", s.driver);
  a("api", s.api);
  a("facts", s.facts);
}

template <class A>
void record_fields(A& a, Fields<Contract> auto& s) {
  a("store", s.store);
  a("exact", s.exact);
  a("order_known", s.order_known);
  a("store_rounding_known", s.store_rounding_known);
  a("store_rounding", s.store_rounding);
  a("store_rounds", s.store_rounds);
  a("alpha", s.alpha);
  a("untrusted_zero_fraction", s.untrusted_zero_fraction);
}

template <class A>
void record_fields(A& a, Fields<WorstElement> auto& s) {
  a("index", s.index);
  a("batch", s.batch);
  a("row", s.row);
  a("col", s.col);
  a("got", s.got);
  a("want", s.want);
  a("bound", s.bound);
  a("ratio", s.ratio);
  a.bits("got_bits", s.got_bits);
}

template <class A>
void record_fields(A& a, Fields<ErrorStatistics> auto& s) {
  a("elements", s.elements);
  a("nan", s.nan);
  a("inf", s.inf);
  a("unexpected_nonfinite", s.unexpected_nonfinite);
  a("missing_nan", s.missing_nan);
  a("unwritten", s.unwritten);
  a("zeros_want", s.zeros_want);
  a("max_abs", s.max_abs);
  a("mean_abs", s.mean_abs);
  a("mean_signed", s.mean_signed);
  a("rms", s.rms);
  a("max_relative", s.max_relative);
  a("relative_l2", s.relative_l2);
  a("norm_ratio", s.norm_ratio);
  a("nmse", s.nmse);
  a("cosine", s.cosine);
  a("cosine_worst_row", s.cosine_worst_row);
  a("max_bound_ratio", s.max_bound_ratio);
  a("max_hard_ratio", s.max_hard_ratio);
  a("outside_spread", s.outside_spread);
  a("outside_hard", s.outside_hard);
  a("ulp_quantiles", s.ulp_quantiles);
  a("ulp_histogram", s.ulp_histogram);
  a("worst", s.worst);
}

template <class A>
void record_fields(A& a, Fields<AggregateFinding> auto& s) {
  a("scope", s.scope);
  a("batch", s.batch);
  a("index", s.index);
  a("kind", s.kind);
  a("deviate", s.deviate);
}

template <class A>
void record_fields(A& a, Fields<ErrorLocation> auto& s) {
  a("pattern", s.pattern);
  a("wrong", s.wrong);
  a("first_row", s.first_row);
  a("last_row", s.last_row);
  a("first_col", s.first_col);
  a("last_col", s.last_col);
  a("first_batch", s.first_batch);
  a("last_batch", s.last_batch);
}

template <class A>
void record_fields(A& a, Fields<ReplayResult> auto& s) {
  a("attempted", s.attempted);
  a("model", s.model);
  a("confirmed", s.confirmed);
  a.sparse("revealed", s.revealed);
  a("compared", s.compared);
  a("equal", s.equal);
  a.sparse("elements", s.elements);
  a("note", s.note);
}

template <class A>
void record_fields(A& a, Fields<ErrorMap> auto& s) {
  a("rows", s.rows);
  a("columns", s.columns);
  a("cell_rows", s.cell_rows);
  a("cell_columns", s.cell_columns);
  a("ratios", s.ratios);
}

template <class A>
void record_fields(A& a, Fields<Judgement> auto& s) {
  a("verdict", s.verdict);
  a("reasons", s.reasons);
  a("statistics", s.statistics);
  a("aggregates", s.aggregates);
  a("worst_aggregate", s.worst_aggregate);
  a("location", s.location);
  a("replay", s.replay);
  a("map", s.map);
  a.sparse("predicted_ulp", s.predicted_ulp);
}

template <class A>
void record_fields(A& a, Fields<SampledCheck> auto& s) {
  a("rows", s.rows);
  a("of_rows", s.of_rows);
  a("integers", s.integers);
  a("vectors", s.vectors);
  a("segments", s.segments);
  a("flagged_rows", s.flagged_rows);
  a("flagged_columns", s.flagged_columns);
  a("largest_ratio", s.largest_ratio);
  a("rms_deviate", s.rms_deviate);
  a("certain_error", s.certain_error);
  a("typical_certain_error", s.typical_certain_error);
  a("element_bound", s.element_bound);
  a.sparse("refused", s.refused);
}

inline bool operator!=(const Power& a, const Power& b) {
  return a.seen != b.seen || a.missed != b.missed || a.void_mutants != b.void_mutants;
}
template <class A>
void record_fields(A& a, Fields<Power> auto& s) {
  a.sparse("seen", s.seen);
  a.sparse("missed", s.missed);
  a.sparse("void", s.void_mutants);
}

template <class A>
void record_fields(A& a, Fields<OutputRecord> auto& s) {
  a("call", s.call);
  a("op", s.op);
  a("path", s.path);
  a.sparse("port", s.port);
  a("tensor", s.tensor);
  a.sparse("calls", s.calls, 1);
  a("shape", s.shape);
  a("dtype", s.dtype);
  a.sparse_bits("bits", s.bits);
  a("contract", s.contract);
  a("judgement", s.judgement);
  a("sampled", s.sampled);
  a.sparse("power", s.power);
}

template <class A>
void record_fields(A& a, Fields<OrderSpread> auto& s) {
  a("results", s.results);
  a("elements", s.elements);
  a("bit_equal", s.bit_equal);
  a("differing", s.differing);
  a("first_differing", s.first_differing);
  a("nonfinite_differing", s.nonfinite_differing);
  a("max_range_ulp", s.max_range_ulp);
  a("rms_range_ulp", s.rms_range_ulp);
  a("rms_deviation_ulp", s.rms_deviation_ulp);
  a("max_range_sigma", s.max_range_sigma);
  a("rms_deviation_sigma", s.rms_deviation_sigma);
  a("predicted_elements", s.predicted_elements);
}

template <class A>
void record_fields(A& a, Fields<OrderExperiment> auto& s) {
  a("op", s.op);
  a("path", s.path);
  a("what", s.what);
  a("along", s.along);
  a("port", s.port);
  a("spread", s.spread);
}

template <class A>
void record_fields(A& a, Fields<OrderEffects> auto& s) {
  a("run_to_run", s.run_to_run);
  a("batch_invariance", s.batch_invariance);
  a("permutation", s.permutation);
  a("ensemble", s.ensemble);
  a.sparse("experiments", s.experiments);
  a("notes", s.notes);
}

template <class A>
void record_fields(A& a, Fields<DriftRecord> auto& s) {
  a("tensor", s.tensor);
  a.sparse("step", s.step);
  a("elements", s.elements);
  a("nonfinite", s.nonfinite);
  a("all_zero", s.all_zero);
  a("max_abs", s.max_abs);
  a("relative_l2", s.relative_l2);
  a("cosine", s.cosine);
  a("max_bound_ratio", s.max_bound_ratio);
}

template <class A>
void record_fields(A& a, Fields<Trajectory> auto& s) {
  a("tensor", s.tensor);
  a("device", s.device);
  a("reference", s.reference);
}

template <class A>
void record_fields(A& a, Fields<CallTime> auto& s) {
  a("op", s.op);
  a("path", s.path);
  a("calls", s.calls);
  a("device_seconds", s.device_seconds);
  a("reference_seconds", s.reference_seconds);
}

template <class A>
void record_fields(A& a, Fields<GuardDamage> auto& s) {
  a("tensor", s.tensor);
  a("byte_offset", s.byte_offset);
  a("bytes", s.bytes);
}

template <class A>
void record_fields(A& a, Fields<Rerun> auto& s) {
  a("verdict", s.verdict);
  a.sparse("reason", s.reason);
  a.sparse("max_bound_ratio", s.max_bound_ratio);
  a.sparse("seconds", s.seconds);
}

template <class A>
void record_fields(A& a, Fields<Provenance> auto& s) {
  a("commit", s.commit);
  a("version", s.version);
  a("flags", s.flags);
  a("compiler", s.compiler);
  a("started", s.started);
  a("inputs", s.inputs);
  a.sparse("profile", s.profile);
}

template <class A>
void record_fields(A& a, Fields<Record> auto& s) {
  a("case", s.case_text);
  a("rung", s.rung);
  a("stage", s.stage);
  a("path", s.path);
  a("verdict", s.verdict);
  a("reason", s.reason);
  a.sparse("notes", s.notes);
  a("repro", s.repro);
  a.sparse("last_words", s.last_words);
  a.sparse("reruns", s.reruns);
  a("outputs", s.outputs);
  a("guard_damage", s.guard_damage);
  a("input_hashes", s.input_hashes);
  a("order", s.order);
  a.sparse("drift", s.drift);
  a.sparse("trajectories", s.trajectories);
  a.sparse("call_times", s.call_times);
  a("device_seconds", s.device_seconds);
  a("host_seconds", s.host_seconds);
  a("judge_seconds", s.judge_seconds);
  a.sparse("reference_seconds", s.reference_seconds);
  a.sparse("case_seconds", s.case_seconds);
  a("flops", s.flops);
  a("bytes", s.bytes);
  a("provenance", s.provenance);
  a("device", s.device);
}

}  // namespace parity
