#include "backends/cpu/planted_testing.hpp"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>

#include "harness/base/sanitized.hpp"
#include "references/op_table.hpp"

namespace parity::planted {

namespace {

/// Only the paths whose order is the simplest, and casts: enough for any case.
bool is_kept(const Implementation& implementation) {
  return implementation.path.starts_with("sequential_") || implementation.path.starts_with("from_") ||
         implementation.path.starts_with("exact_");
}

std::string path_of(const Case& c) {
  return c.input == DType::i8     ? "exact_i8_i32"
         : c.input == DType::f64  ? "sequential_f64"
         : c.input == DType::f16  ? "sequential_f16_f32"
         : c.input == DType::bf16 ? "sequential_bf16_f32"
                                  : "sequential_f32";
}

/// The sentences about one tensor (empty: about any).
std::string said_of(const Record& record, const std::string& tensor) {
  std::string text;
  for (const OutputRecord& output : record.outputs)
    if (tensor.empty() || output.tensor == tensor)
      for (const std::string& reason : output.judgement.reasons) text += reason + "; ";
  // What is not about a single output of a call: the record's own sentence, when it names the tensor.
  if (record.reason.find(tensor) != std::string::npos) text += record.reason;
  return text;
}

}  // namespace

std::string name_of(Order order) {
  return order == Order::confirmed ? "confirmed" : order == Order::broken ? "broken" : "withheld";
}

const std::string& finding_of(const Fault& fault, Order order) {
  return order == Order::confirmed ? fault.confirmed : order == Order::broken ? fault.broken : fault.withheld;
}

Workbench::Workbench() : ops_(make_op_table()), stages_(make_stage_table(ops_)) {}

Case Workbench::parsed(const std::string& text) const {
  const auto c = parse_case(text, stages_);
  EXPECT_TRUE(c) << text << ": " << c.error().message;
  return c ? *c : Case{};
}

std::vector<Case> Workbench::suite(const std::string& name) const {
  std::ifstream stream(std::string(PARITY_CASES) + "/" + name + ".txt");
  std::stringstream text;
  text << stream.rdbuf();
  const auto cases = parse_suite(text.str(), name, stages_);
  EXPECT_TRUE(cases) << cases.error().message;
  return cases ? *cases : std::vector<Case>{};
}

bool Workbench::uses(const Case& c, const std::string& op) const {
  const auto program = stages_.find(c.stage)->build(c);
  return program && std::ranges::find(program->calls, op, &OpCall::op) != program->calls.end();
}

Record Workbench::run(const Fault& fault, Order order, const Case& c, bool faulty) const {
  auto broken = std::make_shared<bool>(faulty && order == Order::broken);
  const auto cpu = make_cpu_backend(ops_)->devices();
  std::vector<HostPath> paths;
  for (Implementation implementation : cpu->front()->implementations()) {
    if (!is_kept(implementation)) continue;
    HostKernel kernel = emulated_kernel(ops_, implementation.replays.front());
    if (implementation.op == fault.op)
      kernel = [broken, healthy = kernel, mistaken = fault.kernel(ops_, implementation.replays.front())](
                   const OpCall& call, const Program& program, HostMemory& memory) {
        return (*broken ? mistaken : healthy)(call, program, memory);
      };
    if (order == Order::withheld) {
      implementation.knowledge = OrderKnowledge::unknown;
      implementation.replays.clear();
      implementation.contract.accumulation.reset();
    }
    paths.push_back({implementation, std::move(kernel)});
  }
  auto device = make_host_device({"host:0", "host", "planted", "", "", {}}, std::move(paths));
  Runner runner(ops_, stages_, *device,
                {.repeats = 2, .order_effects = false, .inputs = {}, .provenance = {}, .repro_suffix = {}});
  if (!faulty || order == Order::confirmed) {
    const Record healthy = runner.run(c, path_of(c));
    if (!faulty) return healthy;
  }
  *broken = true;
  return runner.run(c, path_of(c));
}

Record Workbench::run_healthy(const Fault& fault, Order order, const Case& c) const {
  return run(fault, order, c, false);
}
Record Workbench::run_faulty(const Fault& fault, Order order, const Case& c) const {
  return run(fault, order, c, true);
}

void expect_caught(const std::vector<Fault>& faults, Order order) {
  if (address_sanitized && order != Order::withheld)
    GTEST_SKIP() << "the kernels of `withheld` once more: slow under the sanitizer";
  const Workbench bench;
  std::map<std::string, std::vector<Case>> suites;
  for (const Fault& fault : faults) {
    SCOPED_TRACE(fault.name + ", order " + name_of(order));
    if (!suites.contains(fault.suite)) suites[fault.suite] = bench.suite(fault.suite);
    const std::vector<Case>& suite = suites[fault.suite];
    const Case c = bench.parsed(fault.case_text);
    EXPECT_NE(std::ranges::find(suite, c), suite.end()) << fault.case_text << " is not in " << fault.suite;
    const Record healthy = bench.run_healthy(fault, order, c);
    EXPECT_EQ(healthy.verdict, Verdict::pass) << "the healthy kernel: " << healthy.reason;

    const Record record = bench.run_faulty(fault, order, c);
    const std::string& finding = finding_of(fault, order);
    if (finding.empty()) {
      EXPECT_EQ(record.verdict, Verdict::pass) << "caught after all: " << record.reason;
      continue;
    }
    EXPECT_TRUE(record.verdict == Verdict::fail || record.verdict == Verdict::suspect)
        << fault.case_text << ": " << name_of(record.verdict);
    const std::string said = said_of(record, fault.where);
    EXPECT_NE(said.find(finding), std::string::npos)
        << fault.where << ": \"" << said << "\", not \"" << finding << "\"; the record: " << record.reason;
    const auto shows = [&](const Case& lower) {
      return bench.rung_of(lower) < bench.rung_of(c) && bench.uses(lower, fault.op) &&
             bench.run_faulty(fault, order, lower).verdict != Verdict::pass;
    };
    const auto lower = std::ranges::find_if(suite, shows);
    if (lower != suite.end())
      ADD_FAILURE() << "a lower rung shows it: " << print_case(*lower, bench.stages());
  }
}

}  // namespace parity::planted
