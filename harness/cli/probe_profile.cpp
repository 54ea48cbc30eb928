#include "harness/cli/probe_profile.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "harness/cli/interrupt.hpp"
#include "harness/cli/output.hpp"
#include "harness/cli/progress.hpp"
#include "harness/cli/version.hpp"
#include "reports/profile_json.hpp"
#include "reports/profile_text.hpp"

namespace parity::cli {

namespace {

/// profile.json and profile.md; of several devices with the id in the name.
Result<void> write_profile(const ProfileRequest& request, const DeviceProfile& profile,
                           const Provenance& from) {
  const DeviceInfo& info = profile.device;
  const std::filesystem::path directory(request.out);
  if (auto written = write_file(directory / profile_file(request, info.id), profile_json(profile, from));
      !written)
    return written;
  const std::string heading = fmt::format("# {}\n\n{}, {}. Made by `parity probe` of commit {}, {}.\n\n",
                                          info.name, info.driver, info.api, from.commit, from.started);
  return write_file(directory / profile_file(request, info.id, ".md"), heading + profile_markdown(profile));
}

}  // namespace

std::string profile_file(const ProfileRequest& request, const std::string& device_id, const char* ending) {
  std::string name = "profile";
  if (request.always_named) name += "-" + device_id;
  std::ranges::replace(name, ':', '-');
  return name + ending;
}

Result<ProfileTally> profile_devices(const std::vector<Device*>& devices, ProfileRequest request) {
  request.always_named = request.always_named || devices.size() > 1;
  ProfileTally tally;
  Progress progress(devices.size());
  for (std::size_t i = 0; i < devices.size() && interrupted() == 0; ++i) {
    const DeviceInfo& info = devices[i]->info();
    const auto profile = profile_device(*devices[i], request.options, [&](const std::string& doing) {
      progress.begin(i + 1, fmt::format("{} {}", info.id, doing));
    });
    progress.clear();
    if (!profile) {
      const bool unsupported = profile.error().kind == ErrorKind::unsupported;
      ++(unsupported ? tally.unsupported : tally.failed);
      complain(fmt::format("{} device profile: {}{}", info.id, unsupported ? "unsupported: " : "",
                           profile.error().message));
      continue;
    }
    ++tally.profiled;
    tally.findings += static_cast<int>(profile->findings().size());
    const Provenance from = provenance();
    if (request.json)
      print(profile_json(*profile, from, -1));
    else
      print(fmt::format("{}  {}  ({}, {})\n{}\n", info.id, info.name, info.driver, info.api,
                        profile_text(*profile)));
    if (!request.out.empty())
      if (auto written = write_profile(request, *profile, from); !written)
        return tl::unexpected(written.error());
  }
  return tally;
}

}  // namespace parity::cli
