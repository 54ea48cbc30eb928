#include <fcntl.h>
#include <fmt/core.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>

#include "harness/cli/exit_code.hpp"
#include "harness/cli/fault_run.hpp"
#include "harness/cli/interrupt.hpp"
#include "harness/cli/number_range.hpp"
#include "harness/cli/output.hpp"
#include "harness/cli/progress.hpp"
#include "harness/cli/run_output.hpp"
#include "reports/fault_picture.hpp"
#include "reports/fault_summary.hpp"
#include "reports/text_file.hpp"

namespace parity::cli {
namespace {

/// faults.jsonl, a line at a time: what was appended stays, whatever happens to the program.
class FaultLog {
 public:
  ~FaultLog() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  FaultLog() = default;
  FaultLog(const FaultLog&) = delete;
  FaultLog& operator=(const FaultLog&) = delete;

  Result<void> open(const std::filesystem::path& file, bool append) {
    file_ = file;
    std::error_code error;
    if (!append && std::filesystem::file_size(file, error) > 0 && !error)
      return bad_input(
          fmt::format("{} holds an earlier run; take another --out, or --append", file.string()));
    descriptor_ = ::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    return descriptor_ >= 0 ? Result<void>{} : wrong();
  }
  Result<void> append(const std::string& line) {
    if (descriptor_ < 0) return {};
    const std::string text = line + "\n";
    const ssize_t written = ::write(descriptor_, text.data(), text.size());
    return written == static_cast<ssize_t>(text.size()) ? Result<void>{} : wrong();
  }

