/*
    trace.h - what a profiler writes of a run: a trace of each rank

    A trace may be cut at both ends, lack records, which its ledger says, and
    be on a clock of its own.
*/
#ifndef TS_TRUTH_TRACE_H
#define TS_TRUTH_TRACE_H

#define TRACESMITH_WRITER
#include "tracesmith.h"
#include "tests/checks/truth/machine.h"
#include <stdio.h>

static const char *const kernels[] = { "alpha", "beta", "gamma", "delta" };
static const char *const works[] = { "load", "resize", "tokenize", "augment" };
static const char *const calls[] = {
    [LAUNCH] = "launch",         [COPY] = "copy_async",
    [RECORD] = "event_record",   [WAIT] = "stream_wait_event",
    [SYNC] = "stream_sync",      [DRAIN] = "device_sync",
    [REDUCE] = "launch_reduce",  [POST] = "signal",
    [AWAIT] = "wait_for_signal",
};
enum { PROCESS = 1, THREAD = 10, DEVICE = 20, CONTEXT = 22, STREAM = 30 };

// What is lost of one track: a run of its records.
typedef struct loss {
    int rank, track;
    int64_t from, to;
    uint64_t count;
} loss;

static loss lost;
static uint8_t kept_of[STEPS]; // of what is shown: what the trace has

/* ---- What of the run is in the trace ------------------------------------ */

static bool operates(const step *s)
{
    return is_kernel(s) || s->kind == COPY || s->kind == REDUCE ||
           s->kind == RECORD || s->kind == WAIT || s->kind == SYNC ||
           s->kind == DRAIN;
}

static bool blocks(const step *s)
{
    return s->kind == SYNC || s->kind == DRAIN;
}

static int64_t last_end(void)
{
    int64_t last = 0;
    for (int i = 0; i < p.count; i++)
        last = later(last, later(runs[i].call_end, runs[i].end));
    return last;
}

static void find_window(void)
{
    const int64_t all = last_end();
    const int64_t from = scaled(all, p.cut_from);
    const int64_t to = p.cut_to < 1 ? scaled(all, p.cut_to) : FOREVER;
    for (int i = 0; i < p.count; i++) {
        const step *const s = &p.steps[i];
        const ran *const r = &runs[i];
        const bool called = r->call >= from && r->call_end <= to;
        const bool touches = r->end > from && r->start < to;
        const bool within = r->start >= from && r->end <= to;
        const bool operated = blocks(s)     ? called
                              : p.cut_keeps ? touches || within
                                            : within;
        shown_of[i] = (uint8_t)((called ? CALLED : 0) |
                                (operates(s) && operated ? OPERATED : 0));
    }
}

static int track_of(const step *s, int part)
{
    return part == CALLED     ? THREAD + s->thread
           : s->kind == DRAIN ? CONTEXT + device_of(s->stream)
                              : STREAM + s->stream;
}

// One track of one rank loses some records in a row.
static void find_losses(void)
{
    memcpy(kept_of, shown_of, sizeof kept_of);
    if (!p.lose) return;
    const int part = below(2) ? CALLED : OPERATED;
    const int from = below(p.count / 2);
    const int most = p.count * p.lose / 1000;
    for (int i = from; i < p.count && (int)lost.count < most; i++) {
        const step *const s = &p.steps[i];
        const ran *const r = &runs[i];
        if (!(shown_of[i] & part) || !operates(s) || blocks(s)) continue;
        const int track = track_of(s, part);
        if (!lost.count)
            lost = (loss){ s->rank, track, part == CALLED ? r->call : r->start,
                           0, 0 };
        if (s->rank != lost.rank || track != lost.track) continue;
        lost.to = part == CALLED ? r->call_end : r->end;
        lost.count++;
        kept_of[i] &= (uint8_t)~part;
    }
}

static bool is_present(int rank)
{
    return rank < p.ranks && rank != p.absent;
}

/* ---- Writing it --------------------------------------------------------- */

// A time of the run on the clock of a rank.
static int64_t clock_of(int rank, int64_t ns)
{
    return ns + p.clocks[rank].offset_ns +
           (int64_t)((double)ns * p.clocks[rank].drift);
}

