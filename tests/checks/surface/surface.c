/*
    Everything an instrumented program can write, as C and as C++. Compiled
    with every compiler and mode (checks/cxx.sh), and with TRACESMITH_DISABLE,
    where the machine code must be what it is without the lines that call
    something of TraceSmith (checks/disabled.sh). So each call is one line.
*/
#include "tracesmith.h"

#ifdef __cplusplus
extern "C" {
#endif
int surface_calls(int count, double ratio, const char *text, void *memory);
int surface(int count, double ratio, const char *text, void *memory);
int surface_session(const ts_session_desc *desc, const char *path);
int surface_step(int step);
#ifdef __cplusplus
}

namespace
{
template <typename number> number twice(number value)
{
    TS_FUNCTION();
    TS_ZONE_VALUE("value", value);
    TS_COUNTER("twice", value);
    return static_cast<number>(value + value);
}

struct Guarded {
    int value = 1;
    ~Guarded()
    {
        TS_ZONE("destructor");
        value = 0;
    }
};
} // namespace
#endif

static int surface_branches(int count)
{
    if (count > 100) {
        TS_MARK("many");
        return 3;
    }
    switch (count) {
    case 1: {
        TS_ZONE("case");
        return 2;
    }
    default: TS_MARK("default", "branches", 0xFF0000); break;
    }
    for (int i = 0; i < count; i++) {
        TS_ZONE("early");
        if (surface_step(i)) continue;
        if (i == 7) return i;
        TS_ZONE("late", "loop");
        count -= surface_step(i + 1);
    }
    return count;
}

int surface(int count, double ratio, const char *text, void *memory)
{
    TS_FUNCTION();
    TS_ZONE("zone");
    TS_ZONE("zone with a category", "work");
    TS_ZONE("zone with a colour", "work", 0x3366CC);
    TS_ZONE_NAME(text);
    TS_ZONE_VALUE("count", count);
    TS_ZONE_VALUE("ratio", ratio);
    TS_ZONE_VALUE("unsigned", 1u);
    TS_ZONE_VALUE("wide", UINT64_MAX);
    TS_ZONE_VALUE("text", text[0]);
    TS_ZONE_TEXT(text);
    TS_ZONE_BEGIN(by_hand, "by hand");
    TS_ZONE_BEGIN(in_colour, "by hand", "work", 0x00FF00);
    TS_MARK("mark");
    TS_MARK("mark", "category");
    TS_MESSAGE(text);
    TS_COUNTER("integer", count);
    TS_COUNTER("double", ratio);
    TS_COUNTER("float", 0.5f);
    TS_COUNTER("long", 5L);
    TS_COUNTER("size", sizeof(count));
    TS_COUNTER("product", (double)count * ratio);
    TS_ALLOC(memory, 64);
    TS_ALLOC(memory, (uint64_t)count, "pool");
    TS_ALLOC(memory, 64, "pool", "category");
    TS_FREE(memory);
    TS_FREE(memory, "pool");
    TS_FRAME("frame");
    TS_FLOW_START(1);
    TS_FLOW_STEP(1);
    TS_FLOW_END((uint64_t)count);
    TS_SPAN_START(7, "span");
    TS_SPAN_START(8, "span", "category", 0x112233);
    TS_SPAN_END(7);
    TS_THREAD_NAME("surface");
    TS_ZONE_END(in_colour);
    TS_ZONE_END(by_hand);
#ifdef __cplusplus
    const Guarded guarded;
    const auto lambda = [count] {
        TS_ZONE("lambda");
        return count + 1;
    };
    count = lambda() + twice(count) + (int)twice(ratio) + guarded.value;
#endif
    return surface_branches(count) + (int)ratio + (memory != NULL);
}

// What the macros call, called by hand.
int surface_calls(int count, double ratio, const char *text, void *memory)
{
    static ts_site site = { "site", NULL, NULL, NULL, 0, 0, 0 };
    static ts_counter counter = { "counter", 0 };
    ts_zone zone = { 0, 0, 0 };
    (void)site, (void)counter, (void)zone, (void)ratio, (void)memory;
    zone = ts_zone_begin(&site);
    ts_zone_value_int("count", count);
    ts_zone_value_uint("count", (uint64_t)count);
    ts_zone_value_double("ratio", ratio);
    ts_zone_text(text);
    ts_mark(&site);
    ts_mark_site(ts_site_define("made", &site));
    ts_counter_int(&counter, count);
    ts_counter_uint(&counter, (uint64_t)count);
    ts_counter_double(&counter, ratio);
    ts_alloc(memory, 64, 0, 0);
    ts_free(memory, 0);
    ts_message(text);
    ts_message_sized(text, 1);
    ts_frame(&site);
    ts_flow(1, TS_PHASE_START);
    ts_span_start(9, &site);
    ts_span_end(9);
    ts_zone_end(&zone);
    zone = ts_zone_begin_site(ts_site_define("made", &site));
    ts_zone_end_outer(&zone);
    return count + (text != NULL);
}

int surface_session(const ts_session_desc *desc, const char *path)
{
    ts_session_start(desc);
    ts_counter_define("integer", "bytes", TS_COUNTER_MONOTONIC);
    ts_metadata_int(0, "answer", 42);
    ts_metadata_double(0, "ratio", 0.5);
    ts_metadata_text(0, "who", path);
    if (ts_session_pause() != TS_OK) return 1;
    if (ts_session_resume() != TS_OK) return 1;
    if (ts_session_flush() != TS_OK) return 1;
    if (ts_session_snapshot(path) != TS_OK) return 1;
    ts_session_stop();
    return path != NULL && desc != NULL;
}
