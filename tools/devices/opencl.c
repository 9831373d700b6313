/*
    opencl.c - platforms of OpenCL, by any vendor
*/
#include "tools/devices/devices.h"
#include <glob.h>

void devices_query_opencl(const devices_query *query);

static const char *const loader_names[] = { "libOpenCL.so.1", NULL };

// Source: cl.h of OpenCL 3.0; cl_icdl.h of ocl-icd for the last one.
typedef struct opencl {
    int32_t (*platforms)(uint32_t room, void **platforms, uint32_t *count);
    int32_t (*platform_info)(void *, uint32_t, size_t, void *, size_t *);
    int32_t (*devices)(void *, uint64_t, uint32_t, void **, uint32_t *);
    int32_t (*device_info)(void *, uint32_t, size_t, void *, size_t *);
    int32_t (*loader_info)(int32_t, size_t, void *, size_t *);
} opencl;
enum {
    CL_PLATFORM_VERSION_ = 0x0901,
    CL_PLATFORM_NAME_ = 0x0902,
    CL_DEVICE_MAX_COMPUTE_UNITS_ = 0x1002,
    CL_DEVICE_GLOBAL_MEM_SIZE_ = 0x101F,
    CL_DEVICE_NAME_ = 0x102B,
    CL_DRIVER_VERSION_ = 0x102D,
    CL_ICDL_VERSION_ = 2,
    MOST = 64
};
#define CL_DEVICE_TYPE_ALL_ UINT64_C(0xFFFFFFFF)

static void device_text(const opencl *cl, void *device, uint32_t what,
                        char *text, size_t room)
{
    if (cl->device_info(device, what, room - 1, text, NULL) != 0) *text = 0;
    text[room - 1] = 0;
}

static uint32_t print_devices(const devices_query *query, const opencl *cl,
                              void *platform, const char *name)
{
    void *devices[MOST];
    char text[256] = "", driver[128] = "";
    uint32_t count = 0;
    if (cl->devices(platform, CL_DEVICE_TYPE_ALL_, MOST, devices, &count) != 0)
        count = 0;
    if (count > MOST) count = MOST;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t memory = 0;
        uint32_t units = 0;
        device_text(cl, devices[i], CL_DEVICE_NAME_, text, sizeof text);
        device_text(cl, devices[i], CL_DRIVER_VERSION_, driver, sizeof driver);
        cl->device_info(devices[i], CL_DEVICE_GLOBAL_MEM_SIZE_, sizeof memory,
                        &memory, NULL);
        cl->device_info(devices[i], CL_DEVICE_MAX_COMPUTE_UNITS_, sizeof units,
                        &units, NULL);
        devices_write(query, DEVICES_DEVICE, text,
                      "%s, %" PRIu32 " units, driver %s, of %s",
                      cli_bytes(memory).s, units, driver, name);
    }
    return count;
}

static bool load(opencl *cl, void *lib)
{
    void *(*extension)(const char *name) = NULL;
    void *found = NULL;
    if (devices_find(lib, "clGetExtensionFunctionAddress", &extension))
        found = extension("clGetICDLoaderInfoOCLICD");
    memcpy(&cl->loader_info, &found, sizeof found);
    return devices_find(lib, "clGetPlatformIDs", &cl->platforms) &&
           devices_find(lib, "clGetPlatformInfo", &cl->platform_info) &&
           devices_find(lib, "clGetDeviceIDs", &cl->devices) &&
           devices_find(lib, "clGetDeviceInfo", &cl->device_info);
}

// Reports whether recording works: it needs layers, which ocl-icd has since
// 2.3.0. Other loaders cannot be identified.
static void print_capture(const devices_query *query, const opencl *cl)
{
    char version[64] = "";
    if (cl->loader_info && cl->loader_info(CL_ICDL_VERSION_, sizeof version - 1,
                                           version, NULL) == 0)
        devices_write(query, DEVICES_FACT, "loader", "ocl-icd %s", version);
    if (*version && strtod(version, NULL) < 2.3) {
        devices_write(query, DEVICES_FAILS,
                      "the loader does not support layers",
                      "install ocl-icd 2.3 or the Khronos loader");
        return;
    }
#if __has_include("backends/ts_opencl.h")
    devices_write(query, DEVICES_WORKS, "enqueued commands, calls, memory",
                  "as a layer of the loader%s: ts-record COMMAND",
                  *version ? "" : ", if it is the Khronos loader");
#else
    devices_write_reason(query, DEVICES_FAILS,
                         "this build has no backend for OpenCL");
#endif
}

void devices_query_opencl(const devices_query *query)
{
    char path[512], name[256] = "", version[128] = "";
    void *platforms[MOST];
    uint32_t count = 0, devices = 0;
    opencl cl = { .platforms = NULL };
    glob_t drivers = { .gl_pathc = 0 };
    void *const lib = devices_open(loader_names, path, sizeof path);
    if (!lib || !load(&cl, lib)) {
        snprintf(path, sizeof path, "%s/etc/OpenCL/vendors/*.icd", query->root);
        if (glob(path, 0, NULL, &drivers) == 0)
            devices_write(query, DEVICES_FAILS,
                          "drivers are installed, but libOpenCL.so.1 is "
                          "missing",
                          "install a loader (Debian: ocl-icd-libopencl1)");
        else
            devices_write_reason(query, DEVICES_NOTHING,
                                 "libOpenCL.so.1 was not found");
        globfree(&drivers);
        return;
    }
    if (cl.platforms(MOST, platforms, &count) != 0) count = 0;
    if (count > MOST) count = MOST;
    for (uint32_t i = 0; i < count; i++) {
        cl.platform_info(platforms[i], CL_PLATFORM_NAME_, sizeof name - 1, name,
                         NULL);
        cl.platform_info(platforms[i], CL_PLATFORM_VERSION_, sizeof version - 1,
                         version, NULL);
        devices_write(query, DEVICES_FACT, "platform", "%s: %s", name, version);
        devices += print_devices(query, &cl, platforms[i], name);
    }
    if (devices)
        print_capture(query, &cl);
    else if (count)
        devices_write(query, DEVICES_FAILS, "no platform has a device",
                      "see the output of clinfo");
    else
        devices_write_reason(query, DEVICES_NOTHING,
                             "the loader is installed, but no driver");
}
