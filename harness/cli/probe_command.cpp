#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "harness/cli/backend_loader.hpp"
#include "harness/cli/commands.hpp"
#include "harness/cli/exit_code.hpp"
#include "harness/cli/interrupt.hpp"
#include "harness/cli/number_range.hpp"
#include "harness/cli/output.hpp"
#include "harness/cli/probe_output.hpp"
#include "harness/cli/probe_profile.hpp"
#include "harness/cli/progress.hpp"
#include "harness/cli/run_output.hpp"
#include "harness/numerics/tree_drawing.hpp"

namespace parity::cli {
namespace {

struct ProbeRequest {
  std::vector<std::string> devices, ops;
  std::string path, out, only;
  bool exhaustive = false, sampled = false;
  std::int64_t sample = ProfileOptions{}.sample;
  ProbeSize size{.terms = 128, .rows = 128, .cols = 16};
  RevealOptions reveal;
  double timeout_seconds = 60;
  bool json = false;

  /// A question about one op is none about the device.
  bool trees() const { return only != "profile"; }
  bool profile() const { return only == "profile" || (only.empty() && ops.empty() && path.empty()); }
};

/// An implementation to be probed, or why it is not.
struct ProbeItem {
  Device* device = nullptr;
  const Implementation* implementation = nullptr;
};

std::vector<ProbeItem> items_of(const std::vector<Device*>& devices, const ProbeRequest& request) {
  std::vector<ProbeItem> items;
  for (Device* device : devices) {
    for (const ProbeOp& op : probe_ops()) {
      if (!request.ops.empty() && std::ranges::find(request.ops, op.name) == request.ops.end()) continue;
      for (const Implementation& implementation : device->implementations()) {
        if (implementation.op != op.op) continue;
        if (!request.path.empty() && implementation.path != request.path) continue;
        items.push_back({device, &implementation});
      }
    }
  }
  return items;
}

Result<void> write_drawings(const std::filesystem::path& directory, const ProbeRecord& record) {
  for (std::size_t i = 0; i < record.reductions.size(); ++i) {
    const ReductionFinding& f = record.reductions[i];
    if (!f.revelation.tree) continue;
    const std::string title =
        fmt::format("{} {} {}: {}: {}", record.device, record.op, record.path, f.name, f.order);
    if (auto ok = write_file(directory / drawing_name(record, i), draw_svg(*f.revelation.tree, title)); !ok)
      return ok;
  }
  return {};
}

struct ProbeTally {
  int probed = 0, revealed = 0, any_order = 0, findings = 0, unsupported = 0, failed = 0;
};

int code_of(const ProbeTally& tally, const ProfileTally& profiles) {
  if (tally.findings + profiles.findings > 0 || tally.failed + profiles.failed > 0) return contract_failed;
  return tally.revealed + tally.any_order + profiles.profiled > 0 ? passed : nothing_judged;
}

int run(const Context& context, const ProbeRequest& request) {
  const BackendSet set = load_backends(context.ops, {.timeout_seconds = request.timeout_seconds},
                                       context.backend_directory, backends_for(request.devices));
  const auto devices = select_devices(set, request.devices);
  if (!devices) return report(devices.error());
  if (!request.out.empty())
    if (auto made = make_directory(request.out); !made) return report(made.error());
  catch_interrupts();
  ProfileTally profiles;
  if (request.profile()) {
    ProfileRequest wanted{{}, request.out, request.json};
    if (request.exhaustive || request.sampled) wanted.options.exhaustive = request.exhaustive;
    wanted.options.seed = request.reveal.seed;
    wanted.options.sample = request.sample;
    auto profiled = profile_devices(*devices, wanted);
    if (!profiled) return report(profiled.error());
    profiles = *profiled;
  }
  if (!request.trees()) {
    if (const int signal = interrupted(); signal != 0) return 128 + signal;
    return code_of({}, profiles);
  }
  const std::vector<ProbeItem> items = items_of(*devices, request);
  if (items.empty()) {
    complain(fmt::format("no implementation fits{}; `parity devices` lists every op's paths",
                         request.path.empty() ? "" : fmt::format(" --path {}", request.path)));
    return nothing_judged;
  }
  Progress progress(items.size());
  ProbeTally tally;
  std::string lines;
  const Device* last = nullptr;
  for (std::size_t i = 0; i < items.size() && interrupted() == 0; ++i) {
    const auto& [device, implementation] = items[i];
    progress.begin(i + 1,
                   fmt::format("{} {} {}", device->info().id, implementation->op, implementation->path));
    const Support support = device->supports(*implementation);
    const auto record = support.legal() ? probe_implementation(context.ops, *device, *implementation,
                                                               request.size, request.reveal)
                                        : Result<ProbeRecord>(fail(ErrorKind::unsupported, support.reason));
    progress.clear();
    if (!request.json && device != last)
      print(fmt::format("{}{}  {}, {} terms\n", last == nullptr ? "" : "\n", device->info().id,
                        device->info().name, request.size.terms));
    last = device;
    if (!record) {
      const bool unsupported = record.error().kind == ErrorKind::unsupported;
      ++(unsupported ? tally.unsupported : tally.failed);
      const std::string what =
          fmt::format("{} {}: {}", implementation->op, implementation->path, record.error().message);
      if (!unsupported)
        complain(fmt::format("{} {}", device->info().id, what));
      else if (!request.json)
        print(fmt::format("  {} {}: unsupported: {}\n", implementation->op, implementation->path,
                          record.error().message));
      // What was lost stays lost: nothing more is asked of this device.
      if (record.error().kind == ErrorKind::device_failed || record.error().kind == ErrorKind::timed_out)
        break;
      continue;
    }
    ++tally.probed;
    tally.revealed += record->revealed();
    tally.any_order += record->any_order();
    tally.findings += record->contradicts();
    const std::string line = probe_json(*record, device->info()) + "\n";
    print(request.json ? line : probe_text(*record));
    lines += line;
    if (!request.out.empty())
      if (auto drawn = write_drawings(request.out, *record); !drawn) return report(drawn.error());
  }
  if (!request.out.empty())
    if (auto written = write_file(std::filesystem::path(request.out) / "probe.jsonl", lines); !written)
      return report(written.error());
  if (!request.json)
    print(
        fmt::format("\nprobed: {} path{}, {} with a tree, {} of integers in any order, {} not as declared, "
                    "{} unsupported, {} failed\n",
                    tally.probed, tally.probed == 1 ? "" : "s", tally.revealed, tally.any_order,
                    tally.findings, tally.unsupported, tally.failed));
  if (const int signal = interrupted(); signal != 0) return 128 + signal;
  return code_of(tally, profiles);
}

}  // namespace

void add_probe_command(CLI::App& app, Context& context) {
  auto request = std::make_shared<ProbeRequest>();
  CLI::App* command = app.add_subcommand(
      "probe", "What a device's arithmetic is like, and the order in which each path adds up");
  std::vector<std::string> names;
  for (const ProbeOp& op : probe_ops()) names.emplace_back(op.name);
  command
      ->add_option("-d,--device", request->devices,
                   "An id (vulkan:0), a backend (vulkan) or a part of the name; several times; default: all")
      ->allow_extra_args(false);
  command->add_option("-p,--path", request->path, "Only this kernel path; `parity devices` lists them");
  command->add_option("--op", request->ops, "Only this op; several times; default: all of them")
      ->allow_extra_args(false)
      ->check(CLI::IsMember(names));
  command
      ->add_option(
          "--only", request->only,
          "trees: orders of summation; profile: what the device's arithmetic is like. Default: both, "
          "with --op or --path only trees")
      ->check(CLI::IsMember({"trees", "profile"}));
  auto* exhaustive = command->add_flag("--exhaustive", request->exhaustive,
                                       "Profile: all 2^32 fp32 arguments; the default where the device is no "
                                       "software");
  command
      ->add_flag("--sampled", request->sampled,
                 "Profile: a sample of the fp32 arguments; the default on software")
      ->excludes(exhaustive);
  command
      ->add_option("--sample", request->sample,
                   "Profile: arguments of the sample in each binade and sign, eight times as many around 1")
      ->check(CLI::Range(1, 1 << 22))
      ->capture_default_str();
  command->add_option("-k,--k", request->size.terms, "Terms of each reduction")
      ->check(CLI::Range(1, 16384))
      ->capture_default_str();
  command->add_option("--rows", request->size.rows, "Probes of one run: rows of a product")
      ->check(CLI::Range(1, 16384))
      ->capture_default_str();
  command->add_option("--cols", request->size.cols, "Columns of a product, which must agree")
      ->check(CLI::Range(1, 16384))
      ->capture_default_str();
  command
      ->add_option("--repeats", request->reveal.repeats,
                   "How often every question is asked: atomics show as different answers")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command->add_option("--seed", request->reveal.seed, "Of the questions and of the data that is replayed")
      ->capture_default_str();
  command->add_option("--timeout", request->timeout_seconds, "Seconds that one run may take on a device")
      ->check(number_in(0.001, 86400.0))
      ->capture_default_str();
  command->add_option("-o,--out", request->out,
                      "Directory for profile.json and .md, probe.jsonl and a drawing (SVG) of every tree");
  command->add_flag("--json", request->json, "One JSON line a path on standard output, for programs");
  command->footer(
      "A reduction's order of summation is a tree. It is revealed from the outside (FPRev, Xie et al. 2024): "
      "a\n"
      "large term at i and its negative at j hide every small term that was added before the two cancelled;\n"
      "the small terms that are left count the leaves outside the lowest node over i and j. Nodes of more "
      "than\n"
      "two children are fused additions (a tensor core's adder). Sums of positive terms (squares,\n"
      "exponentials) are asked by what is rounded away beside one large term. Every question is asked "
      "several\n"
      "times and the tree is revealed twice, with other questions at other places: an order that changes\n"
      "(atomics, data, position) is said, not averaged.\n"
      "\n"
      "A path that declares its order and adds in another one is a finding. Then normal data is run, the\n"
      "emulated arithmetic adds it up in the revealed tree, and the elements with equal bits are counted.\n"
      "The tree depends on K and on the shape: ask for those you care about.\n"
      "\n"
      "The device's profile: rounding, subnormals, contraction, NaN, min and max, conversions; and the error "
      "of\n"
      "the functions that kernels use, in ULP against MPFR, over all fp16 and bf16 arguments and all or a "
      "sample\n"
      "of fp32's. Each stands beside what the interface promises; a broken promise is a finding with its "
      "worst\n"
      "argument. profile.json of --out is what `parity run --profile` reads.\n"
      "\n"
      "Examples:\n"
      "  parity probe --device vulkan --only profile --out profile\n"
      "  parity probe --device cpu --op gemm\n"
      "  parity probe --device vulkan --op gemm --path coopmat_f16_f32 -k 256 --out trees\n"
      "  parity probe --device cuda --op gemm -k 4096 --rows 256 --cols 256 --json\n"
      "\n"
      "Exit codes: 0 every declared order is as revealed and every promise kept; 1 a path adds in another "
      "order\n"
      "than it declares, a promise is broken, or a device failed; 2 bad usage; 3 the device is not here; 4 "
      "no "
      "order\n"
      "was revealed and no profile made (without MPFR, or where no path is legal); 5 the harness failed.");
  command->callback([&context, request] { context.exit_code = run(context, *request); });
}

}  // namespace parity::cli
