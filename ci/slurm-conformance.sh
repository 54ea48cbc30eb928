#!/usr/bin/env bash
# The conformance suite as a Slurm job array, one shard a task, each on one GPU:
#   sbatch --array=1-8 ci/slurm-conformance.sh [DEVICE]
# DEVICE is cuda (the default), vulkan or an id; SUITE names another suite. The records go to conformance/shard-N. A task
# that was preempted or killed is submitted again as it is (sbatch --array=3 needs SHARDS=8) and goes on where it was. At
# the end, anywhere:
#   parity report conformance/shard-*/records.jsonl --out conformance/report
#SBATCH --job-name=parity-conformance
#SBATCH --gres=gpu:1
#SBATCH --cpus-per-task=8
#SBATCH --time=04:00:00
#SBATCH --signal=B:TERM@120
#SBATCH --requeue
set -euo pipefail
parity=${PARITY:-build/release/bin/parity}
task=${SLURM_ARRAY_TASK_ID:?this is a job array: sbatch --array=1-8 $0}
out=${OUT:-conformance}/shard-$task
shard=auto
[ -z "${SHARDS:-}" ] || shard=$((task - ${FIRST:-1} + 1))/$SHARDS
into=(--out "$out")
[ ! -s "$out/records.jsonl" ] || into=(--resume "$out")
# OLD: records of an earlier run, by whose times the shards are balanced.
exec "$parity" run --suite "${SUITE:-conformance}" --device "${1:-cuda}" --shard "$shard" ${OLD:+--times "$OLD"} "${into[@]}"
