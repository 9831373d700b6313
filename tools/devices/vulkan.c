/*
    vulkan.c - devices of Vulkan, by any vendor
*/
#include "tools/devices/devices.h"

void devices_query_vulkan(const devices_query *query);

static const char *const loader_names[] = { "libvulkan.so.1", NULL };

// Source: vulkan_core.h. Only the first members of the properties are read.
typedef struct vulkan_instance_info {
    int32_t type; // VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO
    const void *next;
    uint32_t flags;
    const void *application;
    uint32_t layer_count;
    const char *const *layers;
    uint32_t extension_count;
    const char *const *extensions;
} vulkan_instance_info;

typedef struct vulkan_properties {
    uint32_t api, driver, vendor, device, type;
    char name[256];
    uint8_t more[4096]; // 564 bytes in Vulkan 1.3
} vulkan_properties;

typedef struct vulkan {
    int32_t (*create)(const vulkan_instance_info *, const void *, void **);
    int32_t (*devices)(void *, uint32_t *, void **);
    void (*properties)(void *, vulkan_properties *);
} vulkan;

static cli_text version_of(uint32_t v) // VK_MAKE_API_VERSION
{
    return cli_format("%" PRIu32 ".%" PRIu32 ".%" PRIu32, v >> 22 & 127,
                      v >> 12 & 1023, v & 4095);
}

static void print_device(const devices_query *query, const vulkan *vk,
                         void *device)
{
    static const char *const types[] = { "another type of device",
                                         "integrated GPU", "discrete GPU",
                                         "virtual GPU", "CPU device" };
    static vulkan_properties p;
    vk->properties(device, &p);
    p.name[sizeof p.name - 1] = 0;
    devices_write(query, DEVICES_DEVICE, p.name, "%s, Vulkan %s",
                  types[p.type < 5 ? p.type : 0], version_of(p.api).s);
}

void devices_query_vulkan(const devices_query *query)
{
    enum { MOST = 64 };
    const vulkan_instance_info info = { .type = 1 };
    char path[512];
    vulkan vk = { .create = NULL };
    void *instance = NULL, *devices[MOST];
    uint32_t count = MOST;
    void *const lib = devices_open(loader_names, path, sizeof path);
    if (!lib || !devices_find(lib, "vkCreateInstance", &vk.create) ||
        !devices_find(lib, "vkEnumeratePhysicalDevices", &vk.devices) ||
        !devices_find(lib, "vkGetPhysicalDeviceProperties", &vk.properties)) {
        devices_write_reason(query, DEVICES_NOTHING,
                             "libvulkan.so.1 is not there");
        return;
    }
    const int32_t result = vk.create(&info, NULL, &instance);
    if (result != 0 || vk.devices(instance, &count, devices) < 0) count = 0;
    for (uint32_t i = 0; i < count; i++)
        print_device(query, &vk, devices[i]);
    if (count)
        devices_write_reason(query, DEVICES_FAILS,
                             "Vulkan is not recorded yet");
    else
        devices_write_reason(query, DEVICES_NOTHING,
                             "the loader is installed, but there is no device");
}
