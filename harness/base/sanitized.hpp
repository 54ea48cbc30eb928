#pragma once

// GCC says it with a macro of its own, clang through __has_feature.
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define PARITY_ADDRESS_SANITIZER 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define PARITY_ADDRESS_SANITIZER 1
#endif

namespace parity {

/// True in a build with AddressSanitizer. For tests only: what a limit on memory makes impossible there, and
/// how often a trial that is only slow there is repeated.
#if defined(PARITY_ADDRESS_SANITIZER)
inline constexpr bool address_sanitized = true;
#else
inline constexpr bool address_sanitized = false;
#endif

}  // namespace parity
