#version 450
// What a head's output has in common with the direction of its own value is taken off. One workgroup a row and
// head; backward, a row and kv head, which has a whole group of heads.
#extension GL_GOOGLE_include_directive : require
#include "op_interface.glsl"
#include "row_grid.glsl"

layout(set = 0, binding = 0) readonly buffer Y { float y[]; };
layout(set = 0, binding = 1) readonly buffer V { float v[]; };
layout(set = 0, binding = 2) readonly buffer Do { float d_o[]; };
layout(set = 0, binding = 3) writeonly buffer Out0 { float out0[]; };  // O, or dY
layout(set = 0, binding = 4) buffer Dv { float dv[]; };

// n = {columns of a head, heads of a group}
const uint XSA = 0;
const uint XSA_BACKWARD = 1;

// 1 / |v| of a kv head; 0 for a zero vector.
float inverse_length(uint row, uint first) {
  precise float own = 0.0;
  for (uint i = gl_LocalInvocationIndex; i < push.n[0]; i += LANES) {
    const float value = v[at(1, row, first + i)];
    own = fma(value, value, own);
  }
  const float square = add_lanes(own);
  return square > 0.0 ? inversesqrt(square) : 0.0;
}

float unit(uint row, uint col, float inverse) {
  precise float u = v[at(1, row, col)] * inverse;
  return u;
}

void forward(uint row, uint head) {
  const uint first = head * push.n[0], v_first = head / push.n[1] * push.n[0];
  const float inverse = inverse_length(row, v_first);
  precise float own = 0.0;
  for (uint i = gl_LocalInvocationIndex; i < push.n[0]; i += LANES)
    own = fma(y[at(0, row, first + i)], unit(row, v_first + i, inverse), own);
  const float a = add_lanes(own);
  for (uint i = gl_LocalInvocationIndex; i < push.n[0]; i += LANES) {
    precise float along = a * unit(row, v_first + i, inverse);
    precise float o = y[at(0, row, first + i)] - along;
    out0[at(3, row, first + i)] = o;
  }
}

// The gradient of v^ at one place, from head column `col`.
float d_unit(uint row, uint col, float a, float da) {
  precise float from_a = da * y[at(0, row, col)];
  precise float from_o = a * d_o[at(2, row, col)];
  precise float d = from_a - from_o;
  return d;
}

void backward(uint row, uint kv_head) {
  const uint v_first = kv_head * push.n[0];
  const float inverse = inverse_length(row, v_first);
  for (uint g = 0; g < push.n[1]; ++g) {
    const uint first = (kv_head * push.n[1] + g) * push.n[0];
    precise float own_a = 0.0;
    precise float own_da = 0.0;
    for (uint i = gl_LocalInvocationIndex; i < push.n[0]; i += LANES) {
      const float u = unit(row, v_first + i, inverse);
      own_a = fma(y[at(0, row, first + i)], u, own_a);
      own_da = fma(d_o[at(2, row, first + i)], u, own_da);
    }
    const float a = add_lanes(own_a), da = -add_lanes(own_da);
    precise float own_c = 0.0;
    for (uint i = gl_LocalInvocationIndex; i < push.n[0]; i += LANES) {
      const float u = unit(row, v_first + i, inverse);
      own_c = fma(u, d_unit(row, first + i, a, da), own_c);
      precise float through_a = da * u;
      precise float dy = d_o[at(2, row, first + i)] + through_a;
      out0[at(3, row, first + i)] = dy;
    }
    const float c = add_lanes(own_c);
    for (uint i = gl_LocalInvocationIndex; i < push.n[0]; i += LANES) {
      precise float along = unit(row, v_first + i, inverse) * c;
      precise float across = d_unit(row, first + i, a, da) - along;
      precise float part = across * inverse;
      precise float sum = g == 0u ? part : dv[at(4, row, v_first + i)] + part;
      dv[at(4, row, v_first + i)] = sum;
    }
  }
}

void work(uint row, uint col) {
  if (OPERATION == XSA)
    forward(row, col);
  else
    backward(row, col);
}
