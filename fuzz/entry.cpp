// libFuzzer's entry; PARITY_FUZZ_TARGET names the function of targets.hpp.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "fuzz/targets.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string broken =
      parity::fuzz::PARITY_FUZZ_TARGET({reinterpret_cast<const std::byte*>(data), size});
  if (!broken.empty()) {
    std::fprintf(stderr, "broken: %s\n", broken.c_str());
    std::abort();
  }
  return 0;
}
