#!/usr/bin/env bash
# ci/setup.sh: installs what building and testing need (Debian 12, Debian 13, Ubuntu 24.04) and says what.
# Only what is missing; a second run changes nothing. Without root it uses sudo.
#   VULKAN_SDK   set by you: used as it is, nothing is fetched for it
#   CUDACXX      your nvcc; without it and without nvcc in the PATH the CUDA backend is left out
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

command -v apt-get > /dev/null || die "this script knows apt-get only; see the package list in it"

install ca-certificates
# A machine that never ran apt-get update knows no packages.
apt-cache show g++ > /dev/null 2>&1 || { say "apt-get update"; as_root apt-get -q update; }

install g++ cmake ninja-build ccache pkg-config git \
  libeigen3-dev libfmt-dev libexpected-dev libcli11-dev nlohmann-json3-dev libgtest-dev libbenchmark-dev libmpfr-dev \
  libsqlite3-dev
install libvulkan1 libvulkan-dev mesa-vulkan-drivers vulkan-validationlayers
# For the sanitizer build with its fuzz targets, and the format check.
install clang clang-format libomp-dev
clang_major=$(clang --version | sed -n 's/.*clang version \([0-9]*\).*/\1/p' | head -n 1)
install "libclang-rt-$clang_major-dev"

if [ -n "${VULKAN_SDK:-}" ]; then
  say "VULKAN_SDK is set to $VULKAN_SDK: no shader compiler is installed"
else
  # The distribution's own shader compiler where it is new enough, else a prefix of a newer one.
  if grep -qs VK_KHR_cooperative_matrix /usr/include/vulkan/vulkan_core.h; then
    install glslang-tools spirv-tools libvulkan-memory-allocator-dev
  fi
  if system_vulkan_is_new_enough; then
    say "the system's Vulkan headers and glslang are new enough"
  else
    say "the system's Vulkan headers or glslang are too old for cooperative matrices: a newer set goes to $cache/vulkan-sdk"
    "$root/ci/vulkan-sdk.sh" "$cache/vulkan-sdk"
  fi
fi
report_cuda
say "set-up is complete"
