#version 450
// RMS normalisation of `group` columns at a time, and what else reduces over the columns of a head: one workgroup
// a group (work column).
#extension GL_GOOGLE_include_directive : require
#include "op_interface.glsl"
#include "row_grid.glsl"

layout(set = 0, binding = 0) readonly buffer In0 { float in0[]; };
layout(set = 0, binding = 1) readonly buffer In1 { float in1[]; };
layout(set = 0, binding = 2) readonly buffer In2 { float in2[]; };
layout(set = 0, binding = 3) readonly buffer In3 { float in3[]; };
layout(set = 0, binding = 4) writeonly buffer Out0 { float out0[]; };
layout(set = 0, binding = 5) writeonly buffer Out1 { float out1[]; };

// n[0] = columns of a group
const uint RMS_NORM = 0;                  // x[0] = that as a float, x[1] = eps
const uint RMS_NORM_BACKWARD = 1;         // x[0] = that as a float
const uint HEAD_SCALE_GAIN_GRADIENT = 2;  // n[1] = rows

void rms_norm(uint row, uint group) {
  const uint first = group * push.n[0];
  precise float own = 0.0;
  for (uint i = gl_LocalInvocationIndex; i < push.n[0]; i += LANES) {
    const float x = in0[at(0, row, first + i)];
    own = fma(x, x, own);
  }
  precise float mean = add_lanes(own) / push.x[0];
  precise float shifted = mean + push.x[1];
  const float r = inversesqrt(shifted);
  if (gl_LocalInvocationIndex == 0u) out1[at(5, row, group)] = r;
  for (uint i = gl_LocalInvocationIndex; i < push.n[0]; i += LANES) {
    precise float y = in0[at(0, row, first + i)] * r;
    if (has_input(1)) y = y * in1[at(1, 0, i)];
    out0[at(4, row, first + i)] = y;
  }
}

float weighted(uint row, uint first, uint i) {
  precise float gw = in3[at(3, row, first + i)];
  if (has_input(1)) gw = gw * in1[at(1, 0, i)];
  return gw;
}

void rms_norm_backward(uint row, uint group) {
  const uint first = group * push.n[0];
  const float r = in2[at(2, row, group)];
  precise float own = 0.0;
  for (uint i = gl_LocalInvocationIndex; i < push.n[0]; i += LANES) {
    precise float xh = in0[at(0, row, first + i)] * r;
    own = fma(weighted(row, first, i), xh, own);
  }
  precise float q = add_lanes(own) / push.x[0];
  for (uint i = gl_LocalInvocationIndex; i < push.n[0]; i += LANES) {
    precise float xh = in0[at(0, row, first + i)] * r;
    precise float along = xh * q;
    precise float across = weighted(row, first, i) - along;
    precise float dx = r * across;
    out0[at(4, row, first + i)] = dx;
  }
}

void gain_gradient(uint head) {
  precise float own = 0.0;
  for (uint i = gl_LocalInvocationIndex; i < push.n[1] * push.n[0]; i += LANES) {
    const uint row = i / push.n[0], col = head * push.n[0] + i % push.n[0];
    own = fma(in1[at(1, row, col)], in0[at(0, row, col)], own);
  }
  const float sum = add_lanes(own);
  if (gl_LocalInvocationIndex == 0u) out0[at(4, 0, head)] = sum;
}

void work(uint row, uint col) {
  if (OPERATION == RMS_NORM)
    rms_norm(row, col);
  else if (OPERATION == RMS_NORM_BACKWARD)
    rms_norm_backward(row, col);
  else
    gain_gradient(col);
}
