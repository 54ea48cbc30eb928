#version 450
// The elementwise parts of a GRU cell. Columns of A and U are r | z | n, each push.cols wide.
#extension GL_GOOGLE_include_directive : require
#include "op_interface.glsl"
#include "element_grid.glsl"
#include "activation.glsl"

layout(set = 0, binding = 0) readonly buffer In0 { float in0[]; };
layout(set = 0, binding = 1) readonly buffer In1 { float in1[]; };
layout(set = 0, binding = 2) readonly buffer In2 { float in2[]; };
layout(set = 0, binding = 3) readonly buffer In3 { float in3[]; };
layout(set = 0, binding = 4) readonly buffer In4 { float in4[]; };
layout(set = 0, binding = 5) readonly buffer In5 { float in5[]; };
layout(set = 0, binding = 6) writeonly buffer Out0 { float out0[]; };
layout(set = 0, binding = 7) writeonly buffer Out1 { float out1[]; };
layout(set = 0, binding = 8) writeonly buffer Out2 { float out2[]; };
layout(set = 0, binding = 9) writeonly buffer Out3 { float out3[]; };

const uint GRU_GATE = 0;  // n[0] = the activation
const uint GRU_GATES = 1;
const uint GRU_GATES_BACKWARD = 2;
const uint GRU_BLEND = 3;
const uint GRU_BLEND_BACKWARD = 4;

float blend(float z, float n, float h) {
  precise float keep = 1.0 - z;
  precise float fresh = keep * n;
  precise float old = z * h;
  precise float next = fresh + old;
  return next;
}

void gates(uint row, uint col) {
  precise float r_in = in0[at(0, row, col)] + in1[at(1, row, col)];
  precise float z_in = in0[at(0, row, push.cols + col)] + in1[at(1, row, push.cols + col)];
  const float r = sigmoid(r_in), z = sigmoid(z_in);
  precise float reset = r * in1[at(1, row, 2u * push.cols + col)];
  precise float n_in = in0[at(0, row, 2u * push.cols + col)] + reset;
  const float n = tanh_safe(n_in);
  out0[at(6, row, col)] = blend(z, n, in2[at(2, row, col)]);
  out1[at(7, row, col)] = r;
  out2[at(8, row, col)] = z;
  out3[at(9, row, col)] = n;
}

void gates_backward(uint row, uint col) {
  const float u_n = in0[at(0, row, 2u * push.cols + col)];
  const float h = in1[at(1, row, col)], r = in2[at(2, row, col)], z = in3[at(3, row, col)];
  const float n = in4[at(4, row, col)], g = in5[at(5, row, col)];
  precise float keep = 1.0 - z;
  precise float dn = g * keep;
  precise float n_square = n * n;
  precise float n_slope = 1.0 - n_square;
  precise float da_n = dn * n_slope;
  precise float du_n = da_n * r;
  precise float dr = da_n * u_n;
  precise float r_rest = 1.0 - r;
  precise float r_slope = r * r_rest;
  precise float da_r = dr * r_slope;
  precise float gap = h - n;
  precise float dz = g * gap;
  precise float z_slope = z * keep;
  precise float da_z = dz * z_slope;
  precise float dh = g * z;
  out0[at(6, row, col)] = da_r;
  out0[at(6, row, push.cols + col)] = da_z;
  out0[at(6, row, 2u * push.cols + col)] = da_n;
  out1[at(7, row, col)] = da_r;
  out1[at(7, row, push.cols + col)] = da_z;
  out1[at(7, row, 2u * push.cols + col)] = du_n;
  out2[at(8, row, col)] = dh;
}

void blend_backward(uint row, uint col) {
  const float z = in0[at(0, row, col)], n = in1[at(1, row, col)], h = in2[at(2, row, col)];
  const float g = in3[at(3, row, col)];
  precise float gap = h - n;
  precise float keep = 1.0 - z;
  precise float dz = g * gap;
  precise float dn = g * keep;
  precise float dh = g * z;
  out0[at(6, row, col)] = dz;
  out1[at(7, row, col)] = dn;
  out2[at(8, row, col)] = dh;
}

void element(uint row, uint col) {
  switch (OPERATION) {
    case GRU_GATE: {
      precise float sum = in0[at(0, row, col)] + in1[at(1, row, col)];
      out0[at(6, row, col)] = activate(push.n[0], sum);
      break;
    }
    case GRU_GATES:
      gates(row, col);
      break;
    case GRU_GATES_BACKWARD:
      gates_backward(row, col);
      break;
    case GRU_BLEND:
      out0[at(6, row, col)] = blend(in0[at(0, row, col)], in1[at(1, row, col)], in2[at(2, row, col)]);
      break;
    case GRU_BLEND_BACKWARD:
      blend_backward(row, col);
      break;
  }
}
