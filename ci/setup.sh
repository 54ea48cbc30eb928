#!/usr/bin/env bash
# ci/setup.sh [PART...]: installs what building and testing need (Debian 12, Debian 13, Ubuntu 24.04) and says what.
# Only what is missing; a second run changes nothing. Without root it uses sudo. Parts, all but the last by default:
#   release   compilers, libraries, a software Vulkan device, and a newer Vulkan SDK where the system's is too old
#   checks    clang for the sanitizers and the fuzz targets, and clang-format
#   browser   Chromium, for the tests of the page; without one they are skipped
#   VULKAN_SDK   set by you: used as it is, nothing is fetched for it
#   CUDACXX      your nvcc; without it and without nvcc in the PATH the CUDA backend is left out
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

[ $# -gt 0 ] || set -- release checks
for part in "$@"; do
  case $part in release | checks | browser) ;; *) sed -n '2,8p' "${BASH_SOURCE[0]}" >&2; exit 2 ;; esac
done
command -v apt-get > /dev/null || die "this script knows apt-get only; see the package list in it"

set_up_release() {
  install ca-certificates
  # A machine that never ran apt-get update knows no packages.
  apt-cache show g++ > /dev/null 2>&1 || { say "apt-get update"; as_root apt-get -q update; }

  # A newer set of Vulkan headers and shader compilers comes from an archive of its own, while apt-get installs.
  local sdk=
  if [ -z "${VULKAN_SDK:-}" ] && dpkg --compare-versions "$(candidate libvulkan-dev)" lt 1.3.255; then
    say "the system's Vulkan headers or glslang are too old for cooperative matrices: a newer set goes to $cache/vulkan-sdk"
    "$root/ci/vulkan-sdk.sh" "$cache/vulkan-sdk" &
    sdk=$!
  fi
  install g++ cmake ninja-build ccache pkg-config git \
    libeigen3-dev libfmt-dev libexpected-dev libcli11-dev nlohmann-json3-dev libgtest-dev libbenchmark-dev libmpfr-dev \
    libsqlite3-dev zlib1g-dev xz-utils \
    libvulkan1 libvulkan-dev mesa-vulkan-drivers vulkan-validationlayers
  if [ -n "${VULKAN_SDK:-}" ]; then
    say "VULKAN_SDK is set to $VULKAN_SDK: no shader compiler is installed"
  elif [ -n "$sdk" ]; then
    wait "$sdk" || die "there is no newer Vulkan SDK; see above"
  else
    install glslang-tools spirv-tools libvulkan-memory-allocator-dev
    if system_vulkan_is_new_enough; then
      say "the system's Vulkan headers and glslang are new enough"
    else
      say "the system's glslang is too old for cooperative matrices: a newer set goes to $cache/vulkan-sdk"
      "$root/ci/vulkan-sdk.sh" "$cache/vulkan-sdk"
    fi
  fi
  report_cuda
}

set_up_checks() {
  install clang clang-format libomp-dev lld
  local major
  major=$(clang --version | sed -n 's/.*clang version \([0-9]*\).*/\1/p' | head -n 1)
  install "libclang-rt-$major-dev"
}

set_up_browser() {
  # Ubuntu has it as a snap only, which containers cannot run.
  if [ -n "$(candidate chromium)" ]; then
    install chromium
  else
    say "no Chromium among the system's packages: the tests of the page need one in the PATH or PARITY_BROWSER"
  fi
}

for part in "$@"; do "set_up_$part"; done
say "set-up is complete: $*"
