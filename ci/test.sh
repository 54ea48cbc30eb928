#!/usr/bin/env bash
# ci/test.sh: set-up, build and every test that needs no GPU:
#   ctest on the system's lavapipe, the Vulkan tests again on lavapipe with cooperative matrices and on SwiftShader,
#   the CPU side under AddressSanitizer and UBSan, the fuzz targets for half a minute, the format check.
# Stops at nothing: every part runs, the exit code is 0 only when all passed. Ends with each part's counts.
#   PARITY_BROWSER   the browser for the tests of the page; empty: they are skipped. Not set: Chromium is installed.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
fuzz_seconds=${PARITY_FUZZ_SECONDS:-30} # all targets side by side

"$root/ci/setup.sh" release
use_vulkan_sdk
logs=$root/build/test-logs
mkdir -p "$logs"
# What later parts need.
set_up_rest() {
  local parts=(checks)
  [ -n "${PARITY_BROWSER+set}" ] || parts+=(browser)
  "$root/ci/setup.sh" "${parts[@]}" && "$root/ci/software-devices.sh"
}
rest=
if [ "$(id -u)" = 0 ]; then
  # Fetched while the compiler works; in front where sudo may ask for a password.
  set_up_rest > "$logs/set-up.log" 2>&1 &
  rest=$!
else
  set_up_rest
fi
# A compiler cache that is empty or new asks no preprocessor first.
export CCACHE_DEPEND=${CCACHE_DEPEND-1}
configure_and_build release
if [ -n "$rest" ]; then
  wait "$rest" || { cat "$logs/set-up.log"; die "what the tests need could not be installed or fetched"; }
  grep '^==' "$logs/set-up.log"
fi

# Test programs share the cores: a thread that waits sleeps, and memory that was freed stays with its process.
export OMP_WAIT_POLICY=passive MALLOC_TRIM_THRESHOLD_=536870912 MALLOC_MMAP_THRESHOLD_=33554432

failures=()
closing=()
# run_ctest NAME BUILD_FOLDER ARGUMENTS...
run_ctest() {
  local name=$1 folder=$2
  shift 2
  say "ctest: $name"
  ctest --test-dir "$folder" --output-on-failure --no-tests=error -j "$jobs" "$@" 2>&1 | tee "$logs/$name.log" || failures+=("$name")
  closing+=("$name: $(grep -E 'tests passed|No tests were found' "$logs/$name.log" | tail -n 1)")
}

release=$root/build/release
lavapipe=$(system_lavapipe)
if [ -n "$lavapipe" ]; then
  VK_DRIVER_FILES=$lavapipe VK_ICD_FILENAMES=$lavapipe run_ctest lavapipe "$release"
else
  say "the system has no lavapipe"
  run_ctest cpu "$release"
fi

# begin_vulkan NAME PREFIX...: the Vulkan tests as one process, started by PREFIX, in the background; end_vulkan waits.
declare -A processes
begin_vulkan() {
  local name=$1 found
  shift
  say "vulkan_test: $name"
  # Without a device the tests would be skipped, not failed.
  found=$("$@" "$release/bin/parity" devices 2>&1) || true
  if ! grep -q '^vulkan:0 ' <<< "$found"; then
    tail -n 2 <<< "$found"
    failures+=("$name") closing+=("$name: the device is not there")
    return
  fi
  timeout 1200 "$@" "$release/bin/vulkan_test" > "$logs/$name.log" 2>&1 &
  processes[$name]=$!
}
end_vulkan() {
  local name log code
  for name in "${!processes[@]}"; do
    log=$logs/$name.log code=0
    wait "${processes[$name]}" || code=$?
    if [ $code != 0 ]; then
      tail -n 200 "$log"
      failures+=("$name")
    fi
    closing+=("$name: $(gtest_counts "$log"), exit code $code")
  done
}
# gtest_counts LOG: what the GoogleTest programs of a log say of themselves, added up.
gtest_counts() {
  tr -d '\r' < "$1" | awk '
    /\[==========\] [0-9]+ tests? from .* ran\./ {ran += after("[==========] ")}
    /\[  PASSED  \] [0-9]+ tests?\./ {passed += after("[  PASSED  ] ")}
    /\[  SKIPPED \] [0-9]+ tests?, listed below/ {skipped += after("[  SKIPPED ] ")}
    /\[  FAILED  \] [0-9]+ tests?, listed below/ {failed += after("[  FAILED  ] ")}
    function after(mark) {return substr($0, index($0, mark) + length(mark)) + 0}
    END {printf "%d tests: %d passed, %d failed, %d skipped", ran, passed, failed, skipped}'
}

swiftshader=$cache/swiftshader/vk_swiftshader_icd.json
if [ -f "$swiftshader" ]; then
  begin_vulkan swiftshader env VK_DRIVER_FILES="$swiftshader" VK_ICD_FILENAMES="$swiftshader"
fi
vkrun=$cache/lavapipe/bin/vkrun
if [ -x "$vkrun" ]; then
  # The same program, started through the driver's own loader.
  begin_vulkan lavapipe-cooperative-matrices "$vkrun"
fi
end_vulkan

configure_and_build asan -DPARITY_VULKAN=OFF
# ctest keeps the cores busy already: threads that wait for work would only take time from other tests.
# Memory stays poisoned until 64 MiB more were freed (256 by default): new pages are much of what a test costs.
OMP_NUM_THREADS=1 ASAN_OPTIONS=quarantine_size_mb=64${ASAN_OPTIONS:+:$ASAN_OPTIONS} run_ctest sanitizers "$root/build/asan"
closing+=("  in these: $(gtest_counts "$root/build/asan/Testing/Temporary/LastTest.log")")

say "fuzzing for $fuzz_seconds s"
declare -A fuzzers
for target in npy safetensors case; do
  mkdir -p "$root/build/asan/fuzz-found/$target"
  "$root/build/asan/bin/${target}_fuzz" -max_total_time="$fuzz_seconds" -print_final_stats=1 \
    -artifact_prefix="$root/build/asan/fuzz-$target-" "$root/build/asan/fuzz-found/$target" "$root/fuzz/corpus/$target" \
    > "$logs/fuzz-$target.log" 2>&1 &
  fuzzers[$target]=$!
done
for target in npy safetensors case; do
  wait "${fuzzers[$target]}" || { tail -n 40 "$logs/fuzz-$target.log"; failures+=("fuzz $target"); }
  say "fuzzed $target"
  grep -E 'stat::number_of_executed_units|cov:' "$logs/fuzz-$target.log" | tail -n 2 || true
done

# Other releases of clang-format break lines elsewhere, so only the one the code was formatted with may judge.
if clang-format --version | grep -q 'version 14\.'; then
  say "format check"
  (cd "$root" && git ls-files '*.cpp' '*.hpp' '*.cu' '*.cuh' | xargs -r -n 40 -P "$jobs" clang-format --dry-run -Werror) || failures+=("format")
else
  say "format check: left out, it needs clang-format 14 and here is $(clang-format --version)"
fi

say "results"
printf '%s\n' "${closing[@]}"
if [ ${#failures[@]} -gt 0 ]; then
  say "FAILED: ${failures[*]}"
  exit 1
fi
say "all passed"
