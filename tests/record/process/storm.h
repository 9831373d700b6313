/*
    storm.h - a stream of records whose every element can be checked

    Thread t of a victim calls storm_step(t, 0), storm_step(t, 1), ... Each
    call records one thing, whose kind follows from (t, step) and which carries
    t and step. After each call the victim reports the step. Whatever kills it
    then, its trace must hold every step that was reported, may hold the next
    one, and nothing else: otherwise storm_check fails the test.
*/
#ifndef STORM_H
#define STORM_H

#include "tests/record/record_fixture.h"

enum { STORM_THREADS = 4, STORM_STEPS = 1 << 20 };

/* ---- Steps -------------------------------------------------------------- */

enum storm_kind {
    STORM_ZONE, // these three carry nothing: they are counted
    STORM_MARK,
    STORM_FRAME,
    STORM_COUNTED,
    STORM_NAMED_ZONE = STORM_COUNTED,
    STORM_VALUE,
    STORM_TEXT,
    STORM_MESSAGE,
    STORM_COUNTER,
    STORM_COUNTER_WIDE,
    STORM_COUNTER_DOUBLE,
    STORM_ALLOC,
    STORM_FREE,
    STORM_FLOW,
    STORM_SPAN,
    STORM_KERNEL,
    STORM_API_CALL,
    STORM_KINDS
};

