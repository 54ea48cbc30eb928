#version 450
// Rounds X to Y's type. n[0] and n[1] are the types of X and Y.
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_shader_16bit_storage : require
#include "op_interface.glsl"
#include "element_grid.glsl"
#include "convert.glsl"

layout(set = 0, binding = 0) readonly buffer InFloats { float in_f32[]; };
layout(set = 0, binding = 0) readonly buffer InHalves { uint16_t in_u16[]; };
layout(set = 0, binding = 1) writeonly buffer OutFloats { float out_f32[]; };
layout(set = 0, binding = 1) writeonly buffer OutHalves { uint16_t out_u16[]; };

const uint TYPE_F32 = 0, TYPE_F16 = 1, TYPE_BF16 = 2;

void element(uint row, uint col) {
  const uint from = at(0, row, col), to = at(1, row, col);
  float value;
  // A guard zone holds twice as many 16-bit elements.
  if (push.n[0] == TYPE_F32)
    value = in_f32[from];
  else if (push.n[0] == TYPE_F16)
    value = f16_bits_to_f32(uint(in_u16[from + FIRST]));
  else
    value = bf16_bits_to_f32(uint(in_u16[from + FIRST]));
  if (push.n[1] == TYPE_F32)
    out_f32[to] = value;
  else if (push.n[1] == TYPE_F16)
    out_u16[to + FIRST] = uint16_t(f32_to_f16_bits(value));
  else
    out_u16[to + FIRST] = uint16_t(f32_to_bf16_bits(value));
}
