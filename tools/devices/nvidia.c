/*
    nvidia.c - GPUs of NVIDIA: driver, CUDA, CUPTI
*/
#include "tools/devices/devices.h"
#include <unistd.h>

void devices_query_nvidia(const devices_query *query);

/* ---- Libraries ----------------------------------------------------------- */

static const char *const nvml_names[] = { "libnvidia-ml.so.1", NULL };
static const char *const cuda_names[] = { "libcuda.so.1", NULL };
static const char *const cupti_names[] = {
    "libcupti.so.13",
    "libcupti.so.12",
    "libcupti.so",
    "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so*",
    "/usr/local/cuda-*/extras/CUPTI/lib64/libcupti.so*",
    "/usr/lib/python3/dist-packages/nvidia/*/lib/libcupti.so*",
    "/usr/local/lib/python3*/*-packages/nvidia/*/lib/libcupti.so*",
    "/opt/conda/lib/python3*/site-packages/nvidia/*/lib/libcupti.so*",
    NULL
};

// Source: nvml.h; these versions of the functions are stable.
typedef struct nvml_memory {
    unsigned long long total, free, used;
} nvml_memory;

typedef struct nvml {
    int (*init)(void);
    int (*driver_version)(char *text, unsigned room);
    int (*cuda_version)(int *version);
    int (*count)(unsigned *count);
    int (*device)(unsigned index, void **device);
    int (*name)(void *device, char *text, unsigned room);
    int (*memory)(void *device, nvml_memory *memory);
    int (*capability)(void *device, int *major, int *minor);
    const char *(*error)(int result);
} nvml;

static bool nvml_load(nvml *n)
{
    char path[512];
    void *const lib = devices_open(nvml_names, path, sizeof path);
    return lib && devices_find(lib, "nvmlInit_v2", &n->init) &&
           devices_find(lib, "nvmlSystemGetDriverVersion",
                        &n->driver_version) &&
           devices_find(lib, "nvmlSystemGetCudaDriverVersion",
                        &n->cuda_version) &&
           devices_find(lib, "nvmlDeviceGetCount_v2", &n->count) &&
           devices_find(lib, "nvmlDeviceGetHandleByIndex_v2", &n->device) &&
           devices_find(lib, "nvmlDeviceGetName", &n->name) &&
           devices_find(lib, "nvmlDeviceGetMemoryInfo", &n->memory) &&
           devices_find(lib, "nvmlDeviceGetCudaComputeCapability",
                        &n->capability) &&
           devices_find(lib, "nvmlErrorString", &n->error);
}

static cli_text cuda_version(int version) // 13000 is 13.0
{
    return cli_format("%d.%d", version / 1000, version % 1000 / 10);
}

static void print_device(const devices_query *query, const nvml *n,
                         unsigned index)
{
    void *device = NULL;
    char name[128] = "", capability[48] = "";
    nvml_memory memory = { 0, 0, 0 };
    int major = 0, minor = 0;
    if (n->device(index, &device) != 0) return;
    n->name(device, name, sizeof name - 1);
    n->memory(device, &memory);
    if (n->capability(device, &major, &minor) == 0)
        snprintf(capability, sizeof capability, ", compute capability %d.%d",
                 major, minor);
    devices_write(query, DEVICES_DEVICE, name, "%s%s",
                  cli_bytes(memory.total).s, capability);
}

// Returns the number of devices according to NVML; -1, with an answer, if NVML
// does not work.
static int query_nvml(const devices_query *query)
{
    nvml n = { .init = NULL };
    char driver[96] = "";
    int version = 0;
    unsigned count = 0;
    if (!nvml_load(&n)) {
        devices_write(query, DEVICES_FAILS, "libnvidia-ml.so.1 was not found",
                      "%s",
                      devices_in_container(query)
                          ? "run the container with "
                            "NVIDIA_DRIVER_CAPABILITIES=compute,utility"
                          : "install the driver's libraries "
                            "(Debian: libnvidia-ml1, libcuda1)");
        return -1;
    }
    const int result = n.init();
    if (result != 0) {
        // 18: NVML_ERROR_LIB_RM_VERSION_MISMATCH.
        devices_write(query, DEVICES_FAILS,
                      cli_format("NVML: %.40s", n.error(result)).s, "%s",
                      result == 18 ? "the driver was updated: restart the "
                                     "machine, or reload its module"
                                   : "see the output of nvidia-smi and dmesg");
        return -1;
    }
    if (n.driver_version(driver, sizeof driver) == 0)
        devices_write(query, DEVICES_FACT, "driver", "%s", driver);
    if (n.cuda_version(&version) == 0)
        devices_write(query, DEVICES_FACT, "cuda", "%s",
                      cuda_version(version).s);
    if (n.count(&count) != 0) count = 0;
    for (unsigned i = 0; i < count; i++)
        print_device(query, &n, i);
    return (int)count;
}

