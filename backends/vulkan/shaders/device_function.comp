#version 450
// What `parity probe` asks a device about: one function an element, chosen by OPERATION, whose numbers are those of
// device_function.hpp. Built twice: in fp32, with the code that the other kernels are made of, and in fp16.
#extension GL_GOOGLE_include_directive : require
#ifdef FLOAT16
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#define REAL float16_t
#else
#define REAL float
#endif
#include "op_interface.glsl"
#include "element_grid.glsl"
#ifndef FLOAT16
#include "activation.glsl"
#endif

layout(set = 0, binding = 0) readonly buffer InA { REAL in_a[]; };
layout(set = 0, binding = 1) readonly buffer InB { REAL in_b[]; };
layout(set = 0, binding = 2) readonly buffer InC { REAL in_c[]; };
layout(set = 0, binding = 3) writeonly buffer Out { REAL out_r[]; };

#ifdef FLOAT16
const uint MORE = FIRST;  // a guard zone holds twice as many 16-bit elements
#else
const uint MORE = 0;
#endif

REAL compute(REAL a, REAL b, REAL c) {
  switch (OPERATION) {
    case 0: return a;
    case 1: {
      precise REAL sum = a + b;
      return sum;
    }
    case 2: {
      precise REAL product = a * b;
      return product;
    }
    case 3: {
      precise REAL fused = fma(a, b, c);
      return fused;
    }
    case 4: {
      precise REAL product = a * b;
      precise REAL sum = product + c;
      return sum;
    }
    case 5: return a * b + c;
    case 6: return min(a, b);
    case 7: return max(a, b);
    case 8: {
      precise REAL quotient = a / b;
      return quotient;
    }
    case 9: return sqrt(a);
    case 10: return inversesqrt(a);
    case 12: return exp(a);
    case 13: return log(a);
    case 15: return tanh(a);
    case 17: return sin(a);
    case 18: return cos(a);
#ifndef FLOAT16
    case 14: return tanh_safe(a);
    case 16: return sigmoid(a);
    case 19: return unpackHalf2x16(packHalf2x16(vec2(a, 0.0))).x;
#endif
    default: return a;
  }
}

void element(uint row, uint col) {
  const REAL a = in_a[at(0, row, col) + MORE];
  const REAL b = has_input(1) ? in_b[at(1, row, col) + MORE] : REAL(0.0);
  const REAL c = has_input(2) ? in_c[at(2, row, col) + MORE] : REAL(0.0);
  out_r[at(3, row, col) + MORE] = compute(a, b, c);
}
