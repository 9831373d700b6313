/*
    metax.c - GPUs of MetaX: driver, MACA
*/
#include "tools/devices/devices.h"

void devices_query_metax(const devices_ask *ask);

static const char *const mcpti_names[] = { "libmcpti.so",
                                           "/opt/maca*/lib/libmcpti.so*",
                                           NULL };
static const char *const runtime_names[] = { "libmcruntime.so",
                                             "/opt/maca*/lib/libmcruntime.so*",
                                             NULL };

void devices_query_metax(const devices_ask *ask)
{
    char path[512], version[128];
    uint32_t number = 0;
    int (*get)(uint32_t *) = NULL;
    const uint32_t on_bus = devices_on_bus(ask, 0x9999);
    if (!on_bus) {
        devices_say_why(ask, DEVICES_NOTHING, "no GPU of it on the PCI bus");
        return;
    }
    for (uint32_t i = 0; i < on_bus; i++)
        devices_say(ask, DEVICES_DEVICE, "MetaX GPU", "on the PCI bus");
    if (devices_read(ask, "/sys/module/metax/version", version, sizeof version))
        devices_say(ask, DEVICES_FACT, "driver", "metax %s", version);
    if (!devices_may_use(ask, "/dev/mxcd")) return;
    if (devices_open(runtime_names, path, sizeof path))
        devices_say(ask, DEVICES_FACT, "maca", "%s", path);
    void *const mcpti = devices_open(mcpti_names, path, sizeof path);
    if (!mcpti) {
        devices_say(ask, DEVICES_FAILS, "libmcpti.so is not there",
                    "install MACA, or put its lib folder into "
                    "LD_LIBRARY_PATH");
        return;
    }
    if (devices_find(mcpti, "mcptiGetVersion", &get) && get(&number) == 0)
        devices_say(ask, DEVICES_FACT, "mcpti", "%" PRIu32 " (%s)", number,
                    path);
#if __has_include("backends/ts_cupti.h")
    devices_say(ask, DEVICES_WORKS, "kernels, copies, calls",
                "through MCPTI, if its records are as expected: "
                "ts-record COMMAND");
#else
    devices_say_why(ask, DEVICES_FAILS, "this build has no backend for MCPTI");
#endif
}
