#include "harness/cli/program_run.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

namespace parity {

std::string contents(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  return std::move(text).str();
}

namespace {

/// In the child: standard output and error to where the test wants them.
void redirect(const ProgramOptions& options, const std::string& out, const std::string& err) {
  if (options.streams_closed) {
    for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::close(descriptor);
    return;
  }
  if (options.reader_gone) {
    std::array<int, 2> pipe{};
    if (::pipe(pipe.data()) != 0) ::_exit(126);
    ::close(pipe[0]);
    ::dup2(pipe[1], STDOUT_FILENO);
  } else {
    const int file = ::open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ::dup2(file, STDOUT_FILENO);
  }
  const int file = ::open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  ::dup2(file, STDERR_FILENO);
}

}  // namespace

ProgramRun run_program(const std::string& program, const std::vector<std::string>& arguments,
                       const ProgramOptions& options) {
  const ScratchDirectory scratch;
  const std::string out = options.stdout_file.empty() ? scratch.file("out") : options.stdout_file;
  const std::string err = scratch.file("err");
  std::vector<std::string> words = {program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);

  const pid_t child = ::fork();
  if (child == 0) {
    redirect(options, out, err);
    for (const std::string& entry : options.environment) {
      const std::size_t equals = entry.find('=');
      ::setenv(entry.substr(0, equals).c_str(), entry.substr(equals + 1).c_str(), 1);
    }
    if (options.most_data_bytes != 0) {
      const rlimit limit{options.most_data_bytes, options.most_data_bytes};
      ::setrlimit(RLIMIT_DATA, &limit);
    }
    if (options.most_file_bytes != 0) {
      const rlimit limit{options.most_file_bytes, options.most_file_bytes};
      ::setrlimit(RLIMIT_FSIZE, &limit);
    }
    ::execv(program.c_str(), pointers.data());
    ::_exit(127);
  }
  if (options.signal != 0 && options.signal_when_exists.empty()) {
    std::this_thread::sleep_for(std::chrono::duration<double>(options.signal_after));
    ::kill(child, options.signal);
  } else if (options.signal != 0) {
    // Gives up after a minute: the test then fails on the exit code.
    for (int i = 0; i < 6000; ++i) {
      std::error_code error;
      if (std::filesystem::file_size(options.signal_when_exists, error) > options.signal_when_larger_than &&
          !error)
        break;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    ::kill(child, options.signal);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ProgramRun run;
  run.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  if (options.stdout_file.empty() && !options.reader_gone) run.out = contents(out);
  run.err = contents(err);
  return run;
}

ScratchDirectory::ScratchDirectory() {
  std::string pattern = (std::filesystem::temp_directory_path() / "parity_test_XXXXXX").string();
  if (::mkdtemp(pattern.data())) path_ = pattern;
}

ScratchDirectory::~ScratchDirectory() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

}  // namespace parity
