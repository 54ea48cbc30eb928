#include <fmt/core.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <map>

#include "harness/cli/commands.hpp"
#include "harness/cli/exit_code.hpp"
#include "harness/cli/interrupt.hpp"
#include "harness/cli/number_range.hpp"
#include "harness/cli/output.hpp"
#include "harness/cli/progress.hpp"
#include "harness/cli/resume.hpp"
#include "harness/cli/run_engine.hpp"
#include "harness/cli/run_output.hpp"
#include "harness/cli/run_profiles.hpp"
#include "harness/cli/run_shard.hpp"
#include "harness/cli/version.hpp"
#include "reports/failure_text.hpp"
#include "reports/order_text.hpp"
#include "reports/record_json.hpp"
#include "reports/statistics_text.hpp"
#include "reports/table.hpp"

namespace parity::cli {
namespace {

/// Failures printed in full as they come; the rest is in the table and the records.
constexpr int most_failures_shown = 20;

void show(const Record& record, bool json, int& failures, Progress& progress) {
  if (json) {
    print(to_json_line(record) + "\n");
    std::fflush(stdout);
    return;
  }
  if (record.verdict == Verdict::pass || record.verdict == Verdict::unsupported) return;
  if (++failures > most_failures_shown) return;
  progress.clear();
  print(failure_text(record) + "\n");
  if (failures == most_failures_shown)
    print("Further failures are not printed; --out DIR keeps them all.\n\n");
  std::fflush(stdout);
}

/// What stands before the records.
RunMark mark_of(const RunRequest& request, const PlanOutline& plan, const Assigned& assigned) {
  const Provenance program = provenance();
  RunMark mark;
  mark.cases = static_cast<std::int64_t>(assigned.items);
  if (assigned.shard) {
    mark.shard = static_cast<std::int64_t>(assigned.shard->number);
    mark.shards = static_cast<std::int64_t>(assigned.shard->of);
    mark.division = assigned.division;
  }
  if (request.cases.empty() && request.inputs.empty()) mark.suite = request.suite;
  mark.filter = fmt::format("{}", fmt::join(request.filter, " "));
  mark.path = request.path;
  mark.plan = identity_of(plan);
  mark.commit = program.commit;
  mark.version = program.version;
  mark.started = request.started;
  mark.settings = settings_text(request).substr(1);
  for (const PlanGroup& group : plan.groups) {
    std::string text =
        fmt::format("{} {}, driver {}", group.device.id, group.device.name, group.device.driver);
    if (std::find(mark.devices.begin(), mark.devices.end(), text) == mark.devices.end())
      mark.devices.push_back(std::move(text));
  }
  mark.resumes = !request.resume.empty();
  return mark;
}

/// One case on one path: every statistic and what the order of summation does, before the table.
std::string details(const Record& record) {
  std::string text = record.path + ": " + record.case_text + "\n";
  for (const OutputRecord& output : record.outputs) text += statistics_text(output);
  for (const std::string& note : record.notes) text += "  note: " + note + "\n";
  for (const std::string& line : order_lines(record.order)) text += "  " + line + "\n";
  return text + "\n";
}

int outcome(const std::vector<Record>& records, bool allow_flaky) {
  const RunSummary summary = summarise(records);
  if (summary.failed() > (allow_flaky ? summary.flaky : 0)) return contract_failed;
  return summary.judged() > 0 ? passed : nothing_judged;
}

int explain_empty(const RunRequest& request) {
  std::string what = request.filter.empty() ? "nothing to run" : "no case fits the filter";
  if (!request.filter.empty()) {
    what += " '";
    for (const std::string& word : request.filter)
      what += word + (&word == &request.filter.back() ? "'" : " ");
  }
  if (!request.path.empty()) what += fmt::format(", path {} in its precision", request.path);
  complain(what + "; `parity list` shows rungs, suites and paths");
  return nothing_judged;
}

/// A conformance run (the suite, or a file called so) leaves what is needed to argue about it later, the
/// devices' arithmetic included.
bool wants_profiles(const RunRequest& request) {
  return std::filesystem::path(request.suite).stem() == "conformance" && request.cases.empty() &&
         request.inputs.empty() && !request.in_process && !request.no_profile;
}

std::vector<std::string> devices_of(const PlanOutline& plan) {
  std::vector<std::string> ids;
  for (const PlanGroup& group : plan.groups)
    if (std::find(ids.begin(), ids.end(), group.device.id) == ids.end()) ids.push_back(group.device.id);
  return ids;
}

int run(const Context& context, RunRequest request) {
  if (request.devices == std::vector<std::string>{"ctest"}) {
    auto given = ctest_devices([](const char* name) { return std::getenv(name); });
    if (!given) return report(given.error());
    request.devices = *std::move(given);
  }
  // Arguments first, so that a wrong case text is said before any device is touched.
  if (request.inputs.empty())
    if (auto cases = read_cases(request, {}, context.stages); !cases) return report(cases.error());

  std::optional<Shard> shard;
  if (!request.shard.empty()) {
    auto parsed = parse_shard(request.shard, [](const char* name) { return std::getenv(name); });
    if (!parsed) return report(parsed.error());
    shard = *std::move(parsed);
  }

  auto engine = request.in_process ? open_here(context, request) : open_workers(context, request);
  if (!engine) return report(engine.error());
  const PlanOutline& plan = (*engine)->outline();
  for (const std::string& note : plan.notes) complain(note);
  if (plan.items.empty()) return explain_empty(request);

  // Before the first line is written: from there on an interrupt closes the records.
  catch_interrupts();
  auto assigned = assign_items(plan, shard, request.times);
  if (!assigned) return report(assigned.error());
  std::vector<ItemState>& states = assigned->states;
  if (shard)
    complain(fmt::format("shard {}, from {}: {} of {} cases", shard->text(), shard->source, assigned->items,
                         plan.items.size()));
  const RunMark mark = mark_of(request, plan, *assigned);
  // In the order of the plan, whichever device was first.
  std::map<std::size_t, Record> finished;
  std::optional<RunOutput> output;
  if (!request.out.empty() || !request.resume.empty()) {
    LoggedRecords earlier;
    auto opened = request.resume.empty() ? RunOutput::open(request.out, request.append)
                                         : RunOutput::reopen(request.resume, earlier);
    if (!opened) return report(opened.error());
    output.emplace(std::move(*opened));
    if (mark.resumes) {
      auto resumed = resume(earlier, mark, plan, request.resume);
      if (!resumed) return report(resumed.error());
      finished = std::move(resumed->recorded);
      if (!earlier.note.empty()) complain(earlier.note);
      complain(fmt::format("{} of {} cases are recorded; going on", finished.size(), assigned->items));
    }
    if (auto begun = output->begin(mark, finished.size()); !begun) return report(begun.error());
  }
  for (const auto& [item, record] : finished)
    states[item] = record.verdict == Verdict::pass ? ItemState::passed : ItemState::left_alone;

  std::optional<Error> unwritten, given_up;
  {
    Progress progress(assigned->items);
    int failures = 0;
    std::size_t begun = finished.size();
    RunSink sink;
    sink.begun = [&](std::size_t item) {
      const PlanItem& entry = plan.items[item];
      progress.begin(++begun, fmt::format("{} {} {}", plan.device_of(entry).id, entry.path, entry.text));
    };
    sink.finished = [&](std::size_t item, Record record) {
      const Record& kept = finished.emplace(item, std::move(record)).first->second;
      if (output && !unwritten)
        if (auto written = output->append(kept); !written) unwritten = written.error();
      show(kept, request.json, failures, progress);
      return !unwritten;
    };
    sink.stopping = [] { return interrupted() != 0; };
    sink.about_to_print = [&] { progress.clear(); };
    if (auto ran = (*engine)->run(states, sink); !ran) given_up = ran.error();
  }
  std::vector<Record> records;
  for (auto& [item, record] : finished) records.push_back(std::move(record));
  const bool complete = records.size() == assigned->items;
  if (output && !unwritten && complete && wants_profiles(request))
    leave_profiles(context, devices_of(plan), output->directory(), request.timeout_seconds);
  if (output && !unwritten)
    if (auto closed = output->finish(complete); !closed) unwritten = closed.error();
  std::vector<std::string> missing;
  if (!complete) missing.push_back(fmt::format("{} of {} cases were run", records.size(), assigned->items));
  if (!request.json && records.size() == 1 && !records.front().outputs.empty())
    print(details(records.front()));
  if (!request.json)
    print(to_table(summarise(records, request.each_case ? Rows::per_case : Rows::per_path),
                   {colour_wanted(), missing}));
  if (request.json)
    if (const std::string why = why_nothing_judged(summarise(records)); !why.empty()) complain(why);
  if (!request.json && output && !unwritten)
    print(fmt::format("Records, JUnit, summary and page: {}\n", output->directory().string()));
  if (unwritten) return report(*unwritten);
  if (given_up) return report(*given_up);
  if (interrupted() && !complete) {
    complain(fmt::format("interrupted after {} of {} cases", records.size(), assigned->items));
    return 128 + interrupted();
  }
  return outcome(records, request.allow_flaky);
}

/// `--out "$DIR"` with DIR unset is a mistake, not a run without records.
std::string not_empty(const std::string& text) {
  return text.empty() ? "the value is empty" : "";
}

}  // namespace

void add_run_command(CLI::App& app, Context& context) {
  auto request = std::make_shared<RunRequest>();
  CLI::App* command =
      app.add_subcommand("run", "Climbs the ladder: runs cases on devices and judges every element");
  command->add_option(
      "filter", request->filter,
      "Words, each of which must stand somewhere in 'rung path case' (* and ? stand for any characters)");
  command
      ->add_option("-d,--device", request->devices,
                   "An id (vulkan:0), a backend (vulkan) or a part of the name; several times; default: all. "
                   "ctest: those that CTest's resource allocation gave to this test")
      ->allow_extra_args(false)
      ->check(not_empty);
  command
      ->add_option(
          "-p,--path", request->path,
          "Only this kernel path, for example tiled_f32; it is never replaced by another. `parity list` "
          "names them")
      ->check(not_empty);
  command->add_option("-s,--suite", request->suite, "smoke, ladder, conformance or a file of case patterns")
      ->check(not_empty)
      ->capture_default_str();
  command
      ->add_option("-c,--case", request->cases,
                   "A case text or pattern instead of a suite, for example 'gemm m=64 n=63 k=588 in=f16'; "
                   "several times")
      ->allow_extra_args(false)
      ->check(not_empty);
  command->add_option("--seed", request->seed, "Seed of every case, in place of its own: a whole number")
      ->check(not_empty);
  command
      ->add_option(
          "-i,--input", request->inputs,
          "A tensor of your own in place of a fill: NAME=FILE.npy or NAME=FILE.safetensors:TENSOR; the "
          "case's dimensions and in= follow from it; several times")
      ->allow_extra_args(false);
  command
      ->add_option("--nan", request->nan,
                   "A NaN in --input: reject it as a mistake, or allow it and judge who may become NaN")
      ->check(CLI::IsMember({"reject", "allow"}))
      ->capture_default_str();
  command
      ->add_option("-o,--out", request->out,
                   "Directory for records.jsonl (written as cases finish), junit.xml, summary.md and "
                   "page.html")
      ->check(not_empty);
  command
      ->add_flag(
          "--append", request->append,
          "Add to the records of earlier runs in that directory; what an interrupted one lacks counts as "
          "there once the same run has got to its end")
      ->needs("--out");
  command
      ->add_option("--resume", request->resume,
                   "Go on with the run that was killed or interrupted in this directory, given the arguments "
                   "that it was begun with: what is recorded is not run again")
      ->excludes("--out")
      ->check(not_empty);
  command
      ->add_option(
          "--shard", request->shard,
          "Run one of several parts of the plan, 1/4 to 4/4; auto: as GoogleTest, Slurm job arrays or "
          "Kubernetes indexed jobs (auto/4: with the total) say in the environment. `parity report` "
          "merges the records")
      ->check(not_empty);
  command
      ->add_option("--times", request->times,
                   "Records of an earlier run, by whose times the shards are balanced; the same file for all")
      ->needs("--shard")
      ->check(not_empty);
  command
      ->add_option("--reference", request->reference,
                   "What a result is compared with. full: a reference of every "
                   "element. sampled: matrix "
                   "products by sampled rows and a check of all sums. auto: "
                   "sampled where the full reference "
                   "would exceed 3e11 operations; the record says so")
      ->check(CLI::IsMember({"auto", "full", "sampled"}))
      ->capture_default_str();
  command
      ->add_option("--profile", request->profiles,
                   "profile.json of `parity probe` for a device of this run; several times. What it measured "
                   "over all arguments tightens the contracts of the device's own kernels; one of another "
                   "device or driver is refused")
      ->allow_extra_args(false)
      ->check(not_empty);
  command->add_option("--repeats", request->repeats, "Runs of each case, compared bit by bit")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command
      ->add_option(
          "--rerun", request->rerun,
          "Run a case that failed again, at most so many times. One that passes then is flaky: it stays a "
          "failure, and the record says what each run gave")
      ->check(CLI::Range(0, 100));
  command
      ->add_flag(
          "--allow-flaky", request->allow_flaky,
          "Exit code as if flaky cases had passed; records and reports call them failures all the same")
      ->needs("--rerun");
  command->add_flag("--no-order-effects", request->no_order_effects,
                    "Do not measure what the order of summation does (rows alone, permuted sums, emulated "
                    "orders): quicker");
  command->add_flag("--no-profile", request->no_profile,
                    "Suite conformance, or a file conformance.txt: do not leave profile.json and .md of each "
                    "device in the directory (as of parity probe --only profile --sample 64)");
  command->add_flag("--reveal", request->reveal,
                    "Ask the device for the order of every product that no candidate of a vendor's path "
                    "explains, with products of the same shape, and replay the result in it: bits instead of "
                    "bounds, for some seconds a shape");
  command->add_flag(
      "--validate", request->validate,
      "Vulkan: with the validation layer (and its synchronization validation), whose messages are "
      "failures; slow");
  command
      ->add_option("--max-flops", request->max_flops,
                   "Leave out cases with more operations than that in a run (1e10), for slow devices; the "
                   "run says how many")
      ->check(number_in(1.0, 1e300));
  command
      ->add_option("--timeout", request->timeout_seconds,
                   "Seconds that one run of a case may take on a device; then its verdict is timeout")
      ->check(number_in(0.001, 86400.0))
      ->capture_default_str();
  command
      ->add_option("--case-timeout", request->case_timeout_seconds,
                   "Seconds that a case may take with all that belongs to it; then its worker process is "
                   "killed and its verdict is timeout (default: 600 and 10 times --timeout)")
      ->check(number_in(0.001, 8640000.0));
  command->add_flag("--in-process", request->in_process,
                    "Run the cases in this process instead of a worker process a device: for debuggers. A "
                    "driver that crashes or hangs then takes the run with it");
  command->add_flag("--each-case", request->each_case, "A row a case in the table, instead of a row a path");
  command->add_flag("--json", request->json,
                    "Records as JSON lines on standard output, for programs; no table");
  command->add_flag("--git", request->git,
                    "Exit codes for `git bisect run`: 0 good, 1 bad, 125 cannot be judged (docs/bisect.md)");
  command->footer(
      "Each case is one text, which gives the same bits of input on any machine: the repro line of a "
      "failure.\n"
      "  gemm m=64 n=63 k=588 ta=t in=f16 acc=f32 out=f16 fill=cancelling seed=7\n"
      "A pattern may hold lists and ranges: gemm m={1,17,64} n=64 k={1..4}\n"
      "\n"
      "Examples:\n"
      "  parity run --suite smoke --device vulkan\n"
      "  parity run gemm 'fill=integer' --path tiled_f32\n"
      "  parity run linear --input X=x.npy --input W=model.safetensors:mlp.up.weight\n"
      "  parity run --case 'gemm tb=t in=f16' --input A=x.npy --input B=w.npy      (converted, and said)\n"
      "\n"
      "Exit codes: 0 every judged case passed; 1 a contract failed (fail, suspect, crash, timeout); 2 bad "
      "usage or\n"
      "input; 3 the device is not here; 4 nothing was judged; 5 the harness failed; 130, 143 interrupted "
      "(the\n"
      "running case is finished and the summaries are written).");
  command->callback([&context, request] {
    request->started = provenance().started;
    const int code = run(context, *request);
    context.exit_code = request->git ? for_git(code) : code;
  });
}

}  // namespace parity::cli
