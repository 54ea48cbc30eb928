// Compiled for AVX-512 (CMakeLists.txt): 64-byte vectors.
#define PARITY_LANE_BYTES 64
#include "harness/numerics/adder_lanes.inc"

namespace parity {

const AdderLanes& wide_adder_lanes() {
  return compiled_lanes;
}

}  // namespace parity
