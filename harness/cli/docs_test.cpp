// Every command of the pages for the three users runs, with the exit code and the output that the page says.
#include <gtest/gtest.h>

#include <cstdlib>

#include "harness/cli/page_check.hpp"
#include "harness/cli/program_run.hpp"

namespace parity {
namespace {

namespace fs = std::filesystem;

/// As a reader has it: a checkout called parity-ladder in the folder, `parity` and a compiler in the PATH.
PageCheck check_as_reader(const std::string& name) {
  const ScratchDirectory tools, folder;
  fs::create_symlink(PARITY_PROGRAM, tools.file("parity"));
  fs::create_symlink(PARITY_COMPILER, tools.file("c++"));
  fs::create_directory_symlink(PARITY_SOURCE, folder.file("parity-ladder"));
  const char* path = std::getenv("PATH");
  return check_page(
      name, contents(fs::path(PARITY_SOURCE) / name), folder.path().string(),
      {"PATH=" + tools.path().string() + ":" + (path == nullptr ? "/usr/bin:/bin" : path),
       "OMP_NUM_THREADS=1",
       // Nothing of the pipeline or the user that runs this test.
       "HOME=" + folder.path().string(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=A Reader",
       "GIT_AUTHOR_EMAIL=reader@example.org", "GIT_COMMITTER_NAME=A Reader",
       "GIT_COMMITTER_EMAIL=reader@example.org", "GITHUB_ACTIONS=", "GITHUB_STEP_SUMMARY="});
}

void expect_true(const std::string& name) {
  const PageCheck check = check_as_reader(name);
  for (const std::string& problem : check.problems) ADD_FAILURE() << problem;
  for (const std::string& left_out : check.left_out) std::printf("not run, %s\n", left_out.c_str());
  EXPECT_GT(check.commands, 5);
}

TEST(Docs, KernelAuthor) {
  expect_true("docs/kernel_author.md");
}
TEST(Docs, CiMaintainer) {
  expect_true("docs/ci_maintainer.md");
}
TEST(Docs, DeviceTester) {
  expect_true("docs/device_tester.md");
}

/// The problems of a page with this text.
std::vector<std::string> problems(const std::string& text) {
  const ScratchDirectory folder;
  return check_page("page.md", text, folder.path().string(), {}).problems;
}

/// One problem, which begins so.
void expect_problem(const std::string& text, const std::string& start) {
  const std::vector<std::string> found = problems(text);
  ASSERT_EQ(found.size(), 1U) << text;
  EXPECT_TRUE(found.front().starts_with(start)) << found.front();
}

TEST(Docs, AGoodPageHasNoProblem) {
  EXPECT_EQ(
      problems(
          "A line in `lines.txt`:\n\n```c\none  two\nthree\n```\n\n```sh\ncat lines.txt \\\n  lines.txt\n"
          "false  # exit code 1: so it is\n```\n\n```text\none two\nth...e\n...\none  two\n```\n"),
      std::vector<std::string>());
}

TEST(Docs, WhatIsNotTrueIsNamedWithPageAndLine) {
  expect_problem("words\n\n```sh\ntrue\nls --no-such-flag 2> /dev/null\n```\n",
                 "page.md:5: exit code 2 where the page says 0: ls --no-such-flag");
  expect_problem("```sh\ntrue  # exit code 1: never\n```\n", "page.md:2: exit code 0 where the page says 1");
  expect_problem("```sh\necho one; echo two\n```\n```text\none\nthree\n```\n",
                 "page.md:6: not in the output");
  expect_problem("```sh\necho one; echo two\n```\n```text\ntwo\none\n```\n",
                 "page.md:6: not in the output, or");
  expect_problem("words\n", "page.md:1: no command");
  expect_problem("```sh\ntrue\n```\n```json\n{}\n```\n", "page.md:4: a block that nothing checks");
  expect_problem("```text\none\n```\n```sh\ntrue\n```\n", "page.md:1: output of which command?");
  expect_problem("```sh\ntrue\n", "page.md:1: this block has no end");
}

TEST(Docs, WhatCannotRunHereIsLeftOutWithItsReason) {
  const ScratchDirectory folder;
  const PageCheck check = check_page("page.md",
                                     "<!-- not run: downloads -->\n```sh\nfalse\n```\n```text\noutput\n```\n"
                                     "<!-- needs: false -->\n```sh\nfalse\n```\n"
                                     "<!-- needs: true -->\n```sh\ntrue\n```\n",
                                     folder.path().string(), {});
  EXPECT_EQ(check.problems, std::vector<std::string>());
  EXPECT_EQ(check.left_out, (std::vector<std::string>{"page.md:2: downloads", "page.md:9: needs false"}));
  EXPECT_EQ(check.commands, 1);
}

}  // namespace
}  // namespace parity
