// What attention.comp and attention_backward.comp share. LANES is 64. Scores are computed again in every pass
// over the keys, so that no number of keys is too large for shared memory.
layout(constant_id = 3) const uint HEAD_DIM = 64;
const uint COLUMNS = (HEAD_DIM + LANES - 1) / LANES;  // of a head, a lane

layout(set = 0, binding = 0) readonly buffer Q { float q[]; };
layout(set = 0, binding = 1) readonly buffer K { float k[]; };
layout(set = 0, binding = 2) readonly buffer V { float v[]; };
layout(set = 0, binding = 3) readonly buffer Valid { int valid[]; };

// n = {heads, heads of a group, rows of a sequence, causal}, x[0] = scale
uint sequence_start(uint row) { return row / push.n[2] * push.n[2]; }
bool is_causal() { return push.n[3] != 0u; }
bool takes_part(uint key_row) { return !has_input(3) || valid[at(3, 0, key_row)] != 0; }
// Keys a query may look at, from the start of its sequence on.
uint keys_of(uint row) { return is_causal() ? row % push.n[2] + 1u : push.n[2]; }

float score(uint row, uint q_first, uint key_row, uint kv_first) {
  precise float sum = 0.0;
  for (uint d = 0; d < HEAD_DIM; ++d)
    sum = fma(q[at(0, row, q_first + d)], k[at(1, key_row, kv_first + d)], sum);
  precise float scaled = push.x[0] * sum;
  return scaled;
}

float weight(float score, float maximum) {
  precise float below = score - maximum;
  return exp_below_zero(below);
}

// The largest score of a query; minus infinity without a key.
float maximum_score(uint row, uint q_first, uint kv_first) {
  float largest = minus_infinity();
  const uint start = sequence_start(row), keys = keys_of(row);
  for (uint j = gl_LocalInvocationIndex; j < keys; j += LANES)
    if (takes_part(start + j)) largest = larger(largest, score(row, q_first, start + j, kv_first));
  return largest_lane(largest);
}
