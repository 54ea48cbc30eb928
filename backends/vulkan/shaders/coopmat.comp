#version 450
// Cooperative matrices. SY x SX subgroups each compute TM x TN matrices of CM_M x CM_N; tiles of A and B go through
// shared memory, so a fragment of B serves TM products and a tile serves all subgroups. The accumulator is stored to
// a scratch in shared memory; scaling, bias and activation happen there, and the conversion comes last.
// What is built of it:
// - 16-bit factors, an fp32 accumulator or an fp16 one (ACCUMULATE_F16), the rest in fp32. The factors' words are
//   never computed with outside the cooperative matrices: the format is that of the matrix type alone. At load the
//   module is turned into its bfloat16 twin by giving that one type its encoding.
// - INTEGER: signed 8-bit factors and a 32-bit accumulator that wraps. Their bytes are read as words, so that no
//   8-bit storage is asked for.
#extension GL_GOOGLE_include_directive : require
#ifdef INTEGER
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
#else
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#endif
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_shader_subgroup_basic : require
#include "gemm_interface.glsl"
#include "convert.glsl"
#include "activation.glsl"
#include "epilogue.glsl"

layout(local_size_x_id = 0) in;                  // SX * SY * SUBGROUP
// a_k_fast() and b_n_fast() as constants: the layout of the tiles follows from them.
layout(constant_id = 2) const bool A_K_FAST = true;
layout(constant_id = 3) const bool B_N_FAST = true;
layout(constant_id = 4) const uint CM_M = 16;   // the shape the device offers
layout(constant_id = 5) const uint CM_N = 16;
layout(constant_id = 6) const uint CM_K = 16;
layout(constant_id = 7) const uint TM = 2;      // matrices a subgroup, along m and n
layout(constant_id = 8) const uint TN = 2;
layout(constant_id = 9) const uint SX = 2;      // subgroups a workgroup, along n and m
layout(constant_id = 10) const uint SY = 2;
layout(constant_id = 11) const uint KS = 2;      // steps of CM_K a tile
layout(constant_id = 12) const uint SUBGROUP = 32;

// A tile moves in vectors: of 16 bytes, or of 8 for matrices whose sizes are no multiples of 16 bytes (VECTORS_OF_8).
#ifdef INTEGER
#define FACTOR int8_t
const uint FACTOR_BYTES = 1;
layout(set = 0, binding = 0) readonly buffer AScalars { uint a_words[]; };
layout(set = 0, binding = 1) readonly buffer BScalars { uint b_words[]; };
uint a_byte(uint i) { return bitfieldExtract(a_words[i / 4], int(i % 4 * 8), 8); }
uint b_byte(uint i) { return bitfieldExtract(b_words[i / 4], int(i % 4 * 8), 8); }
#define A_BITS(i) a_byte(i)
#define B_BITS(i) b_byte(i)
#else
#define FACTOR float16_t
const uint FACTOR_BYTES = 2;
layout(set = 0, binding = 0) readonly buffer AScalars { uint16_t a_u16[]; };
layout(set = 0, binding = 1) readonly buffer BScalars { uint16_t b_u16[]; };
#define A_BITS(i) uint(a_u16[i])
#define B_BITS(i) uint(b_u16[i])
#endif
#ifdef VECTORS_OF_8
#define VECTOR uvec2
const uint VECTOR_BYTES = 8;
#else
#define VECTOR uvec4
const uint VECTOR_BYTES = 16;
#endif
layout(set = 0, binding = 0) readonly buffer AVectors { VECTOR a_vectors[]; };
layout(set = 0, binding = 1) readonly buffer BVectors { VECTOR b_vectors[]; };
const uint V = VECTOR_BYTES / FACTOR_BYTES;  // elements a vector
const uint W = 4 / FACTOR_BYTES;             // elements a word
const uint BITS = 8 * FACTOR_BYTES;

