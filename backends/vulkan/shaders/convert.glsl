// Conversions in integer arithmetic: their bits are the same on every device, whatever rounding or denormal mode
// its floating-point conversions have.

// fp32 -> fp16, to nearest even; NaN stays NaN, 65520 and beyond become infinity.
uint f32_to_f16_bits(float value) {
  const uint bits = floatBitsToUint(value);
  const uint sign = (bits >> 16) & 0x8000u;
  const uint magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return sign | 0x7e00u | ((magnitude >> 13) & 0x3ffu);
  if (magnitude >= 0x477ff000u) return sign | 0x7c00u;
  if (magnitude < 0x38800000u) {                 // below 2^-14: a multiple of 2^-24
    if (magnitude < 0x33000000u) return sign;    // below 2^-25
    const uint shift = 126u - (magnitude >> 23);  // 14 .. 24
    const uint significand = (magnitude & 0x7fffffu) | 0x800000u;
    const uint quotient = significand >> shift;
    const uint rest = significand & ((1u << shift) - 1u);
    const uint tie = 1u << (shift - 1u);
    const bool up = rest > tie || (rest == tie && (quotient & 1u) == 1u);
    return sign | (quotient + (up ? 1u : 0u));
  }
  const uint rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
  return sign | ((rounded - 0x38000000u) >> 13);
}

// fp32 -> bf16, to nearest even; NaN stays NaN.
uint f32_to_bf16_bits(float value) {
  const uint bits = floatBitsToUint(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return (bits >> 16) | 0x40u;
  return (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
}

// fp16 -> fp32, exact: a subnormal fp16 is a normal fp32, so no denormal mode can touch it.
float f16_bits_to_f32(uint bits) {
  const uint sign = (bits & 0x8000u) << 16;
  const uint magnitude = bits & 0x7fffu;
  if (magnitude >= 0x7c00u) return uintBitsToFloat(sign | 0x7f800000u | ((magnitude & 0x3ffu) << 13));
  if (magnitude >= 0x400u) return uintBitsToFloat(sign | ((magnitude << 13) + 0x38000000u));
  const float small = float(magnitude) * 5.9604644775390625e-08;  // 2^-24
  return uintBitsToFloat(sign | floatBitsToUint(small));
}

float bf16_bits_to_f32(uint bits) { return uintBitsToFloat(bits << 16); }
