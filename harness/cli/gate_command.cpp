#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <fstream>

#include "harness/cli/commands.hpp"
#include "harness/cli/exit_code.hpp"
#include "harness/cli/number_range.hpp"
#include "harness/cli/output.hpp"
#include "harness/cli/record_files.hpp"
#include "harness/cli/version.hpp"
#include "reports/gate/gate.hpp"
#include "reports/gate/gate_text.hpp"

namespace parity::cli {
namespace {

struct GateRequest {
  std::vector<std::string> files;
  std::string device, baseline, waivers, junit, markdown;
  bool annotations = false;
  GateOptions options;
  std::optional<double> fail_slower;
};

/// A step summary is added to: other steps write there too.
Result<void> add_step_summary(const std::string& text) {
  const char* file = std::getenv("GITHUB_STEP_SUMMARY");
  if (file == nullptr || *file == '\0') return {};
  std::ofstream stream(file, std::ios::app);
  stream << text;
  stream.close();
  if (!stream) return fail(ErrorKind::internal, fmt::format("{}: the step summary cannot be written", file));
  return {};
}

int run(const GateRequest& request) {
  auto files = read_record_files(request.files);
  if (!files) return report(files.error());
  const auto records = records_of_device(std::move(files->records), request.device);
  if (!records) return report(records.error());
  if (records->empty()) {
    for (const std::string& what : files->missing) complain(what);
    complain("there are no records, so nothing was gated");
    return files->missing.empty() ? nothing_judged : harness_failed;
  }
  auto baseline = read_baseline(request.baseline);
  if (!baseline) return report(baseline.error());
  std::vector<Waiver> waivers;
  if (!request.waivers.empty()) {
    auto read = read_waivers(request.waivers);
    if (!read) return report(read.error());
    waivers = *std::move(read);
  }
  GateOptions options = request.options;
  options.fail_slower = request.fail_slower;
  options.today = provenance().started.substr(0, 10);
  options.missing = files->missing;
  const auto gated = run_gate(*records, *baseline, waivers, options);
  if (!gated) return report(gated.error());
  if (!request.junit.empty())
    if (auto written = write_or_print(request.junit, gate_junit(*gated)); !written)
      return report(written.error());
  if (!request.markdown.empty())
    if (auto written = write_or_print(request.markdown, gate_markdown(*gated)); !written)
      return report(written.error());
  if (request.annotations) {
    print(gate_annotations(*gated));
    if (auto written = add_step_summary(gate_markdown(*gated)); !written) return report(written.error());
  }
  // What a program reads on standard output is left alone.
  const bool piped = request.junit == "-" || request.markdown == "-";
  if (piped)
    fmt::print(stderr, "{}", gate_text(*gated));
  else
    print(gate_text(*gated));
  // Whatever the records say, they are not all there.
  for (const std::string& what : files->missing) complain(what);
  if (!files->missing.empty()) return harness_failed;
  if (gated->passes()) return passed;
  return gated->failures() == 0 && gated->compared > 0 ? nothing_judged : contract_failed;
}

}  // namespace

void add_gate_command(CLI::App& app, Context& context) {
  auto request = std::make_shared<GateRequest>();
  CLI::App* command =
      app.add_subcommand("gate", "Records against a baseline: what broke, drifted or is gone");
  command->add_option("records", request->files, "Files of records of one device (records.jsonl)")
      ->required();
  command->add_option("-b,--baseline", request->baseline, "The baseline, as 'parity bless' wrote it")
      ->required();
  command->add_option("-w,--waivers", request->waivers, "Findings accepted for a while (JSON)");
  command->add_option("-d,--device", request->device,
                      "Take the records of this device only: id, backend or a part of its name");
  command->add_option("--junit", request->junit, "Write JUnit XML to this file (-: standard output)");
  command->add_option("--markdown", request->markdown, "Write Markdown to this file (-: standard output)");
  command->add_flag("--github", request->annotations,
                    "Print annotations for GitHub and add to its step summary (GITHUB_STEP_SUMMARY)");
  command
      ->add_option("--chance", request->options.chance,
                   "Probability of a drift found anywhere though nothing changed")
      ->capture_default_str()
      ->check(number_in(1e-30, 0.1));
  command
      ->add_option("--smallest", request->options.smallest,
                   "A typical error that changed by less than this factor is no drift")
      ->capture_default_str()
      ->check(number_in(1.0, 100.0));
  command
      ->add_option("--slower", request->options.slower,
                   "Mention paths slower than the baseline by this factor, in the median of their cases")
      ->capture_default_str()
      ->check(number_in(1.0, 1e6));
  command
      ->add_option("--fail-slower", request->fail_slower,
                   "Fail on paths slower than the baseline by this factor")
      ->check(number_in(1.0, 1e6));
  command->footer(
      "Fails on a broken contract, a case or path that is gone or no longer judged, other bits of the same "
      "inputs\n"
      "where repeated runs had the same, errors that moved though still in contract, verdicts that change "
      "from\n"
      "run to run, and waivers that have expired or that nothing needs. New cases and times are reported.\n"
      "\n"
      "Waivers: {\"waivers\": [{\"case\": \"gemm *\", \"path\": \"*\", \"kind\": \"bits\", \"vendor\": "
      "\"NVIDIA\",\n"
      "  \"driver_from\": \"570\", \"driver_below\": \"580\", \"reason\": \"...\", \"expires\": "
      "\"2027-03-01\"}]}\n"
      "\n"
      "Examples:\n"
      "  parity run --suite smoke --device vulkan --out results\n"
      "  parity gate results/records.jsonl --baseline reports/baselines/my-gpu.jsonl\n"
      "\n"
      "Exit codes: 0 passed; 1 failed; 2 a file cannot be read, or is of another device; 4 there is no "
      "record,\n"
      "or none that was judged; "
      "5 the run that left the records did not get to its end.");
  command->callback([&context, request] { context.exit_code = run(*request); });
}

}  // namespace parity::cli
