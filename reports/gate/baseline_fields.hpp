#pragma once
#include "reports/gate/baseline.hpp"
#include "reports/record_fields.hpp"

// The fields of a baseline, named once for writing and reading (record_fields.hpp).
namespace parity {

template <class A>
void record_fields(A& a, Fields<BaselineOutput> auto& s) {
  a.sparse("call", s.call);
  a.sparse("calls", s.calls, 1);
  a("op", s.op);
  a("path", s.path);
  a.sparse("port", s.port);
  a("tensor", s.tensor);
  a.sparse_bits("bits", s.bits);
  a("elements", s.elements);
  a.sparse("rms", s.rms);
  a.sparse("mean_signed", s.mean_signed);
  a.sparse("max_bound_ratio", s.max_bound_ratio);
  a.sparse("first_bin", s.first_bin);
  a.sparse("histogram", s.histogram);
}

template <class A>
void record_fields(A& a, Fields<BaselineCase> auto& s) {
  a("case", s.case_text);
  a("path", s.path);
  a("verdict", s.verdict);
  a.sparse("reason", s.reason);
  a.sparse("reproducible", s.reproducible);
  a.sparse("inputs", s.inputs);
  a.sparse("time_ratio", s.time_ratio);
  a.sparse("outputs", s.outputs);
}

template <class A>
void record_fields(A& a, Fields<Blessing> auto& s) {
  a("reason", s.reason);
  a("author", s.author);
  a("date", s.date);
  a("commit", s.commit);
  a("cases", s.cases);
}

/// The first line of the file: everything but the cases.
template <class A>
void record_fields(A& a, Fields<Baseline> auto& s) {
  a("backend", s.backend);
  a("device", s.device);
  a("driver", s.driver);
  a("blessings", s.blessings);
}

}  // namespace parity
