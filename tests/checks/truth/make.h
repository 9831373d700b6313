/*
    make.h - random programs of threads, streams, events and collectives

    A program is a list of steps. Each thread does its own in the order of the
    list; what it waits for always comes before it in the list.
*/
#ifndef TS_TRUTH_MAKE_H
#define TS_TRUTH_MAKE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
    RANKS = 3,
    THREADS = 3, // of a rank
    STREAMS = 6, // of a rank
    DEVICES = 2, // of a rank
    EVENTS = 64,
    NAMES = 4, // of kernels, of work
    STEPS = 20000,
    NONE = -1
};

typedef enum step_kind {
    WORK,   // of the host, in a zone
    LAUNCH, // of a kernel, or of a graph: the nodes behind it
    NODE,   // a further kernel of that graph
    COPY,   // asynchronous
    RECORD, // of an event
    WAIT,   // of a stream for an event
    SYNC,   // with a stream
    DRAIN,  // with a device
    POST,   // a thread tells others that it got here
    AWAIT,  // a thread waits for that
    REDUCE, // a collective of all ranks
    BEGIN,  // of an iteration, by a rank's first thread
    END
} step_kind;

typedef struct step {
    step_kind kind;
    int rank, thread, stream;
    int event; // RECORD, WAIT, POST, AWAIT: which; BEGIN, END: iteration
    int name;  // WORK, LAUNCH, NODE
    int nodes; // LAUNCH: that follow
    int pair;  // step: WAIT: its record, AWAIT: its post, NODE: its launch
    int64_t ns;
    uint64_t bytes; // COPY, REDUCE
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
    { "copies", 6000, 9000, 4 << 20, 1, 3, 6, 0, 3 },
    { "network", 6000, 20000, 1 << 16, 1, 6, 0, 3, 1 },
    { "mixed", 20000, 20000, 1 << 18, 3, 5, 1, 1, 6 },
};
enum { MOODS = sizeof moods / sizeof *moods };

// How a thread's wait for another shows in the trace.
typedef enum shown {
    AS_ZONE,       // a zone of its own, which does not say for whom
    AS_NOTHING,    // as time in which nothing is recorded
    AS_DEPENDENCY, // two calls, and what the second one waited for
    SHOWN
} shown;

typedef struct program {
    step steps[STEPS];
    int count, ranks, threads, streams, devices;
    int engines;  // for copies, of each direction of a device; 0: enough
    shown awaits; // how they show
    bool records; // waits name the record that they wait for
    double slow;  // what the last rank's times are multiplied by
    struct {
        int64_t offset_ns; // to the first rank's
        double drift;
    } clocks[RANKS];
    double cut_from, cut_to; // the trace: of the run; 0 to 1: all of it
    bool cut_keeps;          // operations that the cut goes through
    int lose;                // of a thousand records of one track
    int absent;              // rank without a trace; NONE: all have one
} program;

static program p;
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

static int device_of(int stream)
{
    return stream * p.devices / p.streams;
}

/* ---- The steps ---------------------------------------------------------- */

static void add(step s)
{
    if (p.count < STEPS) p.steps[p.count++] = s;
}

// One iteration of a body is the same for all ranks, so that they meet in the
// same collectives; times differ.
static void add_all(step s)
{
    for (s.rank = 0; s.rank < p.ranks; s.rank++) {
        step one = s;
        if (s.ns) one.ns = around(s.ns);
        add(one);
    }
}

