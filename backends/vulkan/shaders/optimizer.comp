#version 450
// Updates of parameters, elementwise.
#extension GL_GOOGLE_include_directive : require
#include "op_interface.glsl"
#include "element_grid.glsl"

layout(set = 0, binding = 0) readonly buffer In0 { float in0[]; };
layout(set = 0, binding = 1) readonly buffer In1 { float in1[]; };
layout(set = 0, binding = 2) readonly buffer In2 { float in2[]; };
layout(set = 0, binding = 3) readonly buffer In3 { float in3[]; };
layout(set = 0, binding = 4) readonly buffer In4 { float in4[]; };
layout(set = 0, binding = 5) writeonly buffer Out0 { float out0[]; };
layout(set = 0, binding = 6) writeonly buffer Out1 { float out1[]; };
layout(set = 0, binding = 7) writeonly buffer Out2 { float out2[]; };

const uint ADAMW = 0;          // x = {beta1, 1 - beta1, beta2, 1 - beta2, eps, 1 - lr weight_decay, -lr}
const uint MUON_MOMENTUM = 1;  // x[0] = mu

float weighted_sum(float a, float x, float b, float y) {
  precise float ax = a * x;
  precise float by = b * y;
  precise float sum = ax + by;
  return sum;
}

void adamw(uint row, uint col) {
  const float g = in1[at(1, row, col)];
  precise float square = g * g;
  const float m = weighted_sum(push.x[0], in2[at(2, row, col)], push.x[1], g);
  const float v = weighted_sum(push.x[2], in3[at(3, row, col)], push.x[3], square);
  precise float corrected_m = m / in4[at(4, 0, 0)];
  precise float corrected_v = v / in4[at(4, 0, 1)];
  precise float divisor = sqrt(corrected_v) + push.x[4];
  precise float update = corrected_m / divisor;
  out0[at(5, row, col)] = weighted_sum(push.x[5], in0[at(0, row, col)], push.x[6], update);
  out1[at(6, row, col)] = m;
  out2[at(7, row, col)] = v;
}

void muon_momentum(uint row, uint col) {
  const float g = in1[at(1, row, col)];
  precise float b_part = push.x[0] * in0[at(0, row, col)];
  precise float b = b_part + g;
  precise float u_part = push.x[0] * b;
  precise float u = g + u_part;
  out0[at(5, row, col)] = b;
  out1[at(6, row, col)] = u;
}

void element(uint row, uint col) {
  if (OPERATION == ADAMW)
    adamw(row, col);
  else
    muon_momentum(row, col);
}
