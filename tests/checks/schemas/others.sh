#!/bin/sh
# What no transcript prints as JSON: damage, steps in a what-if, executed
# operations, and machines with devices, which are folders. Uses the tools that
# come first in PATH.
#   tests/checks/schemas/others.sh FOLDER
set -eu
folder=$1
mkdir -p "$folder/lib"
ts-info --json tests/cli/replay-lossy.sbt >"$folder/said" || test $? = 1
tar xzf docs/examples/job.tar.gz -C "$folder"
ts-import -o "$folder/job.sbt" "$folder/rank0.json" >"$folder/said"
ts-replay --json --what-if 'host 0.5' "$folder/job.sbt" >"$folder/said"
ts-analyze --json --only summary --step 5 "$folder/job.sbt" >"$folder/said"
echo '{"schemaVersion": 1, "HF_TOKEN": "abcdefghijklmnop", "traceEvents": [
    {"ph": "X", "name": "z", "pid": 1, "tid": 1, "ts": 1, "dur": 2}]}' \
    >"$folder/secret.json"
ts-import --json -o "$folder/secret.sbt" "$folder/secret.json" >"$folder/said"

cc -std=c11 -O1 -g -I. tests/checks/execute/app.c -o "$folder/app" -pthread
for what in wrong pipeline hidden untold; do
    "$folder/app" $what "$folder/$what.sbt" >"$folder/said"
done
for what in wrong "pipeline --overlap" "hidden --overlap" untold; do
    set -- $what
    trace=$folder/$1.sbt
    shift
    # Something differs, or cannot be executed, as it is to be.
    ts-replay --execute --trust --json "$trace" "$@" >"$folder/said" ||
        test $? -le 3
done

cc -shared -fPIC tests/doubles/nvml.c -o "$folder/lib/libnvidia-ml.so.1"
put() { # PATH TEXT, below a machine
    mkdir -p "$(dirname "$folder/$1")"
    printf '%s\n' "$2" >"$folder/$1"
}
for machine in whole bare; do
    put $machine/sys/bus/pci/devices/0000:01:00.0/vendor 0x10de
    put $machine/sys/bus/pci/devices/0000:01:00.0/class 0x030200
done
put whole/proc/driver/nvidia/version "NVRM version: NVIDIA 580.65.06"
put whole/dev/nvidiactl ""
export LD_LIBRARY_PATH="$folder/lib"
ts-devices --json --root "$folder/whole" >"$folder/said"
ts-devices --json --root "$folder/bare" >"$folder/said"
DOUBLE_NVML=crash ts-devices --json --root "$folder/whole" >"$folder/said"
