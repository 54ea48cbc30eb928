#include <fmt/core.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "harness/cli/commands.hpp"
#include "harness/cli/exit_code.hpp"
#include "harness/cli/output.hpp"

namespace parity::cli {
namespace {

int run(const Context& context, const std::vector<std::string>& arguments) {
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
  CLI::App* command =
      app.add_subcommand("bench", "Times of statistics, references and kernels (parity-bench)");
  command->prefix_command();
  command->footer(
      "The arguments go to the program parity-bench; `parity bench --help` there says what it takes.");
  command->set_help_flag();
  command->callback([&context, command] { context.exit_code = run(context, command->remaining()); });
}

}  // namespace parity::cli
