#include "harness/cli/device_profiles.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "harness/tensor/file_io.hpp"
#include "reports/profile_json.hpp"

namespace parity::cli {

namespace {

/// Ten times what the profile of a device with both formats takes.
constexpr std::uint64_t largest_profile = std::uint64_t{16} << 20;

Result<DeviceProfile> read_profile(const std::string& file) {
  const auto reader = FileReader::open(file);
  if (!reader) return tl::unexpected(reader.error());
  if (reader->size() > largest_profile)
    return bad_input(fmt::format("{} has {} bytes; a device profile has at most {}", file, reader->size(),
                                 largest_profile));
  std::string text(reader->size(), '\0');
  if (auto read = reader->read(0, std::as_writable_bytes(std::span(text))); !read)
    return tl::unexpected(read.error());
  auto profile = parse_profile_json(text);
  if (!profile) return bad_input(fmt::format("{}: {}", file, profile.error().message));
  return profile;
}

}  // namespace

Result<ProfiledDevices> apply_profiles(const std::vector<std::string>& files,
                                       const std::vector<Device*>& devices, bool others_too) {
  ProfiledDevices result;
  result.devices = devices;
  for (const std::string& file : files) {
    const auto profile = read_profile(file);
    if (!profile) return tl::unexpected(profile.error());
    std::string refusals;
    bool taken = false;
    for (std::size_t i = 0; i < devices.size(); ++i) {
      if (const auto fits = check_profile(*profile, devices[i]->info()); !fits) {
        refusals += fmt::format("{}{}", refusals.empty() ? "" : "\n  ", fits.error().message);
        continue;
      }
      if (result.devices[i] != devices[i])
        return bad_input(fmt::format("{}: {} has a profile already", file, devices[i]->info().id));
      auto profiled = ProfiledDevice::create(*devices[i], *profile);
      if (!profiled) return tl::unexpected(profiled.error());
      taken = true;
      result.devices[i] = profiled->get();
      result.texts[profiled->get()] = fmt::format("{}: {}", file, (*profiled)->use().text());
      for (const std::string& line : (*profiled)->use().tightened)
        result.notes.push_back(fmt::format("{} profile: tightened {}", devices[i]->info().id, line));
      for (const std::string& line : (*profiled)->use().inconclusive)
        result.notes.push_back(fmt::format("{} profile: inconclusive: {}", devices[i]->info().id, line));
      result.profiled.push_back(*std::move(profiled));
    }
    if (!taken && !others_too) return bad_input(fmt::format("{}: {}", file, refusals));
  }
  for (Device* device : result.devices) {
    if (result.texts.contains(device)) continue;
    result.texts[device] = no_profile_text;
    if (!files.empty())
      result.notes.push_back(fmt::format("{} profile: {}", device->info().id, no_profile_text));
  }
  return result;
}

}  // namespace parity::cli
