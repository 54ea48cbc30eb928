#!/usr/bin/env bash
# ci/test.sh: set-up, build and every test that needs no GPU:
#   ctest on the system's lavapipe, the Vulkan tests again on lavapipe with cooperative matrices and on SwiftShader,
#   the CPU side under AddressSanitizer and UBSan, the fuzz targets for half a minute, the format check.
# Stops at nothing: every part runs, the exit code is 0 only when all passed. Ends with ctest's closing lines.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
fuzz_seconds=${PARITY_FUZZ_SECONDS:-30} # all targets side by side

"$root/ci/setup.sh"
use_vulkan_sdk
logs=$root/build/test-logs
mkdir -p "$logs"
# Fetched while the compiler works.
"$root/ci/software-devices.sh" > "$logs/software-devices.log" 2>&1 &
devices=$!
configure_and_build release
wait "$devices" || { cat "$logs/software-devices.log"; die "the software devices could not be fetched"; }
cat "$logs/software-devices.log"

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

swiftshader=$cache/swiftshader/vk_swiftshader_icd.json
if [ -f "$swiftshader" ]; then
  VK_DRIVER_FILES=$swiftshader VK_ICD_FILENAMES=$swiftshader run_ctest swiftshader "$release" -L vulkan
fi
vkrun=$cache/lavapipe/bin/vkrun
if [ -x "$vkrun" ]; then
  # The same programs, started through the driver's own loader.
  cmake -S "$root" -B "$release" -DCMAKE_CROSSCOMPILING_EMULATOR="$vkrun" > "$logs/emulator.log"
  cmake --build "$release" -j "$jobs" > /dev/null
  run_ctest lavapipe-cooperative-matrices "$release" -L vulkan
  cmake -S "$root" -B "$release" -UCMAKE_CROSSCOMPILING_EMULATOR > "$logs/emulator.log"
fi

configure_and_build asan -DPARITY_VULKAN=OFF
# ctest keeps the cores busy already: threads that wait for work would only take time from other tests.
OMP_NUM_THREADS=1 run_ctest sanitizers "$root/build/asan"

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
  (cd "$root" && git ls-files '*.cpp' '*.hpp' '*.cu' '*.cuh' | xargs -r clang-format --dry-run -Werror) || failures+=("format")
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
