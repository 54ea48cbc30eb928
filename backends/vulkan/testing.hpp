#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "harness/ladder/backend.hpp"

namespace parity::vulkan {

/// The Vulkan devices of this machine with validation on, or why there are none.
struct TestDevices {
  std::unique_ptr<Backend> backend;
  std::vector<std::unique_ptr<Device>> devices;  ///< destroyed first
  std::string absent;
};
TestDevices open_test_devices();

/// What the elements of a problem are: integers from -3 to 4; all 256 values of 8 bits, for factors of that
/// type (C then has large values); or the lowest one everywhere.
enum class TestValues : std::uint8_t { small, bytes, lowest };

/// A gemm or linear problem with integer data, whose result is exact in any order.
struct TestProblem {
  std::string op = "gemm";
  std::int64_t m = 1, n = 1, k = 1, batch = 1;
  bool trans_a = false, trans_b = false, share_b = false, with_c = false;
  double alpha = 1, beta = 0;
  std::int64_t pad = 0;  ///< elements behind every row of every matrix
  std::string activation = "identity";
  DType store = DType::f32;
  TestValues values = TestValues::small;
};
std::string to_string(const TestProblem& problem);

/// What went wrong, empty if nothing did: loads the problem, writes it, runs it twice, compares every element
/// with the exact result, looks at pads and guards. `supported` is false when the path cannot take it.
struct TestOutcome {
  bool supported = true;
  std::string reason;
  std::string fault;
};
TestOutcome run_problem(Device& device, const Implementation& implementation, const TestProblem& problem);

/// The program of a problem and its tensors' values.
Program program_of(const TestProblem& problem, DType input);
double element_of(std::uint64_t stream, std::int64_t index);

}  // namespace parity::vulkan
