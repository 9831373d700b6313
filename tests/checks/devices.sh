# ts-devices on machines that are folders, with a library that stands for the
# driver's.
. tests/lib.sh
folder=$PWD/build/devices
rm -rf "$folder"
mkdir -p "$folder/lib" "$folder/none"
check_build "devices: build" build/ts-devices
gcc -shared -fPIC tests/doubles/nvml.c -o "$folder/lib/libnvidia-ml.so.1"

mkdir -p "$folder/cupti"
cp "$folder/lib/"* "$folder/cupti"
gcc -shared -fPIC -x c - -o "$folder/cupti/libcuda.so.1" <<'END'
int cuInit(unsigned flags) { return (int)flags; }
END
gcc -shared -fPIC -x c - -o "$folder/cupti/libcupti.so.13" <<'END'
#include <stdlib.h>
int cuptiGetVersion(unsigned *version)
{
    *version = (unsigned)strtoul(getenv("DOUBLE_version"), NULL, 10);
    return 0;
}
END

put() { # PATH TEXT, below a machine
    mkdir -p "$(dirname "$1")"
    printf '%s\n' "$2" >"$1"
}
card() { # MACHINE VENDOR
    put "$folder/$1/sys/bus/pci/devices/0000:01:00.0/vendor" "$2"
    put "$folder/$1/sys/bus/pci/devices/0000:01:00.0/class" 0x030200
}
driver() { # MACHINE
    card "$1" 0x10de
    put "$folder/$1/proc/driver/nvidia/version" "NVRM version: NVIDIA 580.65.06"
}
card bare 0x10de
driver boxed
put "$folder/boxed/.dockerenv" ""
driver whole
put "$folder/whole/dev/nvidiactl" ""
card amd 0x1002
put "$folder/amd/sys/class/kfd/kfd/topology/nodes/1/properties" "simd_count 304
simd_per_cu 4
gfx_target_version 90402"
put "$folder/amd/sys/class/kfd/kfd/topology/nodes/0/properties" "simd_count 0"
put "$folder/amd/sys/class/kfd/kfd/topology/nodes/1/name" "MI300X"
card metax 0x9999

says() { # NAME MACHINE PATTERN... (each in one line)
    name=$1 machine=$2
    shift 2
    check "devices: $name" sh -c '
        machine=$0
        LD_LIBRARY_PATH=$1 build/ts-devices --timeout 10s --root $machine \
            >$machine.out 2>$machine.err
        test ! -s $machine.err || exit 1
        shift
        for pattern; do
            grep -q -- "$pattern" $machine.out || {
                echo "no line with: $pattern"
                cat $machine.out
                exit 1
            }
        done' "$folder/$machine" "$folder/lib" "$@"
}
says "a machine without any" none "^NVIDIA: no GPU" "^AMD: no GPU" \
    "^MetaX: no GPU" "^Host" "vdev"
says "NVIDIA without a driver" bare "1 on the PCI bus, but no driver" \
    "to fix it .*nvidia-driver"
says "NVIDIA in a container without its devices" boxed \
    "/dev/nvidiactl does not exist" \
    "to fix it .*--gpus all"
says "NVIDIA with all of it" whole "driver  *580.65.06" "cuda  *13.0" \
    "device 0  *A GPU of glass" "8.00.* GiB, compute capability 9.0" "recorded"
DOUBLE_NVML=mismatch says "NVIDIA after an update" whole "version mismatch" \
    "restart the"
DOUBLE_NVML=crash says "a library that crashes" whole "crashed (signal 6)" \
    "^Host"
DOUBLE_NVML=hang says "a driver that hangs" whole "did not answer in time" \
    "^Host"