// A stream belongs to a thread: two threads never launch into one.
static int stream_of(int thread)
{
    const int own = (p.streams + p.threads - 1 - thread) / p.threads;
    return thread + p.threads * below(own);
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
    const int other = below(p.streams), waiter = other % p.threads;
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

static int make_graph(step *to, const mood *m, step s)
{
    s.nodes = 1 + below(3);
    to[0] = s;
    for (int i = 1; i <= s.nodes; i++) {
        to[i] = s;
        to[i].kind = NODE;
        to[i].nodes = 0;
        to[i].name = 2 + below(2);
        to[i].ns = m->kernel_ns * (1 + to[i].name) / 2;
    }
    return 1 + s.nodes;
}

static step make_step(const mood *m, int thread)
{
    const int pick = below(10);
    step s = { .thread = thread, .stream = stream_of(thread) };
    s.name = below(NAMES);
    if (below(100) < m->syncs) {
        s.kind = below(3) ? SYNC : DRAIN;
    } else if (pick < m->works) {
        s.kind = WORK, s.ns = m->work_ns;
    } else if (pick < m->works + m->launches) {
        s.kind = LAUNCH, s.ns = m->kernel_ns * (1 + s.name) / 2;
    } else if (pick < m->works + m->launches + m->copies) {
        s.kind = COPY, s.to_host = below(2);
        s.bytes = m->copy_bytes * (uint64_t)(1 + below(4));
    } else if (p.ranks > 1) {
        s.kind = REDUCE, s.thread = 0, s.stream = 0;
        s.bytes = (uint64_t)(m->kernel_ns * (1 + below(4)) * 8);
    } else {
        s.kind = WORK, s.ns = m->work_ns;
    }
    return s;
}

// Body steps are drawn once; iterations repeat them.
static void make_body(const mood *m, step *body, int count)
{
    int event = 0;
    for (int i = 0; i < count; i++) {
        const int thread = below(p.threads);
        const step s = make_step(m, thread);
        body[i] = s;
        if (s.kind == LAUNCH && s.name > 1 && i + 4 < count && !below(4))
            i += make_graph(body + i, m, s) - 1;
        else if (i + 4 < count && !below(6) && event < EVENTS / 2)
            i += make_event(body + i + 1, thread, stream_of(thread), event++);
        else if (i + 2 < count && p.threads > 1 && !below(8) &&
                 event < EVENTS / 2)
            i += make_signal(body + i + 1, thread,
                             (thread + 1 + below(p.threads - 1)) % p.threads,
                             event++);
    }
}

// A thread waits for its streams, or for all of a device.
static void add_syncs(int thread)
{
    for (int k = thread; k < p.streams; k += p.threads)
        add_all((step){
            .kind = below(2) ? SYNC : DRAIN, .thread = thread, .stream = k });
}

// What each step that needs another one goes back to.
static void link_steps(void)
{
    static int record[RANKS][EVENTS], post[RANKS][EVENTS];
    static int launch[RANKS][THREADS];
    for (int i = 0; i < p.count; i++) {
        step *const s = &p.steps[i];
        switch (s->kind) {
        case RECORD: record[s->rank][s->event] = i; break;
        case POST: post[s->rank][s->event] = i; break;
        case LAUNCH: launch[s->rank][s->thread] = i; break;
        case WAIT: s->pair = record[s->rank][s->event]; break;
        case AWAIT: s->pair = post[s->rank][s->event]; break;
        case NODE: s->pair = launch[s->rank][s->thread]; break;
        default: break;
        }
    }
}

/* ---- What else is so ---------------------------------------------------- */

static void make_clocks(void)
{
    if (!below(2)) return;
    for (int r = 1; r < p.ranks; r++) {
        p.clocks[r].offset_ns = below(50000000);
        p.clocks[r].drift = (below(81) - 40) * 1e-6;
    }
}

static void make_record(void)
{
    p.awaits = (shown)below(SHOWN);
    p.records = p.threads > 1 || below(4);
    p.cut_to = 1;
    if (!below(4)) p.cut_from = 0.2 + below(30) / 100.0;
    if (!below(4)) p.cut_to = 0.6 + below(30) / 100.0;
    p.cut_keeps = below(2);
    p.lose = below(6) ? 0 : 10 + below(30);
    p.absent = p.ranks > 1 && !below(6) ? p.ranks - 1 : NONE;
}

static bool meets(void)
{
    for (int i = 0; i < p.count; i++)
        if (p.steps[i].kind == REDUCE) return true;
    return false;
}

static void make(const mood *m)
{
    enum { BODY = 60 };
    step body[BODY];
    p.ranks = m->reduces ? 2 + !below(4) : 1 + below(2);
    p.threads = below(2) ? 1 : 1 + below(THREADS);
    p.devices = 1 + !below(3);
    p.streams = p.threads + below(STREAMS / 2 - p.threads + 1);
    p.streams *= p.devices;
    p.engines = below(3) ? 0 : 1;
    p.slow = below(4) ? 1 : 1.2 + below(4) / 10.0;
    const int count = 12 + below(BODY - 12), iterations = 6 + below(8);
    make_body(m, body, count);
    for (int i = 0; i < iterations; i++) {
        add_all((step){ .kind = BEGIN, .event = i });
        for (int k = 0; k < count; k++)
            add_all(body[k]);
        if (m->syncs > 2) add_syncs(0);
        add_all((step){ .kind = END, .event = i });
    }
    for (int t = 0; t < p.threads; t++)
        add_syncs(t);
    link_steps();
    if (meets()) make_clocks();
    make_record();
}

#endif // TS_TRUTH_MAKE_H
