#include "harness/cli/run_plan.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <set>
#include <sstream>

#include "harness/base/nearest.hpp"
#include "harness/base/text.hpp"
#include "harness/cli/case_filter.hpp"
#include "harness/cli/guarded_run.hpp"
#include "harness/cli/output.hpp"
#include "harness/cli/suites.hpp"
#include "harness/cli/version.hpp"
#include "harness/ladder/host_memory.hpp"
#include "harness/probe/call_order.hpp"

namespace parity::cli {
namespace {

Result<void> apply_seed(std::vector<BoundCase>& cases, const std::string& text, const StageTable& stages) {
  if (text.empty()) return {};
  const auto seed = parse_number<std::uint64_t>(text);
  if (!seed) return bad_input(fmt::format("--seed {}: wants a whole number from 0 to 2^64-1", text));
  std::set<std::string> seen;
  std::vector<BoundCase> kept;
  for (BoundCase& bound : cases) {
    bound.c.seed = *seed;
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

/// Of one run of the case; 0 where it cannot be built.
double flops_of(const Stage& stage, const Case& c, const OpTable& ops) {
  const auto program = stage.build(c);
  if (!program || !check_program(ops, *program)) return 0;
  double flops = 0;
  for (const OpCall& call : program->calls) flops += ops.find(call.op)->work(call, *program).flops;
  return flops * static_cast<double>(stage.steps(c));
}

std::string reference_text(const RunRequest& request) {
  return request.reference == "auto" ? "" : " --reference " + request.reference;
}

/// Takes out what --max-flops forbids; the note that says so, empty where it forbids nothing.
std::string leave_out_large(std::vector<BoundCase>& cases, double max_flops, const Context& context) {
  const auto large = [&](const BoundCase& bound) {
    return flops_of(*context.stages.find(bound.c.stage), bound.c, context.ops) > max_flops;
  };
  const std::size_t all = cases.size();
  const auto first = std::stable_partition(cases.begin(), cases.end(), std::not_fn(large));
  if (first == cases.end()) return {};
  const std::string example = print_case(first->c, context.stages);
  cases.erase(first, cases.end());
  return fmt::format("--max-flops {:g} leaves out {} of {} cases, among them {}", max_flops,
                     all - cases.size(), all, example);
}

RunOptions options_for(const RunRequest& request, const UserInputs& inputs, const BoundCase& bound) {
  RunOptions options;
  options.repeats = request.repeats;
  options.order_effects = !request.no_order_effects;
  options.reference = request.reference == "full"      ? ReferenceKind::full
                      : request.reference == "sampled" ? ReferenceKind::sampled
                                                       : ReferenceKind::automatic;
  options.inputs = bound.tensors;
  // Each would take what the others take as well.
  if (request.side_by_side > 1) options.memory_limit = host_bytes_available() / request.side_by_side;
  options.provenance = provenance();
  options.provenance.started = request.started;
  options.provenance.inputs = inputs.sources;
  options.provenance.flags += ";" + settings_text(request);
  options.repro_suffix = inputs.repro + reference_text(request);
  if (request.reveal) {
    options.reveal = make_reveal_order();
    options.repro_suffix += " --reveal";
  }
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

std::string settings_text(const RunRequest& request) {
  std::string text = fmt::format(" --repeats {}", request.repeats);
  if (request.max_flops > 0) text += fmt::format(" --max-flops {:g}", request.max_flops);
  if (request.no_order_effects) text += " --no-order-effects";
  if (request.validate) text += " --validate";
  if (request.reveal) text += " --reveal";
  if (request.rerun > 0) text += fmt::format(" --rerun {}", request.rerun);
  return text + reference_text(request);
}

Record run_item(const RunPlan& plan, std::size_t item) {
  using Clock = std::chrono::steady_clock;
  const PlanItem& entry = plan.outline.items[item];
  Runner& runner = *plan.runners[entry.group];
  const Clock::time_point begun = Clock::now();
  Record record =
      guarded_run([&] { return runner.run(plan.cases[item], entry.path); }, blank_record(plan.outline, item));
  record.case_seconds = std::chrono::duration<double>(Clock::now() - begun).count();
  return record;
}

void pass_over_item(const RunPlan& plan, std::size_t item) {
  const PlanItem& entry = plan.outline.items[item];
  plan.runners[entry.group]->pass_over(plan.cases[item], entry.path);
}

Result<RunPlan> make_plan(const RunRequest& request, const Context& context,
                          const ProfiledDevices& profiled) {
  auto inputs =
      read_user_inputs(request.inputs, request.nan == "allow" ? NanPolicy::allow : NanPolicy::reject);
  if (!inputs) return tl::unexpected(inputs.error());
  auto cases = read_cases(request, *inputs, context.stages);
  if (!cases) return tl::unexpected(cases.error());
  const std::string left_out =
      request.max_flops > 0 ? leave_out_large(*cases, request.max_flops, context) : std::string();
  // A forced path is asked of the devices that know it; of all where none does, so that the records say so.
  const std::vector<Device*>& devices = profiled.devices;
  std::vector<Device*> asked = devices;
  if (!request.path.empty() && std::any_of(devices.begin(), devices.end(),
                                           [&](Device* device) { return has_path(*device, request.path); }))
    std::erase_if(asked, [&](Device* device) { return !has_path(*device, request.path); });

  RunPlan plan;
  if (!left_out.empty()) plan.outline.notes.push_back(left_out);
  for (Device* device : asked) {
    Runner* shared = nullptr;
    std::size_t without_path = 0;
    for (const BoundCase& bound : *cases) {
      // The user's tensors belong to one case; all other cases of a device share a runner.
      if (!shared || !bound.tensors.empty()) {
        RunOptions options = options_for(request, *inputs, bound);
        options.provenance.profile = profiled.texts.at(device);
        plan.outline.groups.push_back({device->info(), options.provenance, options.repro_suffix});
        plan.runners.push_back(
            std::make_unique<Runner>(context.ops, context.stages, *device, std::move(options)));
        shared = plan.runners.back().get();
      }
      auto paths = shared->paths_for(bound.c);
      if (!paths) return tl::unexpected(paths.error());
      without_path += paths->empty() ? 1 : 0;
      if (!request.path.empty()) {
        // One case named on purpose is forced on the path; of a suite, the cases in the path's precision are
        // taken.
        const bool offered = std::find(paths->begin(), paths->end(), request.path) != paths->end();
        paths->clear();
        if (offered || !request.cases.empty()) paths->push_back(request.path);
      }
      const Stage& stage = *context.stages.find(bound.c.stage);
      const std::string text = print_case(bound.c, context.stages);
      const double flops = request.shard.empty() ? 0 : flops_of(stage, bound.c, context.ops);
      for (const std::string& path : *paths) {
        if (!fits_filter(fmt::format("{} {} {}", bound.c.stage, path, text), request.filter)) continue;
        plan.outline.items.push_back(
            {plan.runners.size() - 1, bound.c.stage, text, path, stage.rung(), flops});
        plan.cases.push_back(bound.c);
      }
      if (device == asked.front())
        plan.outline.notes.insert(plan.outline.notes.end(), bound.notes.begin(), bound.notes.end());
    }
    if (without_path > 0)
      plan.outline.notes.push_back(fmt::format("{}: {} of {} cases have no path in their precision there",
                                               device->info().id, without_path, cases->size()));
  }
  return plan;
}

}  // namespace parity::cli
