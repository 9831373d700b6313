/*
    machine.h - runs a program in virtual time, unchanged or with a change

    A step of a thread takes its time; a launch reaches the device LATENCY_NS
    after it began; operations of a stream run in order, those of different
    streams side by side; an event's wait and a thread that is woken take a
    little. Threads and streams act one by one, always the one whose next act
    comes first.
*/
#ifndef TS_TRUTH_MACHINE_H
#define TS_TRUTH_MACHINE_H

#include "tests/checks/truth/make.h"
#include <assert.h>

enum {
    CALL_NS = 4000,     // a launch, of the host
    SHORT_NS = 900,     // any other call
    LATENCY_NS = 6000,  // from a launch's begin to the device
    EVENT_NS = 1100,    // from a recorded event to who waits for it
    WAKE_NS = 2300,     // from what a thread waits for to its going on
    COPY_NS = 1500,     // of a copy, beside its bytes
    NETWORK_NS = 12000, // likewise of a collective
    BYTES_NS = 16,      // bytes a nanosecond of either
    PAUSE_NS = 700      // from one operation of a stream to the next
};
#define FOREVER INT64_MAX

/* ---- Changes ------------------------------------------------------------ */

enum { H2D = 1, D2H = 2 };                // directions, as bits
enum { HIDE_COPIES = 1, HIDE_MEETS = 2 }; // what is hidden, as bits

// Numbers named `more` are added to a factor of 1: zero changes nothing.
typedef struct change {
    const char *text; // as ts-replay --what-if says it, or what it is for
    double work_more[NAMES], call_more, launch_more; // launch: and its latency
    double kernel_more[NAMES];
    int copies; // bits of directions that these mean:
    double copy_more, copy_rate_more;
    int64_t copy_ns; // 0: COPY_NS
    double network_more, network_rate_more;
    int64_t network_ns;
    double rank_more[RANKS];
    int removed, fused, inserted, moved; // kernels, as bits
    bool no_copies;                      // to devices
    int64_t inserted_ns;
    int engines; // 0: as it is
    bool serial; // one stream a device
    int hidden;
    bool no_syncs;
} change;

/* ---- A run -------------------------------------------------------------- */

typedef struct ran {        // a step
    int64_t call, call_end; // of the host; call_end: when it goes on
    int64_t ready;          // at the device
    int64_t start, end;     // on the device, or of what a sync waited for
    int bound;  // step that held the operation's start; NONE: its own call
    int woke;   // SYNC, DRAIN, AWAIT: step that it waited for; NONE: for none
    int next;   // of its stream
    bool ended; // whether `end` is known
    bool fused; // it goes on in the kernel before it
} ran;

enum { CALLED = 1, OPERATED = 2 }; // what of a step is in the window

static ran runs[STEPS];
static uint8_t shown_of[STEPS]; // bits of these; changes apply to no others
static bool whole = true;       // everything is in the window

typedef struct strand { // a thread
    int64_t at;         // when it can go on
    int next;           // place in its list
    bool blocked;       // in the step at `next`
    int64_t returns;    // then: not before
    int targets[STREAMS + 1], target_count;
} strand;

typedef struct lane { // a stream
    int head, tail;   // steps that have not ended, or not begun
    bool begun;       // the head has, and its end is not known
    int64_t free_at;
    int last;             // that set free_at
    int64_t hidden_at[2]; // when the next copy or collective may begin
    int issued;           // last step that was issued to it, as written
} lane;

enum { ENTITIES = RANKS * (THREADS + STREAMS) };

static int lists[RANKS][THREADS][STEPS];
static int list_count[RANKS][THREADS];
static strand strands[RANKS][THREADS];
static lane lanes[RANKS][STREAMS];
static int64_t when[ENTITIES]; // the next act of each; FOREVER: not known
static int64_t engine_at[RANKS][DEVICES][2];
static int engine_last[RANKS][DEVICES][2];
static int arrived[STEPS]; // of a collective's first step: how many have
static const change *now;  // what is changed

