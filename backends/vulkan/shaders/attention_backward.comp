#version 450
// The gradients of attention without atomics, in two dispatches. OF_QUERIES: one workgroup a query and head gives
// dQ and leaves the query's statistics in scratch memory: largest score, sum of weights, rowsum(P * dP).
// OF_KEYS: one workgroup a key and kv head gives dK and dV, over the heads of its group, then the queries in order.
#extension GL_GOOGLE_include_directive : require
#include "op_interface.glsl"
#include "row_grid.glsl"
#include "attention_interface.glsl"

layout(set = 0, binding = 4) readonly buffer Do { float d_o[]; };
layout(set = 0, binding = 5) writeonly buffer Dq { float dq[]; };
layout(set = 0, binding = 6) writeonly buffer Dk { float dk[]; };
layout(set = 0, binding = 7) writeonly buffer Dv { float dv[]; };
layout(set = 0, binding = 8) buffer Statistics { float statistics[]; };

const uint OF_QUERIES = 0;
const uint OF_KEYS = 1;

shared float probability[gl_WorkGroupSize.x];  // -1: takes no part
shared float gradient[gl_WorkGroupSize.x];     // dP, or dS

uint statistics_at(uint row, uint head) { return FIRST + (row * push.n[0] + head) * 3u; }

float d_probability(uint row, uint q_first, uint key_row, uint kv_first) {
  precise float sum = 0.0;
  for (uint d = 0; d < HEAD_DIM; ++d)
    sum = fma(d_o[at(4, row, q_first + d)], v[at(2, key_row, kv_first + d)], sum);
  return sum;
}

float d_score(float p, float dp, float mean) {
  precise float off = dp - mean;
  precise float ds = p * off;
  return ds;
}

// Puts weights / total and dP of LANES keys from `base` on into shared memory.
void share_keys(uint row, uint q_first, uint kv_first, uint base, float maximum, float total) {
  const uint lane = gl_LocalInvocationIndex, key_row = sequence_start(row) + base + lane;
  const bool own = base + lane < keys_of(row) && takes_part(key_row);
  barrier();  // everyone is done with the previous keys
  probability[lane] = -1.0;
  if (own) {
    precise float p = weight(score(row, q_first, key_row, kv_first), maximum) / total;
    probability[lane] = p;
    gradient[lane] = d_probability(row, q_first, key_row, kv_first);
  }
  barrier();
}

void of_query(uint row, uint head) {
  const uint lane = gl_LocalInvocationIndex;
  const uint q_first = head * HEAD_DIM, kv_first = head / push.n[1] * HEAD_DIM;
  const uint start = sequence_start(row), keys = keys_of(row);
  const float maximum = maximum_score(row, q_first, kv_first);
  precise float total = 0.0;
  for (uint base = 0; base < keys; base += LANES) {
    share_keys(row, q_first, kv_first, base, maximum, 1.0);
    for (uint i = 0; i < LANES; ++i)
      if (!(probability[i] < 0.0)) total = total + probability[i];
  }
  precise float mean = 0.0;
  for (uint base = 0; base < keys; base += LANES) {
    share_keys(row, q_first, kv_first, base, maximum, total);
    for (uint i = 0; i < LANES; ++i)
      if (!(probability[i] < 0.0)) mean = fma(probability[i], gradient[i], mean);
  }
  precise float sums[COLUMNS];
  for (uint c = 0; c < COLUMNS; ++c) sums[c] = 0.0;
  for (uint base = 0; base < keys; base += LANES) {
    share_keys(row, q_first, kv_first, base, maximum, total);
    for (uint i = 0; i < LANES; ++i) {
      if (probability[i] < 0.0) continue;
      const float ds = d_score(probability[i], gradient[i], mean);
      for (uint c = 0; c < COLUMNS; ++c) {
        const uint col = c * LANES + lane;
        if (col < HEAD_DIM) sums[c] = fma(ds, k[at(1, start + base + i, kv_first + col)], sums[c]);
      }
    }
  }
  for (uint c = 0; c < COLUMNS; ++c) {
    const uint col = c * LANES + lane;
    precise float result = push.x[0] * sums[c];
    if (col < HEAD_DIM) dq[at(5, row, q_first + col)] = result;
  }
  if (lane == 0u) {
    const uint to = statistics_at(row, head);
    statistics[to] = maximum;
    statistics[to + 1u] = total;
    statistics[to + 2u] = mean;
  }
}

void of_key(uint row, uint kv_head) {
  const uint lane = gl_LocalInvocationIndex, kv_first = kv_head * HEAD_DIM;
  const uint start = sequence_start(row);
  const uint first_query = is_causal() ? row % push.n[2] : 0u;
  precise float dk_sums[COLUMNS];
  precise float dv_sums[COLUMNS];
  for (uint c = 0; c < COLUMNS; ++c) dk_sums[c] = dv_sums[c] = 0.0;
  // A key that takes no part gets zeros.
  const uint heads = takes_part(row) ? push.n[1] : 0u;
  for (uint g = 0; g < heads; ++g) {
    const uint head = kv_head * push.n[1] + g, q_first = head * HEAD_DIM;
    for (uint base = first_query; base < push.n[2]; base += LANES) {
      const uint query_row = start + base + lane;
      barrier();  // everyone is done with the previous queries
      if (base + lane < push.n[2]) {
        const uint from = statistics_at(query_row, head);
        precise float p = weight(score(query_row, q_first, row, kv_first), statistics[from]) / statistics[from + 1u];
        probability[lane] = p;
        gradient[lane] = d_score(p, d_probability(query_row, q_first, row, kv_first), statistics[from + 2u]);
      }
      barrier();
      const uint count = min(LANES, push.n[2] - base);
      for (uint i = 0; i < count; ++i) {
        for (uint c = 0; c < COLUMNS; ++c) {
          const uint col = c * LANES + lane;
          if (col >= HEAD_DIM) continue;
          dk_sums[c] = fma(gradient[i], q[at(0, start + base + i, q_first + col)], dk_sums[c]);
          dv_sums[c] = fma(probability[i], d_o[at(4, start + base + i, q_first + col)], dv_sums[c]);
        }
      }
    }
  }
  for (uint c = 0; c < COLUMNS; ++c) {
    const uint col = c * LANES + lane;
    precise float result = push.x[0] * dk_sums[c];
    if (col >= HEAD_DIM) continue;
    dk[at(6, row, kv_first + col)] = result;
    dv[at(7, row, kv_first + col)] = dv_sums[c];
  }
}

void work(uint row, uint col) {
  if (OPERATION == OF_QUERIES)
    of_query(row, col);
  else
    of_key(row, col);
}
