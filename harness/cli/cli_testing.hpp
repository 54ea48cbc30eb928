#pragma once
// What the tests that start the `parity` command share.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "harness/cli/program_run.hpp"

namespace parity {

using Words = std::vector<std::string>;

/// Runs the command that was built beside the tests.
inline ProgramRun parity(const Words& arguments, const ProgramOptions& options = {}) {
  return run_program(PARITY_PROGRAM, arguments, options);
}

/// A quick case on the CPU.
inline Words quick(const Words& more = {}) {
  Words words = {"run", "--device", "cpu", "--path", "sequential_f32", "--case", "gemm m=5 n=4 k=3 in=f32"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

/// Threads that wait for each other are slow on a machine that is busy with other tests.
inline ProgramOptions one_thread() {
  ProgramOptions options;
  options.environment = {"OMP_NUM_THREADS=1"};
  return options;
}

inline void expect_holds(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "'" << part << "' is not in:\n" << text;
}

}  // namespace parity
