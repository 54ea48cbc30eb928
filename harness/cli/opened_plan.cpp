#include "harness/cli/opened_plan.hpp"

#include <fmt/core.h>

namespace parity::cli {

Result<OpenedPlan> open_plan(const Context& context, const RunRequest& request, bool one_of_several) {
  const BackendOptions options{request.validate, request.timeout_seconds};
  OpenedPlan opened;
  opened.backends =
      load_backends(context.ops, options, context.backend_directory, backends_for(request.devices));
  const auto devices = select_devices(opened.backends, request.devices);
  if (!devices) return tl::unexpected(devices.error());
  auto profiled = apply_profiles(request.profiles, *devices, one_of_several);
  if (!profiled) return tl::unexpected(profiled.error());
  opened.profiled = *std::move(profiled);
  if (!request.path.empty() && !one_of_several)
    if (auto checked = check_path(request.path, opened.backends); !checked)
      return tl::unexpected(checked.error());
  auto plan = make_plan(request, context, opened.profiled);
  if (!plan) return tl::unexpected(plan.error());
  opened.plan = *std::move(plan);
  std::vector<std::string> notes = opened.profiled.notes;
  std::vector<std::string>& own = opened.plan.outline.notes;
  notes.insert(notes.end(), own.begin(), own.end());
  if (request.devices.empty())
    for (const AbsentBackend& absent : opened.backends.absent)
      notes.push_back(fmt::format("{} is absent: {}", absent.name, absent.reason));
  own = std::move(notes);
  return opened;
}

}  // namespace parity::cli
