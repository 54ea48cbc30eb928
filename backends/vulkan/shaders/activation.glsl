// Elementwise functions in fp32, safe for every argument: no exp can overflow, NaN goes through. Their accuracy
// is derived in gemm_paths.cpp from what Vulkan promises of exp (3 + 2|x| ULP) and division (2.5 ULP).

const uint RELU = 1;
const uint LEAKY_RELU_SQUARED = 2;
const uint SIGMOID = 3;
const uint TANH = 4;

float sigmoid(float x) {
  const float magnitude = abs(x) > 126.0 ? 126.0 : abs(x);  // not min(), which may drop a NaN
  const float e = exp(-magnitude);                          // in (0, 1]
  precise float denominator = 1.0 + e;                      // in (1, 2]: inside the range of division's promise
  return (x < 0.0 ? e : 1.0) / denominator + (x != x ? x : 0.0);
}

float tanh_safe(float x) {
  const float magnitude = abs(x) > 20.0 ? 20.0 : abs(x);
  if (magnitude < 0.625) {
    // Continued fraction x/(1 + x^2/(3 + x^2/(5 + x^2/(7 + x^2/9)))), which is off by less than 1e-9 here and
    // has no cancellation.
    precise float s = x * x;
    precise float numerator = 945.0 + s * (105.0 + s);
    precise float denominator = 945.0 + s * (420.0 + 15.0 * s);
    return x * (numerator / denominator);
  }
  const float e = exp(-2.0 * magnitude);
  precise float top = 1.0 - e;
  precise float bottom = 1.0 + e;
  const float result = top / bottom;
  return x < 0.0 ? -result : (x != x ? x : result);
}

float activate(uint function, float x) {
  switch (function) {
    case RELU:
      return x < 0.0 ? 0.0 : x;  // keeps NaN
    case LEAKY_RELU_SQUARED: {
      precise float leaky = x < 0.0 ? 0.5 * x : x;
      precise float squared = leaky * leaky;
      return squared;
    }
    case SIGMOID:
      return sigmoid(x);
    case TANH:
      return tanh_safe(x);
    default:
      return x;
  }
}
