#pragma once
#include <filesystem>

#include "harness/ladder/op.hpp"
#include "harness/ladder/stage.hpp"

namespace CLI {
class App;
}

namespace parity::cli {

/// What every subcommand works with. Outlives the parsing and the command.
struct Context {
  OpTable ops;
  StageTable stages;
  std::filesystem::path executable;
  std::filesystem::path backend_directory;
  int exit_code = 0;  ///< what the subcommand that ran returns
};

// Each adds its subcommand to `app`; parsing the command line runs it and sets context.exit_code.
void add_devices_command(CLI::App& app, Context& context);
void add_list_command(CLI::App& app, Context& context);
void add_run_command(CLI::App& app, Context& context);
void add_probe_command(CLI::App& app, Context& context);
void add_bisect_command(CLI::App& app, Context& context);
void add_compare_command(CLI::App& app, Context& context);
void add_report_command(CLI::App& app, Context& context);
void add_gate_command(CLI::App& app, Context& context);
void add_bless_command(CLI::App& app, Context& context);
void add_history_command(CLI::App& app, Context& context);
void add_bench_command(CLI::App& app, Context& context);
void add_faults_command(CLI::App& app, Context& context);

}  // namespace parity::cli