const uint THREADS = SX * SY * SUBGROUP;
const uint BM = SY * TM * CM_M;
const uint BN = SX * TN * CM_N;
const uint BK = KS * CM_K;
// Tiles lie as their matrix lies in memory: rows along the fast axis, V elements a vector, one vector of
// padding against bank conflicts. The row count is that of the slow axis.
const uint A_FAST = A_K_FAST ? BK : BM;
const uint B_FAST = B_N_FAST ? BN : BK;
const uint A_ROW = A_FAST / V + 1;
const uint B_ROW = B_FAST / V + 1;
const uint A_VECTORS = BM * BK / V;
const uint B_VECTORS = BN * BK / V;
shared VECTOR a_tile[(BM * BK / A_FAST) * A_ROW];
shared VECTOR b_tile[(BN * BK / B_FAST) * B_ROW];
#ifdef ACCUMULATE_F16
// Two sums a word: widened in integers, which no denormal mode of the device can touch.
#define SUM float16_t
const uint SUMS_A_WORD = 2;
shared uint scratch[SX * SY * CM_M * CM_N / 2];
float scratch_sum(uint index) { return f16_bits_to_f32(scratch[index / 2] >> (index % 2 * 16) & 0xffffu); }
#else
#define SUM NUMBER
const uint SUMS_A_WORD = 1;
shared NUMBER scratch[SX * SY * CM_M * CM_N];
NUMBER scratch_sum(uint index) { return scratch[index]; }
#endif

const uint A_FETCHES = (A_VECTORS + THREADS - 1) / THREADS;
const uint B_FETCHES = (B_VECTORS + THREADS - 1) / THREADS;
VECTOR a_next[A_FETCHES];
VECTOR b_next[B_FETCHES];

// V neighbours along the fast axis; zero outside the matrix.
VECTOR fetch_a(uint base, uint fast, uint fast_size, uint fast_stride, uint slow, uint slow_size,
              uint slow_stride) {
  VECTOR words = VECTOR(0);
  if (slow >= slow_size || fast >= fast_size) return words;
  const uint start = base + slow * slow_stride + fast * fast_stride;
  if (a_in_vectors() && fast + (V - 1) < fast_size) return a_vectors[start / V];
  for (uint i = 0; i < V; ++i)
    if (fast + i < fast_size) words[i / W] |= A_BITS(start + i * fast_stride) << (i % W * BITS);
  return words;
}
VECTOR fetch_b(uint base, uint fast, uint fast_size, uint fast_stride, uint slow, uint slow_size,
              uint slow_stride) {
  VECTOR words = VECTOR(0);
  if (slow >= slow_size || fast >= fast_size) return words;
  const uint start = base + slow * slow_stride + fast * fast_stride;
  if (b_in_vectors() && fast + (V - 1) < fast_size) return b_vectors[start / V];
  for (uint i = 0; i < V; ++i)
    if (fast + i < fast_size) words[i / W] |= B_BITS(start + i * fast_stride) << (i % W * BITS);
  return words;
}

void fetch_tiles(uint a_base, uint b_base, uint k0) {
  const uint m0 = gl_WorkGroupID.y * BM;
  const uint n0 = gl_WorkGroupID.x * BN;
  for (uint i = 0; i < A_FETCHES; ++i) {
    const uint q = gl_LocalInvocationIndex + THREADS * i;
    const uint fast = q % (A_FAST / V) * V, slow = q / (A_FAST / V);
    if (q >= A_VECTORS) break;
    a_next[i] = A_K_FAST ? fetch_a(a_base, k0 + fast, push.k, push.a_k, m0 + slow, push.m, push.a_m)
                         : fetch_a(a_base, m0 + fast, push.m, push.a_m, k0 + slow, push.k, push.a_k);
  }
  for (uint i = 0; i < B_FETCHES; ++i) {
    const uint q = gl_LocalInvocationIndex + THREADS * i;
    const uint fast = q % (B_FAST / V) * V, slow = q / (B_FAST / V);
    if (q >= B_VECTORS) break;
    b_next[i] = B_N_FAST ? fetch_b(b_base, n0 + fast, push.n, push.b_n, k0 + slow, push.k, push.b_k)
                         : fetch_b(b_base, k0 + fast, push.k, push.b_k, n0 + slow, push.n, push.b_n);
  }
}

