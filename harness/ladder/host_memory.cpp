#include "harness/ladder/host_memory.hpp"

#include <fmt/core.h>
#include <sys/resource.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>

namespace parity {
namespace {

/// The number after `name` in a file of "name number" lines; NaN when it is not there.
double entry(const std::string& file, const std::string& name) {
  std::ifstream stream(file);
  std::string word;
  for (double value = 0; stream >> word; stream.ignore(4096, '\n'))
    if (word == name) return stream >> value ? value : std::nan("");
  return std::nan("");
}

/// The only number in a file; NaN when there is none ("max").
double number_in(const std::string& file) {
  double value = 0;
  return std::ifstream(file) >> value ? value : std::nan("");
}

/// The files in which one version of the memory controller keeps its figures.
struct ControllerFiles {
  const char *folder, *most, *used, *cache;
};
constexpr ControllerFiles version_1{"memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
                                    "total_cache"};
constexpr ControllerFiles version_2{"", "memory.max", "memory.current", "file"};

/// What the group `path` and those around it leave.
double group_leaves(const std::filesystem::path& root, const ControllerFiles& files, std::string path) {
  double least = HUGE_VAL;
  for (;; path.resize(path.find_last_of('/'))) {
    const std::string folder = (root / files.folder).string() + path + "/";
    const double most = number_in(folder + files.most), used = number_in(folder + files.used),
                 cache = entry(folder + "memory.stat", files.cache);
    if (!std::isnan(most) && !std::isnan(used))
      least = std::min(least, most - used + (std::isnan(cache) ? 0 : cache));
    if (path.find('/') == std::string::npos) return least;
  }
}

double address_space_leaves() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return HUGE_VAL;
  const double pages = number_in("/proc/self/statm");
  return static_cast<double>(limit.rlim_cur) - pages * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

/// RLIMIT_DATA counts private writable mappings, the heap and large allocations among them.
double data_limit_leaves() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_DATA, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return HUGE_VAL;
  const double used = entry("/proc/self/status", "VmData:") * 1024;
  return std::isnan(used) ? HUGE_VAL : static_cast<double>(limit.rlim_cur) - used;
}

}  // namespace

double host_bytes_needed(const Program& program, int repeats) {
  // Measured peaks: about 80 bytes an output element beside its copies (value, hard bound, systematic part,
  // mean, variance, and the sums they come from), 16 an input element (its value and its square in fp64), and
  // some 3 KB of aggregates for each matrix of a batch.
  double bytes = 0;
  for (const TensorSpec& spec : program.tensors) {
    double elements = 1, stored = 1, matrices = 1;
    for (std::size_t d = 0; d < spec.shape.size(); ++d) {
      elements *= static_cast<double>(spec.shape[d]);
      if (d + 2 < spec.shape.size()) matrices *= static_cast<double>(spec.shape[d]);
      stored += static_cast<double>(std::max<std::int64_t>(0, spec.shape[d] - 1)) *
                static_cast<double>(d < spec.strides.size() ? spec.strides[d] : 1);
    }
    if (elements == 0) continue;
    const double size = std::max(elements, stored) * static_cast<double>(size_of(spec.dtype));
    const bool input = spec.role == TensorSpec::Role::input || spec.role == TensorSpec::Role::state;
    bytes += input ? 3 * size + 16 * elements : (repeats + 3) * size + 80 * elements + 3000 * matrices;
  }
  return bytes;
}

double control_groups_leave(const std::filesystem::path& groups, const std::filesystem::path& root) {
  double least = HUGE_VAL;
  std::ifstream stream(groups);
  for (std::string line; std::getline(stream, line);) {
    // "number:controllers:path"; version 2 has the number 0 and names no controllers.
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = fmt::format(",{},", line.substr(first + 1, second - first - 1));
    const std::string path = line.substr(second + 1);
    if (controllers == ",,") least = std::min(least, group_leaves(root, version_2, path));
    if (controllers.find(",memory,") != std::string::npos)
      least = std::min(least, group_leaves(root, version_1, path));
  }
  return least;
}

double host_bytes_available() {
  double bytes = entry("/proc/meminfo", "MemAvailable:") * 1024;
  if (std::isnan(bytes)) bytes = HUGE_VAL;
  bytes = std::min({bytes, control_groups_leave("/proc/self/cgroup", "/sys/fs/cgroup"),
                    address_space_leaves(), data_limit_leaves()});
#ifdef __GLIBC__
  bytes += static_cast<double>(::mallinfo2().fordblks);
#endif
  return bytes;
}

}  // namespace parity
