#version 450
// What bisecting looks at: counts and marks of a tensor's bits, as integers, for a shader may assume that there are
// no NaNs. One workgroup. n = {rows, columns, type of X, bits of an unwritten element}.
#extension GL_GOOGLE_include_directive : require
#include "op_interface.glsl"

layout(set = 0, binding = 0) readonly buffer In { uint in_words[]; };
layout(set = 0, binding = 1) writeonly buffer Out { int out0[]; };

const uint TYPE_F32 = 0, TYPE_F16 = 1, TYPE_BF16 = 2, TYPE_I32 = 3;

shared uint nans, infinities, first, unwritten, largest, hash;

uint bits_of(uint row, uint col) {
  if (push.n[2] == TYPE_F32 || push.n[2] == TYPE_I32) return in_words[at(0, row, col)];
  // Two elements a word, and twice as many in the guard zone: no 16-bit access is needed.
  const uint place = 2u * FIRST + row * push.stride[0] + col;
  return in_words[place / 2u] >> (16u * (place % 2u)) & 0xffffu;
}

// |x| of an int32 as the bits of an fp32 number, what does not fit cut off.
uint magnitude_of_integer(uint bits) {
  const uint size = int(bits) < 0 ? 0u - bits : bits;
  if (size == 0u) return 0u;
  const uint exponent = uint(findMSB(size));
  const uint fraction = exponent <= 23u ? size << (23u - exponent) : size >> (exponent - 23u);
  return exponent + 127u << 23 | fraction & 0x7fffffu;
}

// |x| as the bits of an fp32 number; a NaN or an infinity stays one. No float takes part where a subnormal
// could be flushed.
uint magnitude_of(uint bits) {
  if (push.n[2] == TYPE_I32) return magnitude_of_integer(bits);
  if (push.n[2] == TYPE_F32) return bits & 0x7fffffffu;
  if (push.n[2] == TYPE_BF16) return (bits & 0x7fffu) << 16;
  const uint exponent = bits >> 10 & 31u, fraction = bits & 0x3ffu;
  if (exponent == 31u) return 0x7f800000u | fraction << 13;
  if (exponent > 0u) return exponent + 112u << 23 | fraction << 13;
  return fraction == 0u ? 0u : floatBitsToUint(float(fraction)) - (24u << 23);
}

uint mixed(uint x) {
  x = (x ^ x >> 16) * 0x7feb352du;
  x = (x ^ x >> 15) * 0x846ca68bu;
  return x ^ x >> 16;
}

void main() {
  const uint lane = gl_LocalInvocationIndex, count = push.n[0] * push.n[1];
  if (lane == 0u) {
    nans = infinities = unwritten = largest = hash = 0u;
    first = 0xffffffffu;
  }
  barrier();
  uint own_nans = 0u, own_infinities = 0u, own_first = 0xffffffffu, own_unwritten = 0u, own_largest = 0u,
       own_hash = 0u;
  for (uint i = lane; i < count; i += LANES) {
    const uint bits = bits_of(i / push.n[1], i % push.n[1]), size = magnitude_of(bits);
    own_hash += mixed(bits ^ (i + 1u) * 0x9e3779b9u);
    own_unwritten += bits == push.n[3] ? 1u : 0u;
    if (size < 0x7f800000u) {
      own_largest = max(own_largest, size);
    } else {
      own_nans += size > 0x7f800000u ? 1u : 0u;
      own_infinities += size == 0x7f800000u ? 1u : 0u;
      own_first = min(own_first, i);
    }
  }
  atomicAdd(nans, own_nans);
  atomicAdd(infinities, own_infinities);
  atomicAdd(unwritten, own_unwritten);
  atomicAdd(hash, own_hash);
  atomicMin(first, own_first);
  atomicMax(largest, own_largest);
  barrier();
  if (lane != 0u) return;
  out0[at(1, 0, 0)] = int(nans);
  out0[at(1, 0, 1)] = int(infinities);
  out0[at(1, 0, 2)] = int(first);
  out0[at(1, 0, 3)] = int(unwritten);
  out0[at(1, 0, 4)] = int(largest);
  out0[at(1, 0, 5)] = int(hash);
}
