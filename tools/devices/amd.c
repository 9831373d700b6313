/*
    amd.c - GPUs of AMD: driver, ROCm
*/
#include "tools/devices/devices.h"
#include <dirent.h>

void devices_query_amd(const devices_query *query);

static const char *const sdk_names[] = {
    "librocprofiler-sdk.so.1", "librocprofiler-sdk.so.0",
    "librocprofiler-sdk.so", "/opt/rocm*/lib/librocprofiler-sdk.so*", NULL
};
static const char *const roctracer_names[] = {
    "libroctracer64.so.4", "libroctracer64.so",
    "/opt/rocm*/lib/libroctracer64.so*", NULL
};
static const char *const hip_names[] = { "libamdhip64.so.7",
                                         "libamdhip64.so.6",
                                         "libamdhip64.so.5",
                                         "libamdhip64.so",
                                         "/opt/rocm*/lib/libamdhip64.so*",
                                         NULL };

// The number after a word in a node's properties; 0: none.
static uint64_t property(const devices_query *query, const char *node,
                         const char *key)
{
    char path[4096], line[256];
    uint64_t value = 0;
    snprintf(path, sizeof path,
             "%s/sys/class/kfd/kfd/topology/nodes/%.64s/properties",
             query->root, node);
    FILE *const file = fopen(path, "r");
    const size_t size = strlen(key);
    while (file && fgets(line, sizeof line, file))
        if (!strncmp(line, key, size) && line[size] == ' ')
            value = strtoull(line + size, NULL, 10);
    if (file) fclose(file);
    return value;
}

// Reports a node. Nodes without SIMDs are CPUs. Source: the kernel's
// kfd_topology.c.
static bool print_node(const devices_query *query, const char *node)
{
    char path[256], name[128] = "";
    const uint64_t version = property(query, node, "gfx_target_version");
    if (!property(query, node, "simd_count")) return false;
    snprintf(path, sizeof path, "/sys/class/kfd/kfd/topology/nodes/%.64s/name",
             node);
    devices_read(query, path, name, sizeof name);
    devices_write(query, DEVICES_DEVICE, *name ? name : "GPU",
                  "gfx%" PRIu64 "%" PRIx64 "%" PRIx64 ", %" PRIu64
                  " compute units",
                  version / 10000, version / 100 % 100, version % 100,
                  property(query, node, "simd_count") /
                      (property(query, node, "simd_per_cu")
                           ? property(query, node, "simd_per_cu")
                           : 1));
    return true;
}

static uint32_t print_nodes(const devices_query *query)
{
    char path[4096];
    uint32_t count = 0;
    snprintf(path, sizeof path, "%s/sys/class/kfd/kfd/topology/nodes",
             query->root);
    DIR *const folder = opendir(path);
    const struct dirent *entry;
    while (folder && (entry = readdir(folder)) != NULL)
        count += *entry->d_name != '.' && print_node(query, entry->d_name);
    if (folder) closedir(folder);
    return count;
}

static void query_libraries(const devices_query *query)
{
    static const struct {
        const char *fact;
        const char *const *names;
    } libraries[] = { { "hip", hip_names },
                      { "rocprofiler-sdk", sdk_names },
                      { "roctracer", roctracer_names } };
    char path[512];
    const char *through = NULL;
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) {
        if (!devices_open(libraries[i].names, path, sizeof path)) continue;
        devices_write(query, DEVICES_FACT, libraries[i].fact, "%s", path);
        if (!through || i == 1) through = libraries[i].fact;
    }
    if (!through) {
        devices_write(query, DEVICES_FAILS, "libamdhip64 was not found",
                      "install ROCm, or the packages with libamdhip64 and "
                      "rocprofiler-sdk");
        return;
    }
#if __has_include("backends/ts_hip.h")
    devices_write(query, DEVICES_WORKS, "kernels, copies, calls",
                  "through %s: ts-record COMMAND", through);
#else
    devices_write_reason(query, DEVICES_FAILS,
                         "this build has no backend for ROCm");
#endif
}

void devices_query_amd(const devices_query *query)
{
    char version[128];
    const uint32_t on_bus = devices_on_bus(query, 0x1002);
    const uint32_t nodes = print_nodes(query);
    if (!on_bus && !nodes) {
        devices_write_reason(query, DEVICES_NOTHING,
                             "no GPU of this vendor on the PCI bus");
        return;
    }
    if (devices_read(query, "/sys/module/amdgpu/version", version,
                     sizeof version))
        devices_write(query, DEVICES_FACT, "driver", "amdgpu %s", version);
    if (!nodes) {
        devices_write(
            query, DEVICES_FAILS,
            cli_format("%" PRIu32 " on the PCI bus, none for compute", on_bus)
                .s,
            "%s",
            devices_in_container(query)
                ? "run the container with --device /dev/kfd "
                  "--device /dev/dri"
                : "load amdgpu (modprobe amdgpu); it does not support every "
                  "GPU");
        return;
    }
    if (devices_may_use(query, "/dev/kfd")) query_libraries(query);
}
