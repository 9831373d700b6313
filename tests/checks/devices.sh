# Runs ts-devices on simulated machines, each a folder of files, with a library
# in place of the driver's.
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
card metax-whole 0x9999
put "$folder/metax-whole/dev/mxcd" ""
card display 0x1002
cp -r "$folder/bare" "$folder/caged"
cp -r "$folder/whole" "$folder/given"
cp -r "$folder/boxed" "$folder/unmade"
rm "$folder/unmade/.dockerenv"
cp -r "$folder/amd" "$folder/amd-boxed"
cp -r "$folder/amd" "$folder/amd-whole"
cp -r "$folder/display" "$folder/display-boxed"
for machine in caged given amd-boxed display-boxed; do
    put "$folder/$machine/.dockerenv" ""
done
put "$folder/amd-whole/dev/kfd" ""
# Libraries that this machine may have are not loaded: files of these names that
# are none come first.
mkdir "$folder/empty"
for name in libnvidia-ml.so.1 libcuda.so.1 libamdhip64.so libamdhip64.so.5 \
    libamdhip64.so.6 libamdhip64.so.7 librocprofiler-sdk.so \
    librocprofiler-sdk.so.0 librocprofiler-sdk.so.1 libroctracer64.so \
    libroctracer64.so.4 libmcpti.so libmcruntime.so libcupti.so \
    libcupti.so.12 libcupti.so.13 libOpenCL.so.1 libvulkan.so.1; do
    echo none >"$folder/empty/$name"
done
for libraries in lib driver amd metax; do
    mkdir -p "$folder/$libraries"
    cp -n "$folder/empty/"* "$folder/$libraries"
done

# What it says of a vendor is, word for word, that in devices/NAME.txt, whose
# name is NAME with - for spaces. UPDATE=1 rewrites it.
says() { # NAME MACHINE VENDOR [LIBRARIES]
    # shellcheck disable=SC2016 # for the inner shell
    check "devices: $1" sh -c '
        LD_LIBRARY_PATH=$4 env -u container -u KUBERNETES_SERVICE_HOST \
            build/ts-devices --timeout 10s --root "$0/$2" \
            >"$0/$1.out" 2>"$0/$1.err"
        test ! -s "$0/$1.err" || { cat "$0/$1.err"; exit 1; }
        awk -v vendor="$3" "
            /^[A-Z]/ { on = index(\$0, vendor) == 1 }
            on" \
            "$0/$1.out" >"$0/$1.got"
        wanted=$HERE/$(echo "$1" | tr " " -).txt
        test "${UPDATE:-}" != 1 || cp "$0/$1.got" "$wanted"
        diff -u "$wanted" "$0/$1.got"' \
        "$folder" "$1" "$2" "$3" "${4:-$folder/lib}"
}
lib() { # FOLDER NAME: what stdin says
    mkdir -p "$folder/$1"
    gcc -shared -fPIC -x c - -o "$folder/$1/$2"
}

says "no GPU of NVIDIA" none NVIDIA
says "no GPU of AMD" none AMD
says "no GPU of MetaX" none MetaX
says "the host" none Host
says "NVIDIA without a driver" bare NVIDIA
says "NVIDIA without a driver in a container" caged NVIDIA
says "NVIDIA in a container without its devices" boxed NVIDIA
says "NVIDIA without its devices" unmade NVIDIA
says "NVIDIA without libcuda" whole NVIDIA
says "NVIDIA without libcuda in a container" given NVIDIA
says "NVIDIA without libraries" whole NVIDIA "$folder/empty"
says "NVIDIA without libraries in a container" given NVIDIA "$folder/empty"
cp "$folder/cupti/libcuda.so.1" "$folder/lib/libnvidia-ml.so.1" \
    "$folder/driver"
says "NVIDIA without CUPTI" whole NVIDIA "$folder/driver"
DOUBLE_version=130401 says "NVIDIA with all of it" whole NVIDIA "$folder/cupti"
DOUBLE_NVML=mismatch says "NVIDIA after an update" whole NVIDIA
DOUBLE_NVML=error says "NVIDIA whose library fails" whole NVIDIA
DOUBLE_NVML=crash says "a library that crashes" whole NVIDIA
DOUBLE_NVML=hang says "a driver that hangs" whole NVIDIA
DOUBLE_NVML=none says "NVIDIA without a device" whole NVIDIA
DOUBLE_NVML=none says "NVIDIA without a device in a container" given NVIDIA
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
for version in 12 13 22 24; do
    DOUBLE_version=$version says "NVIDIA with CUPTI $version" whole NVIDIA \
        "$folder/cupti"
done

