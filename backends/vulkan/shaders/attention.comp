#version 450
// Softmax attention, one workgroup a query and head: the largest score first; then weights of LANES keys at a
// time, which every lane adds up in key order for its columns.
#extension GL_GOOGLE_include_directive : require
#include "op_interface.glsl"
#include "row_grid.glsl"
#include "attention_interface.glsl"

layout(set = 0, binding = 4) writeonly buffer O { float o[]; };

shared float weights[gl_WorkGroupSize.x];  // -1: the key takes no part

void work(uint row, uint head) {
  const uint lane = gl_LocalInvocationIndex;
  const uint q_first = head * HEAD_DIM, kv_first = head / push.n[1] * HEAD_DIM;
  const uint start = sequence_start(row), keys = keys_of(row);
  const float maximum = maximum_score(row, q_first, kv_first);
  precise float sums[COLUMNS];
  for (uint c = 0; c < COLUMNS; ++c) sums[c] = 0.0;
  precise float total = 0.0;
  bool has_key = false;
  for (uint base = 0; base < keys; base += LANES) {
    const uint key = base + lane;
    const bool own = key < keys && takes_part(start + key);
    barrier();  // everyone is done with the previous weights
    weights[lane] = own ? weight(score(row, q_first, start + key, kv_first), maximum) : -1.0;
    barrier();
    for (uint i = 0; i < LANES; ++i) {
      if (weights[i] < 0.0) continue;
      has_key = true;
      total = total + weights[i];
      for (uint c = 0; c < COLUMNS; ++c) {
        const uint col = c * LANES + lane;
        if (col < HEAD_DIM) sums[c] = fma(weights[i], v[at(2, start + base + i, kv_first + col)], sums[c]);
      }
    }
  }
  for (uint c = 0; c < COLUMNS; ++c) {
    const uint col = c * LANES + lane;
    precise float result = has_key ? sums[c] / total : 0.0;
    if (col < HEAD_DIM) o[at(4, row, q_first + col)] = result;
  }
}
