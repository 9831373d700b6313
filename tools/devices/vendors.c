/*
    vendors.c - the list of queries, and the one that needs no vendor
*/
#include "tools/devices/devices.h"
#include <unistd.h>

static void query_host_facts(const devices_query *query)
{
    devices_write(query, DEVICES_DEVICE, "vdev",
                  "software device, in programs that include "
                  "backends/ts_vdev.h");
    devices_write(query, DEVICES_WORKS, "events of programs with tracesmith.h",
                  "and through NVTX: ts-record COMMAND");
}

void devices_query_nvidia(const devices_query *query);
void devices_query_amd(const devices_query *query);
void devices_query_metax(const devices_query *query);
void devices_query_opencl(const devices_query *query);
void devices_query_vulkan(const devices_query *query);

const devices_vendor devices_vendors[] = {
    { "nvidia", "NVIDIA", devices_query_nvidia },
    { "amd", "AMD", devices_query_amd },
    { "metax", "MetaX", devices_query_metax },
    { "opencl", "OpenCL", devices_query_opencl },
    { "vulkan", "Vulkan", devices_query_vulkan },
    { "host", "Host", query_host_facts },
};
const size_t devices_vendor_count =
    sizeof devices_vendors / sizeof *devices_vendors;
