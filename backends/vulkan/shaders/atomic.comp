#version 450
// Sums by atomic additions, in whatever order they come.
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_shader_atomic_float : require
#include "op_interface.glsl"
#include "element_grid.glsl"

layout(set = 0, binding = 0) readonly buffer Ids { int ids[]; };
layout(set = 0, binding = 0) readonly buffer Columns { float columns[]; };
layout(set = 0, binding = 1) readonly buffer Terms { float terms[]; };
layout(set = 0, binding = 2) buffer Sums { float sums[]; };

const uint CLEAR = 0;
const uint ADD_BY_ID = 1;   // n[0] = rows of the table
const uint ADD_COLUMNS = 2;

void element(uint row, uint col) {
  if (OPERATION == CLEAR) {
    sums[at(2, row, col)] = 0.0;
    return;
  }
  if (OPERATION == ADD_COLUMNS) {
    atomicAdd(sums[at(2, 0, col)], columns[at(0, row, col)]);
    return;
  }
  const uint id = uint(ids[at(0, 0, row)]);
  if (id < push.n[0]) atomicAdd(sums[at(2, id, col)], terms[at(1, row, col)]);
}