static void put_event(ts_writer *w, ts_event_kind kind, int rank, int track,
                      int64_t from, int64_t to, const ts_writer_value *values,
                      size_t count)
{
    const int64_t start = clock_of(rank, from);
    ts_writer_event(w, kind, (uint32_t)track, start, clock_of(rank, to) - start,
                    values, count);
}

static void put_track(ts_writer *w, int id, uint8_t type, int parent,
                      uint64_t number)
{
    const ts_track_entry entry = { .type = type,
                                   .parent = (uint32_t)parent,
                                   .number = number };
    ts_writer_track(w, (uint32_t)id, &entry);
}

static uint32_t put_name(ts_writer *w, const char *text)
{
    return ts_writer_name(w, text, strlen(text));
}

static void put_zone(ts_writer *w, int i, int64_t from, const char *name)
{
    const step *const s = &p.steps[i];
    const ts_site_entry site = { .name = put_name(w, name) };
    const ts_writer_value value = { TS_COLUMN_SITE, ts_writer_site(w, &site) };
    put_event(w, TS_EVENT_ZONE, s->rank, THREAD + s->thread, from,
              runs[i].call_end, &value, 1);
}

static void put_call(ts_writer *w, int i)
{
    const step *const s = &p.steps[i];
    const ts_writer_value values[] = {
        { TS_COLUMN_NAME, put_name(w, calls[s->kind]) },
        { TS_COLUMN_CORRELATION, (uint64_t)i + 1 },
    };
    put_event(w, TS_EVENT_API_CALL, s->rank, THREAD + s->thread, runs[i].call,
              runs[i].call_end, values, 2);
}

typedef struct row {
    ts_writer_value list[8];
    size_t count;
} row;

static void add_value(row *v, ts_column column, uint64_t value)
{
    v->list[v->count++] = (ts_writer_value){ (uint8_t)column, value };
}

static void add_kernel(ts_writer *w, row *v, const step *s)
{
    const ts_launch_entry launch = { .name = put_name(w, kernels[s->name]),
                                     .grid = { 16, 1, 1 },
                                     .block = { 128, 1, 1 } };
    add_value(v, TS_COLUMN_LAUNCH, ts_writer_launch(w, &launch));
}

static void add_reduce(ts_writer *w, row *v, int i)
{
    const step *const s = &p.steps[i];
    add_value(v, TS_COLUMN_NAME, put_name(w, "all_reduce"));
    add_value(v, TS_COLUMN_COMMUNICATOR, 77);
    add_value(v, TS_COLUMN_SEQUENCE, (uint64_t)(i - s->rank) + 1);
    add_value(v, TS_COLUMN_RANKS, (uint64_t)p.ranks);
    add_value(v, TS_COLUMN_SIZE, s->bytes);
}

static void add_values(ts_writer *w, row *v, int i)
{
    const step *const s = &p.steps[i];
    switch (s->kind) {
    case LAUNCH:
    case NODE: add_kernel(w, v, s); break;
    case COPY:
        add_value(v, TS_COLUMN_TYPE, s->to_host ? 2 : 1);
        add_value(v, TS_COLUMN_SIZE, s->bytes);
        break;
    case WAIT:
        if (p.records) add_value(v, TS_COLUMN_RECORD, (uint64_t)s->pair + 1);
        add_value(v, TS_COLUMN_ID, (uint64_t)s->event + 1);
        break;
    case RECORD: add_value(v, TS_COLUMN_ID, (uint64_t)s->event + 1); break;
    case REDUCE: add_reduce(w, v, i); break;
    default: break;
    }
}

static void put_operation(ts_writer *w, int i)
{
    static const ts_event_kind kinds[] = {
        [LAUNCH] = TS_EVENT_KERNEL,     [NODE] = TS_EVENT_KERNEL,
        [COPY] = TS_EVENT_MEMCPY,       [RECORD] = TS_EVENT_EVENT_RECORD,
        [WAIT] = TS_EVENT_EVENT_WAIT,   [SYNC] = TS_EVENT_STREAM_SYNC,
        [DRAIN] = TS_EVENT_DEVICE_SYNC, [REDUCE] = TS_EVENT_COLLECTIVE,
    };
    const step *const s = &p.steps[i];
    const int call = s->kind == NODE ? s->pair : i;
    row v = { .count = 0 };
    add_value(&v, TS_COLUMN_CORRELATION, (uint64_t)call + 1);
    add_value(&v, TS_COLUMN_THREAD, (uint64_t)(THREAD + s->thread));
    add_values(w, &v, i);
    // A stream's sync lies on the stream that it was written for.
    put_event(w, kinds[s->kind], s->rank, track_of(s, OPERATED), runs[i].start,
              runs[i].end, v.list, v.count);
}

