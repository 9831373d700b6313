/*
    program.c - programs whose truth is known: a trace, and what is so

        program SEED MOOD FOLDER

    Makes a random program of threads, streams, events, copies and collectives
    on one or two ranks, runs it on a machine of its own in virtual time, and
    writes a trace of each rank (FOLDER/rank0.sbt, ...) and the truth about it
    (FOLDER/truth.json): when devices worked, what each idle gap waited for,
    and how long the program takes with something changed, found by changing
    the program and running it again. Nothing of what ts-analyze and ts-replay
    use is in here but the writer of traces.

    The machine: a step of a thread takes its time; a launch reaches the device
    LATENCY after it began; operations of a stream run in order, those of
    different streams side by side; an event's wait and a thread that is woken
    take a little. All steps are made in one order in which none waits for a
    later one, so that one pass over them is the run.
*/
#define TRACESMITH_WRITER
#include "tracesmith.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    RANKS = 2,
    THREADS = 3, // of a rank
    STREAMS = 3,
    EVENTS = 64,
    STEPS = 20000,
    CALL_NS = 4000,    // a launch, of the host
    SHORT_NS = 900,    // a record, a wait, an asynchronous call else
    LATENCY_NS = 6000, // from a launch's begin to the device
    EVENT_NS = 1100,   // from a recorded event to who waits for it
    WAKE_NS = 2300,    // from what a thread waits for to its going on
    COPY_NS = 1500,    // of a copy, beside its bytes
    PAUSE_NS = 700,    // from one operation of a stream to the next
    NONE = -1
};

/* ==== 1. A program ======================================================= */

typedef enum kind {
    WORK,   // of the host, in a zone
    LAUNCH, // of a kernel
    COPY,   // asynchronous
    RECORD, // of an event
    WAIT,   // of a stream for an event
    SYNC,   // with a stream
    DRAIN,  // with the device
    POST,   // a thread tells others that it got here
    AWAIT,  // a thread waits for that
    REDUCE, // a collective of all ranks
    BEGIN,  // of an iteration, by rank's first thread
    END
} kind;

typedef struct step {
    kind kind;
    int rank, thread, stream;
    int event; // RECORD, WAIT; POST, AWAIT: which; REDUCE: which
    int name;  // WORK, LAUNCH
    int64_t ns;
    uint64_t bytes; // COPY
    bool to_host;   // COPY
} step;

typedef struct mood {
    const char *name;
    int64_t work_ns, kernel_ns;
    uint64_t copy_bytes;
    int works, launches, copies, reduces; // of ten steps, how many of each
    int syncs;                            // of a hundred
} mood;

static const mood moods[] = {
    { "kernels", 8000, 60000, 1 << 16, 1, 8, 1, 0, 1 },
    { "host", 90000, 12000, 1 << 16, 4, 5, 1, 0, 4 },
    { "launches", 300, 1500, 1 << 12, 1, 9, 0, 0, 1 },
    { "copies", 6000, 9000, 16 << 20, 1, 3, 6, 0, 3 },
    { "network", 6000, 20000, 1 << 16, 1, 6, 0, 3, 1 },
    { "mixed", 20000, 20000, 1 << 18, 3, 5, 1, 1, 6 },
};
enum { MOODS = sizeof moods / sizeof *moods };

static step steps[STEPS];
static int step_count, ranks, threads, streams;
static uint64_t state; // of the generator of numbers

