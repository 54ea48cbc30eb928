#!/usr/bin/env bash
# ci/ladder.sh [SUITE]: from a fresh clone to a verdict. Installs what is missing, builds, and climbs the ladder on
# every device it finds: the CPU, the software Vulkan drivers (each in a process of its own) and every GPU.
# SUITE is smoke (the default), ladder, conformance or a file. Records go to build/ladder/.
# The exit code is parity's: 0 pass, 1 a contract failed, 4 nothing was judged, 5 the harness failed.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
suite=${1:-smoke}
case $suite in -*) echo "usage: ci/ladder.sh [SUITE]" >&2; exit 2 ;; esac

"$root/ci/setup.sh" release
"$root/ci/software-devices.sh" || say "going on without the software devices that could not be fetched"
use_vulkan_sdk
mkdir -p "$root/build"
configure_and_build release -DPARITY_TESTS=OFF -DPARITY_BENCH=OFF

parity=$root/build/release/bin/parity
records=$root/build/ladder
mkdir -p "$records"
passed=0 failed=0 worst=4 # nothing judged yet

# climb NAME COMMAND...: one process; its records under build/ladder/NAME.
climb() {
  local name=$1 code=0
  shift
  say "climbing on $name"
  rm -rf "${records:?}/$name"
  "$@" run --suite "$suite" --out "$records/$name" --device "$device" || code=$?
  case $code in
    0) passed=$((passed + 1)); [ $worst != 4 ] || worst=0 ;;
    3) say "$name: no such device here" ;;
    4) say "$name: nothing was judged" ;;
    *) failed=$((failed + 1)); [ $worst = 1 ] || worst=$code ;;
  esac
}

device=cpu climb cpu "$parity"
lavapipe=$(system_lavapipe)
if [ -n "$lavapipe" ]; then
  device=vulkan climb lavapipe env VK_DRIVER_FILES="$lavapipe" VK_ICD_FILENAMES="$lavapipe" "$parity"
fi
if [ -x "$cache/lavapipe/bin/vkrun" ]; then
  device=vulkan climb lavapipe-cooperative-matrices "$cache/lavapipe/bin/vkrun" "$parity"
fi
swiftshader=$cache/swiftshader/vk_swiftshader_icd.json
if [ -f "$swiftshader" ]; then
  device=vulkan climb swiftshader env VK_DRIVER_FILES="$swiftshader" VK_ICD_FILENAMES="$swiftshader" "$parity"
fi
# Everything else that this machine has: real GPUs, by their ids.
while read -r id name; do
  say "found $id: $name"
  device=$id climb "${id/:/-}" "$parity"
done < <("$parity" devices | grep -E '^(vulkan|cuda):[0-9]+ ' | grep -v -i -E 'llvmpipe|swiftshader')

say "$passed device runs passed, $failed failed; records: $records"
exit $worst
