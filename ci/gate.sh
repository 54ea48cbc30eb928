#!/usr/bin/env bash
# ci/gate.sh BASELINE [ARGUMENTS OF parity run...]: the one line a pipeline needs. Sets up, builds, runs the suite, and
# fails on what the baseline does not allow.
#   ci/gate.sh reports/baselines/lavapipe-22.3.jsonl --device vulkan --suite smoke
#   PARITY     an executable to use instead of building one
#   WAIVERS    a file of waivers (reports/baselines/waivers.json if that is there)
#   OUT        folder for records, JUnit XML and the summary (build/gate)
# On GitHub it prints annotations and adds to the step summary. Exit codes are those of parity gate; a run that judged
# nothing, found no device or failed itself ends with its own.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

[ $# -ge 1 ] || { sed -n '2,8p' "${BASH_SOURCE[0]}" >&2; exit 2; }
baseline=$1
shift
[ -f "$baseline" ] || { echo "ci/gate.sh: there is no baseline '$baseline'; make one: parity bless RECORDS --baseline $baseline --reason '...'" >&2; exit 2; }
out=${OUT:-$root/build/gate}
if [ -z "${PARITY:-}" ]; then
  "$root/ci/setup.sh" release
  use_vulkan_sdk
  configure_and_build release -DPARITY_TESTS=OFF -DPARITY_BENCH=OFF
  PARITY=$root/build/release/bin/parity
fi
waivers=${WAIVERS:-}
[ -n "$waivers" ] || { [ ! -f "$root/reports/baselines/waivers.json" ] || waivers=$root/reports/baselines/waivers.json; }

# What an earlier gate left would say that this one passed if the run does not get that far.
rm -rf "$out/run" "$out/gate.xml" "$out/gate.md"
mkdir -p "$out"
say "parity run $*"
code=0
"$PARITY" run "$@" --out "$out/run" || code=$?
# 1: a contract failed; the gate says which, and knows the waivers. Everything else is no result.
[ "$code" -le 1 ] || exit "$code"
gate=("$out/run/records.jsonl" --baseline "$baseline" --junit "$out/gate.xml" --markdown "$out/gate.md")
[ -z "$waivers" ] || gate+=(--waivers "$waivers")
[ -z "${GITHUB_ACTIONS:-}" ] || gate+=(--github)
say "parity gate"
exec "$PARITY" gate "${gate[@]}"