// SplitMix64. Source: Steele, Lea, Flood, "Fast splittable pseudorandom number
// generators", 2014.
static uint64_t draw(void)
{
    uint64_t z = state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

static int below(int n)
{
    return (int)(draw() % (uint64_t)n);
}

// Half to one and a half of a time.
static int64_t around(int64_t ns)
{
    return ns / 2 + (int64_t)(draw() % (uint64_t)(ns + 1));
}

static void add(step s)
{
    if (step_count < STEPS) steps[step_count++] = s;
}

// One iteration of a body is the same for all ranks, so that they meet in the
// same collectives; times differ.
static void add_all(step s)
{
    for (s.rank = 0; s.rank < ranks; s.rank++) {
        step one = s;
        if (s.ns) one.ns = around(s.ns);
        add(one);
    }
}

// A stream belongs to a thread: two threads never launch into one.
static int stream_of(int thread)
{
    return thread + threads * below((streams + threads - 1 - thread) / threads);
}

static int make_signal(step *to, int thread, int other, int event)
{
    to[0] = (step){ .kind = POST, .thread = thread, .event = event };
    to[1] = (step){ .kind = AWAIT, .thread = other, .event = event };
    return 2;
}

// A stream waits for an event of another one. Its thread must know that the
// event was recorded.
static int make_event(step *to, int thread, int stream, int event)
{
    const int other = below(streams), waiter = other % threads;
    int count = 0;
    to[count++] = (step){
        .kind = RECORD, .thread = thread, .stream = stream, .event = event
    };
    if (waiter != thread)
        count += make_signal(to + count, thread, waiter, event);
    to[count++] = (step){
        .kind = WAIT, .thread = waiter, .stream = other, .event = event
    };
    return count;
}

// Body steps are drawn once; iterations repeat them.
static void make_body(const mood *m, step *body, int count)
{
    int event = 0;
    for (int i = 0; i < count; i++) {
        const int thread = below(threads), pick = below(10);
        const int stream = stream_of(thread);
        step s = { .thread = thread, .stream = stream, .name = below(4) };
        if (below(100) < m->syncs) {
            s.kind = threads > 1 || below(3) ? SYNC : DRAIN;
        } else if (pick < m->works) {
            s.kind = WORK, s.ns = m->work_ns;
        } else if (pick < m->works + m->launches) {
            s.kind = LAUNCH, s.ns = m->kernel_ns * (1 + s.name) / 2;
        } else if (pick < m->works + m->launches + m->copies) {
            s.kind = COPY, s.bytes = m->copy_bytes, s.to_host = below(2);
        } else {
            s.kind = ranks > 1 ? REDUCE : WORK;
            s.thread = 0, s.stream = 0;
            s.ns = ranks > 1 ? m->kernel_ns * 2 : m->work_ns;
        }
        body[i] = s;
        if (i + 4 < count && !below(6) && event < EVENTS / 2)
            i += make_event(body + i + 1, thread, stream, event++);
        else if (i + 2 < count && threads > 1 && !below(8) &&
                 event < EVENTS / 2)
            i += make_signal(body + i + 1, thread,
                             (thread + 1 + below(threads - 1)) % threads,
                             event++);
    }
}

// A thread waits for its streams. What a device's synchronisation waits for
// hangs on how far other threads are, which one pass does not know.
static void add_syncs(int thread)
{
    if (threads == 1)
        add_all((step){ .kind = DRAIN });
    else
        for (int k = thread; k < streams; k += threads)
            add_all((step){ .kind = SYNC, .thread = thread, .stream = k });
}

static void make(const mood *m)
{
    enum { BODY = 60 };
    step body[BODY];
    ranks = m->reduces ? 2 : 1 + below(2);
    threads = 1 + below(THREADS);
    streams = threads + below(STREAMS - threads + 1);
    const int count = 12 + below(BODY - 12), iterations = 8 + below(10);
    make_body(m, body, count);
    for (int i = 0; i < iterations; i++) {
        add_all((step){ .kind = BEGIN, .event = i });
        for (int k = 0; k < count; k++)
            add_all(body[k]);
        if (m->syncs > 2) add_syncs(0);
        add_all((step){ .kind = END, .event = i });
    }
    for (int t = 0; t < threads; t++)
        add_syncs(t);
}

/* ==== 2. A change ======================================================== */

// What a program's times are multiplied by.
typedef struct change {
    const char *text;  // as ts-replay --what-if says it, or the category of
                       // the critical path that takes no time
    double work, call; // of the host: in zones, in calls
    double kernel[4];  // by name
    double copy, network;
    double rank1; // everything of rank 1
} change;

#define KERNELS(a, b, c, d) .kernel = { a, b, c, d }
static const change as_it_is = { "", 1, 1, KERNELS(1, 1, 1, 1), 1, 1, 1 };
static const change what_ifs[] = {
    { "host 0.5", 0.5, 0.5, KERNELS(1, 1, 1, 1), 1, 1, 1 },
    { "scale ^alpha$=0.5", 1, 1, KERNELS(0.5, 1, 1, 1), 1, 1, 1 },
    { "scale kernel~.=0.5", 1, 1, KERNELS(0.5, 0.5, 0.5, 0.5), 1, 1, 1 },
    { "scale ^delta$=2", 1, 1, KERNELS(1, 1, 1, 2), 1, 1, 1 },
};
static const change frees[] = {
    { "host", 0, 0, KERNELS(1, 1, 1, 1), 1, 1, 1 },
    { "compute", 1, 1, KERNELS(0, 0, 0, 0), 1, 1, 1 },
    { "copy", 1, 1, KERNELS(1, 1, 1, 1), 0, 1, 1 },
    { "communication", 1, 1, KERNELS(1, 1, 1, 1), 1, 0, 1 },
};
enum {
    WHAT_IFS = sizeof what_ifs / sizeof *what_ifs,
    FREES = sizeof frees / sizeof *frees
};

/* ==== 3. The machine ===================================================== */

typedef struct ran {        // a step
    int64_t call, call_end; // on the host; call_end: when it goes on
    int64_t start, end;     // on the device, or of what a sync waited for
    int bound;              // step that held the operation's start; NONE: its
                            // own call
    int record;             // WAIT: for this step
} ran;

static ran runs[STEPS];
static int64_t thread_at[RANKS][THREADS];
static int64_t stream_at[RANKS][STREAMS]; // when the next can start
static int stream_last[RANKS][STREAMS];   // step that set it
static int64_t event_at[RANKS][EVENTS];
static int event_step[RANKS][EVENTS];
static int64_t post_at[RANKS][EVENTS];

static int64_t scaled(int64_t ns, double by)
{
    return (int64_t)((double)ns * by + 0.5);
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static void issue(int i, int64_t ns, double by, const change *c)
{
    const step *const s = &steps[i];
    const double slow = s->rank ? c->rank1 : 1;
    ran *const r = &runs[i];
    r->call = thread_at[s->rank][s->thread];
    r->call_end = r->call + scaled(ns, by * slow);
    thread_at[s->rank][s->thread] = r->call_end;
}

static void operate(int i, int64_t duration)
{
    const step *const s = &steps[i];
    ran *const r = &runs[i];
    const int64_t ready = r->call + LATENCY_NS;
    const int64_t after = stream_at[s->rank][s->stream];
    r->start = later(ready, after);
    r->bound = after > ready ? stream_last[s->rank][s->stream] : NONE;
    r->end = r->start + duration;
    stream_at[s->rank][s->stream] = r->end + PAUSE_NS;
    stream_last[s->rank][s->stream] = i;
}

static void block(int i, int64_t until)
{
    const step *const s = &steps[i];
    ran *const r = &runs[i];
    r->start = r->call;
    r->end = later(until, r->call);
    r->call_end = later(until + WAKE_NS, r->call_end);
    thread_at[s->rank][s->thread] = r->call_end;
}

// What was launched into a stream by now is done at that time.
static int64_t done(int rank, int stream)
{
    const int last = stream_last[rank][stream];
    return last == NONE ? 0 : runs[last].end;
}

static void reduce(int i, const change *c)
{
    const step *const s = &steps[i];
    operate(i, 0);
    if (s->rank + 1 < ranks) return; // the others are the steps before
    int64_t last = 0;
    for (int r = 0; r < ranks; r++)
        last = later(last, runs[i - r].start);
    const int64_t end = last + scaled(s->ns, c->network);
    for (int r = 0; r < ranks; r++) {
        const step *const other = &steps[i - r];
        runs[i - r].end = end;
        stream_at[other->rank][other->stream] = end + PAUSE_NS;
    }
}

static void run_step(int i, const change *c)
{
    const step *const s = &steps[i];
    ran *const r = &runs[i];
    *r = (ran){ .bound = NONE };
    switch (s->kind) {
    case WORK: issue(i, s->ns, c->work, c); break;
    case BEGIN:
    case END: issue(i, 0, c->call, c); break;
    case LAUNCH:
        issue(i, CALL_NS, c->call, c);
        operate(i, scaled(s->ns, c->kernel[s->name]));
        break;
    case COPY:
        issue(i, CALL_NS, c->call, c);
        operate(i, scaled(COPY_NS + (int64_t)(s->bytes / 16), c->copy));
        break;
    case REDUCE:
        issue(i, CALL_NS, c->call, c);
        reduce(i, c);
        break;
    case RECORD:
        issue(i, SHORT_NS, c->call, c);
        operate(i, 0);
        event_at[s->rank][s->event] = r->end;
        event_step[s->rank][s->event] = i;
        break;
    case WAIT: {
        issue(i, SHORT_NS, c->call, c);
        operate(i, 0);
        r->record = event_step[s->rank][s->event];
        const int64_t until = event_at[s->rank][s->event] + EVENT_NS;
        r->end = later(r->end, until);
        stream_at[s->rank][s->stream] = r->end + PAUSE_NS;
        break;
    }
    case SYNC:
        issue(i, SHORT_NS, c->call, c);
        block(i, done(s->rank, s->stream));
        break;
    case DRAIN: {
        int64_t until = 0;
        issue(i, SHORT_NS, c->call, c);
        for (int k = 0; k < streams; k++)
            until = later(until, done(s->rank, k));
        block(i, until);
        break;
    }
    case POST:
        issue(i, 0, c->call, c);
        post_at[s->rank][s->event] = r->call;
        break;
    case AWAIT:
        issue(i, SHORT_NS, c->call, c);
        r->call_end = later(r->call_end, post_at[s->rank][s->event] + WAKE_NS);
        thread_at[s->rank][s->thread] = r->call_end;
        break;
    }
}

static void run(const change *c)
{
    memset(thread_at, 0, sizeof thread_at);
    memset(stream_at, 0, sizeof stream_at);
    for (int r = 0; r < RANKS; r++)
        for (int s = 0; s < STREAMS; s++)
            stream_last[r][s] = NONE;
    for (int i = 0; i < step_count; i++)
        run_step(i, c);
}

/* ==== 4. Traces ========================================================== */

static const char *const kernels[] = { "alpha", "beta", "gamma", "delta" };
static const char *const works[] = { "load", "resize", "tokenize", "augment" };
static const char *const calls[] = {
    [LAUNCH] = "launch",        [COPY] = "copy_async",
    [RECORD] = "event_record",  [WAIT] = "stream_wait_event",
    [SYNC] = "stream_sync",     [DRAIN] = "device_sync",
    [REDUCE] = "launch_reduce",
};
enum { PROCESS = 1, THREAD = 10, DEVICE = 20, CONTEXT = 21, STREAM = 30 };

static void put_track(ts_writer *w, uint32_t id, uint8_t type, uint32_t parent,
                      uint64_t number)
{
    const ts_track_entry entry = { .type = type,
                                   .parent = parent,
                                   .number = number };
    ts_writer_track(w, id, &entry);
}

static uint32_t put_name(ts_writer *w, const char *text)
{
    return ts_writer_name(w, text, strlen(text));
}

static void put_zone(ts_writer *w, const step *s, const ran *r,
                     const char *name)
{
    const ts_site_entry site = { .name = put_name(w, name) };
    const ts_writer_value value = { TS_COLUMN_SITE, ts_writer_site(w, &site) };
    ts_writer_event(w, TS_EVENT_ZONE, THREAD + (uint32_t)s->thread, r->call,
                    r->call_end - r->call, &value, 1);
}

static void put_call(ts_writer *w, const step *s, const ran *r, uint64_t number)
{
    const ts_writer_value values[] = {
        { TS_COLUMN_NAME, put_name(w, calls[s->kind]) },
        { TS_COLUMN_CORRELATION, number },
    };
    ts_writer_event(w, TS_EVENT_API_CALL, THREAD + (uint32_t)s->thread, r->call,
                    r->call_end - r->call, values, 2);
}

static void put_operation(ts_writer *w, int i)
{
    const step *const s = &steps[i];
    const ran *const r = &runs[i];
    static const ts_event_kind kinds[] = {
        [LAUNCH] = TS_EVENT_KERNEL,       [COPY] = TS_EVENT_MEMCPY,
        [RECORD] = TS_EVENT_EVENT_RECORD, [WAIT] = TS_EVENT_EVENT_WAIT,
        [SYNC] = TS_EVENT_STREAM_SYNC,    [DRAIN] = TS_EVENT_DEVICE_SYNC,
        [REDUCE] = TS_EVENT_COLLECTIVE,
    };
    const ts_launch_entry launch = { .name = put_name(w, kernels[s->name]),
                                     .grid = { 16, 1, 1 },
                                     .block = { 128, 1, 1 } };
    ts_writer_value v[8] = {
        { TS_COLUMN_CORRELATION, (uint64_t)i + 1 },
        { TS_COLUMN_THREAD, THREAD + (uint32_t)s->thread },
    };
    size_t n = 2;
    const uint64_t event = (uint64_t)s->event + 1;
    switch (s->kind) {
    case LAUNCH:
        v[n++] =
            (ts_writer_value){ TS_COLUMN_LAUNCH, ts_writer_launch(w, &launch) };
        break;
    case COPY:
        v[n++] = (ts_writer_value){ TS_COLUMN_TYPE, s->to_host ? 2 : 1 };
        v[n++] = (ts_writer_value){ TS_COLUMN_SIZE, s->bytes };
        break;
    case RECORD: v[n++] = (ts_writer_value){ TS_COLUMN_ID, event }; break;
    case WAIT:
        v[n++] = (ts_writer_value){ TS_COLUMN_ID, event };
        v[n++] = (ts_writer_value){ TS_COLUMN_RECORD, (uint64_t)r->record + 1 };
        break;
    case REDUCE:
        v[n++] = (ts_writer_value){ TS_COLUMN_NAME, put_name(w, "all_reduce") };
        v[n++] = (ts_writer_value){ TS_COLUMN_COMMUNICATOR, 77 };
        v[n++] = (ts_writer_value){ TS_COLUMN_SEQUENCE,
                                    (uint64_t)(i - s->rank) + 1 };
        v[n++] = (ts_writer_value){ TS_COLUMN_RANKS, (uint64_t)ranks };
        v[n++] = (ts_writer_value){ TS_COLUMN_SIZE, 1 << 20 };
        break;
    default: break;
    }
    const uint32_t track =
        s->kind == DRAIN ? CONTEXT : STREAM + (uint32_t)s->stream;
    ts_writer_event(w, kinds[s->kind], track, r->start, r->end - r->start, v,
                    n);
}

static void put_step(ts_writer *w, int i)
{
    const step *const s = &steps[i];
    char name[40];
    switch (s->kind) {
    case WORK: put_zone(w, s, &runs[i], works[s->name]); break;
    case AWAIT: put_zone(w, s, &runs[i], "wait for another thread"); break;
    case POST: break;
    case BEGIN: break;
    case END: {
        // The iteration as a zone of the first thread.
        int first = i;
        while (steps[first].kind != BEGIN || steps[first].rank != s->rank ||
               steps[first].event != s->event)
            first--;
        const ran all = { .call = runs[first].call, .call_end = runs[i].call };
        snprintf(name, sizeof name, "ProfilerStep#%d", s->event);
        put_zone(w, s, &all, name);
        break;
    }
    default: put_call(w, s, &runs[i], (uint64_t)i + 1); put_operation(w, i);
    }
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
    put_track(w, PROCESS, TS_TRACK_PROCESS, 0, 100 + (uint64_t)rank);
    for (int t = 0; t < threads; t++)
        put_track(w, THREAD + (uint32_t)t, TS_TRACK_THREAD, PROCESS,
                  100 * (uint64_t)(rank + 1) + (uint64_t)t);
    put_track(w, DEVICE, TS_TRACK_DEVICE, PROCESS, (uint64_t)rank);
    put_track(w, CONTEXT, TS_TRACK_CONTEXT, DEVICE, 1);
    for (int k = 0; k < streams; k++)
        put_track(w, STREAM + (uint32_t)k, TS_TRACK_STREAM, CONTEXT,
                  7 + (uint64_t)k);
    if (ranks > 1) {
        ts_writer_metadata(w, 0, "rank", TS_VALUE_INT, (uint64_t)rank);
        ts_writer_metadata(w, 0, "world_size", TS_VALUE_INT, (uint64_t)ranks);
    }
    for (int i = 0; i < step_count; i++)
        if (steps[i].rank == rank) put_step(w, i);
    return ts_writer_close(w) == TS_OK;
}

/* ==== 5. The truth ======================================================= */

static bool works_on_device(const step *s)
{
    return s->kind == LAUNCH || s->kind == COPY || s->kind == REDUCE;
}

static bool is_operation(const step *s)
{
    return works_on_device(s) || s->kind == RECORD || s->kind == WAIT ||
           s->kind == SYNC || s->kind == DRAIN;
}

static int64_t makespan(void)
{
    int64_t first = INT64_MAX, last = 0;
    for (int i = 0; i < step_count; i++) {
        if (!is_operation(&steps[i])) continue;
        if (runs[i].start < first) first = runs[i].start;
        last = later(last, runs[i].end);
    }
    return last - first;
}

// The step whose work, or call, held what begins at `i`; *by_call tells which.
static int culprit(int i, bool *by_call)
{
    for (*by_call = false;;) {
        const step *const s = &steps[i];
        if (s->kind == WAIT) {
            const int record = runs[i].record;
            if (runs[record].end + EVENT_NS > runs[i].start) {
                i = record;
                if (runs[i].bound == NONE) break;
                i = runs[i].bound;
                if (works_on_device(&steps[i])) return i;
                continue;
            }
        }
        if (runs[i].bound == NONE) break;
        i = runs[i].bound;
        if (works_on_device(&steps[i])) return i;
    }
    *by_call = true;
    return i;
}

static int64_t blocked(int thread, int rank, int64_t from, int64_t to)
{
    int64_t sum = 0;
    for (int i = 0; i < step_count; i++) {
        const step *const s = &steps[i];
        const ran *const r = &runs[i];
        if (s->rank == rank && s->thread == thread &&
            (s->kind == SYNC || s->kind == DRAIN) && r->call_end > from &&
            r->call_end <= to)
            sum += r->call_end - r->call;
    }
    return sum;
}

static const char *cause_of(int i, int64_t gap)
{
    bool by_call;
    const int why = culprit(i, &by_call);
    const step *const s = &steps[why];
    if (by_call) {
        const int64_t call = runs[why].call;
        if (call <= gap) return "launch_latency";
        return call - gap <= blocked(s->thread, s->rank, gap, call)
                   ? "host_sync"
                   : "host_late";
    }
    if (s->stream == steps[i].stream) return "launch_latency";
    return s->kind == COPY     ? "copy"
           : s->kind == REDUCE ? "collective"
                               : "other_stream";
}

static int by_start(const void *a, const void *b)
{
    const int i = *(const int *)a, k = *(const int *)b;
    if (runs[i].start != runs[k].start)
        return runs[i].start < runs[k].start ? -1 : 1;
    return (i > k) - (i < k);
}

static void tell_device(FILE *out, int rank)
{
    static const char *const causes[] = { "host_late",      "host_sync",
                                          "launch_latency", "other_stream",
                                          "copy",           "collective" };
    enum { CAUSES = sizeof causes / sizeof *causes };
    static int order[STEPS];
    int count = 0;
    int64_t idle[CAUSES] = { 0 }, busy = 0;
    for (int i = 0; i < step_count; i++)
        if (steps[i].rank == rank && works_on_device(&steps[i]) &&
            runs[i].end > runs[i].start)
            order[count++] = i;
    qsort(order, (size_t)count, sizeof *order, by_start);
    int64_t reached = count ? runs[order[0]].start : 0;
    for (int k = 0; k < count; k++) {
        const ran *const r = &runs[order[k]];
        if (r->start > reached) {
            const char *const cause = cause_of(order[k], reached);
            for (int c = 0; c < CAUSES; c++)
                if (!strcmp(cause, causes[c])) idle[c] += r->start - reached;
            reached = r->start;
        }
        if (r->end > reached) busy += r->end - reached, reached = r->end;
    }
    fprintf(out,
            "    { \"rank\": %d, \"operations\": %d, \"busy_ns\": %" PRId64
            ", \"span_ns\": %" PRId64 ", \"idle_ns\": {",
            rank, count, busy, count ? reached - runs[order[0]].start : 0);
    for (int c = 0; c < CAUSES; c++)
        fprintf(out, "%s \"%s\": %" PRId64, c ? "," : "", causes[c], idle[c]);
    fprintf(out, " } }%s\n", rank + 1 < ranks ? "," : "");
}

// How long the program takes with each change.
static void tell_changes(FILE *out, const char *title, const change *c,
                         int count)
{
    fprintf(out, "  \"%s\": {", title);
    for (int i = 0; i < count; i++) {
        run(&c[i]);
        fprintf(out, "%s\n    \"%s\": %" PRId64, i ? "," : "", c[i].text,
                makespan());
    }
    fprintf(out, "\n  }");
}

static void tell(FILE *out, const mood *m)
{
    fprintf(out,
            "{\n  \"mood\": \"%s\", \"ranks\": %d, \"threads\": %d, "
            "\"streams\": %d,\n  \"makespan_ns\": %" PRId64 ",\n"
            "  \"devices\": [\n",
            m->name, ranks, threads, streams, makespan());
    for (int r = 0; r < ranks; r++)
        tell_device(out, r);
    fprintf(out, "  ],\n");
    tell_changes(out, "what_ifs", what_ifs, WHAT_IFS);
    fprintf(out, ",\n");
    tell_changes(out, "free", frees, FREES);
    fprintf(out, "\n}\n");
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: program SEED MOOD FOLDER\n");
        return 2;
    }
    const mood *m = NULL;
    for (int i = 0; i < MOODS; i++)
        if (!strcmp(argv[2], moods[i].name)) m = &moods[i];
    if (!m) {
        fprintf(stderr, "program: there is no mood '%s'\n", argv[2]);
        return 2;
    }
    state = strtoull(argv[1], NULL, 10);
    make(m);
    run(&as_it_is);
    for (int r = 0; r < ranks; r++)
        if (!put_rank(argv[3], r)) return 1;
    char path[4096];
    snprintf(path, sizeof path, "%s/truth.json", argv[3]);
    FILE *const out = fopen(path, "w");
    if (!out) return 1;
    tell(out, m);
    return fclose(out) == 0 ? 0 : 1;
}