static uint64_t storm_mix(uint64_t x)
{
    x += 0x9E3779B97F4A7C15u;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

// Also an address that needs more than 48 bits when step is odd.
static uint64_t storm_id(uint64_t thread, uint64_t step)
{
    return (step & 1) << 60 | (thread + 1) << 40 | step;
}

static enum storm_kind storm_kind(uint64_t thread, uint64_t step)
{
    const uint64_t mixed = storm_mix(thread << 40 | step);
    if (mixed >> 32 & 1) return STORM_ZONE; // mostly zones, as in programs
    return (enum storm_kind)(mixed % STORM_KINDS);
}

static uint32_t storm_stream, storm_launch, storm_function;
static ts_counter storm_counters[STORM_THREADS] = {
    { "storm 0", 0 }, { "storm 1", 0 }, { "storm 2", 0 }, { "storm 3", 0 }
};

// Once, before the first step.
static void storm_define(void)
{
    const ts_gpu_device_desc device = { .name = "storm" };
    ts_gpu_stream_desc stream = { .name = "storm" };
    stream.context = ts_gpu_device_define(&device);
    const ts_gpu_launch_desc launch = { .name = "storm kernel" };
    storm_stream = ts_gpu_stream_define(&stream);
    storm_launch = ts_gpu_launch_define(&launch);
    storm_function = ts_name_define("storm call");
}

static void storm_gpu(uint64_t id)
{
    ts_gpu_op op;
    memset(&op, 0, sizeof op);
    op.kind = TS_EVENT_KERNEL;
    op.track = storm_stream;
    op.start = op.end = ts_tick_now();
    op.correlation = id;
    op.u.kernel.launch = storm_launch;
    ts_gpu_op_record(&op);
}

static void storm_api_call(uint64_t id)
{
    const uint64_t now = ts_tick_now();
    const ts_api_call call = {
        .name = storm_function, .start = now, .end = now, .correlation = id
    };
    ts_api_call_record(&call);
}

// The identifier, now and then with a tail that takes many slots.
static const char *storm_text(uint64_t id, char *text, size_t size)
{
    const int head = snprintf(text, size, "%" PRIu64 " ", id);
    const size_t tail = storm_mix(id) % 64 ? id % 9 : storm_mix(id) % 2000;
    memset(text + head, '.', tail);
    text[(size_t)head + tail] = 0;
    return text;
}

static void storm_step(uint64_t thread, uint64_t step)
{
    const uint64_t id = storm_id(thread, step);
    const void *const pointer = (const void *)(uintptr_t)id;
    char text[2100];
    switch (storm_kind(thread, step)) {
    case STORM_ZONE: {
        TS_ZONE("storm zone");
        break;
    }
    case STORM_MARK: TS_MARK("storm mark"); break;
    case STORM_FRAME: TS_FRAME("storm frame"); break;
    case STORM_NAMED_ZONE: {
        TS_ZONE_NAME(storm_text(id, text, sizeof text));
        break;
    }
    case STORM_VALUE: TS_ZONE_VALUE("id", id); break;
    case STORM_TEXT: TS_ZONE_TEXT(storm_text(id, text, sizeof text)); break;
    case STORM_MESSAGE: TS_MESSAGE(storm_text(id, text, sizeof text)); break;
    case STORM_COUNTER:
        ts_counter_int(&storm_counters[thread], (int64_t)step);
        break;
    case STORM_COUNTER_WIDE:
        ts_counter_int(&storm_counters[thread], (int64_t)id);
        break;
    case STORM_COUNTER_DOUBLE:
        ts_counter_double(&storm_counters[thread], (double)step + 0.5);
        break;
    case STORM_ALLOC:
        if (step % 3)
            TS_ALLOC(pointer, step);
        else
            TS_ALLOC(pointer, step, "pool", "category");
        break;
    case STORM_FREE:
        if (step % 3)
            TS_FREE(pointer);
        else
            TS_FREE(pointer, "pool");
        break;
    case STORM_FLOW: TS_FLOW_STEP(id); break;
    case STORM_SPAN: TS_SPAN_START(id, "storm span"); break;
    case STORM_KERNEL: storm_gpu(id); break;
    default: storm_api_call(id); break;
    }
}

/* ---- Check -------------------------------------------------------------- */

typedef struct storm_seen {
    uint64_t counted[STORM_COUNTED];
    uint64_t around; // open zones of that name
    uint8_t *steps;  // bit step: seen
} storm_seen;

// Thread of a track named "storm N", else STORM_THREADS.
static uint64_t storm_thread(const rt_trace *trace, uint32_t id)
{
    ts_track track;
    if (!ts_reader_track(trace->reader, id, &track) || track.name.size != 7 ||
        memcmp(track.name.text, "storm ", 6))
        return STORM_THREADS;
    return (uint64_t)(track.name.text[6] - '0');
}

static bool storm_is(const rt_trace *trace, const ts_event *event,
                     const char *name)
{
    const ts_text text = ts_reader_site_name(
        trace->reader, (uint32_t)ts_event_value(event, TS_COLUMN_SITE));
    return !strcmp(text.text, name);
}

// The identifier that a record carries.
static uint64_t storm_carried(const rt_trace *trace, const ts_event *event,
                              uint64_t thread)
{
    const uint64_t value = ts_event_value(event, TS_COLUMN_VALUE);
    ts_text text = ts_event_text(event);
    switch (event->kind) {
    case TS_EVENT_ZONE:
        text = ts_reader_site_name(
            trace->reader, (uint32_t)ts_event_value(event, TS_COLUMN_SITE));
        return strtoull(text.text, NULL, 10);
    case TS_EVENT_ZONE_ARG:
        if (ts_event_value(event, TS_COLUMN_TYPE) == TS_VALUE_INT) return value;
        // fall through
    case TS_EVENT_MESSAGE: {
        char number[32] = "";
        memcpy(number, text.text, text.size < 31 ? text.size : 31);
        return strtoull(number, NULL, 10);
    }
    case TS_EVENT_COUNTER:
        if (ts_event_value(event, TS_COLUMN_TYPE) == TS_VALUE_DOUBLE)
            return storm_id(thread, (uint64_t)rt_double(value));
        return value >> 40 ? value : storm_id(thread, value);
    case TS_EVENT_ALLOC:
    case TS_EVENT_FREE: return ts_event_value(event, TS_COLUMN_ADDRESS);
    case TS_EVENT_KERNEL:
    case TS_EVENT_API_CALL: return ts_event_value(event, TS_COLUMN_CORRELATION);
    default: return ts_event_value(event, TS_COLUMN_ID);
    }
}

static bool storm_kind_fits(enum storm_kind kind, ts_event_kind event)
{
    static const ts_event_kind events[STORM_KINDS] = {
        TS_EVENT_ZONE,    TS_EVENT_MARK,     TS_EVENT_FRAME,
        TS_EVENT_ZONE,    TS_EVENT_ZONE_ARG, TS_EVENT_ZONE_ARG,
        TS_EVENT_MESSAGE, TS_EVENT_COUNTER,  TS_EVENT_COUNTER,
        TS_EVENT_COUNTER, TS_EVENT_ALLOC,    TS_EVENT_FREE,
        TS_EVENT_FLOW,    TS_EVENT_SPAN,     TS_EVENT_KERNEL,
        TS_EVENT_API_CALL
    };
    return events[kind] == event;
}

static void storm_count(const rt_trace *trace, const ts_event *event,
                        storm_seen *all)
{
    uint64_t thread = storm_thread(trace, event->track);
    if (event->kind == TS_EVENT_ZONE_OPEN) {
        if (thread < STORM_THREADS && storm_is(trace, event, "around"))
            all[thread].around++;
        return; // the step in flight may be open
    }
    if (event->kind == TS_EVENT_MARK || event->kind == TS_EVENT_FRAME ||
        (event->kind == TS_EVENT_ZONE &&
         storm_is(trace, event, "storm zone"))) {
        if (thread >= STORM_THREADS) fail_msg("a record of no storm thread");
        all[thread].counted[event->kind == TS_EVENT_ZONE   ? STORM_ZONE
                            : event->kind == TS_EVENT_MARK ? STORM_MARK
                                                           : STORM_FRAME]++;
        return;
    }
    const uint64_t id = storm_carried(trace, event, thread);
    const uint64_t step = id & 0xFFFFFFFFFF;
    thread = (id >> 40 & 0xFF) - 1;
    if (thread >= STORM_THREADS || step >= STORM_STEPS ||
        id != storm_id(thread, step) ||
        !storm_kind_fits(storm_kind(thread, step), event->kind))
        fail_msg("invented: a %s of %" PRIu64, ts_event_name(event->kind), id);
    uint8_t *const byte = &all[thread].steps[step / 8];
    const uint8_t bit = (uint8_t)(1 << step % 8);
    if (*byte & bit)
        fail_msg("twice: step %" PRIu64 " of thread %" PRIu64, step, thread);
    *byte |= bit;
}

static void storm_check_thread(const storm_seen *seen, uint64_t thread,
                               uint64_t said)
{
    uint64_t expected[STORM_KINDS] = { 0 };
    for (uint64_t step = 0; step < said; step++) {
        const enum storm_kind kind = storm_kind(thread, step);
        expected[kind]++;
        if (kind >= STORM_COUNTED && !(seen->steps[step / 8] >> step % 8 & 1))
            fail_msg("lost: step %" PRIu64 " (kind %d) of thread %" PRIu64
                     ", %" PRIu64 " said",
                     step, (int)kind, thread, said);
    }
    for (uint64_t step = said + 1; step < STORM_STEPS; step++)
        if (seen->steps[step / 8] >> step % 8 & 1)
            fail_msg("invented: step %" PRIu64 ", %" PRIu64 " said", step,
                     said);
    for (int kind = 0; kind < STORM_COUNTED; kind++) {
        const uint64_t there = seen->counted[kind];
        const bool next = storm_kind(thread, said) == (enum storm_kind)kind;
        if (there < expected[kind] || there > expected[kind] + next)
            fail_msg("thread %" PRIu64 ": %" PRIu64 " of kind %d, not %" PRIu64,
                     thread, there, kind, expected[kind]);
    }
    if (said && seen->around != 1)
        fail_msg("the zone around is open %" PRIu64 " times", seen->around);
}

// said: the steps that each thread has reported. Returns the number of records.
RT_UNUSED static uint64_t storm_check(const char *path,
                                      const uint64_t said[STORM_THREADS])
{
    storm_seen all[STORM_THREADS];
    memset(all, 0, sizeof all);
    for (int i = 0; i < STORM_THREADS; i++)
        if (!(all[i].steps = calloc(STORM_STEPS / 8, 1))) abort();
    rt_trace trace = rt_open(path);
    assert_int_equal(trace.info->lost, 0);
    ts_cursor *cursor;
    ts_event event;
    uint64_t count = 0;
    assert_int_equal(ts_cursor_open(&cursor, trace.reader, NULL), TS_OK);
    for (; ts_cursor_next(cursor, &event); count++)
        storm_count(&trace, &event, all);
    assert_int_equal(ts_cursor_result(cursor), TS_OK);
    ts_cursor_close(cursor);
    rt_close(&trace);
    for (int i = 0; i < STORM_THREADS; i++) {
        storm_check_thread(&all[i], (uint64_t)i, said[i]);
        free(all[i].steps);
    }
    return count;
}

/* ---- Victim ------------------------------------------------------------- */

typedef struct storm_victim {
    uint64_t *said; // shared memory
    int pipe;       // or a pipe, if not -1
    uint64_t thread;
} storm_victim;

static void *storm_run(void *user)
{
    storm_victim *const victim = user;
    const uint64_t thread = victim->thread;
    char name[16];
    snprintf(name, sizeof name, "storm %d", (int)thread);
    TS_THREAD_NAME(name);
    TS_ZONE("around");
    for (uint64_t step = 0; step < STORM_STEPS; step++) {
        storm_step(thread, step);
        const uint64_t word = (thread << 40) | (step + 1);
        if (victim->pipe < 0)
            __atomic_store_n(&victim->said[thread], step + 1, __ATOMIC_RELEASE);
        else if (write(victim->pipe, &word, sizeof word) != sizeof word)
            break;
    }
    pause(); // keeps its zone open
    return NULL;
}

// Records with `threads` threads until somebody kills the process.
RT_UNUSED static void storm_victim_run(const ts_session_desc *desc,
                                       uint64_t *said, int pipe, int threads)
{
    static storm_victim victims[STORM_THREADS];
    RT_CHECK(ts_session_start(desc) == TS_OK);
    storm_define();
    for (int i = 0; i < threads; i++) {
        pthread_t thread;
        victims[i] = (storm_victim){ said, pipe, (uint64_t)i };
        RT_CHECK(!pthread_create(&thread, NULL, storm_run, &victims[i]));
    }
    for (;;)
        pause();
}

#endif // STORM_H
