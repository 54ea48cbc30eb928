// The way from the accumulator to the stored element: alpha * acc, beta * c, their sum, the activation, then one
// conversion. All in fp32 with every operation rounded on its own (`precise` forbids contraction), or in integers
// that wrap, for which there is no activation and nothing to convert.

NUMBER load_c(uint row, uint col) {
  const uint index = batch_index() * push.c_batch + row * push.c_m + col * push.c_n;
#ifdef STORAGE16
  if (c_type() == TYPE_F16) return f16_bits_to_f32(uint(c_u16[GUARD_BYTES / 2 + index]));
  if (c_type() == TYPE_BF16) return bf16_bits_to_f32(uint(c_u16[GUARD_BYTES / 2 + index]));
#endif
  return c_32[GUARD_BYTES / 4 + index];
}

void store_y(uint row, uint col, NUMBER value) {
  const uint index = batch_index() * push.y_batch + row * push.y_m + col * push.y_n;
#ifdef STORAGE16
  if (y_type() == TYPE_F16) {
    y_u16[GUARD_BYTES / 2 + index] = uint16_t(f32_to_f16_bits(value));
    return;
  }
  if (y_type() == TYPE_BF16) {
    y_u16[GUARD_BYTES / 2 + index] = uint16_t(f32_to_bf16_bits(value));
    return;
  }
#endif
  y_32[GUARD_BYTES / 4 + index] = value;
}

// Finishes element (row, col); nothing happens outside the matrix.
void finish(uint row, uint col, NUMBER accumulator) {
  if (row >= push.m || col >= push.n) return;
  precise NUMBER value = accumulator;
  if (push.alpha != 1.0) value = NUMBER(push.alpha) * accumulator;
  if (has_c()) {
    precise NUMBER addend = load_c(row, col);
    if (push.beta != 1.0) addend = NUMBER(push.beta) * addend;
    precise NUMBER sum = value + addend;
    value = sum;
  }
#ifdef INTEGER
  store_y(row, col, value);
#else
  store_y(row, col, activate(activation(), value));
#endif
}
