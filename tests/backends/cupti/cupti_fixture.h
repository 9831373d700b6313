/*
    cupti_fixture.h - tests of the CUPTI backend against its double

    The double that a file chooses is loaded before a session starts, as CUPTI
    is in a program: the backend takes the library that is there.
*/
#ifndef CUPTI_FIXTURE_H
#define CUPTI_FIXTURE_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "tests/record/record_fixture.h"

#include "backends/ts_cupti.h"
#include "tests/doubles/double_file.h"
#include "tests/doubles/cupti_double.h"
#include <dlfcn.h>

static const ts_session_desc cu_plain;
static double_set_function cu_set;
static double_get_function cu_get;
static double_run_function cu_run;
static double_owner_function cu_owner;

static void *cu_symbol(void *library, const char *name)
{
    void *const symbol = dlsym(library, name);
    if (!symbol) abort();
    return symbol;
}

// Loads a double that lies beside the test program.
static void cu_load(const char *name)
{
    void *const library = dlopen(double_path(name), RTLD_NOW | RTLD_GLOBAL);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        abort();
    }
    void *symbols[] = { cu_symbol(library, "double_set"),
                        cu_symbol(library, "double_get"),
                        cu_symbol(library, "double_run"),
                        cu_symbol(library, "double_owner") };
    memcpy(&cu_set, &symbols[0], sizeof cu_set);
    memcpy(&cu_get, &symbols[1], sizeof cu_get);
    memcpy(&cu_run, &symbols[2], sizeof cu_run);
    memcpy(&cu_owner, &symbols[3], sizeof cu_owner);
}

// Loads the double of libcupti, as that of CUDA 13.1, and the backend on it.
RT_UNUSED static void cu_load_newest(void)
{
    cu_load("libcupti.so");
    cu_set("version", 130100);
    ts_cupti_initialize();
}

#define CU_RUN(...) \
    do { \
        const double_op cu_op = { __VA_ARGS__ }; \
        cu_run(&cu_op); \
    } while (0)
#define CU_LAUNCH(...) CU_RUN(.what = DOUBLE_LAUNCH, __VA_ARGS__)

// Ends the session and reads its trace, whose calls are of threads.
RT_UNUSED static rt_trace cu_end(const char *path)
{
    assert_int_equal(ts_session_stop(), TS_OK);
    const rt_trace trace = rt_read(path);
    ts_track thread;
    for (size_t i = 0; i < trace.count; i++) {
        if (trace.rows[i].kind != TS_EVENT_API_CALL) continue;
        assert_true(
            ts_reader_track(trace.reader, trace.rows[i].track, &thread));
        assert_int_equal(thread.type, TS_TRACK_THREAD);
    }
    return trace;
}

RT_UNUSED static int64_t cu_fact(const rt_trace *trace, const char *key)
{
    ts_metadata fact;
    if (!ts_reader_metadata(trace->reader, 0, key, &fact)) return -1;
    assert_int_equal(fact.type, TS_VALUE_INT);
    return fact.number;
}

// A text among the facts of the session; "" if it is not there.
RT_UNUSED static const char *cu_text(const rt_trace *trace, const char *key)
{
    static char text[512];
    ts_metadata fact;
    text[0] = 0;
    if (ts_reader_metadata(trace->reader, 0, key, &fact) &&
        fact.type == TS_VALUE_TEXT)
        snprintf(text, sizeof text, "%.*s", (int)fact.text.size,
                 fact.text.text);
    return text;
}

#define CU_ASSERT_SAYS(trace, key, part) \
    do { \
        const char *const cu_said = cu_text(trace, key); \
        if (!strstr(cu_said, part)) \
            fail_msg("%s says \"%s\", not \"%s\"", key, cu_said, part); \
    } while (0)

// How many are in the ledger with a text that holds `part`.
static uint64_t cu_lost(const rt_trace *trace, const char *part)
{
    uint64_t count = 0;
    ts_loss_row row;
    for (size_t i = 0; ts_reader_loss(trace->reader, i, &row); i++) {
        char text[256];
        const ts_text detail = ts_reader_name(trace->reader, row.detail);
        snprintf(text, sizeof text, "%.*s", (int)detail.size, detail.text);
        if (row.cause == TS_LOSS_BACKEND && strstr(text, part))
            count += row.count;
    }
    return count;
}

RT_UNUSED static void cu_assert_nothing_lost(const rt_trace *trace)
{
    assert_int_equal(cu_lost(trace, ""), 0);
}

RT_UNUSED static uint32_t cu_parent(const rt_trace *trace, uint32_t track)
{
    ts_track about;
    assert_true(ts_reader_track(trace->reader, track, &about));
    return about.parent;
}

#endif // CUPTI_FIXTURE_H
