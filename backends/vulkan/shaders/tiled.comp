#version 450
// A workgroup of 16 x 16 threads computes a tile of 64 RM x 64 RN outputs, 4 RM x 4 RN a thread. Tiles of A and B
// are kept in shared memory as fp32 with k as the slow axis, so that a thread reads its four rows or columns as
// one vector; the next tile is fetched into registers while this one is multiplied. Each output adds its terms in
// k order into one fp32 accumulator: the order of naive_f32.
// INPUT_F16: A and B are fp16, widened exactly when they are loaded.
// INTEGER: A and B are of 8 bits, read as words, so that any device can. A term is a word of four neighbours along k,
// zero behind the end of K: "k" counts words then.
#extension GL_GOOGLE_include_directive : require
#ifdef INTEGER
#extension GL_EXT_control_flow_attributes : require
#define UNROLL [[unroll]]  // see a_term
#else
#define UNROLL
#endif
#ifdef STORAGE16
#extension GL_EXT_shader_16bit_storage : require
#endif
#include "gemm_interface.glsl"
#include "convert.glsl"
#include "activation.glsl"
#include "epilogue.glsl"

layout(local_size_x = 256) in;
layout(constant_id = 2) const uint RM = 1;
layout(constant_id = 3) const uint RN = 1;
// fp16 subnormals would not survive the device's own conversion: widen in integers.
layout(constant_id = 4) const bool WIDEN_IN_INTEGERS = false;

#ifdef INPUT_F16
layout(set = 0, binding = 0) readonly buffer AScalars { uint16_t a_u16[]; };
layout(set = 0, binding = 0) readonly buffer AHalves { float16_t a_f16[]; };
layout(set = 0, binding = 0) readonly buffer AVectors { f16vec4 a_f16x4[]; };
layout(set = 0, binding = 0) readonly buffer AWords { uvec2 a_u32x2[]; };
layout(set = 0, binding = 1) readonly buffer BScalars { uint16_t b_u16[]; };
layout(set = 0, binding = 1) readonly buffer BHalves { float16_t b_f16[]; };
layout(set = 0, binding = 1) readonly buffer BVectors { f16vec4 b_f16x4[]; };
layout(set = 0, binding = 1) readonly buffer BWords { uvec2 b_u32x2[]; };
const uint INPUT_BYTES = 2;

vec4 widen(uvec2 words) {
  return vec4(f16_bits_to_f32(words.x & 0xffffu), f16_bits_to_f32(words.x >> 16),
              f16_bits_to_f32(words.y & 0xffffu), f16_bits_to_f32(words.y >> 16));
}
float a_at(uint i) { return WIDEN_IN_INTEGERS ? f16_bits_to_f32(uint(a_u16[i])) : float(a_f16[i]); }
float b_at(uint i) { return WIDEN_IN_INTEGERS ? f16_bits_to_f32(uint(b_u16[i])) : float(b_f16[i]); }
vec4 a_vector(uint i) { return WIDEN_IN_INTEGERS ? widen(a_u32x2[i / 4]) : vec4(a_f16x4[i / 4]); }
vec4 b_vector(uint i) { return WIDEN_IN_INTEGERS ? widen(b_u32x2[i / 4]) : vec4(b_f16x4[i / 4]); }
#elif defined(INTEGER)
layout(set = 0, binding = 0) readonly buffer AWords { int a_words[]; };
layout(set = 0, binding = 1) readonly buffer BWords { int b_words[]; };
const uint INPUT_BYTES = 1;

// Term `term` of row m of A, and of column n of B. Loops have fixed ends here, so that they are unrolled: lavapipe 22.3
// leaves a shader's loops early, without a word, once their rounds add up to about 65,536.
int a_term(uint base, uint m, uint term) {
  const uint k = term * 4, start = base + m * push.a_m + k * push.a_k;
  if (m >= push.m || k >= push.k) return 0;
  if (push.a_k == 1 && start % 4 == 0 && k + 3 < push.k) return a_words[start / 4];
  int word = 0;
  for (uint i = 0; i < 4; ++i) {
    const uint at = start + i * push.a_k;
    if (k + i < push.k) word |= (a_words[at / 4] >> (at % 4 * 8) & 0xff) << (i * 8);
  }
  return word;
}
int b_term(uint base, uint n, uint term) {
  const uint k = term * 4, start = base + n * push.b_n + k * push.b_k;
  if (n >= push.n || k >= push.k) return 0;
  if (push.b_k == 1 && start % 4 == 0 && k + 3 < push.k) return b_words[start / 4];
  int word = 0;
  for (uint i = 0; i < 4; ++i) {
    const uint at = start + i * push.b_k;
    if (k + i < push.k) word |= (b_words[at / 4] >> (at % 4 * 8) & 0xff) << (i * 8);
  }
  return word;
}
#else
layout(set = 0, binding = 0) readonly buffer AScalars { float a_f32[]; };
layout(set = 0, binding = 0) readonly buffer AVectors { vec4 a_f32x4[]; };
layout(set = 0, binding = 1) readonly buffer BScalars { float b_f32[]; };
layout(set = 0, binding = 1) readonly buffer BVectors { vec4 b_f32x4[]; };
const uint INPUT_BYTES = 4;
float a_at(uint i) { return a_f32[i]; }
float b_at(uint i) { return b_f32[i]; }
vec4 a_vector(uint i) { return a_f32x4[i / 4]; }
vec4 b_vector(uint i) { return b_f32x4[i / 4]; }
#endif

