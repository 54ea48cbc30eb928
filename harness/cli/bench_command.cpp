#include <fmt/core.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "bench/crossover.hpp"
#include "bench/host_baseline.hpp"
#include "harness/base/nearest.hpp"
#include "harness/cli/backend_loader.hpp"
#include "harness/cli/commands.hpp"
#include "harness/cli/exit_code.hpp"
#include "harness/cli/interrupt.hpp"
#include "harness/cli/number_range.hpp"
#include "harness/cli/output.hpp"
#include "harness/ladder/assignment.hpp"
#include "harness/ladder/runner.hpp"

namespace parity::cli {
namespace {

struct BenchOptions {
  std::vector<std::string> rungs, devices;
  std::string path;
  std::int64_t batch = 32, least = 16, most = 1024;
  double seconds = 0.25, timeout_seconds = 60;
};

/// A rung with a CPU baseline: its case of size n, and the op whose paths vary.
struct BenchedRung {
  std::string_view name, op, shape, text;
};
constexpr std::array rungs = {
    BenchedRung{"gemm", "gemm", "m = n = k = n", "gemm m={0} n={0} k={0} in={2} acc={3} out={4}"},
    BenchedRung{"gru_cell", "linear", "batch = {}, inputs = hidden = n",
                "gru_cell batch={1} inputs={0} hidden={0} in={2} acc={3} out={4}"},
};

/// 16, 24, 32, 48, 64, ...: the powers of two and what lies half-way.
std::vector<std::int64_t> sizes_between(std::int64_t least, std::int64_t most) {
  std::vector<std::int64_t> sizes;
  for (std::int64_t power = 1; power <= most; power *= 2)
    for (const std::int64_t size : {power, power + power / 2})
      if (size >= least && size <= most && (sizes.empty() || size > sizes.back())) sizes.push_back(size);
  return sizes;
}

/// One path of one device on one rung, over the sizes.
struct Work {
  Device* device;
  const BenchedRung* rung;
  std::string path;
  DType input, accumulate, store;
};

std::string case_text(const Work& work, std::int64_t size, std::int64_t batch) {
  return fmt::format(fmt::runtime(work.rung->text), size, batch, name_of(work.input),
                     name_of(work.accumulate), name_of(work.store));
}

/// The paths of the op that varies, in their own precision, the store in fp32 where they can. fp64 has no
/// baseline in fp32.
std::vector<Work> work_on(Device& device, const BenchedRung& rung, const Context& context,
                          const BenchOptions& options) {
  std::vector<Work> all;
  for (const Implementation& implementation : device.implementations()) {
    if (implementation.op != rung.op || implementation.input == DType::f64 || implementation.stores.empty())
      continue;
    if (!options.path.empty() && implementation.path != options.path) continue;
    const auto& stores = implementation.stores;
    const bool f32 = std::ranges::find(stores, DType::f32) != stores.end();
    Work work{&device,
              &rung,
              implementation.path,
              implementation.input,
              implementation.accumulate,
              f32 ? DType::f32 : stores.front()};
    const auto c = parse_case(case_text(work, options.least, options.batch), context.stages);
    if (!c) continue;
    const auto program = context.stages.find(rung.name)->build(*c);
    if (!program) continue;
    // Of paths that come to the same kernels the first.
    const auto paths = assignable_paths(device, *program);
    if (std::ranges::find(paths, work.path) != paths.end()) all.push_back(std::move(work));
  }
  return all;
}

/// Why a path is not worth timing: its results are wrong, or it cannot take the case. Empty when it passes.
std::string contract_note(const Work& work, const Context& context, const BenchOptions& options) {
  const std::int64_t size = std::clamp<std::int64_t>(64, options.least, options.most);
  const auto c = parse_case(case_text(work, size, options.batch), context.stages);
  if (!c) return c.error().message;
  RunOptions run;
  run.repeats = 1;
  run.order_effects = false;
  const Record record = Runner(context.ops, context.stages, *work.device, run).run(*c, work.path);
  if (record.verdict == Verdict::pass) return "";
  return fmt::format("{}: {}{}", name_of(record.verdict), record.reason,
                     record.verdict == Verdict::unsupported ? "" : fmt::format("; {}", record.repro));
}

CrossoverRun measure(const Work& work, const Context& context, const BenchOptions& options) {
  CrossoverRun run;
  run.device = work.device->info();
  run.stage = work.rung->name;
  run.path = work.path;
  run.shape = fmt::format(fmt::runtime(work.rung->shape), options.batch);
  run.precision = fmt::format("in {}, acc {}, out {}", name_of(work.input), name_of(work.accumulate),
                              name_of(work.store));
  run.note = contract_note(work, context, options);
  if (!run.note.empty()) return run;
  for (const std::int64_t size : sizes_between(options.least, options.most)) {
    if (interrupted()) break;
    const auto c = parse_case(case_text(work, size, options.batch), context.stages);
    if (!c) {
      run.note = c.error().message;
      break;
    }
    const auto times = time_case(*work.device, *context.stages.find(work.rung->name), *c, work.path, size);
    if (!times) {
      run.note += fmt::format("{}n = {}: {}", run.note.empty() ? "" : "\n  ", size, times.error().message);
      // A path may refuse one size and take the next.
      if (times.error().kind == ErrorKind::unsupported) continue;
      break;
    }
    run.times.push_back(*times);
    if (const double slowest = std::max(times->round_trip, times->host);
        slowest > options.seconds && size < options.most) {
      run.note += fmt::format("{}Stopped at n = {}: one run takes {:.2g} s (--seconds).",
                              run.note.empty() ? "" : "\n  ", size, slowest);
      break;
    }
  }
  return run;
}

std::string device_line(const DeviceInfo& info) {
  const bool software = info.backend == "cpu" || std::ranges::any_of(info.facts, [](const DeviceFact& fact) {
                          return fact.name == "device_type" && fact.value == "CPU";
                        });
  return fmt::format(
      "{}  {}  ({}, {}){}\n", info.id, info.name, info.driver, info.api,
      software ? "\n  a device in software: it runs on the same processor as the baseline" : "");
}

/// A warning when others use the processor, whose times then say nothing. Empty otherwise.
std::string load_text() {
  double load = 0;
  if (::getloadavg(&load, 1) != 1 || load < 0.5 * host_threads()) return "";
  return fmt::format(
      "The processor is busy (load average {:.2g}): the CPU's times are too long, and no crossover is "
      "to be trusted.\n",
      load);
}

int run(const Context& context, const BenchOptions& options) {
  std::vector<const BenchedRung*> wanted;
  for (const BenchedRung& rung : rungs)
    if (options.rungs.empty() || std::ranges::find(options.rungs, rung.name) != options.rungs.end())
      wanted.push_back(&rung);
  for (const std::string& name : options.rungs)
    if (std::ranges::none_of(rungs, [&](const BenchedRung& rung) { return rung.name == name; })) {
      std::vector<std::string_view> known;
      for (const BenchedRung& rung : rungs) known.push_back(rung.name);
      complain(fmt::format("there is no CPU baseline for '{}'{}; there is one for gemm and for gru_cell",
                           name, suggestion(name, known)));
      return bad_usage;
    }
  if (options.least > options.most) {
    complain(fmt::format("--min-size {} is larger than --max-size {}", options.least, options.most));
    return bad_usage;
  }
  const BackendSet backends = load_backends(context.ops, {.timeout_seconds = options.timeout_seconds},
                                            context.backend_directory, backends_for(options.devices));
  const auto devices = select_devices(backends, options.devices);
  if (!devices) return report(devices.error());

  catch_interrupts();
  print(fmt::format(
      "Medians. device: by its own clock; round trip: from submitting to the end, every tensor on the device "
      "already.\nCPU: the same in {}, on one thread or on all {}, whichever is faster.\n{}\n",
      host_baseline_text(), host_threads(), load_text()));
  std::vector<std::string> verdicts;
  bool failed = false, measured = false;
  for (Device* device : *devices) {
    bool titled = false;
    for (const BenchedRung* rung : wanted)
      for (const Work& work : work_on(*device, *rung, context, options)) {
        if (interrupted()) break;
        if (!titled) print(device_line(device->info()) + "\n");
        titled = true;
        const CrossoverRun result = measure(work, context, options);
        measured = measured || !result.times.empty();
        failed = failed || (!result.note.empty() && result.times.empty() &&
                            result.note.rfind(name_of(Verdict::unsupported), 0) != 0);
        print(crossover_text(result) + "\n");
        std::fflush(stdout);
        verdicts.push_back(verdict_text(result));
      }
  }
  if (verdicts.size() > 1)
    for (const std::string& verdict : verdicts) print(verdict + "\n");
  if (interrupted()) return 128 + interrupted();
  if (verdicts.empty())
    complain(fmt::format("no path{} to time; `parity devices` shows them",
                         options.path.empty() ? "" : " " + options.path));
  if (failed) return contract_failed;
  return measured ? passed : nothing_judged;
}

/// The program parity-bench, with its own arguments.
int run_harness(const Context& context, const std::vector<std::string>& arguments) {
  const std::filesystem::path program = context.executable.parent_path() / "parity-bench";
  std::error_code error;
  if (!std::filesystem::exists(program, error)) {
    complain(fmt::format("{} was not built; configure with -DPARITY_BENCH=ON", program.string()));
    return bad_usage;
  }
  std::vector<std::string> words = {program.string()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  std::signal(SIGPIPE, SIG_DFL);
  ::execv(program.c_str(), pointers.data());
  complain(fmt::format("{} cannot be started: {}", program.string(), std::strerror(errno)));
  return harness_failed;
}

}  // namespace

void add_bench_command(CLI::App& app, Context& context) {
  auto options = std::make_shared<BenchOptions>();
  CLI::App* command =
      app.add_subcommand("bench", "Times of devices beside the CPU, and the size below which a device loses");
  command->add_option("rungs", options->rungs, "gemm, gru_cell; default: both");
  command->add_option("-d,--device", options->devices, "As for `parity run`; default: all")
      ->allow_extra_args(false);
  command->add_option("-p,--path", options->path,
                      "Only this kernel path; default: each, in its own precision");
  command->add_option("--batch", options->batch, "Rows of the GRU cell's x and h")
      ->check(CLI::Range(1, 1 << 16))
      ->capture_default_str();
  command->add_option("--min-size", options->least, "The first n")
      ->check(CLI::Range(1, 1 << 15))
      ->capture_default_str();
  command->add_option("--max-size", options->most, "The last n")
      ->check(CLI::Range(1, 1 << 15))
      ->capture_default_str();
  command->add_option("--seconds", options->seconds, "A path ends at the size where one run takes longer")
      ->check(number_in(0.0, 3600.0))
      ->capture_default_str();
  command->add_option("--timeout", options->timeout_seconds, "Seconds one run on a device may take")
      ->check(number_in(0.001, 86400.0))
      ->capture_default_str();
  command->footer(
      "Each size is timed on the device and right after it on the CPU, which computes the same in fp32 with "
      "Eigen, on one\n"
      "thread and on all. A path whose results fail its contract is not timed. Uploads and downloads are not "
      "in "
      "the times.\n"
      "\n"
      "Examples:\n"
      "  parity bench gemm --device vulkan --path tiled_f32\n"
      "  parity bench gru_cell --batch 1 --max-size 4096\n"
      "  parity bench harness --benchmark_filter=matmul       (times of the harness itself: parity-bench)\n"
      "\n"
      "Exit codes: 0 measured; 1 a path fails its contract; 2 bad usage; 3 the device is not here; 4 nothing "
      "was "
      "measured.");
  CLI::App* harness =
      command->add_subcommand("harness", "Times of the harness itself (the program parity-bench)");
  harness->prefix_command();
  harness->set_help_flag();
  command->callback([&context, options, harness] {
    context.exit_code =
        harness->parsed() ? run_harness(context, harness->remaining()) : run(context, *options);
  });
}

}  // namespace parity::cli
