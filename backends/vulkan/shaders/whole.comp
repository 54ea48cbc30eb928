#version 450
// Reductions over all elements of a tensor, in row-major order: a single workgroup.
#extension GL_GOOGLE_include_directive : require
#include "op_interface.glsl"
#include "row_grid.glsl"

layout(set = 0, binding = 0) readonly buffer In { float in0[]; };
layout(set = 0, binding = 1) writeonly buffer Out0 { float out0[]; };
layout(set = 0, binding = 2) writeonly buffer Out1 { float out1[]; };

// n = {rows, columns}
const uint SQUARE_SUM = 0;
const uint FROBENIUS_NORMALIZE = 1;  // x[0] = eps
const uint MEAN = 2;                 // x[0] = elements as a float
const uint CLIP_FACTOR = 3;          // n = {1, parts, elements from part to part}, x = {max_norm, 1e-6}

float sum_of_all(bool squares) {
  precise float own = 0.0;
  for (uint i = gl_LocalInvocationIndex; i < push.n[0] * push.n[1]; i += LANES) {
    const float x = in0[at(0, i / push.n[1], i % push.n[1])];
    if (squares)
      own = fma(x, x, own);
    else
      own = own + x;
  }
  return add_lanes(own);
}

void clip_factor() {
  precise float sum = 0.0;
  for (uint i = 0; i < push.n[1]; ++i) sum = sum + in0[at(0, 0, i * push.n[2])];
  const float norm = sqrt(sum);
  precise float raised = norm + push.x[1];
  precise float factor = push.x[0] / raised;
  out0[at(1, 0, 0)] = factor > 1.0 ? 1.0 : factor;  // a NaN stays
  out1[at(2, 0, 0)] = norm;
}

void normalize() {
  const float norm = sqrt(sum_of_all(true));
  precise float divisor = norm + push.x[0];
  for (uint i = gl_LocalInvocationIndex; i < push.n[0] * push.n[1]; i += LANES) {
    const uint row = i / push.n[1], col = i % push.n[1];
    precise float y = in0[at(0, row, col)] / divisor;
    out0[at(1, row, col)] = y;
  }
}

void work(uint unused_row, uint unused_col) {
  if (OPERATION == CLIP_FACTOR) {
    if (gl_LocalInvocationIndex == 0u) clip_factor();
  } else if (OPERATION == FROBENIUS_NORMALIZE) {
    normalize();
  } else {
    precise float sum = sum_of_all(OPERATION == SQUARE_SUM);
    if (OPERATION == MEAN) sum = sum / push.x[0];
    if (gl_LocalInvocationIndex == 0u) out0[at(1, 0, 0)] = sum;
  }
}
