#version 450
// One output a thread, k in order: the plainest correct gemm, and the one other paths are compared with.
#extension GL_GOOGLE_include_directive : require
#ifdef STORAGE16
#extension GL_EXT_shader_16bit_storage : require
#endif
#include "gemm_interface.glsl"
#include "convert.glsl"
#include "activation.glsl"
#include "epilogue.glsl"

layout(local_size_x = 16, local_size_y = 16) in;
layout(set = 0, binding = 0) readonly buffer AFloats { float a_f32[]; };
layout(set = 0, binding = 1) readonly buffer BFloats { float b_f32[]; };

void main() {
  const uint row = gl_GlobalInvocationID.y;
  const uint col = gl_GlobalInvocationID.x;
  if (row >= push.m || col >= push.n) return;
  uint a = GUARD_BYTES / 4 + batch_index() * push.a_batch + row * push.a_m;
  uint b = GUARD_BYTES / 4 + batch_index() * push.b_batch + col * push.b_n;
  precise float accumulator = 0.0;
  for (uint k = 0; k < push.k; ++k) {
    accumulator = fma(a_f32[a], b_f32[b], accumulator);
    a += push.a_k;
    b += push.b_k;
  }
  finish(row, col, accumulator);
}