#ifdef INTEGER
#define NUMBERS ivec4
#define ADD_PRODUCT(a, b, sum) add_products(a, b, sum)
#define TERMS ((push.k + 3) / 4)
ivec4 add_products(ivec4 a, ivec4 b, ivec4 sum) {
  for (int i = 0; i < 32; i += 8) sum += bitfieldExtract(a, i, 8) * bitfieldExtract(b, i, 8);
  return sum;
}
#else
#define NUMBERS vec4
#define ADD_PRODUCT(a, b, sum) fma(a, b, sum)
#define TERMS push.k
#endif

const uint BM = 64 * RM;
const uint BN = 64 * RN;
const uint BK = 16;
const uint A_ROW = BM / 4 + 1;  // in vectors; one of padding against bank conflicts
const uint B_ROW = BN / 4 + 1;
shared NUMBERS a_tile[BK * A_ROW];
shared NUMBERS b_tile[BK * B_ROW];

#ifndef INTEGER
// Four neighbours along the fast axis (`fast`, of `fast_size`) at position `slow` of the other; zero outside.
vec4 fetch_a(uint base, uint fast, uint fast_size, uint fast_stride, uint slow, uint slow_size,
             uint slow_stride) {
  vec4 values = vec4(0.0);
  if (slow >= slow_size || fast >= fast_size) return values;
  const uint start = base + slow * slow_stride + fast * fast_stride;
  if (a_in_vectors() && fast + 3 < fast_size) return a_vector(start);
  for (uint i = 0; i < 4; ++i)
    if (fast + i < fast_size) values[i] = a_at(start + i * fast_stride);
  return values;
}
vec4 fetch_b(uint base, uint fast, uint fast_size, uint fast_stride, uint slow, uint slow_size,
             uint slow_stride) {
  vec4 values = vec4(0.0);
  if (slow >= slow_size || fast >= fast_size) return values;
  const uint start = base + slow * slow_stride + fast * fast_stride;
  if (b_in_vectors() && fast + 3 < fast_size) return b_vector(start);
  for (uint i = 0; i < 4; ++i)
    if (fast + i < fast_size) values[i] = b_at(start + i * fast_stride);
  return values;
}

#endif

NUMBERS a_next[RM];
NUMBERS b_next[RN];

void fetch_tiles(uint a_base, uint b_base, uint k0) {
  const uint thread = gl_LocalInvocationIndex;
  const uint m0 = gl_WorkGroupID.y * BM;
  const uint n0 = gl_WorkGroupID.x * BN;
#ifdef INTEGER
  for (uint i = 0; i < RM; ++i) {
    const uint q = thread + 256 * i;
    const uint m = m0 + (a_k_fast() ? q / 4 : q % (BM / 4) * 4), k = k0 + (a_k_fast() ? q % 4 * 4 : q / (BM / 4));
    const uint next_m = a_k_fast() ? 0 : 1, next_k = 1 - next_m;
    for (uint j = 0; j < 4; ++j) a_next[i][j] = a_term(a_base, m + j * next_m, k + j * next_k);
  }
  for (uint i = 0; i < RN; ++i) {
    const uint q = thread + 256 * i;
    const uint n = n0 + (b_n_fast() ? q % (BN / 4) * 4 : q / 4), k = k0 + (b_n_fast() ? q / (BN / 4) : q % 4 * 4);
    const uint next_n = b_n_fast() ? 1 : 0, next_k = 1 - next_n;
    for (uint j = 0; j < 4; ++j) b_next[i][j] = b_term(b_base, n + j * next_n, k + j * next_k);
  }
#else
  for (uint i = 0; i < RM; ++i) {
    const uint q = thread + 256 * i;
    a_next[i] = a_k_fast()
        ? fetch_a(a_base, k0 + q % 4 * 4, push.k, push.a_k, m0 + q / 4, push.m, push.a_m)
        : fetch_a(a_base, m0 + q % (BM / 4) * 4, push.m, push.a_m, k0 + q / (BM / 4), push.k, push.a_k);
  }
  for (uint i = 0; i < RN; ++i) {
    const uint q = thread + 256 * i;
    b_next[i] = b_n_fast()
        ? fetch_b(b_base, n0 + q % (BN / 4) * 4, push.n, push.b_n, k0 + q / (BN / 4), push.k, push.b_k)
        : fetch_b(b_base, k0 + q % 4 * 4, push.k, push.b_k, n0 + q / 4, push.n, push.b_n);
  }
#endif
}

