#include "harness/worker/shard.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "harness/base/text.hpp"

namespace parity {
namespace {

/// What an item costs without any operation, and an operation, where nothing was measured: a small case and
/// the emulated arithmetic of one core. Their ratio is all that counts.
constexpr double seconds_an_item = 2e-3, seconds_a_flop = 2e-8;
constexpr std::size_t most_shards = 100000;

/// An engine that numbers its jobs, and the variables it does it with.
struct Engine {
  const char *name, *index, *total;  ///< total: nullptr where there is none
  const char* first;                 ///< the least index; nullptr: 0
  const char* step;                  ///< between indices; nullptr: 1
};
constexpr Engine engines[] = {
    {"GoogleTest", "GTEST_SHARD_INDEX", "GTEST_TOTAL_SHARDS", nullptr, nullptr},
    {"Slurm", "SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT", "SLURM_ARRAY_TASK_MIN",
     "SLURM_ARRAY_TASK_STEP"},
    {"Kubernetes", "JOB_COMPLETION_INDEX", nullptr, nullptr, nullptr},
};

/// The number in a variable; `fallback` where it is not set or the engine has none.
Result<std::size_t> number_in(const char* variable, std::size_t fallback, const Environment& environment) {
  const char* text = variable ? environment(variable) : nullptr;
  if (!text || !*text) return fallback;
  if (const auto number = parse_number<std::size_t>(text)) return *number;
  return bad_input(fmt::format("--shard auto: {} is '{}', which is no whole number", variable, text));
}

Result<Shard> read_engine(const Engine& engine, std::size_t given_total, const Environment& environment) {
  const auto index = number_in(engine.index, 0, environment), total = number_in(engine.total, 0, environment),
             first = number_in(engine.first, 0, environment), step = number_in(engine.step, 1, environment);
  for (const auto* number : {&index, &total, &first, &step})
    if (!*number) return tl::unexpected(number->error());
  if (*total == 0 && given_total == 0)
    return bad_input(
        fmt::format("--shard auto: {} says which job this is and not of how many; give the total: "
                    "--shard auto/4",
                    engine.index));
  if (*total != 0 && given_total != 0 && *total != given_total)
    return bad_input(fmt::format("--shard auto/{}: {} is {}", given_total, engine.total, *total));
  const std::size_t of = *total != 0 ? *total : given_total;
  if (*index < *first || *step == 0 || (*index - *first) % *step != 0 || (*index - *first) / *step >= of)
    return bad_input(
        fmt::format("--shard auto: {} is {}, which is none of {} jobs", engine.index, *index, of));
  return Shard{(*index - *first) / *step + 1, of, fmt::format("{} of {}", engine.index, engine.name)};
}

Result<Shard> read_environment(std::size_t given_total, const Environment& environment) {
  std::optional<Shard> found;
  std::vector<std::string> variables;
  for (const Engine& engine : engines) {
    variables.emplace_back(engine.index);
    const char* index = environment(engine.index);
    if (!index || !*index) continue;
    auto shard = read_engine(engine, given_total, environment);
    if (!shard) return shard;
    if (found && found->text() != shard->text())
      return bad_input(fmt::format("--shard auto: {} says {} and {} says {}; give the shard itself",
                                   found->source, found->text(), shard->source, shard->text()));
    found = *std::move(shard);
  }
  if (found) return *std::move(found);
  return bad_input(fmt::format("--shard auto: none of {} is set", fmt::join(variables, ", ")));
}

}  // namespace

std::string Shard::text() const {
  return fmt::format("{}/{}", number, of);
}

Result<Shard> parse_shard(const std::string& text, const Environment& environment) {
  const std::size_t slash = text.find('/');
  const std::string_view front = std::string_view(text).substr(0, slash);
  const auto total = slash == text.npos ? std::optional<std::size_t>(0)
                                        : parse_number<std::size_t>(std::string_view(text).substr(slash + 1));
  const bool total_is_right = total && *total <= most_shards && (slash == text.npos || *total > 0);
  if (front == "auto" && total_is_right) return read_environment(*total, environment);
  const auto number = parse_number<std::size_t>(front);
  if (!number || !total_is_right || *number < 1 || *number > *total)
    return bad_input(
        fmt::format("--shard {}: wants a number and a total, the first of four is 1/4; or auto", text));
  return Shard{*number, *total, "--shard"};
}

Result<std::vector<std::string>> ctest_devices(const Environment& environment) {
  const auto value_of = [&](const std::string& name) {
    const char* value = environment(name.c_str());
    return std::string(value ? value : "");
  };
  const std::string count = "CTEST_RESOURCE_GROUP_COUNT";
  const auto groups = parse_number<std::size_t>(value_of(count));
  if (!groups || *groups == 0 || *groups > most_shards)
    return bad_input(
        fmt::format("--device ctest: {} is '{}'; CTest sets it for a test with RESOURCE_GROUPS, started with "
                    "--resource-spec-file",
                    count, value_of(count)));
  std::vector<std::string> devices;
  for (std::size_t group = 0; group < *groups; ++group) {
    const std::string name = fmt::format("CTEST_RESOURCE_GROUP_{}", group), types = value_of(name);
    for (const std::string_view type : split(types, ",")) {
      std::string upper(type);
      for (char& c : upper) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
      const std::string variable = name + "_" + upper, text = value_of(variable);
      // id:0,slots:1;id:2,slots:1
      for (const std::string_view allocation : split(text, ";")) {
        const std::string_view id = allocation.substr(0, allocation.find(','));
        if (!id.starts_with("id:") || id.size() == 3)
          return bad_input(fmt::format("--device ctest: {} is '{}', which names no id", variable, text));
        const std::string device = fmt::format("{}:{}", type, id.substr(3));
        if (std::find(devices.begin(), devices.end(), device) == devices.end()) devices.push_back(device);
      }
    }
  }
  if (devices.empty())
    return bad_input(fmt::format("--device ctest: {} groups, and no resource in them", *groups));
  return devices;
}

std::vector<std::size_t> share_out(std::span<const double> costs, std::size_t shards) {
  std::vector<std::size_t> order(costs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return costs[a] > costs[b]; });
  std::vector<double> loads(shards, 0.0);
  std::vector<std::size_t> of(costs.size());
  for (const std::size_t item : order) {
    const auto least = std::ranges::min_element(loads);
    *least += costs[item];
    of[item] = static_cast<std::size_t>(least - loads.begin()) + 1;
  }
  return of;
}

std::vector<double> estimate_costs(std::span<const CostHint> hints) {
  struct Sum {
    double seconds = 0, guessed = 0;
  };
  const auto guess = [](const CostHint& hint) { return seconds_an_item + seconds_a_flop * hint.flops; };
  std::map<std::string, Sum> kinds;
  Sum all;
  for (const CostHint& hint : hints) {
    if (!hint.seconds) continue;
    for (Sum* sum : {&kinds[hint.kind], &all}) {
      sum->seconds += *hint.seconds;
      sum->guessed += guess(hint);
    }
  }
  std::vector<double> costs;
  for (const CostHint& hint : hints) {
    const auto kind = kinds.find(hint.kind);
    const Sum& sum = kind != kinds.end() ? kind->second : all;
    const double factor = sum.guessed > 0 && sum.seconds > 0 ? sum.seconds / sum.guessed : 1;
    costs.push_back(hint.seconds.value_or(guess(hint) * factor));
  }
  return costs;
}

}  // namespace parity
