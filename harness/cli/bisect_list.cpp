#include "harness/cli/bisect_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "harness/cli/bisect_scenarios.hpp"
#include "harness/cli/exit_code.hpp"
#include "harness/cli/faulty_devices.hpp"
#include "harness/cli/output.hpp"
#include "harness/cli/progress.hpp"
#include "harness/cli/run_output.hpp"
#include "reports/text_file.hpp"

namespace parity::cli {

Result<Device*> one_device(const BackendSet& set, const std::string& choice, const char* option) {
  const auto devices = select_devices(set, {choice});
  if (!devices) return tl::unexpected(devices.error());
  if (devices->size() != 1)
    return bad_input(fmt::format("{} {} fits {} devices; give one, for example {}", option, choice,
                                 devices->size(), devices->front()->info().id));
  return devices->front();
}

Result<int> bisect_list(const Context& context, const ListRequest& request) {
  const auto text = read_text_file(request.file, "a list of scenarios");
  if (!text) return tl::unexpected(text.error());
  auto list = parse_scenarios(*text, request.file);
  if (!list) return tl::unexpected(list.error());
  if (request.catalogue) {
    auto more = catalogue_scenarios(*list);
    if (!more) return tl::unexpected(more.error());
    std::ranges::move(*more, std::back_inserter(*list));
  }
  const BackendOptions backend{.validate = request.validate, .timeout_seconds = request.timeout_seconds};
  const BackendSet set =
      load_backends(context.ops, backend, context.backend_directory, backends_for({request.device}));
  const auto device = one_device(set, request.device, "--device");
  if (!device) return tl::unexpected(device.error());
  FaultyDevices faulty(context.ops, backend, context.backend_directory);
  Progress progress(list->size());
  const auto run = run_scenarios(
      context, *list, **device, faulty,
      [&](std::size_t number, const std::string& name) { progress.begin(number, name); },
      [&](const ScenarioRow& row) {
        progress.clear();
        print(scenario_line(row));
      });
  if (!run) return tl::unexpected(run.error());
  print(scenarios_summary(*run));
  if (!request.out.empty()) {
    if (auto made = make_directory(request.out); !made) return tl::unexpected(made.error());
    const auto file = std::filesystem::path(request.out) / "bisect.md";
    if (auto ok = write_file(file, scenarios_markdown(*run)); !ok) return tl::unexpected(ok.error());
  }
  using Outcome = ScenarioRow::Outcome;
  if (run->count(Outcome::wrong) > 0) return contract_failed;
  return run->count(Outcome::right) > 0 ? passed : nothing_judged;
}

}  // namespace parity::cli