void store_tiles() {
  const uint thread = gl_LocalInvocationIndex;
  for (uint i = 0; i < RM; ++i) {
    const uint q = thread + 256 * i;
    if (a_k_fast()) {
      const uint k = q % 4 * 4, m = q / 4;
      for (uint j = 0; j < 4; ++j) a_tile[(k + j) * A_ROW + m / 4][m % 4] = a_next[i][j];
    } else {
      a_tile[q / (BM / 4) * A_ROW + q % (BM / 4)] = a_next[i];
    }
  }
  for (uint i = 0; i < RN; ++i) {
    const uint q = thread + 256 * i;
    if (b_n_fast()) {
      b_tile[q / (BN / 4) * B_ROW + q % (BN / 4)] = b_next[i];
    } else {
      const uint k = q % 4 * 4, n = q / 4;
      for (uint j = 0; j < 4; ++j) b_tile[(k + j) * B_ROW + n / 4][n % 4] = b_next[i][j];
    }
  }
}

NUMBERS sums[4 * RM * RN];  // [group of rows][row][group of columns]

void multiply(uint k) {
  const uint tx = gl_LocalInvocationIndex % 16;
  const uint ty = gl_LocalInvocationIndex / 16;
  NUMBERS b[RN];
  for (uint j = 0; j < RN; ++j) b[j] = b_tile[k * B_ROW + j * 16 + tx];
  for (uint i = 0; i < RM; ++i) {
    const NUMBERS a = a_tile[k * A_ROW + i * 16 + ty];
    for (uint j = 0; j < RN; ++j) {
      sums[(i * 4 + 0) * RN + j] = ADD_PRODUCT(a.xxxx, b[j], sums[(i * 4 + 0) * RN + j]);
      sums[(i * 4 + 1) * RN + j] = ADD_PRODUCT(a.yyyy, b[j], sums[(i * 4 + 1) * RN + j]);
      sums[(i * 4 + 2) * RN + j] = ADD_PRODUCT(a.zzzz, b[j], sums[(i * 4 + 2) * RN + j]);
      sums[(i * 4 + 3) * RN + j] = ADD_PRODUCT(a.wwww, b[j], sums[(i * 4 + 3) * RN + j]);
    }
  }
}

void main() {
  const uint a_base = GUARD_BYTES / INPUT_BYTES + batch_index() * push.a_batch;
  const uint b_base = GUARD_BYTES / INPUT_BYTES + batch_index() * push.b_batch;
  for (uint i = 0; i < 4 * RM * RN; ++i) sums[i] = NUMBERS(0);

  const uint row0 = gl_WorkGroupID.y * BM + gl_LocalInvocationIndex / 16 * 4;
  const uint col0 = gl_WorkGroupID.x * BN + gl_LocalInvocationIndex % 16 * 4;
  const bool idle = row0 >= push.m || col0 >= push.n;

  fetch_tiles(a_base, b_base, 0);
  for (uint k0 = 0; k0 < TERMS; k0 += BK) {
    barrier();  // everyone is done with the previous tile
    store_tiles();
    barrier();
    fetch_tiles(a_base, b_base, k0 + BK);
    if (idle) {
      // All of its outputs lie outside the matrix: it only moves tiles.
    } else if (k0 + BK <= TERMS) {
      UNROLL for (uint k = 0; k < BK; ++k) multiply(k);
    } else {
      // No zero terms are added: they could turn a sum of -0 into +0.
      for (uint k = 0; k < TERMS - k0; ++k) multiply(k);
    }
  }

  for (uint i = 0; i < RM; ++i)
    for (uint r = 0; r < 4; ++r)
      for (uint j = 0; j < RN; ++j)
        for (uint c = 0; c < 4; ++c)
          finish(row0 + i * 64 + r, col0 + j * 64 + c, sums[(i * 4 + r) * RN + j][c]);
}
