/*
    metax.c - GPUs of MetaX: driver, MACA
*/
#include "tools/devices/devices.h"

void devices_query_metax(const devices_query *query);

static const char *const mcpti_names[] = { "libmcpti.so",
                                           "/opt/maca*/lib/libmcpti.so*",
                                           NULL };
static const char *const runtime_names[] = { "libmcruntime.so",
                                             "/opt/maca*/lib/libmcruntime.so*",
                                             NULL };

void devices_query_metax(const devices_query *query)
{
    char path[512], version[128];
    uint32_t number = 0;
    int (*get)(uint32_t *) = NULL;
    const uint32_t on_bus = devices_on_bus(query, 0x9999);
    if (!on_bus) {
        devices_write_reason(query, DEVICES_NOTHING,
                             "no GPU of this vendor on the PCI bus");
        return;
    }
    for (uint32_t i = 0; i < on_bus; i++)
        devices_write(query, DEVICES_DEVICE, "MetaX GPU", "on the PCI bus");
    if (devices_read(query, "/sys/module/metax/version", version,
                     sizeof version))
        devices_write(query, DEVICES_FACT, "driver", "metax %s", version);
    if (!devices_may_use(query, "/dev/mxcd")) return;
    if (devices_open(runtime_names, path, sizeof path))
        devices_write(query, DEVICES_FACT, "maca", "%s", path);
    void *const mcpti = devices_open(mcpti_names, path, sizeof path);
    if (!mcpti) {
        devices_write(query, DEVICES_FAILS, "libmcpti.so was not found",
                      "install MACA, or add its lib folder to LD_LIBRARY_PATH");
        return;
    }
    if (devices_find(mcpti, "mcptiGetVersion", &get) && get(&number) == 0)
        devices_write(query, DEVICES_FACT, "mcpti", "%" PRIu32 " (%s)", number,
                      path);
#if __has_include("backends/ts_cupti.h")
    devices_write(query, DEVICES_WORKS, "kernels, copies, calls",
                  "through MCPTI, if its records have the expected layout: "
                  "ts-record COMMAND");
#else
    devices_write_reason(query, DEVICES_FAILS,
                         "this build has no backend for MCPTI");
#endif
}
