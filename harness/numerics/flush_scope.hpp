#pragma once
#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace parity {

/// While it lives, this thread's vector unit reads subnormals as zero and writes them as zero (when `flush`).
class FlushScope {
 public:
#if defined(__SSE2__)
  static constexpr bool available = true;
  explicit FlushScope(bool flush) : saved_(_mm_getcsr()) {
    constexpr unsigned flush_to_zero = 0x8000;
    constexpr unsigned denormals_are_zero = 0x0040;
    if (flush) _mm_setcsr(saved_ | flush_to_zero | denormals_are_zero);
  }
  ~FlushScope() {
    _mm_setcsr(saved_);
  }

 private:
  unsigned saved_;

 public:
#else
  static constexpr bool available = false;
  explicit FlushScope(bool) {}
#endif
  FlushScope(const FlushScope&) = delete;
  FlushScope& operator=(const FlushScope&) = delete;
};

}  // namespace parity
