#pragma once
#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace parity {

/// What kind of thing went wrong; the command derives its exit code from it.
enum class ErrorKind {
  bad_input,       ///< a file, a case text or an argument is wrong (exit 2)
  missing_device,  ///< the device asked for is not here (exit 3)
  unsupported,     ///< legal request that this device or path cannot take
  device_failed,   ///< the device was lost, hung or returned an error
  timed_out,       ///< the device did not finish within the time limit
  internal,        ///< the harness itself failed (exit 5)
};

/// An error as a value: the message names the thing, says what was wrong and what to do.
struct Error {
  ErrorKind kind = ErrorKind::internal;
  std::string message;
};

template <class T>
using Result = tl::expected<T, Error>;

inline tl::unexpected<Error> fail(ErrorKind kind, std::string message) {
  return tl::unexpected<Error>(Error{kind, std::move(message)});
}
inline tl::unexpected<Error> bad_input(std::string message) {
  return fail(ErrorKind::bad_input, std::move(message));
}

}  // namespace parity
