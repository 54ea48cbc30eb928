#define PARITY_LANE_BYTES 32
#include "harness/numerics/adder_lanes.inc"

namespace parity {

const AdderLanes& plain_adder_lanes() {
  return compiled_lanes;
}

}  // namespace parity
