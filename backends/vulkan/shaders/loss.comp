#version 450
// Softmax cross-entropy: one workgroup a row.
#extension GL_GOOGLE_include_directive : require
#include "op_interface.glsl"
#include "row_grid.glsl"

layout(set = 0, binding = 0) readonly buffer Logits { float logits[]; };
layout(set = 0, binding = 1) readonly buffer Targets { int targets[]; };
layout(set = 0, binding = 2) readonly buffer RowGradients { float d_row[]; };
layout(set = 0, binding = 3) writeonly buffer Out { float out0[]; };

// n[0] = classes
const uint LOSS = 0;
const uint LOSS_BACKWARD = 1;

float exponential(uint row, uint i, float maximum) {
  precise float below = logits[at(0, row, i)] - maximum;
  return exp_below_zero(below);
}

void work(uint row, uint unused) {
  float largest = minus_infinity();
  for (uint i = gl_LocalInvocationIndex; i < push.n[0]; i += LANES)
    largest = larger(largest, logits[at(0, row, i)]);
  const float maximum = largest_lane(largest);
  precise float own = 0.0;
  for (uint i = gl_LocalInvocationIndex; i < push.n[0]; i += LANES) own = own + exponential(row, i, maximum);
  const float total = add_lanes(own);
  const uint target = uint(targets[at(1, 0, row)]);
  // A target that is no class: NaN, and no access outside the row.
  const bool known = target < push.n[0];
  const float not_a_number = uintBitsToFloat(0x7fc00000u);
  if (OPERATION == LOSS) {
    precise float log_sum = maximum + log(total);
    precise float loss = log_sum - (known ? logits[at(0, row, target)] : not_a_number);
    if (gl_LocalInvocationIndex == 0u) out0[at(3, 0, row)] = loss;
  } else {
    const float g = known ? d_row[at(2, 0, row)] : not_a_number;
    for (uint i = gl_LocalInvocationIndex; i < push.n[0]; i += LANES) {
      precise float softmax = exponential(row, i, maximum) / total;
      if (i == target) softmax = softmax - 1.0;
      precise float d = softmax * g;
      out0[at(3, row, i)] = d;
    }
  }
}
