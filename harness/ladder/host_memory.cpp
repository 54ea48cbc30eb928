#include "harness/ladder/host_memory.hpp"

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

/// What the control groups (version 2) around this process leave; the page cache gives way.
double control_group_leaves() {
  double least = HUGE_VAL;
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    if (!line.starts_with("0::")) continue;
    for (std::string group = line.substr(3);; group.resize(group.find_last_of('/'))) {
      const std::string folder = "/sys/fs/cgroup" + group;
      const double most = number_in(folder + "/memory.max"), used = number_in(folder + "/memory.current"),
                   cache = entry(folder + "/memory.stat", "file");
      if (!std::isnan(most) && !std::isnan(used))
        least = std::min(least, most - used + (std::isnan(cache) ? 0 : cache));
      if (group.find('/') == std::string::npos) break;
    }
  }
  return least;
}

double address_space_leaves() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return HUGE_VAL;
  const double pages = number_in("/proc/self/statm");
  return static_cast<double>(limit.rlim_cur) - pages * static_cast<double>(::sysconf(_SC_PAGESIZE));
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

double host_bytes_available() {
  double bytes = entry("/proc/meminfo", "MemAvailable:") * 1024;
  if (std::isnan(bytes)) bytes = HUGE_VAL;
  bytes = std::min({bytes, control_group_leaves(), address_space_leaves()});
#ifdef __GLIBC__
  bytes += static_cast<double>(::mallinfo2().fordblks);
#endif
  return bytes;
}

}  // namespace parity
