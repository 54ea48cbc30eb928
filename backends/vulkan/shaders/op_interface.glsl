// What the shaders of every op but gemm and linear share. The numbers of the constants and the push constants are
// those of op_kernel.cpp. Buffers are bound in the order of the op's ports, inputs first, outputs from a binding
// on that is fixed for each shader; each is bound from a guard zone in front of its tensor on.

layout(local_size_x_id = 0) in;
layout(constant_id = 1) const uint GUARD_BYTES = 4096;
layout(constant_id = 2) const uint OPERATION = 0;  // which of the shader's ops

layout(push_constant) uniform Push {
  uint rows, cols;   // the grid: elements, or workgroups, a row
  uint present;      // bit i: input i is there
  uint stride[10];   // by binding: elements from one row to the next
  uint n[8];         // what the op needs, see each shader
  float x[8];
} push;

const uint FIRST = GUARD_BYTES / 4;  // of a tensor of 32-bit elements
const uint LANES = gl_WorkGroupSize.x;

uint at(uint binding, uint row, uint col) { return FIRST + row * push.stride[binding] + col; }
bool has_input(uint port) { return (push.present >> port & 1u) != 0u; }
