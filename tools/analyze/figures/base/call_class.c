/*
    call_class.c - calls of a vendor's library, by what they do
*/
#include "tools/analyze/advice/advice.h"

static bool is(ts_text name, const char *text)
{
    return name.size == strlen(text) && !memcmp(name.text, text, name.size);
}

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

// "cudaMalloc", "cuMemAlloc_v2", "hipMalloc" to "Malloc", "MemAlloc", "Malloc".
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

advice_class advice_class_of(ts_text full)
{
    static const struct {
        const char *stem;
        advice_class class_of;
        bool prefix;
    } known[] = {
        { "Malloc", ADVICE_ALLOC, false },
        { "MallocPitch", ADVICE_ALLOC, false },
        { "Malloc3D", ADVICE_ALLOC, false },
        { "MallocManaged", ADVICE_ALLOC, false },
        { "MallocArray", ADVICE_ALLOC, false },
        { "ExtMallocWithFlags", ADVICE_ALLOC, false },
        { "MemAlloc", ADVICE_ALLOC, false },
        { "MemAllocPitch", ADVICE_ALLOC, false },
        { "MemAllocManaged", ADVICE_ALLOC, false },
        { "Free", ADVICE_ALLOC, false },
        { "FreeArray", ADVICE_ALLOC, false },
        { "MemFree", ADVICE_ALLOC, false },
        { "MemCreate", ADVICE_ALLOC, false },
        { "MemRelease", ADVICE_ALLOC, false },
        { "MemMap", ADVICE_ALLOC, false },
        { "MemUnmap", ADVICE_ALLOC, false },
        { "MemSetAccess", ADVICE_ALLOC, false },
        { "MallocHost", ADVICE_HOST_MEMORY, false },
        { "FreeHost", ADVICE_HOST_MEMORY, false },
        { "HostAlloc", ADVICE_HOST_MEMORY, false },
        { "HostMalloc", ADVICE_HOST_MEMORY, false },
        { "HostFree", ADVICE_HOST_MEMORY, false },
        { "HostRegister", ADVICE_HOST_MEMORY, false },
        { "HostUnregister", ADVICE_HOST_MEMORY, false },
        { "MemHostAlloc", ADVICE_HOST_MEMORY, false },
        { "MemHostRegister", ADVICE_HOST_MEMORY, false },
        { "MemHostUnregister", ADVICE_HOST_MEMORY, false },
        { "MemAllocHost", ADVICE_HOST_MEMORY, false },
        { "MemFreeHost", ADVICE_HOST_MEMORY, false },
        { "ModuleLoad", ADVICE_LOAD, true },
        { "LibraryLoad", ADVICE_LOAD, true },
        { "LinkComplete", ADVICE_LOAD, false },
        { "nvrtcCompileProgram", ADVICE_LOAD, false },
        { "rtcCompileProgram", ADVICE_LOAD, false },
        { "StreamCreate", ADVICE_CREATE, true },
        { "StreamDestroy", ADVICE_CREATE, false },
        { "EventCreate", ADVICE_CREATE, true },
        { "EventDestroy", ADVICE_CREATE, false },
        { "GraphInstantiate", ADVICE_CREATE, true },
        { "EventQuery", ADVICE_QUERY, false },
        { "StreamQuery", ADVICE_QUERY, false },
    };
    const ts_text name = stem(full);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].prefix ? begins(name, known[i].stem)
                            : is(name, known[i].stem))
            return known[i].class_of;
    return ADVICE_OTHER;
}

const char *advice_class_name(advice_class class_of)
{
    switch (class_of) {
    case ADVICE_ALLOC: return "allocations and frees of device memory";
    case ADVICE_HOST_MEMORY: return "pinning and freeing of host memory";
    case ADVICE_LOAD: return "loading and compiling of modules";
    case ADVICE_CREATE: return "creation of streams, events and graphs";
    case ADVICE_QUERY: return "queries of streams and events";
    default: return "calls";
    }
}

static int by_place(const void *left, const void *right)
{
    const advice_call *const a = left, *const b = right;
    if (a->file != b->file) return a->file < b->file ? -1 : 1;
    if (a->thread != b->thread) return a->thread < b->thread ? -1 : 1;
    if (a->start_ns != b->start_ns) return a->start_ns < b->start_ns ? -1 : 1;
    return (a->end_ns < b->end_ns) - (a->end_ns > b->end_ns);
}

static void add_call(advice *a, size_t *room, const advice_call *call)
{
    if (!cli_grow(&a->calls, room, a->call_count + 1, sizeof *a->calls)) {
        a->failed = true;
        return;
    }
    a->calls[a->call_count++] = *call;
}

static void load_file(advice *a, uint32_t file, size_t *room)
{
    ts_reader *const reader = analyze_reader(a->job, file);
    const uint32_t names = analyze_info(a->job, file)->name_count;
    const ts_filter filter = { .kinds = TS_FILTER(API_CALL) };
    ts_replay_file place = { 0 };
    ts_replay_file_at(a->replay, file, &place);
    // Names are few and calls many. 0: not asked yet, else the class + 1.
    uint8_t *const classes = calloc((size_t)names + 2, 1);
    ts_cursor *cursor;
    ts_event event;
    if (!classes || ts_cursor_open(&cursor, reader, &filter) != TS_OK) {
        a->failed = true;
        free(classes);
        return;
    }
    while (ts_cursor_next(cursor, &event) && !a->failed) {
        const uint32_t name = (uint32_t)ts_event_value(&event, TS_COLUMN_NAME);
        uint8_t class_of = name <= names ? classes[name] : 0;
        if (!class_of)
            class_of =
                (uint8_t)(advice_class_of(ts_reader_name(reader, name)) + 1);
        if (name <= names) classes[name] = class_of;
        if (class_of == ADVICE_OTHER + 1) continue;
        const int64_t start = event.start_ns + place.offset_ns;
        const advice_call call = { file,  event.track,
                                   name,  (advice_class)(class_of - 1),
                                   start, start + event.duration_ns };
        add_call(a, room, &call);
    }
    ts_cursor_close(cursor);
    free(classes);
}

void advice_load_calls(advice *a)
{
    if (a->has_calls) return;
    a->has_calls = true;
    size_t room = 0;
    for (uint32_t i = 0; i < a->job->file_count && !a->failed; i++)
        load_file(a, i, &room);
    if (a->call_count)
        qsort(a->calls, a->call_count, sizeof *a->calls, by_place);
}
