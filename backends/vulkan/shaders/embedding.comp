#version 450
// Rows of a table by index. They are copied as words: no bit of them changes.
#extension GL_GOOGLE_include_directive : require
#include "op_interface.glsl"
#include "element_grid.glsl"

layout(set = 0, binding = 0) readonly buffer Table { uint table[]; };
layout(set = 0, binding = 1) readonly buffer Ids { int ids[]; };
layout(set = 0, binding = 2) writeonly buffer Y { uint y[]; };

void element(uint row, uint col) {
  const uint id = uint(ids[at(1, 0, row)]);
  // n[0] = rows of the table; an index outside gives NaN.
  y[at(2, row, col)] = id < push.n[0] ? table[at(0, id, col)] : 0x7fc00000u;
}
