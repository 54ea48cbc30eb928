#include "harness/cli/run_profiles.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/cli/backend_loader.hpp"
#include "harness/cli/interrupt.hpp"
#include "harness/cli/output.hpp"
#include "harness/cli/probe_profile.hpp"
#include "harness/worker/supervisor.hpp"

namespace parity::cli {
namespace {

/// Arguments in each binade and sign: some seconds on a software device. `parity probe` asks more.
constexpr std::int64_t profile_sample = 64;
/// For all questions to one device.
constexpr double profile_seconds = 900;

/// In a worker: why there is no profile; empty: it is written.
std::string profile_one(const Context& context, const std::string& id, const ProfileRequest& request,
                        double timeout_seconds) {
  const BackendSet set = load_backends(context.ops, {.timeout_seconds = timeout_seconds},
                                       context.backend_directory, backends_for({id}));
  const auto devices = select_devices(set, {id});
  if (!devices) return devices.error().message;
  const auto tally = profile_devices(*devices, request);
  if (!tally) return tally.error().message;
  return tally->profiled > 0 ? "" : "nothing was measured";  // the worker said why
}

}  // namespace

void leave_profiles(const Context& context, const std::vector<std::string>& devices,
                    const std::filesystem::path& directory, double timeout_seconds) {
  ProfileRequest request{{}, directory.string()};
  request.options.exhaustive = false;
  request.options.sample = profile_sample;
  request.always_named = devices.size() > 1;

  std::vector<Lane> lanes;
  for (std::size_t item = 0; item < devices.size(); ++item) {
    std::error_code ignored;
    if (std::filesystem::exists(directory / profile_file(request, devices[item]), ignored)) continue;
    Lane lane;
    lane.name = devices[item];
    lane.main = [&, item](WorkerChannel& channel) {
      channel.write(ready_line("{}"));
      while (const auto line = channel.read_line()) {
        channel.write(begun_line(0));
        const std::string why = profile_one(context, devices[item], request, timeout_seconds);
        std::fflush(stdout);
        channel.write(
            done_line(0, nlohmann::json(why).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)));
      }
      return 0;
    };
    lane.work.push_back({0, item});
    lane.passed.assign(1, false);
    lanes.push_back(std::move(lane));
  }
  if (lanes.empty()) return;

  const auto say = [&](std::size_t item, const std::string& why) {
    complain(fmt::format("{}: its profile could not be measured: {}", devices[item], why));
  };
  Supervisor::Events events;
  events.done = [&](std::size_t item, std::string_view payload) {
    const auto why = nlohmann::json::parse(payload, nullptr, false);
    if (!why.is_string()) return Supervisor::Taken::garbage;
    if (!why.get_ref<const std::string&>().empty()) say(item, why.get<std::string>());
    return Supervisor::Taken::passed;
  };
  events.lost = [&](std::size_t item, const LostCase& lost) {
    say(item, lost.reason);
    return false;
  };
  events.note = [](const std::string& sentence) { complain(sentence); };
  events.stopping = [] { return interrupted() != 0; };
  SupervisorOptions options;
  options.case_seconds = profile_seconds;
  Supervisor supervisor(options, std::move(events));
  for (Lane& lane : lanes) supervisor.add(std::move(lane));
  if (auto ran = supervisor.run(); !ran) complain(ran.error().message);
}

}  // namespace parity::cli
