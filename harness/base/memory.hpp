#pragma once
#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace parity {

/// Lets the allocator keep large freed blocks for the next case instead of returning them to the kernel: a
/// fresh array of references and bounds otherwise costs more in page faults than its arithmetic. For
/// programs, once, at the start of main.
inline void keep_freed_memory() {
#ifdef __GLIBC__
  mallopt(M_MMAP_MAX, 0);  // the threshold itself cannot be set above 32 MiB
  mallopt(M_TRIM_THRESHOLD, 2147483647);
#endif
}

}  // namespace parity