// The iteration as a zone of the first thread.
static void put_iteration(ts_writer *w, int i)
{
    const step *const s = &p.steps[i];
    char name[40];
    int first = i;
    while (p.steps[first].kind != BEGIN || p.steps[first].rank != s->rank)
        first--;
    if (!(kept_of[first] & CALLED)) return;
    snprintf(name, sizeof name, "ProfilerStep#%d", s->event);
    put_zone(w, i, runs[first].call, name);
}

static void put_signal(ts_writer *w, int i)
{
    const step *const s = &p.steps[i];
    if (p.awaits == AS_DEPENDENCY) {
        put_call(w, i);
        if (s->kind != AWAIT) return;
        const ts_writer_value values[] = {
            { TS_COLUMN_TYPE, 1 },
            { TS_COLUMN_CORRELATION, (uint64_t)i + 1 },
            { TS_COLUMN_RECORD, (uint64_t)s->pair + 1 },
        };
        put_event(w, TS_EVENT_DEPENDENCY, s->rank, THREAD + s->thread,
                  runs[i].call, runs[i].call, values, 3);
    } else if (p.awaits == AS_ZONE && s->kind == AWAIT) {
        put_zone(w, i, runs[i].call, "wait for another thread");
    }
}

static void put_step(ts_writer *w, int i)
{
    const step *const s = &p.steps[i];
    const bool called = kept_of[i] & CALLED;
    if (operates(s)) {
        if (called && s->kind != NODE) put_call(w, i);
        if (kept_of[i] & OPERATED) put_operation(w, i);
    } else if (called) {
        if (s->kind == WORK) put_zone(w, i, runs[i].call, works[s->name]);
        if (s->kind == END) put_iteration(w, i);
        if (s->kind == POST || s->kind == AWAIT) put_signal(w, i);
    }
}

static void put_tracks(ts_writer *w, int rank)
{
    put_track(w, PROCESS, TS_TRACK_PROCESS, 0, 100 + (uint64_t)rank);
    for (int t = 0; t < p.threads; t++)
        put_track(w, THREAD + t, TS_TRACK_THREAD, PROCESS,
                  100 * (uint64_t)(rank + 1) + (uint64_t)t);
    for (int d = 0; d < p.devices; d++) {
        put_track(w, DEVICE + d, TS_TRACK_DEVICE, PROCESS,
                  (uint64_t)(rank * p.devices + d));
        put_track(w, CONTEXT + d, TS_TRACK_CONTEXT, DEVICE + d,
                  1 + (uint64_t)d);
    }
    for (int k = 0; k < p.streams; k++)
        put_track(w, STREAM + k, TS_TRACK_STREAM, CONTEXT + device_of(k),
                  7 + (uint64_t)k);
}

static bool put_rank(const char *folder, int rank)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/rank%d.sbt", folder, rank);
    const ts_writer_desc desc = {
        .path = path,
        .session = { (uint8_t)(rank + 1) },
        .start_realtime_ns = UINT64_C(1700000000000000000),
        .process = 100 + (uint32_t)rank,
    };
    ts_writer *w;
    if (ts_writer_open(&w, &desc) != TS_OK) return false;
    put_tracks(w, rank);
    if (p.ranks > 1) {
        ts_writer_metadata(w, 0, "rank", TS_VALUE_INT, (uint64_t)rank);
        ts_writer_metadata(w, 0, "world_size", TS_VALUE_INT, (uint64_t)p.ranks);
    }
    if (lost.count && lost.rank == rank)
        ts_writer_loss(w, (uint32_t)lost.track, TS_LOSS_BACKEND, 0, lost.count,
                       clock_of(rank, lost.from), clock_of(rank, lost.to));
    for (int i = 0; i < p.count; i++)
        if (p.steps[i].rank == rank) put_step(w, i);
    return ts_writer_close(w) == TS_OK;
}

#endif // TS_TRUTH_TRACE_H
