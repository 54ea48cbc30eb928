#version 450
// Rotary position embedding. n = {columns of a head, rotary columns, rows of a sequence, interleaved, inverse}.
#extension GL_GOOGLE_include_directive : require
#include "op_interface.glsl"
#include "element_grid.glsl"

layout(set = 0, binding = 0) readonly buffer X { float x[]; };
layout(set = 0, binding = 1) readonly buffer Cos { float cosine[]; };
layout(set = 0, binding = 2) readonly buffer Sin { float sine[]; };
layout(set = 0, binding = 3) writeonly buffer Y { float y[]; };

void element(uint row, uint col) {
  const uint place = col % push.n[0], pairs = push.n[1] / 2u, position = row % push.n[2];
  const bool interleaved = push.n[3] != 0u, inverse = push.n[4] != 0u;
  const float own = x[at(0, row, col)];
  if (place >= push.n[1]) {
    y[at(3, row, col)] = own;
    return;
  }
  const uint pair = interleaved ? place / 2u : place % pairs;
  const uint reach = interleaved ? 1u : pairs;
  const bool is_first = interleaved ? place % 2u == 0u : place < pairs;
  const float other = x[at(0, row, is_first ? col + reach : col - reach)];
  precise float kept = own * cosine[at(1, position, pair)];
  precise float turned = other * sine[at(2, position, pair)];
  precise float result = is_first != inverse ? kept + turned : kept - turned;
  y[at(3, row, col)] = result;
}
