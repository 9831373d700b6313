/*
    hostile.c - writes a trace whose values are hard to keep in tables

    hostile OUT: names that no text format likes, numbers at their ends, more
    rows than a row group of Parquet holds, texts of 64 KiB that differ.
*/
#define TRACESMITH_WRITER
#define TRACESMITH_IMPLEMENTATION
#include "tracesmith.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FRAMES = 130000, ZONES = 1000, BIG = 65535, BIG_TEXTS = 550 };

static ts_writer *writer;
static uint32_t process, thread;

// Quotes, line breaks, a zero, control characters, an emoji, and bytes that are
// no UTF-8: lone, overlong, a surrogate.
static const char hard[] = "q\",'\r\n\t\0\x01\x7f;\\ \xF0\x9F\x8E\x89 "
                           "\xFF\xC0\x80\xED\xA0\x80</x>";

static uint64_t bits(double real)
{
    uint64_t number;
    memcpy(&number, &real, sizeof number);
    return number;
}

static uint32_t name(const char *text)
{
    return ts_writer_name(writer, text, strlen(text));
}

static void sample(uint32_t counter, ts_value_type type, uint64_t value)
{
    static int64_t now;
    const ts_writer_value values[] = { { TS_COLUMN_TYPE, type },
                                       { TS_COLUMN_VALUE, value } };
    ts_writer_event(writer, TS_EVENT_COUNTER, counter, ++now, 0, values, 2);
}

// Integers that no double holds among reals, which therefore become texts.
static void counters(void)
{
    static const double reals[] = { 0.1, -0.0, 1e300, 5e-324, -2.5 };
    const ts_track_entry entry = { .type = TS_TRACK_COUNTER,
                                   .parent = process,
                                   .name = ts_writer_name(writer, hard,
                                                          sizeof hard - 1) };
    const uint32_t track = ts_writer_track(writer, 0, &entry);
    sample(track, TS_VALUE_INT, (uint64_t)INT64_MIN);
    sample(track, TS_VALUE_INT, INT64_MAX);
    sample(track, TS_VALUE_INT, (UINT64_C(1) << 53) + 1);
    for (size_t i = 0; i < sizeof reals / sizeof *reals; i++)
        sample(track, TS_VALUE_DOUBLE, bits(reals[i]));
    sample(track, TS_VALUE_DOUBLE, bits((double)NAN));
    sample(track, TS_VALUE_DOUBLE, bits((double)INFINITY));
    sample(track, TS_VALUE_DOUBLE, bits(-(double)INFINITY));
}

static void zones_and_frames(void)
{
    uint32_t sites[4];
    const uint32_t names[] = { ts_writer_name(writer, hard, sizeof hard - 1),
                               name("plain"), name("\xC3\xA9t\xC3\xA9"),
                               name("") };
    for (size_t i = 0; i < 4; i++) {
        const ts_site_entry site = { .name = names[i],
                                     .category = names[3 - i],
                                     .line = UINT32_MAX };
        sites[i] = ts_writer_site(writer, &site);
    }
    for (int64_t i = 0; i < FRAMES; i++) {
        const ts_writer_value value = { TS_COLUMN_SITE, sites[i * i % 7 % 4] };
        ts_writer_event(writer, TS_EVENT_FRAME, thread, i, 0, &value, 1);
        if (i >= ZONES) continue;
        ts_writer_event(writer, TS_EVENT_ZONE, thread, 10 * i, 5 + i % 5,
                        &value, 1);
    }
    // As far away as a trace goes.
    const ts_writer_value value = { TS_COLUMN_SITE, sites[1] };
    ts_writer_event(writer, TS_EVENT_ZONE, thread, -(INT64_C(1) << 61), 1,
                    &value, 1);
    ts_writer_event(writer, TS_EVENT_ZONE, thread, INT64_C(1) << 61, 1, &value,
                    1);
}

static void messages(void)
{
    static char text[BIG];
    memset(text, 'x', sizeof text);
    for (int i = 0; i < BIG_TEXTS; i++) {
        text[snprintf(text, sizeof text, "%d", i)] = 'x'; // no zero
        ts_writer_event_text(writer, TS_EVENT_MESSAGE, thread, i, 0, NULL, 0,
                             text, sizeof text);
    }
    ts_writer_event_text(writer, TS_EVENT_MESSAGE, thread, 0, 0, NULL, 0, hard,
                         sizeof hard - 1);
    ts_writer_event_text(writer, TS_EVENT_MESSAGE, thread, 0, 0, NULL, 0, "",
                         0);
}

static void blocks(void)
{
    const ts_writer_value values[] = { { TS_COLUMN_ADDRESS, UINT64_MAX },
                                       { TS_COLUMN_SIZE, INT64_MAX } };
    ts_writer_event(writer, TS_EVENT_ALLOC, thread, 0, 0, values, 2);
}

int main(int argc, char **argv)
{
    const ts_writer_desc desc = { .path = argc > 1 ? argv[1] : NULL };
    if (ts_writer_open(&writer, &desc) != TS_OK) return 1;
    const ts_track_entry a_process = { .type = TS_TRACK_PROCESS, .number = 1 };
    process = ts_writer_track(writer, 0, &a_process);
    const ts_track_entry a_thread = { .type = TS_TRACK_THREAD,
                                      .parent = process,
                                      .number = UINT64_MAX };
    thread = ts_writer_track(writer, 0, &a_thread);
    counters();
    zones_and_frames();
    messages();
    blocks();
    return ts_writer_close(writer) == TS_OK ? 0 : 1;
}
