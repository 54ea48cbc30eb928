// One workgroup a piece of work, a rows x cols grid of them; and how the lanes of a workgroup add up. `work` is
// called in uniform control flow.
void work(uint row, uint col);

void main() {
  for (uint row = gl_WorkGroupID.y; row < push.rows; row += gl_NumWorkGroups.y)
    for (uint col = gl_WorkGroupID.x; col < push.cols; col += gl_NumWorkGroups.x) work(row, col);
}

shared float lane_values[gl_WorkGroupSize.x];

// The sum over the lanes, in a halving tree: lane l takes lane l + LANES / 2, then l + LANES / 4, ...
float add_lanes(float own) {
  const uint lane = gl_LocalInvocationIndex;
  barrier();  // everyone has read the previous result
  lane_values[lane] = own;
  barrier();
  for (uint reach = LANES / 2u; reach > 0u; reach /= 2u) {
    if (lane < reach) {
      precise float sum = lane_values[lane] + lane_values[lane + reach];
      lane_values[lane] = sum;
    }
    barrier();
  }
  return lane_values[0];
}

// The larger of two; a NaN stays.
float larger(float a, float b) { return b > a || b != b ? b : a; }

float largest_lane(float own) {
  const uint lane = gl_LocalInvocationIndex;
  barrier();
  lane_values[lane] = own;
  barrier();
  for (uint reach = LANES / 2u; reach > 0u; reach /= 2u) {
    if (lane < reach) lane_values[lane] = larger(lane_values[lane], lane_values[lane + reach]);
    barrier();
  }
  return lane_values[0];
}

float minus_infinity() { return uintBitsToFloat(0xff800000u); }

// exp of a number that is at most 0. Below -104 the result is under half the least subnormal; there the
// function itself may be given anything.
float exp_below_zero(float x) { return x < -104.0 ? 0.0 : exp(x); }
