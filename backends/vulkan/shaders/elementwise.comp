#version 450
// Ops that compute each element from those at the same place. Every operation rounds on its own.
#extension GL_GOOGLE_include_directive : require
#include "op_interface.glsl"
#include "element_grid.glsl"
#include "activation.glsl"

layout(set = 0, binding = 0) readonly buffer In0 { float in0[]; };
layout(set = 0, binding = 1) readonly buffer In1 { float in1[]; };
layout(set = 0, binding = 2) writeonly buffer Out { float out0[]; };

const uint AXPBY = 0;                // x[0] = alpha, x[1] = beta
const uint MUL = 1;
const uint SCALE_BY = 2;
const uint SOFTCAP = 3;              // x[0] = cap
const uint SOFTCAP_BACKWARD = 4;     // x[0] = cap
const uint ACTIVATION_BACKWARD = 5;  // n[0] = the activation, as in activation.glsl
const uint HEAD_SCALE = 6;           // n[0] = columns of a head
const uint MEAN_BACKWARD = 7;        // x[0] = count

float axpby(float x, float y) {
  precise float ax = push.x[0] * x;
  precise float by = push.x[1] * y;
  precise float z = ax + by;
  return z;
}

float softcap(float x) {
  precise float t = x / push.x[0];
  precise float y = push.x[0] * tanh_safe(t);
  return y;
}

float softcap_backward(float y, float dy) {
  precise float t = y / push.x[0];
  precise float square = t * t;
  precise float slope = 1.0 - square;
  precise float dx = dy * slope;
  return dx;
}

float activation_backward(float y, float dy) {
  if (push.n[0] == RELU) return y > 0.0 ? dy : 0.0;
  const bool is_sigmoid = push.n[0] == SIGMOID;
  precise float square = y * y;
  precise float rest = 1.0 - (is_sigmoid ? y : square);
  precise float slope = is_sigmoid ? y * rest : rest;
  precise float dx = dy * slope;
  return dx;
}

float compute(uint row, uint col) {
  if (OPERATION == MEAN_BACKWARD) {
    precise float share = in0[at(0, 0, 0)] / push.x[0];
    return share;
  }
  const float x = in0[at(0, row, col)];
  if (OPERATION == SOFTCAP) return softcap(x);
  if (OPERATION == SCALE_BY || OPERATION == HEAD_SCALE) {
    precise float y = x * in1[at(1, 0, OPERATION == HEAD_SCALE ? col / push.n[0] : 0u)];
    return y;
  }
  const float y = in1[at(1, row, col)];
  if (OPERATION == AXPBY) return axpby(x, y);
  if (OPERATION == SOFTCAP_BACKWARD) return softcap_backward(x, y);
  if (OPERATION == ACTIVATION_BACKWARD) return activation_backward(x, y);
  precise float product = x * y;
  return product;
}

void element(uint row, uint col) { out0[at(2, row, col)] = compute(row, col); }