says "AMD without compute" display AMD
says "AMD without compute in a container" display-boxed AMD
says "AMD without its files" amd AMD
says "AMD without its files in a container" amd-boxed AMD
says "AMD without libraries" amd-whole AMD
lib amd libamdhip64.so.6 </dev/null
says "AMD with HIP" amd-whole AMD "$folder/amd"
lib amd librocprofiler-sdk.so.1 </dev/null
says "AMD with all of it" amd-whole AMD "$folder/amd"
says "MetaX without its files" metax MetaX
says "MetaX without libraries" metax-whole MetaX
lib metax libmcruntime.so </dev/null
lib metax libmcpti.so <<'END'
int mcptiGetVersion(unsigned *version) { *version = 12; return 0; }
END
says "MetaX with all of it" metax-whole MetaX "$folder/metax"

# The devices of OpenCL and Vulkan are those of their libraries.
lib opencl libOpenCL.so.1 <<'END'
#include <stdlib.h>
#include <string.h>
static int many(const char *name)
{
    const char *const text = getenv(name);
    return text ? atoi(text) : 1;
}
static int put(const void *value, size_t size, void *to, size_t room)
{
    memcpy(to, value, size < room ? size : room);
    return 0;
}
static int loader(int what, size_t room, void *to, size_t *size)
{
    const char *const version = getenv("DOUBLE_loader");
    (void)what, (void)size;
    return put(version, strlen(version) + 1, to, room);
}
void *clGetExtensionFunctionAddress(const char *name)
{
    return strstr(name, "OCLICD") && getenv("DOUBLE_loader") ? (void *)loader
                                                             : NULL;
}
int clGetPlatformIDs(unsigned room, void **ids, unsigned *count)
{
    *count = (unsigned)many("DOUBLE_platforms");
    if (room && *count) ids[0] = "platform";
    return 0;
}
int clGetPlatformInfo(void *id, int what, size_t room, void *to, size_t *size)
{
    (void)id, (void)size;
    const char *const text = what == 0x0901 ? "OpenCL 3.0" : "Glass";
    return put(text, strlen(text) + 1, to, room);
}
int clGetDeviceIDs(void *p, unsigned long type, unsigned room, void **ids,
                   unsigned *count)
{
    (void)p, (void)type;
    *count = (unsigned)many("DOUBLE_devices");
    if (room && *count) ids[0] = "device";
    return 0;
}
int clGetDeviceInfo(void *id, int what, size_t room, void *to, size_t *size)
{
    const unsigned long long memory = 4ull << 30;
    const unsigned units = 6;
    (void)id, (void)size;
    if (what == 0x101f) return put(&memory, sizeof memory, to, room);
    if (what == 0x1002) return put(&units, sizeof units, to, room);
    const char *const text = what == 0x102d ? "7.1" : "A prism";
    return put(text, strlen(text) + 1, to, room);
}
END
says "OpenCL with a device" none OpenCL "$folder/opencl"
DOUBLE_loader=2.3.1 says "OpenCL through ocl-icd" none OpenCL "$folder/opencl"
DOUBLE_loader=2.2.9 says "OpenCL through an old ocl-icd" none OpenCL \
    "$folder/opencl"
DOUBLE_devices=0 says "OpenCL without a device" none OpenCL "$folder/opencl"
DOUBLE_platforms=0 says "OpenCL without a driver" none OpenCL "$folder/opencl"

lib vulkan libvulkan.so.1 <<'END'
#include <stdlib.h>
#include <string.h>
static int many(void)
{
    const char *const text = getenv("DOUBLE_devices");
    return text ? atoi(text) : 5;
}
int vkCreateInstance(const void *info, const void *memory, void **instance)
{
    (void)info, (void)memory;
    *instance = "instance";
    return 0;
}
int vkEnumeratePhysicalDevices(void *instance, unsigned *count, void **devices)
{
    (void)instance;
    *count = (unsigned)many();
    for (unsigned i = 0; i < *count; i++)
        devices[i] = (char *)"012345" + i;
    return 0;
}
void vkGetPhysicalDeviceProperties(void *device, unsigned *properties)
{
    properties[0] = 1u << 22 | 3 << 12;
    properties[4] = *(char *)device - '0';
    strcpy((char *)&properties[5], "A lens");
}
END
says "Vulkan with devices" none Vulkan "$folder/vulkan"
DOUBLE_devices=0 says "Vulkan without a device" none Vulkan "$folder/vulkan"
says "no Vulkan" none Vulkan "$folder/empty"
says "no OpenCL" none OpenCL "$folder/empty"
put "$folder/icd/etc/OpenCL/vendors/amd.icd" libamdocl64.so
says "OpenCL without a loader" icd OpenCL "$folder/empty"

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
