#pragma once
#include <memory>
#include <span>
#include <vector>

#include "harness/ladder/backend.hpp"
#include "harness/ladder/device_function.hpp"

namespace parity {

/// Calls of `device_function` on the same arguments, loaded on a device once and run piece by piece. Without
/// the poison of an Execution: a result that was not written stays the piece before, or guard poison, and is
/// wrong.
class FunctionCalls {
 public:
  /// `size` arguments a piece. Errors: the path cannot take a function (unsupported), the device failed.
  static Result<FunctionCalls> load(Device& device, const Implementation& implementation,
                                    const std::vector<DeviceFunction>& functions, std::int64_t size);

  std::int64_t size() const { return size_; }
  /// Numbers of the implementation's format (fp16 ones widened), as many as size(). A quotient's dividend is
  /// `partners`, its divisor `arguments`.
  Result<void> write(std::span<const float> arguments, std::span<const float> partners);
  Result<void> run();
  /// The result of functions[index], in the implementation's format.
  Result<Tensor> read(std::size_t index);

 private:
  Program program_;
  std::shared_ptr<Session> session_;
  DType format_ = DType::f32;
  std::int64_t size_ = 0;
  Tensor staging_;
};

/// Those of `functions` that the implementation has, and why it lacks the others.
struct SupportedFunctions {
  std::vector<DeviceFunction> functions;
  struct Absent {
    DeviceFunction function;
    std::string reason;
  };
  std::vector<Absent> absent;
};
Result<SupportedFunctions> supported_functions(Device& device, const Implementation& implementation,
                                               std::span<const DeviceFunction> functions);

/// One function of three arguments, on bit patterns of the implementation's format; zeros where an argument
/// is not given. `a`, `b`, `c` have one size.
Result<std::vector<std::uint32_t>> ask_function(Device& device, const Implementation& implementation,
                                                DeviceFunction function, std::span<const std::uint32_t> a,
                                                std::span<const std::uint32_t> b = {},
                                                std::span<const std::uint32_t> c = {});

}  // namespace parity