static int64_t scaled(int64_t ns, double by)
{
    return (int64_t)((double)ns * by + 0.5);
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static bool applies(int i, int part)
{
    return whole || shown_of[i] & part;
}

static double rank_factor(int i, int part)
{
    const step *const s = &p.steps[i];
    const double own = s->rank == p.ranks - 1 && s->rank ? p.slow : 1;
    return applies(i, part) ? own * (1 + now->rank_more[s->rank]) : own;
}

static bool is_kernel(const step *s)
{
    return s->kind == LAUNCH || s->kind == NODE;
}

static bool is_named(int i, int mask)
{
    const step *const s = &p.steps[i];
    return is_kernel(s) && mask >> s->name & 1 && applies(i, OPERATED);
}

static bool is_removed(int i)
{
    const step *const s = &p.steps[i];
    return is_named(i, now->removed) || (now->no_copies && s->kind == COPY &&
                                         !s->to_host && applies(i, OPERATED));
}

// Whether it goes on in the kernel that was issued to its stream before it.
static bool is_fused(int i)
{
    const step *const s = &p.steps[i];
    const int before = lanes[s->rank][s->stream].issued;
    return is_named(i, now->fused) && before != NONE &&
           is_named(before, now->fused);
}

static bool call_is_gone(int i)
{
    for (int k = i, left = p.steps[i].nodes; left >= 0; k++) {
        const step *const s = &p.steps[k];
        if (k != i && (s->kind != NODE || s->pair != i)) continue;
        if (!is_removed(k)) return false;
        left--;
    }
    return true;
}

// Where a step's operation goes.
static int lane_of(int i)
{
    const step *const s = &p.steps[i];
    int first = s->stream;
    while (first && device_of(first - 1) == device_of(s->stream))
        first--;
    if (now->serial) return first;
    return is_named(i, now->moved) && device_of(s->stream) == 0 ? 0 : s->stream;
}

static int64_t transfer(uint64_t bytes, int64_t latency, double rate_more)
{
    return latency + scaled((int64_t)(bytes / BYTES_NS), 1 / (1 + rate_more));
}

static int64_t copy_ns(int i)
{
    const step *const s = &p.steps[i];
    const bool meant = now->copies & (s->to_host ? D2H : H2D);
    if (!meant || !applies(i, OPERATED)) return transfer(s->bytes, COPY_NS, 0);
    const int64_t latency = now->copy_ns ? now->copy_ns : COPY_NS;
    return scaled(transfer(s->bytes, latency, now->copy_rate_more),
                  1 + now->copy_more);
}

static int64_t reduce_ns(int i)
{
    const step *const s = &p.steps[i];
    if (!applies(i, OPERATED)) return transfer(s->bytes, NETWORK_NS, 0);
    const int64_t latency = now->network_ns ? now->network_ns : NETWORK_NS;
    return scaled(transfer(s->bytes, latency, now->network_rate_more),
                  1 + now->network_more);
}

static int64_t operation_ns(int i)
{
    const step *const s = &p.steps[i];
    if (s->kind != COPY && !is_kernel(s)) return 0;
    double by = rank_factor(i, OPERATED);
    if (is_kernel(s) && applies(i, OPERATED))
        by *= 1 + now->kernel_more[s->name];
    return scaled(s->kind == COPY ? copy_ns(i) : s->ns, by);
}

/* ---- Threads ------------------------------------------------------------ */

// What the host spends on a step.
static int64_t host_ns(int i)
{
    const step *const s = &p.steps[i];
    const bool meant = applies(i, CALLED);
    double by = rank_factor(i, CALLED);
    int64_t ns = SHORT_NS;
    switch (s->kind) {
    case NODE:
    case BEGIN:
    case END: return 0;
    case POST: return p.awaits == AS_DEPENDENCY ? scaled(SHORT_NS, by) : 0;
    case WORK:
        return scaled(s->ns, by * (meant ? 1 + now->work_more[s->name] : 1));
    case LAUNCH:
        if (call_is_gone(i) || (!s->nodes && is_fused(i))) return 0;
        ns = is_named(i, now->inserted) ? 2 * CALL_NS : CALL_NS;
        break;
    case COPY:
        if (is_removed(i)) return 0;
        ns = CALL_NS;
        break;
    case REDUCE: ns = CALL_NS; break;
    default: break;
    }
    if (meant) by *= 1 + now->call_more;
    if (meant && s->kind != SYNC && s->kind != DRAIN && s->kind != AWAIT)
        by *= 1 + now->launch_more;
    return scaled(ns, by);
}

static void enqueue(int i)
{
    const step *const s = &p.steps[i];
    ran *const r = &runs[i];
    if (is_removed(i)) {
        r->ended = true;
        r->start = r->end = r->call;
        return;
    }
    const bool early = applies(i, OPERATED);
    lane *const l = &lanes[s->rank][lane_of(i)];
    r->ready = r->call + scaled(LATENCY_NS, early ? 1 + now->launch_more : 1);
    r->fused = s->kind == LAUNCH && is_fused(i);
    if (r->fused) r->ready = 0;
    r->next = NONE;
    if (l->tail == NONE)
        l->head = i;
    else
        runs[l->tail].next = i;
    l->tail = i;
    lanes[s->rank][s->stream].issued = i;
}

static void add_target(strand *t, int i)
{
    if (i == NONE) return;
    if (t->target_count < STREAMS + 1) t->targets[t->target_count++] = i;
}

static void add_stream(strand *t, int i, int stream)
{
    const lane *const l = &lanes[p.steps[i].rank][stream];
    add_target(t, l->tail == NONE ? l->last : l->tail);
}

// A thread enters a step in which it may wait.
static void block(strand *t, int i)
{
    const step *const s = &p.steps[i];
    t->blocked = true;
    t->returns = t->at + host_ns(i);
    t->target_count = 0;
    runs[i].woke = NONE;
    if (now->no_syncs && s->kind != AWAIT && applies(i, CALLED)) return;
    if (s->kind == AWAIT) add_target(t, s->pair);
    if (s->kind == SYNC) {
        add_stream(t, i, lane_of(i));
        add_target(t, lanes[s->rank][s->stream].issued);
    }
    for (int k = 0; s->kind == DRAIN && k < p.streams; k++)
        if (device_of(k) == device_of(s->stream)) add_stream(t, i, k);
}

// When a thread goes on that has entered such a step.
static int64_t unblocks(const strand *t, int i)
{
    const bool awaits = p.steps[i].kind == AWAIT;
    int64_t at = t->returns;
    for (int k = 0; k < t->target_count; k++) {
        ran *const r = &runs[t->targets[k]];
        if (!r->ended) return FOREVER;
        const int64_t done = awaits ? r->call_end : r->end;
        if (done <= runs[i].call) continue;
        if (done + WAKE_NS > at) runs[i].woke = t->targets[k];
        at = later(at, done + WAKE_NS);
    }
    return at;
}

static bool may_block(step_kind kind)
{
    return kind == SYNC || kind == DRAIN || kind == AWAIT;
}

static int64_t strand_when(int rank, int thread)
{
    const strand *const t = &strands[rank][thread];
    if (t->next == list_count[rank][thread]) return FOREVER;
    return t->blocked ? unblocks(t, lists[rank][thread][t->next]) : t->at;
}

static void end_block(strand *t, int i, int64_t time)
{
    ran *const r = &runs[i];
    r->start = r->end = r->call;
    for (int k = 0; k < t->target_count && p.steps[i].kind != AWAIT; k++)
        r->end = later(r->end, runs[t->targets[k]].end);
    r->ended = true;
    r->call_end = t->at = time;
    t->blocked = false;
    t->next++;
}

static void strand_act(int rank, int thread, int64_t time)
{
    strand *const t = &strands[rank][thread];
    const int i = lists[rank][thread][t->next];
    const step *const s = &p.steps[i];
    ran *const r = &runs[i];
    if (t->blocked) {
        end_block(t, i, time);
        return;
    }
    r->call = s->kind == NODE ? runs[s->pair].call : time;
    if (may_block(s->kind)) {
        block(t, i);
        return;
    }
    r->call_end = t->at = time + host_ns(i);
    t->next++;
    if (s->kind == POST || s->kind == WORK || s->kind == BEGIN ||
        s->kind == END)
        r->ended = true;
    else
        enqueue(i);
}

/* ---- Streams ------------------------------------------------------------ */

// 0: a copy, 1: a collective, 2: neither is hidden.
static int hidden_kind(int i)
{
    const step_kind kind = p.steps[i].kind;
    if (!applies(i, OPERATED)) return 2;
    return kind == COPY && now->hidden & HIDE_COPIES    ? 0
           : kind == REDUCE && now->hidden & HIDE_MEETS ? 1
                                                        : 2;
}

static void pop(lane *l, int i)
{
    l->head = runs[i].next;
    if (l->head == NONE) l->tail = NONE;
    l->begun = false;
    l->last = i;
}

static void end_operation(lane *l, int i, int64_t end)
{
    ran *const r = &runs[i];
    const int hidden = hidden_kind(i);
    r->end = end;
    r->ended = true;
    if (hidden < 2) {
        l->hidden_at[hidden] = end + PAUSE_NS;
        if (l->head != i) return; // it has let the next one pass
        l->free_at = r->start;
    } else {
        l->free_at = end + PAUSE_NS;
    }
    pop(l, i);
}

static int64_t lane_when(int rank, int stream)
{
    const lane *const l = &lanes[rank][stream];
    if (l->head == NONE) return FOREVER;
    const ran *const r = &runs[l->head];
    const step *const s = &p.steps[l->head];
    if (l->begun) {
        if (s->kind != WAIT || !runs[s->pair].ended) return FOREVER;
        return later(r->start, runs[s->pair].end + EVENT_NS);
    }
    const int hidden = hidden_kind(l->head);
    int64_t at = later(r->ready, r->fused ? l->free_at - PAUSE_NS : l->free_at);
    if (hidden < 2) {
        if (l->hidden_at[hidden] == FOREVER) return FOREVER;
        at = later(at, l->hidden_at[hidden]);
    }
    return at;
}

// A copy waits for an engine of its direction.
static void take_engine(int i, int64_t ns)
{
    const int most = now->engines ? now->engines : p.engines;
    const step *const s = &p.steps[i];
    if (s->kind != COPY || !most) return;
    const int device = device_of(s->stream);
    int64_t *const at = &engine_at[s->rank][device][s->to_host];
    int *const last = &engine_last[s->rank][device][s->to_host];
    ran *const r = &runs[i];
    if (*at > r->start) {
        r->start = *at;
        r->bound = *last;
    }
    *at = r->start + ns;
    *last = i;
}

static void meet(int i)
{
    const int first = i - p.steps[i].rank;
    if (hidden_kind(i) < 2) { // the stream goes on
        lane *const l = &lanes[p.steps[i].rank][lane_of(i)];
        l->hidden_at[1] = FOREVER;
        l->free_at = runs[i].start;
        pop(l, i);
    }
    if (++arrived[first] < p.ranks) return;
    int64_t last = 0;
    for (int k = first; k < first + p.ranks; k++)
        last = later(last, runs[k].start);
    for (int k = first; k < first + p.ranks; k++)
        end_operation(&lanes[p.steps[k].rank][lane_of(k)], k,
                      last + reduce_ns(k));
}

static void lane_act(int rank, int stream, int64_t time)
{
    lane *const l = &lanes[rank][stream];
    const int i = l->head;
    const step *const s = &p.steps[i];
    ran *const r = &runs[i];
    if (l->begun) {
        end_operation(l, i, time);
        return;
    }
    r->start = time;
    r->bound = time > r->ready && l->last != NONE ? l->last : NONE;
    if (s->kind == WAIT || s->kind == REDUCE) {
        l->begun = true;
        if (s->kind == REDUCE) meet(i);
        return;
    }
    const int64_t ns = operation_ns(i);
    take_engine(i, ns);
    int64_t end = r->start + ns;
    if (is_named(i, now->inserted))
        end = later(end + PAUSE_NS, r->ready + CALL_NS) + now->inserted_ns;
    end_operation(l, i, end);
}

/* ---- All of it ---------------------------------------------------------- */

static void list_steps(void)
{
    memset(list_count, 0, sizeof list_count);
    for (int i = 0; i < p.count; i++) {
        const step *const s = &p.steps[i];
        lists[s->rank][s->thread][list_count[s->rank][s->thread]++] = i;
    }
}

static void begin(const change *c)
{
    now = c;
    memset(strands, 0, sizeof strands);
    memset(lanes, 0, sizeof lanes);
    memset(engine_at, 0, sizeof engine_at);
    memset(arrived, 0, sizeof arrived);
    for (int i = 0; i < p.count; i++)
        runs[i] = (ran){ .bound = NONE, .woke = NONE };
    for (int r = 0; r < RANKS; r++)
        for (int k = 0; k < STREAMS; k++)
            lanes[r][k].head = lanes[r][k].tail = lanes[r][k].last =
                lanes[r][k].issued = NONE;
    for (int e = 0; e < ENTITIES; e++)
        when[e] = FOREVER;
}

static int64_t entity_when(int e)
{
    const int k = e - RANKS * THREADS;
    return k < 0 ? strand_when(e / THREADS, e % THREADS)
                 : lane_when(k / STREAMS, k % STREAMS);
}

static void run(const change *c)
{
    begin(c);
    for (int64_t time = 0;;) {
        int next = 0;
        for (int e = 0; e < ENTITIES; e++) {
            if (when[e] == FOREVER) when[e] = entity_when(e);
            if (when[e] < when[next]) next = e;
        }
        if (when[next] == FOREVER) break;
        time = later(time, when[next]);
        const int k = next - RANKS * THREADS;
        if (k < 0)
            strand_act(next / THREADS, next % THREADS, time);
        else
            lane_act(k / STREAMS, k % STREAMS, time);
        when[next] = FOREVER;
    }
    for (int i = 0; i < p.count; i++)
        assert(runs[i].ended);
}

#endif // TS_TRUTH_MACHINE_H
