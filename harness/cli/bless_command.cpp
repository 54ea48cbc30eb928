#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>

#include "harness/base/text.hpp"
#include "harness/cli/commands.hpp"
#include "harness/cli/exit_code.hpp"
#include "harness/cli/output.hpp"
#include "harness/cli/record_files.hpp"
#include "harness/cli/version.hpp"
#include "reports/gate/bless.hpp"

namespace parity::cli {
namespace {

struct BlessRequest {
  std::vector<std::string> files;
  std::string device, baseline, reason, author;
  BlessedPart part;
};

/// "Name <mail>" as git has it here; empty without.
std::string git_author() {
  std::string text;
  if (FILE* git = ::popen("git var GIT_AUTHOR_IDENT 2> /dev/null", "r")) {
    for (int c = std::fgetc(git); c != EOF; c = std::fgetc(git)) text += static_cast<char>(c);
    if (::pclose(git) != 0) return {};
  }
  const std::size_t end = text.find('>');  // the time follows
  return end == text.npos ? std::string() : text.substr(0, end + 1);
}

/// Refuses a text that is nothing but blanks.
auto not_blank(const char* what) {
  return [what](const std::string& text) {
    return trimmed(text).empty() ? fmt::format("the {} is empty", what) : std::string();
  };
}

int run(const BlessRequest& request) {
  auto files = read_record_files(request.files);
  if (!files) return report(files.error());
  for (const std::string& what : files->missing) complain(what);
  if (!files->missing.empty()) {
    complain("records that are not whole are not blessed");
    return harness_failed;
  }
  const auto records = records_of_device(std::move(files->records), request.device);
  if (!records) return report(records.error());
  auto now = make_baseline(*records);
  if (!now) return report(now.error());
  const std::string author = request.author.empty() ? git_author() : request.author;
  if (author.empty())
    return report({ErrorKind::bad_input, "who blesses? git knows no author here: give --author"});
  Baseline before;
  std::error_code error;
  if (std::filesystem::exists(request.baseline, error)) {
    auto read = read_baseline(request.baseline);
    if (!read) return report(read.error());
    before = *std::move(read);
  }
  auto blessed = bless(std::move(before), *now, request.part,
                       {request.reason, author, provenance().started, records->front().provenance.commit, 0});
  if (!blessed) return report(blessed.error());
  if (auto written = write_file(request.baseline, to_text(*blessed)); !written)
    return report(written.error());
  print(fmt::format("{}: {} cases, {} of them added, changed or taken out\n", request.baseline,
                    blessed->cases.size(), blessed->blessings.back().cases));
  return passed;
}

}  // namespace

void add_bless_command(CLI::App& app, Context& context) {
  auto request = std::make_shared<BlessRequest>();
  CLI::App* command = app.add_subcommand(
      "bless", "Make or change a baseline on purpose, with reason, author and commit in it");
  command->add_option("records", request->files, "Files of records of one device (records.jsonl)")
      ->required();
  command->add_option("-b,--baseline", request->baseline, "The baseline to make or change")->required();
  command->add_option("-r,--reason", request->reason, "Why the baseline changes")
      ->required()
      ->check(not_blank("reason"));
  command->add_option("--author", request->author, "Who changes it; without, git's author")
      ->check(not_blank("author"));
  command->add_option("-d,--device", request->device,
                      "Take the records of this device only: id, backend or a part of its name");
  command->add_option("--case", request->part.case_text, "Bless cases that fit this pattern only (*, ?)");
  command->add_option("--path", request->part.path, "Bless paths that fit this pattern only (*, ?)");
  command->footer(
      "Give the records of several runs of a device whose kernels use atomics: a path whose bits differ "
      "among\n"
      "them is asked for none.\n"
      "Without --case and --path the records replace the baseline, and cases that are not recorded any more "
      "leave\n"
      "it. What fails a contract is not blessed: cure it, or waive it for a while ('parity gate "
      "--waivers').\n"
      "\n"
      "Examples:\n"
      "  parity bless results/records.jsonl --baseline reports/baselines/my-gpu.jsonl --reason 'first "
      "records'\n"
      "  parity bless results/records.jsonl --baseline reports/baselines/my-gpu.jsonl --path 'tiled_*' \\\n"
      "    --reason 'tiles of 32 columns: another order of summation'\n"
      "\n"
      "Exit codes: 0 written; 2 nothing to bless, or files that cannot be read; 5 the records are not "
      "whole.");
  command->callback([&context, request] { context.exit_code = run(*request); });
}

}  // namespace parity::cli