# What is known of each version of CUPTI, and no more.
version() { # VERSION RELEASE WORD... (one of each note)
    check "devices: CUPTI $1 of CUDA $2" sh -c '
        of=$0/cupti-$1
        DOUBLE_version=$1 LD_LIBRARY_PATH=$0/cupti build/ts-devices \
            --timeout 20s --root $0/whole >$of || exit 1
        cat $of
        grep -qF "$1 of CUDA $2 (" $of || exit 1
        grep "^ *note " $of >$of.notes
        shift 2
        test "$(wc -l <$of.notes)" = $# || exit 1
        for word; do grep -q -- "$word" $of.notes || exit 1; done' \
        "$folder" "$@"
}
version 12 "before 11.0"
version 13 11.0 "5 s" graphs grows
version 15 "11.2 to 11.4" graphs grows
version 22 12.4 "no kernels" graphs grows
version 24 12.6 sampled graphs grows
version 28 "12.9 Update 1" sampled graphs grows
version 130000 13.0 sampled "no records of cudaDeviceSynchronize" graphs grows
version 130001 13.0 sampled graphs grows
version 130100 13.1 graphs grows
version 130101 13.1 grows
version 130400 13.4 grows
version 130401 13.4
check "devices: a CUPTI that is too old" \
    grep -q "not recorded .*too old" "$folder/cupti-12"
says "AMD without its files" amd "MI300X" "gfx942, 76 compute units" \
    "/dev/kfd does not exist" "to fix it"
says "MetaX without its files" metax "MetaX GPU" "not recorded"

check "devices: OpenCL, what is installed" sh -c '
    ls /etc/OpenCL/vendors/*.icd >/dev/null 2>&1 ||
        { echo "no OpenCL here"; exit 77; }
    build/ts-devices >$0/opencl.out
    sed -n "/^OpenCL/,/^Vulkan/p" $0/opencl.out | grep -q "platform"
    sed -n "/^OpenCL/,/^Vulkan/p" $0/opencl.out | grep -q "device 0"' "$folder"
check "devices: --json is JSON" sh -c '
    command -v python3 >/dev/null || { echo "no python3"; exit 77; }
    build/ts-devices --json --root $0/whole |
        python3 -c "
import json, sys
vendors = json.load(sys.stdin)[\"vendors\"]
assert [v[\"vendor\"] for v in vendors][:2] == [\"nvidia\", \"amd\"]
assert vendors[-1][\"captured\"] is True
for v in vendors:
    assert {\"vendor\", \"captured\", \"devices\", \"facts\", \"captures\",
            \"problems\"} == set(v) - {\"absent\"}, v"' "$folder"
check "devices: --json says what went wrong" sh -c '
    LD_LIBRARY_PATH=$0/lib DOUBLE_NVML=crash build/ts-devices --json \
        --root $0/whole | grep "\"trouble\": \".*crashed"' "$folder"
check "devices: lines fit the terminal, broken between words" sh -c '
    export LD_LIBRARY_PATH=$0/lib COLUMNS=70
    for machine in whole boxed bare amd metax none; do
        COLUMNS= build/ts-devices --timeout 20s --root $0/$machine >$0/wide
        build/ts-devices --timeout 20s --root $0/$machine >$0/narrow
        awk "length > 70 { print; bad = 1 } END { exit bad }" $0/narrow &&
            test "$(tr -s " \n" "\n\n" <$0/wide)" = \
                "$(tr -s " \n" "\n\n" <$0/narrow)" || exit 1
    done
    test "$(wc -l <$0/wide)" -lt "$(wc -l <$0/narrow)"' "$folder"
check "devices: a folder that is none" sh -c '
    for root in /no/folder $0/lib/libnvidia-ml.so.1; do
        build/ts-devices --root $root >$0/rooted 2>$0/rooted.err
        test $? = 1 && test ! -s $0/rooted &&
            grep -q "^ts-devices: $root: " $0/rooted.err || exit 1
    done' "$folder"
check "devices: wrong usage" sh -c '
    build/ts-devices file 2>/dev/null; test $? = 2 || exit 1
    build/ts-devices --timeout 0 2>/dev/null; test $? = 2'
