#version 450
// One workgroup a row of the table: it looks through the indices, a chunk of LANES at a time, and adds the rows
// of dY that have its index, in order. Each lane has its own columns; their sums are kept in dTable.
#extension GL_GOOGLE_include_directive : require
#include "op_interface.glsl"
#include "row_grid.glsl"

layout(set = 0, binding = 0) readonly buffer Ids { int ids[]; };
layout(set = 0, binding = 1) readonly buffer Dy { float dy[]; };
layout(set = 0, binding = 2) buffer Table { float d_table[]; };

// n = {rows of dY, columns}
shared uint matches;                            // in the chunk
shared uint is_match[gl_WorkGroupSize.x];

void work(uint unused, uint id) {
  const uint lane = gl_LocalInvocationIndex;
  for (uint col = lane; col < push.n[1]; col += LANES) d_table[at(2, id, col)] = 0.0;
  for (uint base = 0; base < push.n[0]; base += LANES) {
    const bool hit = base + lane < push.n[0] && uint(ids[at(0, 0, base + lane)]) == id;
    barrier();  // everyone is done with the previous chunk
    if (lane == 0u) matches = 0u;
    is_match[lane] = hit ? 1u : 0u;
    barrier();
    if (hit) atomicOr(matches, 1u);
    barrier();
    if (matches == 0u) continue;
    for (uint i = 0; i < LANES; ++i) {
      if (is_match[i] == 0u) continue;
      for (uint col = lane; col < push.n[1]; col += LANES) {
        precise float sum = d_table[at(2, id, col)] + dy[at(1, base + i, col)];
        d_table[at(2, id, col)] = sum;
      }
    }
  }
}