void store_tiles() {
  for (uint i = 0; i < A_FETCHES; ++i) {
    const uint q = gl_LocalInvocationIndex + THREADS * i;
    if (q < A_VECTORS) a_tile[q / (A_FAST / V) * A_ROW + q % (A_FAST / V)] = a_next[i];
  }
  for (uint i = 0; i < B_FETCHES; ++i) {
    const uint q = gl_LocalInvocationIndex + THREADS * i;
    if (q < B_VECTORS) b_tile[q / (B_FAST / V) * B_ROW + q % (B_FAST / V)] = b_next[i];
  }
}

coopmat<SUM, gl_ScopeSubgroup, CM_M, CM_N, gl_MatrixUseAccumulator> sums[TM * TN];

// Offsets and strides of coopMatLoad count vectors.
void multiply(uint step, uint sy, uint sx) {
  coopmat<FACTOR, gl_ScopeSubgroup, CM_M, CM_K, gl_MatrixUseA> a[TM];
  for (uint i = 0; i < TM; ++i) {
    const uint m = (sy * TM + i) * CM_M, k = step * CM_K;
    if (A_K_FAST)
      coopMatLoad(a[i], a_tile, m * A_ROW + k / V, A_ROW, gl_CooperativeMatrixLayoutRowMajor);
    else
      coopMatLoad(a[i], a_tile, k * A_ROW + m / V, A_ROW, gl_CooperativeMatrixLayoutColumnMajor);
  }
  for (uint j = 0; j < TN; ++j) {
    const uint n = (sx * TN + j) * CM_N, k = step * CM_K;
    coopmat<FACTOR, gl_ScopeSubgroup, CM_K, CM_N, gl_MatrixUseB> b;
    if (B_N_FAST)
      coopMatLoad(b, b_tile, k * B_ROW + n / V, B_ROW, gl_CooperativeMatrixLayoutRowMajor);
    else
      coopMatLoad(b, b_tile, n * B_ROW + k / V, B_ROW, gl_CooperativeMatrixLayoutColumnMajor);
    for (uint i = 0; i < TM; ++i) sums[i * TN + j] = coopMatMulAdd(a[i], b, sums[i * TN + j]);
  }
}

void main() {
  const uint a_base = GUARD_BYTES / FACTOR_BYTES + batch_index() * push.a_batch;
  const uint b_base = GUARD_BYTES / FACTOR_BYTES + batch_index() * push.b_batch;
  const uint sx = gl_SubgroupID % SX, sy = gl_SubgroupID / SX;
  for (uint i = 0; i < TM * TN; ++i)
    sums[i] = coopmat<SUM, gl_ScopeSubgroup, CM_M, CM_N, gl_MatrixUseAccumulator>(SUM(0));

  fetch_tiles(a_base, b_base, 0);
  for (uint k0 = 0; k0 < push.k; k0 += BK) {
    barrier();  // everyone is done with the previous tile
    store_tiles();
    barrier();
    fetch_tiles(a_base, b_base, k0 + BK);
    for (uint step = 0; step < KS; ++step) multiply(step, sy, sx);
  }

  const uint own = gl_SubgroupID * CM_M * CM_N;
  for (uint i = 0; i < TM; ++i) {
    for (uint j = 0; j < TN; ++j) {
      coopMatStore(sums[i * TN + j], scratch, own / SUMS_A_WORD, CM_N / SUMS_A_WORD,
                   gl_CooperativeMatrixLayoutRowMajor);
      barrier();
      const uint row0 = gl_WorkGroupID.y * BM + (sy * TM + i) * CM_M;
      const uint col0 = gl_WorkGroupID.x * BN + (sx * TN + j) * CM_N;
      for (uint e = gl_SubgroupInvocationID; e < CM_M * CM_N; e += SUBGROUP)
        finish(row0 + e / CM_N, col0 + e % CM_N, scratch_sum(own + e));
      barrier();
    }
  }
}
