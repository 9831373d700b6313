/*
    call_class.c - classes of vendor API calls
*/
#include "tools/analyze/figures/base/call_class.h"

static bool begins(ts_text name, const char *text)
{
    const size_t size = strlen(text);
    return name.size >= size && !memcmp(name.text, text, size);
}

static bool ends(ts_text name, const char *text)
{
    const size_t size = strlen(text);
    return name.size >= size &&
           !memcmp(name.text + name.size - size, text, size);
}

// Removes prefix and version of a name: "cudaMalloc", "cuMemAlloc_v2",
// "hipMalloc" become "Malloc", "MemAlloc", "Malloc".
static ts_text stem(ts_text name)
{
    static const char *const vendors[] = { "cuda", "hip", "musa", "mc", "cu" };
    static const char *const versions[] = { "_v2", "_v3", "_ptsz", "_v2_ptsz" };
    for (size_t i = 0; i < sizeof vendors / sizeof *vendors; i++) {
        const size_t size = strlen(vendors[i]);
        if (!begins(name, vendors[i]) || name.size <= size ||
            name.text[size] < 'A' || name.text[size] > 'Z')
            continue;
        name.text += size;
        name.size -= size;
        break;
    }
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++)
        if (ends(name, versions[i])) name.size -= strlen(versions[i]);
    return name;
}

call_class call_class_of(ts_text full)
{
    static const struct {
        const char *stem;
        call_class class_of;
        bool prefix;
    } known[] = {
        { "Malloc", CALL_ALLOC, false },
        { "MallocPitch", CALL_ALLOC, false },
        { "Malloc3D", CALL_ALLOC, false },
        { "MallocManaged", CALL_ALLOC, false },
        { "MallocArray", CALL_ALLOC, false },
        { "ExtMallocWithFlags", CALL_ALLOC, false },
        { "MemAlloc", CALL_ALLOC, false },
        { "MemAllocPitch", CALL_ALLOC, false },
        { "MemAllocManaged", CALL_ALLOC, false },
        { "Free", CALL_ALLOC, false },
        { "FreeArray", CALL_ALLOC, false },
        { "MemFree", CALL_ALLOC, false },
        { "MemCreate", CALL_ALLOC, false },
        { "MemRelease", CALL_ALLOC, false },
        { "MemMap", CALL_ALLOC, false },
        { "MemUnmap", CALL_ALLOC, false },
        { "MemSetAccess", CALL_ALLOC, false },
        { "MallocHost", CALL_HOST_MEMORY, false },
        { "FreeHost", CALL_HOST_MEMORY, false },
        { "HostAlloc", CALL_HOST_MEMORY, false },
        { "HostMalloc", CALL_HOST_MEMORY, false },
        { "HostFree", CALL_HOST_MEMORY, false },
        { "HostRegister", CALL_HOST_MEMORY, false },
        { "HostUnregister", CALL_HOST_MEMORY, false },
        { "MemHostAlloc", CALL_HOST_MEMORY, false },
        { "MemHostRegister", CALL_HOST_MEMORY, false },
        { "MemHostUnregister", CALL_HOST_MEMORY, false },
        { "MemAllocHost", CALL_HOST_MEMORY, false },
        { "MemFreeHost", CALL_HOST_MEMORY, false },
        { "ModuleLoad", CALL_LOAD, true },
        { "LibraryLoad", CALL_LOAD, true },
        { "LinkComplete", CALL_LOAD, false },
        { "nvrtcCompileProgram", CALL_LOAD, false },
        { "rtcCompileProgram", CALL_LOAD, false },
        { "StreamCreate", CALL_CREATE, true },
        { "StreamDestroy", CALL_CREATE, false },
        { "EventCreate", CALL_CREATE, true },
        { "EventDestroy", CALL_CREATE, false },
        { "GraphInstantiate", CALL_CREATE, true },
        { "EventQuery", CALL_QUERY, false },
        { "StreamQuery", CALL_QUERY, false },
    };
    const ts_text name = stem(full);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].prefix ? begins(name, known[i].stem)
                            : cli_is_text(name, known[i].stem))
            return known[i].class_of;
    return CALL_OTHER;
}

const char *call_class_name(call_class class_of)
{
    switch (class_of) {
    case CALL_ALLOC: return "allocations and frees of device memory";
    case CALL_HOST_MEMORY: return "pinning and freeing of host memory";
    case CALL_LOAD: return "loading and compiling of modules";
    case CALL_CREATE: return "creation of streams, events and graphs";
    case CALL_QUERY: return "queries of streams and events";
    default: return "calls";
    }
}