static void query_cupti(const devices_query *query)
{
    char path[512];
    int (*get)(uint32_t *) = NULL;
    uint32_t version = 0;
    void *const cuda = devices_open(cuda_names, path, sizeof path);
    if (!cuda) {
        devices_write(query, DEVICES_FAILS, "libcuda.so.1 was not found", "%s",
                      devices_in_container(query)
                          ? "run the container with "
                            "NVIDIA_DRIVER_CAPABILITIES=compute,utility"
                          : "install it (Debian: libcuda1)");
        return;
    }
    void *const cupti = devices_open(cupti_names, path, sizeof path);
    if (!cupti || !devices_find(cupti, "cuptiGetVersion", &get) ||
        get(&version) != 0) {
        devices_write(query, DEVICES_FAILS, "the loader does not find libcupti",
                      "install the CUDA toolkit, or pip install "
                      "nvidia-cuda-cupti, and add its folder to "
                      "LD_LIBRARY_PATH (the one of PyTorch is found when "
                      "Python has loaded it)");
        return;
    }
    devices_write(query, DEVICES_FACT, "cupti", "%" PRIu32 " of CUDA %s (%s)",
                  version, devices_cupti_release(version).s, path);
    if (version < 13) {
        devices_write(query, DEVICES_FAILS, "this version of CUPTI is too old",
                      "install the CUDA toolkit 11.0 or later");
        return;
    }
    devices_cupti_notes(query, version);
#if __has_include("backends/ts_cupti.h")
    devices_write(query, DEVICES_WORKS, "kernels, copies, calls, memory",
                  "through CUPTI: ts-record COMMAND");
#else
    devices_write_reason(query, DEVICES_FAILS,
                         "this build has no backend for CUPTI");
#endif
}

void devices_query_nvidia(const devices_query *query)
{
    char text[256], path[4096];
    const uint32_t on_bus = devices_on_bus(query, 0x10DE);
    const bool loaded =
        devices_read(query, "/proc/driver/nvidia/version", text, sizeof text);
    snprintf(path, sizeof path, "%s/dev/dxg", query->root);
    const bool wsl = access(path, F_OK) == 0; // the driver is that of Windows
    if (!on_bus && !loaded && !wsl) {
        devices_write_reason(query, DEVICES_NOTHING,
                             "no GPU of this vendor on the PCI bus");
        return;
    }
    if (loaded) devices_write(query, DEVICES_FACT, "module", "%s", text);
    if (!loaded && !wsl) {
        devices_write(
            query, DEVICES_FAILS,
            cli_format("%" PRIu32 " on the PCI bus, but no driver", on_bus).s,
            "%s",
            devices_in_container(query)
                ? "install the driver on the host, and run the "
                  "container with --gpus all"
                : "install NVIDIA's driver (Debian: nvidia-driver), "
                  "then modprobe nvidia");
        return;
    }
    snprintf(path, sizeof path, "%s/dev/nvidiactl", query->root);
    if (!wsl && access(path, F_OK) != 0) {
        devices_write(query, DEVICES_FAILS,
                      "the driver is loaded, but /dev/nvidiactl does not exist",
                      "%s",
                      devices_in_container(query)
                          ? "run the container with --gpus all (Docker) or "
                            "--device nvidia.com/gpu=all (Podman)"
                          : "run nvidia-modprobe -u -c=0");
        return;
    }
    if (!wsl && !devices_may_use(query, "/dev/nvidiactl")) return;
    const int count = query_nvml(query);
    if (count > 0) query_cupti(query);
    if (count == 0)
        devices_write(query, DEVICES_FAILS, "the driver reports no device",
                      "%s",
                      devices_in_container(query)
                          ? "run the container with --gpus all"
                          : "see the output of nvidia-smi and dmesg");
}
