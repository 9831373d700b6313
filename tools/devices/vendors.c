/*
    vendors.c - what needs no vendor; and the list of all
*/
#include "tools/devices/devices.h"
#include <unistd.h>

static void ask_own(const devices_ask *ask)
{
    devices_say(ask, DEVICES_DEVICE, "vdev",
                "software, in programs that bring backends/ts_vdev.h");
    devices_say(ask, DEVICES_WORKS, "what programs say by tracesmith.h",
                "and through NVTX: ts-record COMMAND");
}

void devices_ask_nvidia(const devices_ask *ask);
void devices_ask_amd(const devices_ask *ask);
void devices_ask_metax(const devices_ask *ask);
void devices_ask_opencl(const devices_ask *ask);
void devices_ask_vulkan(const devices_ask *ask);

const devices_vendor devices_vendors[] = {
    { "nvidia", "NVIDIA", devices_ask_nvidia },
    { "amd", "AMD", devices_ask_amd },
    { "metax", "MetaX", devices_ask_metax },
    { "opencl", "OpenCL", devices_ask_opencl },
    { "vulkan", "Vulkan", devices_ask_vulkan },
    { "host", "Host", ask_own },
};
const size_t devices_vendor_count =
    sizeof devices_vendors / sizeof *devices_vendors;
