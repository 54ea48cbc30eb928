#include "harness/cli/run_plan.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <sstream>

#include "harness/base/nearest.hpp"
#include "harness/cli/case_filter.hpp"
#include "harness/cli/guarded_run.hpp"
#include "harness/cli/output.hpp"
#include "harness/cli/suites.hpp"
#include "harness/cli/version.hpp"

namespace parity::cli {
namespace {

Result<void> apply_seed(std::vector<BoundCase>& cases, const std::string& text, const StageTable& stages) {
  if (text.empty()) return {};
  std::uint64_t seed = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
  if (error != std::errc{} || end != text.data() + text.size())
    return bad_input(fmt::format("--seed {}: wants a whole number from 0 to 2^64-1", text));
  std::set<std::string> seen;
  std::vector<BoundCase> kept;
  for (BoundCase& bound : cases) {
    bound.c.seed = seed;
    // A suite may hold one case under several seeds.
    if (seen.insert(print_case(bound.c, stages)).second) kept.push_back(std::move(bound));
  }
  cases = std::move(kept);
  return {};
}

bool has_path(const Device& device, const std::string& path) {
  const auto& all = device.implementations();
  return std::any_of(all.begin(), all.end(), [&](const Implementation& i) { return i.path == path; });
}

Result<void> check_path(const std::string& path, const BackendSet& backends) {
  std::vector<std::string_view> known;
  for (const auto& device : backends.devices)
    for (const Implementation& implementation : device->implementations())
      if (std::find(known.begin(), known.end(), implementation.path) == known.end())
        known.push_back(implementation.path);
  if (std::find(known.begin(), known.end(), path) != known.end()) return {};
  std::string message = fmt::format("no path is called '{}'{}; there is", path, suggestion(path, known));
  for (std::size_t i = 0; i < known.size(); ++i) message += fmt::format("{} {}", i == 0 ? "" : ",", known[i]);
  for (const AbsentBackend& absent : backends.absent)
    message += fmt::format("\n  {} is absent: {}", absent.name, absent.reason);
  return bad_input(std::move(message));
}

RunOptions options_for(const RunRequest& request, const UserInputs& inputs, const BoundCase& bound) {
  RunOptions options;
  options.repeats = request.repeats;
  options.order_effects = !request.no_order_effects;
  options.reference = request.reference == "full"      ? ReferenceKind::full
                      : request.reference == "sampled" ? ReferenceKind::sampled
                                                       : ReferenceKind::automatic;
  options.inputs = bound.tensors;
  options.provenance = provenance();
  options.provenance.inputs = inputs.sources;
  std::string flags = fmt::format(" --repeats {}", request.repeats);
  if (request.no_order_effects) flags += " --no-order-effects";
  if (request.validate) flags += " --validate";
  const std::string reference = request.reference == "auto" ? "" : " --reference " + request.reference;
  options.provenance.flags += ";" + flags + reference;
  options.repro_suffix = inputs.repro + reference;
  for (const std::string& file : request.profiles) options.repro_suffix += " --profile " + shell_quoted(file);
  return options;
}

}  // namespace

Result<std::vector<BoundCase>> read_cases(const RunRequest& request, const UserInputs& inputs,
                                          const StageTable& stages) {
  std::vector<BoundCase> cases;
  const auto add = [&](Result<std::vector<Case>> more) -> Result<void> {
    if (!more) return tl::unexpected(more.error());
    for (Case& c : *more) cases.push_back({std::move(c), {}, {}});
    return {};
  };
  if (!inputs.empty()) {
    std::vector<std::string> texts = request.cases;
    if (texts.empty()) {
      if (request.filter.size() != 1 || !stages.find(request.filter.front()))
        return bad_input(
            "--input needs to know the rung: `parity run linear --input X=...`, or --case 'gemm tb=t'");
      texts = request.filter;
    }
    for (const std::string& text : texts) {
      auto bound = bind_inputs(text, inputs, stages);
      if (!bound) return tl::unexpected(bound.error());
      for (BoundCase& one : *bound) cases.push_back(std::move(one));
    }
  } else if (!request.cases.empty()) {
    for (const std::string& text : request.cases)
      if (auto added = add(expand_pattern(text, stages)); !added) return tl::unexpected(added.error());
  } else {
    if (auto added = add(read_suite(request.suite, stages)); !added) return tl::unexpected(added.error());
  }
  if (auto seeded = apply_seed(cases, request.seed, stages); !seeded) return tl::unexpected(seeded.error());
  return cases;
}

std::string identity_of(const RunPlan& plan) {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  const auto add = [&](std::string_view text) {
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    hash *= 0x100000001b3;  // where one text ends, as a byte of zero
  };
  for (const WorkItem& item : plan.items) {
    const DeviceInfo& device = *item.on->device;
    for (const std::string& text : {device.id, device.name, device.driver, item.path, item.text}) add(text);
    for (const auto& [port, source] : item.on->provenance.inputs) add(port + "=" + source);
    if (item.on->provenance.profile != no_profile_text) add(item.on->provenance.profile);
  }
  return fmt::format("{:016x}", hash);
}

Record run_item(const WorkItem& item) {
  const PlannedRunner& on = *item.on;
  Record blank;
  blank.case_text = item.text;
  blank.stage = item.c.stage;
  blank.path = item.path;
  blank.rung = item.rung;
  blank.device = *on.device;
  blank.provenance = on.provenance;
  blank.repro = fmt::format("parity run --case '{}' --device {} --path {}{}", item.text, on.device->id,
                            item.path, on.repro_suffix);
  return guarded_run([&] { return on.runner->run(item.c, item.path); }, std::move(blank));
}

Result<RunPlan> make_plan(const RunRequest& request, const Context& context, const BackendSet& backends,
                          const ProfiledDevices& profiled) {
  auto inputs =
      read_user_inputs(request.inputs, request.nan == "allow" ? NanPolicy::allow : NanPolicy::reject);
  if (!inputs) return tl::unexpected(inputs.error());
  auto cases = read_cases(request, *inputs, context.stages);
  if (!cases) return tl::unexpected(cases.error());
  if (!request.path.empty())
    if (auto checked = check_path(request.path, backends); !checked) return tl::unexpected(checked.error());

  // A forced path is asked of the devices that know it; of all where none does, so that the records say so.
  const std::vector<Device*>& devices = profiled.devices;
  std::vector<Device*> asked = devices;
  if (!request.path.empty() && std::any_of(devices.begin(), devices.end(),
                                           [&](Device* device) { return has_path(*device, request.path); }))
    std::erase_if(asked, [&](Device* device) { return !has_path(*device, request.path); });

  RunPlan plan;
  for (Device* device : asked) {
    const PlannedRunner* shared = nullptr;
    std::size_t without_path = 0;
    for (const BoundCase& bound : *cases) {
      // The user's tensors belong to one case; all other cases of a device share a runner.
      if (!shared || !bound.tensors.empty()) {
        RunOptions options = options_for(request, *inputs, bound);
        options.provenance.profile = profiled.texts.at(device);
        plan.runners.push_back(std::make_unique<PlannedRunner>(
            PlannedRunner{&device->info(), options.provenance, options.repro_suffix, nullptr}));
        plan.runners.back()->runner =
            std::make_unique<Runner>(context.ops, context.stages, *device, std::move(options));
        shared = plan.runners.back().get();
      }
      auto paths = shared->runner->paths_for(bound.c);
      if (!paths) return tl::unexpected(paths.error());
      without_path += paths->empty() ? 1 : 0;
      if (!request.path.empty()) {
        // One case named on purpose is forced on the path; of a suite, the cases in the path's precision are
        // taken.
        const bool offered = std::find(paths->begin(), paths->end(), request.path) != paths->end();
        paths->clear();
        if (offered || !request.cases.empty()) paths->push_back(request.path);
      }
      const std::string text = print_case(bound.c, context.stages);
      const int rung = context.stages.find(bound.c.stage)->rung();
      for (const std::string& path : *paths)
        if (fits_filter(fmt::format("{} {} {}", bound.c.stage, path, text), request.filter))
          plan.items.push_back({shared, bound.c, text, path, rung});
      if (device == asked.front())
        plan.notes.insert(plan.notes.end(), bound.notes.begin(), bound.notes.end());
    }
    if (without_path > 0)
      plan.notes.push_back(fmt::format("{}: {} of {} cases have no path in their precision there",
                                       device->info().id, without_path, cases->size()));
  }
  return plan;
}

}  // namespace parity::cli