 private:
  Result<void> wrong() const {
    return fail(ErrorKind::internal, fmt::format("{}: {}", file_.string(), std::strerror(errno)));
  }
  std::filesystem::path file_;
  int descriptor_ = -1;
};

int show_list(const std::vector<faults::CatalogueFault>& catalogue) {
  for (const faults::CatalogueFault& fault : catalogue) {
    std::string where = fault.corruption.empty() ? "" : "result";
    if (fault.corruption.empty())
      for (const char* backend : {"cpu", "vulkan", "cuda"})
        if (fault.planted_in(backend)) where += (where.empty() ? "" : " ") + std::string(backend);
    print(fmt::format("{:<36} {:<16} {}\n{:<36} {:<16} {}\n", fault.name, where, fault.what, "", "",
                      fault.cases.front()));
  }
  print(fmt::format("{} faults\n", catalogue.size()));
  return passed;
}

Result<void> write_reports(const std::filesystem::path& directory,
                           const std::vector<FaultSummary>& summaries) {
  for (const FaultPicture& picture : fault_pictures(summaries))
    if (auto written = write_file(directory / picture.file, picture.svg); !written) return written;
  return write_file(directory / "faults.md", fault_markdown(summaries, true));
}

/// Tables, files and the exit code.
int conclude(const FaultRequest& request, const std::vector<FaultRun>& runs) {
  std::vector<FaultSummary> summaries;
  for (const FaultRun& run : runs) summaries.push_back(summarise(run));
  bool satisfied = true, any = false;
  for (const FaultSummary& summary : summaries) {
    if (!request.json) print(fault_table(summary) + "\n");
    any = any || summary.faults.trials > 0;
    satisfied = satisfied && (summary.satisfied() || summary.faults.trials == 0);
  }
  if (!request.out.empty())
    if (auto written = write_reports(request.out, summaries); !written) return report(written.error());
  if (!any) {
    complain("no fault could be tried; `parity faults --list` shows where each is planted");
    return nothing_judged;
  }
  return satisfied ? passed : contract_failed;
}

int from_records(const FaultRequest& request) {
  std::vector<FaultRun> runs;
  for (const std::string& file : request.from) {
    const auto text = read_text_file(file, "the trials of `parity faults`");
    if (!text) return report(text.error());
    auto parsed = parse_fault_log(*text, file);
    if (!parsed) return report(parsed.error());
    std::ranges::move(joined_runs(*std::move(parsed)), std::back_inserter(runs));
  }
  if (!request.out.empty())
    if (auto made = make_directory(request.out); !made) return report(made.error());
  return conclude(request, runs);
}

int run(const Context& context, const FaultRequest& request) {
  if (!request.from.empty() && !request.filter.empty())
    return report(
        {ErrorKind::bad_input,
         fmt::format("--from reports what is recorded and takes no filter ('{}'); several files are "
                     "--from A --from B",
                     fmt::join(request.filter, " "))});
  if (!request.from.empty()) return from_records(request);
  const auto catalogue = read_catalogue(request.filter);
  if (!catalogue) return report({ErrorKind::internal, catalogue.error().message});
  if (catalogue->empty()) {
    complain("no fault fits the filter; `parity faults --list` shows all");
    return nothing_judged;
  }
  if (request.list) return show_list(*catalogue);

  const BackendOptions options{.timeout_seconds = request.timeout_seconds};
  const BackendSet set =
      load_backends(context.ops, options, context.backend_directory, backends_for(request.devices));
  const auto devices = select_devices(set, request.devices);
  if (!devices) return report(devices.error());
  FaultLog log;
  if (!request.out.empty()) {
    if (auto made = make_directory(request.out); !made) return report(made.error());
    if (auto opened = log.open(std::filesystem::path(request.out) / "faults.jsonl", request.append); !opened)
      return report(opened.error());
  }
  catch_interrupts();
  FaultyDevices faulty(context.ops, options, context.backend_directory);
  std::vector<FaultRun> runs;
  for (Device* device : *devices) {
    if (interrupted() != 0) break;
    std::optional<Progress> shown;
    std::size_t total = 0;
    const FaultProgress progress{[&](const std::string& line) {
                                   if (request.json) print(line + "\n");
                                   return log.append(line);
                                 },
                                 [&](std::size_t done, std::size_t of, const std::string& what) {
                                   if (!shown || of != total) shown.emplace(total = of);
                                   shown->begin(done, what);
                                 },
                                 [] { return interrupted() != 0; }};
    auto one = run_faults(context, request, *catalogue, *device, faulty, progress);
    shown.reset();
    if (!one) return report({ErrorKind::internal, one.error().message});
    runs.push_back(*std::move(one));
  }
  const int code = conclude(request, runs);
  if (interrupted() == 0) return code;
  complain("interrupted: what was tried is above");
  return 128 + interrupted();
}

}  // namespace

void add_faults_command(CLI::App& app, Context& context) {
  auto request = std::make_shared<FaultRequest>();
  CLI::App* command = app.add_subcommand(
      "faults",
      "Plants known faults in kernels and results: which check sees each, what common thresholds miss");
  command
      ->add_option("-d,--device", request->devices,
                   "An id (vulkan:0), a backend (vulkan) or a part of the name; several times; default: all")
      ->allow_extra_args(false);
  command
      ->add_option(
          "--fault,filter", request->filter,
          "Only faults with each of these words in name, kind, description or case (* and ? allowed)")
      ->allow_extra_args(false);
  command->add_option("--seeds", request->plan.seeds, "Draws of the data for each case")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  command->add_option("--seed", request->plan.first_seed, "The first of those draws")->capture_default_str();
  command->add_option("--repeats", request->repeats, "Runs of each case: a race shows as other bits")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command
      ->add_option("--healthy", request->healthy,
                   "Also run healthy cases until this many tensors are judged, and count false alarms")
      ->check(CLI::Range(0, 100000000));
  command->add_flag("--held-out", request->plan.held_out,
                    "Other sizes and seeds than the catalogue's: none that anything was tuned on");
  command->add_flag("--nominal", request->plan.only_nominal, "Nominal severities only: quick");
  command->add_flag("--withhold-order", request->withhold_order,
                    "As if no path told its order of summation: bounds and aggregates have to do alone");
  command->add_option("-o,--out", request->out,
                      "Directory for faults.jsonl, a line a trial as it is made, faults.md and pictures");
  command->add_flag(
      "--append", request->append,
      "Go on in a faults.jsonl that is there; --from counts other faults with the run before them");
  command
      ->add_option("--from", request->from,
                   "Reports from this faults.jsonl instead of running anything; several times")
      ->allow_extra_args(false);
  command->add_flag("--list", request->list, "The catalogue, and where each fault is planted");
  command->add_flag("--json", request->json, "The lines of faults.jsonl on standard output, for programs");
  command->add_option("--timeout", request->timeout_seconds, "Seconds that one run may take on a device")
      ->check(number_in(0.001, 86400.0))
      ->capture_default_str();
  command->footer(
      "A verdict is worth what it stops. Each fault of the catalogue is planted on purpose, and the checks\n"
      "that see it are listed, beside what four thresholds in common use say of the same result. Some "
      "faults\n"
      "are kernels made from the production sources with one text changed (a barrier left out, a stride, a\n"
      "mask, a cast), in modules of their own; others change the result of a healthy run (one element by "
      "1%,\n"
      "a stale tile, a lost tail), at several severities and places.\n"
      "\n"
      "Every case runs healthy first. A fault that leaves every bit as it was did not act: that is counted\n"
      "apart, and is a miss when it never acts. What a device cannot express is named with the reason.\n"
      "Rates come with the interval of Clopper and Pearson that covers the true rate 95 times in 100.\n"
      "\n"
      "Examples:\n"
      "  parity faults --list\n"
      "  parity faults --device cpu --fault rope --nominal\n"
      "  parity faults --device vulkan --seeds 5 --healthy 3000 --out faults\n"
      "  parity faults --device vulkan --held-out --out faults --append\n"
      "  parity faults --from faults/faults.jsonl --out page\n"
      "\n"
      "Exit codes: 0 at least 99% of the faults are caught at nominal severity, every miss has a reason in\n"
      "the catalogue and no healthy case is stopped; 1 otherwise; 2 bad usage; 3 the device is not here;\n"
      "4 no fault could be tried; 5 the harness failed.");
  command->callback([&context, request] { context.exit_code = run(context, *request); });
}

}  // namespace parity::cli
