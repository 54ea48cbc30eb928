# shellcheck shell=bash
# Sourced by the scripts beside it: where things are, and how to say what is being done.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/parity-ladder
jobs=${PARITY_JOBS:-$(nproc)}

say() { printf '== %4d s  %s\n' "$SECONDS" "$*"; }  # seconds since the script began
die() { printf 'ci: %s\n' "$*" >&2; exit 5; }

as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  elif command -v sudo > /dev/null; then
    sudo "$@"
  else
    die "root or sudo is needed for: $*"
  fi
}

# installed PACKAGE: whether dpkg has it.
installed() { [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2> /dev/null)" = installed ]; }

# candidate PACKAGE: the version that apt-get would install; empty if it knows none.
candidate() { apt-cache policy "$1" | awk '$1 == "Candidate:" && $2 != "(none)" {print $2}'; }

# install PACKAGE...: those that are missing, said first.
install() {
  local missing=() package
  for package in "$@"; do installed "$package" || missing+=("$package"); done
  [ ${#missing[@]} -gt 0 ] || return 0
  say "installing with apt-get: ${missing[*]}"
  if ! as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends install "${missing[@]}"; then
    as_root apt-get -q update
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends install "${missing[@]}"
  fi
}

# Whether the system's own packages know cooperative matrices: headers, compiler and validator.
system_vulkan_is_new_enough() {
  local header=/usr/include/vulkan/vulkan_core.h major
  grep -qs VK_KHR_cooperative_matrix "$header" || return 1
  [ -f /usr/include/vk_mem_alloc.h ] || [ -f /usr/include/vma/vk_mem_alloc.h ] || return 1
  command -v spirv-val > /dev/null && command -v glslangValidator > /dev/null || return 1
  major=$(glslangValidator --version | sed -n 's/^Glslang Version: [0-9]*:\([0-9]*\)\..*/\1/p' | head -n 1)
  [ "${major:-0}" -ge 14 ]
}

# Sets VULKAN_SDK for what follows, unless the user has, or the system's own packages do.
use_vulkan_sdk() {
  if [ -n "${VULKAN_SDK:-}" ]; then
    say "Vulkan headers and shader compiler: VULKAN_SDK=$VULKAN_SDK, as set"
  elif system_vulkan_is_new_enough; then
    say "Vulkan headers and shader compiler: the system's"
  elif [ -x "$cache/vulkan-sdk/bin/glslangValidator" ]; then
    export VULKAN_SDK=$cache/vulkan-sdk
    say "Vulkan headers and shader compiler: $VULKAN_SDK"
  else
    say "Vulkan headers and shader compiler: too old or absent, and none in $cache; run ci/setup.sh"
  fi
}

# Says whether CUDA will be built.
report_cuda() {
  local compiler=${CUDACXX:-$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2> /dev/null || true)}
  if [ -n "$compiler" ]; then
    say "CUDA: $compiler"
  else
    say "CUDA: no nvcc in the PATH or /usr/local/cuda, and CUDACXX is not set; going on without the CUDA backend"
  fi
}

# configure_and_build PRESET [CMAKE ARGUMENTS...]
configure_and_build() {
  local preset=$1
  shift
  say "building preset $preset"
  (cd "$root" && cmake --preset "$preset" "$@" > "$root/build/configure-$preset.log" 2>&1) || {
    cat "$root/build/configure-$preset.log" >&2
    die "cmake --preset $preset failed"
  }
  (cd "$root" && cmake --build --preset "$preset" -j "$jobs")
}

# The system's lavapipe, wherever its icd file lies; empty if there is none.
system_lavapipe() {
  local file
  for file in /usr/share/vulkan/icd.d/lvp_icd*.json /etc/vulkan/icd.d/lvp_icd*.json; do
    [ ! -f "$file" ] || { echo "$file"; return; }
  done
}
