#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <exception>

#include "harness/base/memory.hpp"
#include "harness/base/nearest.hpp"
#include "harness/cli/backend_loader.hpp"
#include "harness/cli/commands.hpp"
#include "harness/cli/exit_code.hpp"
#include "harness/cli/output.hpp"
#include "harness/cli/version.hpp"
#include "references/op_table.hpp"

namespace parity::cli {
namespace {

constexpr const char* about =
    "Checks GPU kernels (Vulkan, CUDA) against CPU references: a ladder of stages, from a raw GEMM upwards, "
    "whose\n"
    "tolerances are derived from each kernel's own number formats and order of summation.";

constexpr const char* footer =
    "Examples:\n"
    "  parity devices                          what is here, and which kernel paths are legal\n"
    "  parity run                              the smoke suite on every device\n"
    "  parity run --suite ladder --device vulkan --out results\n"
    "  parity run --case 'gemm m=64 n=63 k=588 in=f16 fill=cancelling seed=7'\n"
    "  parity run linear --input X=x.npy --input W=model.safetensors:mlp.up.weight\n"
    "  parity bisect 'training_step batch=2 seq=8 width=16 steps=50' --device vulkan\n"
    "  parity report results/records.jsonl --junit junit.xml\n"
    "\n"
    "Exit codes: 0 pass; 1 a contract failed; 2 bad usage or input; 3 the device asked for is not here;\n"
    "4 nothing was judged; 5 the harness itself failed. 'parity COMMAND --help' says more.";

int run(int argc, char** argv) {
  const OpTable ops = make_op_table();
  Context context{ops, make_stage_table(ops), executable_path(argc > 0 ? argv[0] : nullptr), {}, 0};
  context.backend_directory = backend_directory(context.executable);

  CLI::App app(about, "parity");
  app.footer(footer);
  app.require_subcommand(1);
  app.set_version_flag("--version", version_text());
  add_devices_command(app, context);
  add_list_command(app, context);
  add_run_command(app, context);
  add_probe_command(app, context);
  add_bisect_command(app, context);
  add_compare_command(app, context);
  add_report_command(app, context);
  add_gate_command(app, context);
  add_bless_command(app, context);
  add_history_command(app, context);
  add_bench_command(app, context);
  add_faults_command(app, context);
  app.failure_message([](const CLI::App*, const CLI::Error& error) {
    return fmt::format("parity: {}\nparity: `parity --help` and `parity COMMAND --help` show what there is\n",
                       error.what());
  });
  std::vector<std::string> commands;
  for (const CLI::App* command : app.get_subcommands([](CLI::App*) { return true; }))
    commands.push_back(command->get_name());
  if (argc > 1 && argv[1][0] != '-' && std::ranges::find(commands, argv[1]) == commands.end()) {
    complain(fmt::format("no command is called '{}'{}; `parity --help` shows them", argv[1],
                         suggestion(argv[1], {commands.begin(), commands.end()})));
    return bad_usage;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // --help and --version end here too, with exit code 0.
    return app.exit(error) == 0 ? passed : bad_usage;
  }
  return context.exit_code;
}

}  // namespace
}  // namespace parity::cli

int main(int argc, char** argv) {
  parity::cli::open_standard_streams();
  parity::keep_freed_memory();
  // A reader that closes the pipe early (`parity list | head`) is no failure.
  std::signal(SIGPIPE, SIG_IGN);
  // A file that may not grow further is an error like a full disk.
  std::signal(SIGXFSZ, SIG_IGN);
  int code = parity::cli::harness_failed;
  try {
    code = parity::cli::run(argc, argv);
  } catch (const std::exception& error) {
    parity::cli::complain(fmt::format("the harness failed: {}", error.what()));
  }
  if (!parity::cli::output_arrived()) {
    parity::cli::complain("standard output could not be written");
    return parity::cli::harness_failed;
  }
  return code;
}
