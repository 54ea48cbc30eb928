#version 450
// Sums over the rows of each column, in row order, one invocation a column.
#extension GL_GOOGLE_include_directive : require
#include "op_interface.glsl"
#include "element_grid.glsl"

layout(set = 0, binding = 0) readonly buffer In0 { float in0[]; };
layout(set = 0, binding = 1) readonly buffer In1 { float in1[]; };
layout(set = 0, binding = 2) readonly buffer In2 { float in2[]; };
layout(set = 0, binding = 3) writeonly buffer Out { float out0[]; };

// n[0] = rows
const uint RMS_NORM_WEIGHT_GRADIENT = 0;
const uint GRADIENT_REDUCTION = 1;

void element(uint unused, uint col) {
  precise float sum = 0.0;
  for (uint row = 0; row < push.n[0]; ++row) {
    const float x = in0[at(0, row, col)];
    if (OPERATION == RMS_NORM_WEIGHT_GRADIENT) {
      precise float xh = x * in1[at(1, row, 0)];
      sum = fma(in2[at(2, row, col)], xh, sum);
    } else {
      sum = sum + x;
    }
  }
  out0[at(3, 0, col)] = sum;
}
