#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/ladder/backend.hpp"
#include "harness/ladder/stage.hpp"

namespace parity {

/// Times of a case of one size, each the median of several runs, in seconds.
struct SizeTimes {
  std::int64_t size = 0;
  std::optional<double> device;  ///< by the device's own clock; absent: it has none
  double round_trip = 0;         ///< on the host, from submitting to the end; every tensor lies on the device
  double host = 0;       ///< the CPU baseline (host_baseline.hpp), right after; the faster of one thread
  int host_threads = 0;  ///< and all
};

/// From which size on a device is faster than the CPU, as far as was measured.
struct Crossover {
  enum class Kind : std::uint8_t {
    unmeasured,
    wins,   ///< at every size
    loses,  ///< at every size
    from,   ///< loses at every size below `size`, wins from there on
    mixed,  ///< wins here and there
  } kind = Kind::unmeasured;
  std::int64_t size = 0;  ///< from: the first size won; mixed: the size from which on it only wins, if any
  std::vector<std::int64_t> won;  ///< mixed: the sizes it wins at
};
/// By `device_time` of each size, which is less than `host` where the device wins; sizes ascend, those
/// without a time are left out.
Crossover crossover(std::span<const SizeTimes> times,
                    const std::function<std::optional<double>(const SizeTimes&)>& device_time);
Crossover crossover_by_round_trip(std::span<const SizeTimes> times);
Crossover crossover_by_device_time(std::span<const SizeTimes> times);

struct TimingOptions {
  double warm_up_seconds = 0.02;  ///< runs before those that count
  double seconds = 0.1;           ///< of the runs that count, about
  int least_runs = 5, most_runs = 501;
};

/// Times a case on one path of a device and on the CPU, one after the other. Errors: the path cannot take it,
/// or there is no baseline (unsupported); the device failed.
Result<SizeTimes> time_case(Device& device, const Stage& stage, const Case& c, const std::string& path,
                            std::int64_t size, const TimingOptions& options = {});

/// One path of one device over growing sizes.
struct CrossoverRun {
  DeviceInfo device;
  std::string stage, path;
  std::string shape;      ///< "m = n = k = n"
  std::string precision;  ///< "f16 f32 f32": input, accumulate, store
  std::vector<SizeTimes> times;
  std::string note;  ///< why there are no times, or no more
};

/// What was measured as a table, and a sentence that says below which size the device loses.
std::string crossover_text(const CrossoverRun& run);
/// That sentence: "vulkan:0 loses to the CPU below n = 192 (gemm tiled_f32, round trip); ...".
std::string verdict_text(const CrossoverRun& run);

}  // namespace parity
