/*
    report.h - what is true of a run, as one JSON object

    All of it is about the operations in the window of the trace, those among
    them that the trace lost included. What each figure means is in
    docs/analyze.md.
*/
#ifndef TS_TRUTH_REPORT_H
#define TS_TRUTH_REPORT_H

#include "tests/checks/truth/changes.h"
#include "tests/checks/truth/trace.h"
#include <inttypes.h>

static const char *const causes[] = { "host_late",      "host_sync",
                                      "launch_latency", "other_stream",
                                      "copy",           "collective" };
enum { CAUSES = sizeof causes / sizeof *causes, MOST_GAPS = 8 };

typedef struct device {
    int rank, number, operations;
    int64_t busy, span, idle[CAUSES];
    int64_t launching, waiting; // of idle: by launches, by a host that works
    int64_t only_copies, only_meets; // while nothing of more worth runs
    int64_t copies_bare, meets_bare; // of each, while no kernel runs
} device;

static FILE *out;
static const char *comma = "";

static void put_key(const char *key)
{
    fprintf(out, "%s\n  \"%s\": ", comma, key);
    comma = ",";
}

static void put_number(const char *key, int64_t value)
{
    fprintf(out, "%s \"%s\": %" PRId64, comma, key, value);
    comma = ",";
}

static void put_open(char bracket)
{
    fputc(bracket, out);
    comma = "";
}

static void put_close(char bracket)
{
    fputc(bracket, out);
    comma = ",";
}

static bool works_on_device(const step *s)
{
    return is_kernel(s) || s->kind == COPY || s->kind == REDUCE;
}

static bool is_reported(int i)
{
    return shown_of[i] & OPERATED && is_present(p.steps[i].rank);
}

typedef struct length {
    int64_t from, to;
} length;

// From the first to the last operation of a run, of those with these marks.
static length measure(const uint8_t *marks)
{
    length l = { FOREVER, 0 };
    for (int i = 0; i < p.count; i++) {
        if (!(marks[i] & OPERATED) || !is_present(p.steps[i].rank)) continue;
        if (is_removed(i)) continue;
        if (runs[i].start < l.from) l.from = runs[i].start;
        l.to = later(l.to, runs[i].end);
    }
    return l;
}

static int64_t makespan(void)
{
    const length l = measure(shown_of);
    return l.to - l.from;
}

/* ---- Why a device idled ------------------------------------------------- */

// The step whose work, or call, held what begins at `i`; *by_call tells which.
static int culprit(int i, bool *by_call)
{
    for (*by_call = false;;) {
        const step *const s = &p.steps[i];
        if (s->kind == WAIT && runs[s->pair].end + EVENT_NS > runs[i].start)
            i = s->pair;
        if (runs[i].bound == NONE) break;
        i = runs[i].bound;
        if (works_on_device(&p.steps[i])) return i;
    }
    *by_call = true;
    return i;
}

static int64_t blocked(int thread, int rank, int64_t from, int64_t to)
{
    int64_t sum = 0;
    for (int k = 0; k < list_count[rank][thread]; k++) {
        const int i = lists[rank][thread][k];
        const ran *const r = &runs[i];
        if (blocks(&p.steps[i]) && r->call_end > from && r->call_end <= to)
            sum += r->call_end - r->call;
    }
    return sum;
}

// Time of a thread within calls that launch work.
static int64_t launching(int thread, int rank, int64_t from, int64_t to)
{
    int64_t sum = 0;
    for (int k = 0; k < list_count[rank][thread]; k++) {
        const int i = lists[rank][thread][k];
        const ran *const r = &runs[i];
        if (!works_on_device(&p.steps[i]) || p.steps[i].kind == NODE) continue;
        const int64_t start = later(r->call, from);
        const int64_t end = r->call_end < to ? r->call_end : to;
        if (end > start) sum += end - start;
    }
    return sum;
}

static void charge_call(device *d, int why, int64_t from, int64_t to)
{
    const step *const s = &p.steps[why];
    const int64_t call = runs[why].call;
    const bool before = call <= from;
    if (before || call - from > 2 * blocked(s->thread, s->rank, from, call)) {
        const int64_t late = before ? from : call;
        const int64_t launches =
            to - late + launching(s->thread, s->rank, from, late);
        d->launching += launches;
        d->waiting += to - from - launches;
        d->idle[before ? 2 : 0] += to - from;
    } else {
        d->idle[1] += to - from;
    }
}

static void charge(device *d, int i, int64_t from)
{
    bool by_call;
    const int why = culprit(i, &by_call);
    const step *const s = &p.steps[why];
    const int64_t to = runs[i].start;
    if (by_call)
        charge_call(d, why, from, to);
    else if (s->stream == p.steps[i].stream)
        d->idle[2] += to - from;
    else
        d->idle[s->kind == COPY ? 4 : s->kind == REDUCE ? 5 : 3] += to - from;
}

/* ---- Devices ------------------------------------------------------------ */

static int by_start(const void *a, const void *b)
{
    const int i = *(const int *)a, k = *(const int *)b;
    if (runs[i].start != runs[k].start)
        return runs[i].start < runs[k].start ? -1 : 1;
    return (i > k) - (i < k);
}

// 0: a kernel, 1: a collective, 2: a copy.
static int worth(const step *s)
{
    return s->kind == COPY ? 2 : s->kind == REDUCE ? 1 : 0;
}

// How much of an operation has no other of those worth more beside it.
static int64_t bare(const int *order, int count, int i, int more)
{
    int64_t sum = 0, reached = runs[i].start;
    for (int k = 0; k < count && runs[order[k]].start < runs[i].end; k++) {
        const ran *const r = &runs[order[k]];
        if (worth(&p.steps[order[k]]) > more || r->end <= reached) continue;
        if (r->start > reached) sum += r->start - reached;
        reached = r->end;
    }
    return sum + (runs[i].end > reached ? runs[i].end - reached : 0);
}

// Time in which something of a worth runs and nothing of more.
static int64_t only(const int *order, int count, int of)
{
    int64_t sum = 0, reached = 0;
    for (int k = 0; k < count; k++) {
        const int i = order[k];
        if (worth(&p.steps[i]) != of) continue;
        const ran whole_run = runs[i];
        runs[i].start = later(runs[i].start, reached);
        if (runs[i].start < runs[i].end) sum += bare(order, count, i, of - 1);
        reached = later(reached, whole_run.end);
        runs[i] = whole_run;
    }
    return sum;
}

static int list_operations(const device *d, int *order)
{
    int count = 0;
    for (int i = 0; i < p.count; i++) {
        const step *const s = &p.steps[i];
        if (s->rank == d->rank && works_on_device(s) && is_reported(i) &&
            device_of(s->stream) == d->number && runs[i].end > runs[i].start)
            order[count++] = i;
    }
    qsort(order, (size_t)count, sizeof *order, by_start);
    return count;
}

static void look_at(device *d)
{
    static int order[STEPS];
    const int count = d->operations = list_operations(d, order);
    int64_t reached = count ? clock_of(d->rank, runs[order[0]].start) : 0;
    const int64_t first = reached;
    int64_t at = count ? runs[order[0]].start : 0;
    for (int k = 0; k < count; k++) {
        const ran *const r = &runs[order[k]];
        const int64_t start = clock_of(d->rank, r->start);
        const int64_t end = clock_of(d->rank, r->end);
        if (r->start > at) charge(d, order[k], at);
        reached = later(reached, start);
        if (end > reached) d->busy += end - reached;
        reached = later(reached, end);
        at = later(at, r->end);
        const int of = worth(&p.steps[order[k]]);
        if (of == 1) d->meets_bare += bare(order, count, order[k], 0);
        if (of == 2) d->copies_bare += bare(order, count, order[k], 0);
    }
    d->span = reached - first;
    d->only_copies = only(order, count, 2);
    d->only_meets = only(order, count, 1);
}

static void print_device(int rank, int number)
{
    device d = { .rank = rank, .number = number };
    look_at(&d);
    fputs(comma, out);
    put_open('{');
    put_number("rank", rank);
    put_number("operations", d.operations);
    put_number("busy_ns", d.busy);
    put_number("span_ns", d.span);
    put_number("launching_ns", d.launching);
    put_number("waiting_ns", d.waiting);
    put_number("only_copies_ns", d.only_copies);
    put_number("only_meets_ns", d.only_meets);
    put_number("copies_bare_ns", d.copies_bare);
    put_number("meets_bare_ns", d.meets_bare);
    fprintf(out, ", \"idle_ns\": ");
    put_open('{');
    for (int c = 0; c < CAUSES; c++)
        put_number(causes[c], d.idle[c]);
    put_close('}');
    put_close('}');
    fprintf(out, "\n");
}

/* ---- The critical path -------------------------------------------------- */

static const char *const costs[] = { "host", "launch",        "compute",
                                     "copy", "communication", "sync" };
enum { HOST, LAUNCHING, COMPUTE, COPYING, COMMUNICATION, SYNCING, COSTS };

typedef struct walk {
    int64_t first, until, cost[COSTS];
} walk;

// From `start` to where the walk is.
static void pass(walk *w, int64_t start, int cost)
{
    start = later(start, w->first);
    if (start >= w->until) return;
    w->cost[cost] += w->until - start;
    w->until = start;
}

static int place_of(int i)
{
    const step *const s = &p.steps[i];
    for (int k = 0;; k++)
        if (lists[s->rank][s->thread][k] == i) return k;
}

// Back from the begin of a call to an operation that a thread waited for, or
// to the start of the thread: NONE.
static int walk_host(walk *w, int i)
{
    int place = place_of(i);
    while (place-- && w->until > w->first) {
        const step *const s = &p.steps[i];
        const int before = lists[s->rank][s->thread][place];
        const int woke = runs[before].woke;
        i = before;
        if (may_block(p.steps[i].kind) && woke != NONE) {
            const bool awaits = p.steps[i].kind == AWAIT;
            pass(w, awaits ? runs[woke].call_end : runs[woke].end,
                 awaits ? HOST : SYNCING);
            if (!awaits) return woke;
            i = woke;
            place = place_of(i);
        }
        pass(w, runs[i].call, HOST);
    }
    return NONE;
}

static int last_arrival(int i)
{
    const int first = i - p.steps[i].rank;
    int last = first;
    for (int k = first; k < first + p.ranks; k++)
        if (runs[k].start > runs[last].start) last = k;
    return last;
}

// Back from the end of an operation to the end of what held it, or NONE.
static int walk_operation(walk *w, int i)
{
    const step *const s = &p.steps[i];
    if (blocks(s)) {
        pass(w, runs[i].start, SYNCING);
        return walk_host(w, i);
    }
    if (s->kind == WAIT && runs[s->pair].end + EVENT_NS > runs[i].start) {
        pass(w, runs[s->pair].end, SYNCING);
        return s->pair;
    }
    if (s->kind == REDUCE) i = last_arrival(i);
    pass(w, runs[i].start,
         s->kind == REDUCE ? COMMUNICATION
         : s->kind == COPY ? COPYING
         : is_kernel(s)    ? COMPUTE
                           : SYNCING);
    if (runs[i].bound != NONE) {
        pass(w, runs[runs[i].bound].end, LAUNCHING);
        return runs[i].bound;
    }
    pass(w, runs[i].call, LAUNCHING);
    return walk_host(w, s->kind == NODE ? s->pair : i);
}

static void print_path(void)
{
    const length l = measure(shown_of);
    walk w = { .first = l.from, .until = l.to };
    int at = NONE;
    for (int i = 0; i < p.count; i++)
        if (is_reported(i) && runs[i].end == l.to &&
            (at == NONE || blocks(&p.steps[at])))
            at = i;
    while (at != NONE && w.until > w.first)
        at = walk_operation(&w, at);
    put_key("path");
    put_open('{');
    for (int c = 0; c < COSTS; c++)
        put_number(costs[c], w.cost[c]);
    put_close('}');
}

/* ---- Ranks, steps ------------------------------------------------------- */

static void print_ranks(void)
{
    int64_t caused[RANKS] = { 0 }, waited[RANKS] = { 0 }, all = 0;
    for (int i = 0; i < p.count; i++) {
        if (p.steps[i].kind != REDUCE || p.steps[i].rank) continue;
        bool reported = true;
        for (int r = 0; r < p.ranks; r++)
            reported = reported && is_reported(i + r);
        if (!reported) continue;
        const int last = last_arrival(i);
        for (int r = 0; r < p.ranks; r++) {
            const int64_t ns = runs[last].start - runs[i + r].start;
            waited[r] += ns;
            caused[p.steps[last].rank] += ns;
            all += ns;
        }
    }
    put_key("ranks");
    put_open('[');
    for (int r = 0; r < p.ranks; r++) {
        fputs(comma, out);
        put_open('{');
        put_number("caused_ns", caused[r]);
        put_number("waited_ns", waited[r]);
        put_number("clock_ns", p.clocks[r].offset_ns);
        put_close('}');
    }
    put_close(']');
    put_key("waited_ns");
    fprintf(out, "%" PRId64, all);
}

// An operation belongs to the iteration in which it was launched.
static void print_steps(void)
{
    static int64_t begins[STEPS], ends[STEPS];
    int count = 0, first = 0;
    for (int i = 0; i < p.count; i++)
        if (p.steps[i].kind == END && !p.steps[i].rank &&
            shown_of[i] & CALLED) {
            int k = i;
            while (p.steps[k].kind != BEGIN || p.steps[k].rank)
                k--;
            if (!(shown_of[k] & CALLED)) continue;
            if (!count) first = p.steps[i].event;
            begins[count++] = runs[k].call;
        }
    const length l = measure(shown_of);
    for (int k = 0; k < count; k++)
        ends[k] = l.from;
    for (int i = 0; i < p.count; i++) {
        if (!is_reported(i)) continue;
        int k = count - 1;
        while (k > 0 && begins[k] > runs[i].call)
            k--;
        if (count) ends[k] = later(ends[k], runs[i].end);
    }
    put_key("steps");
    put_open('{');
    int64_t from = l.from;
    for (int k = 0; k < count; k++) {
        char name[40];
        snprintf(name, sizeof name, "ProfilerStep#%d", first + k);
        put_number(name, later(ends[k], from) - from);
        from = later(ends[k], from);
    }
    put_close('}');
}

/* ---- All of it ---------------------------------------------------------- */

// Whether ts-replay can say what comes of a change: not of a rank or a stream
// that the trace does not have.
static bool is_possible(const change *c)
{
    for (int r = 0; r < RANKS; r++)
        if (c->rank_more[r] != 0 && (p.ranks == 1 || !is_present(r)))
            return false;
    for (int i = 0; c->moved && i < p.count; i++)
        if (kept_of[i] & OPERATED && is_present(p.steps[i].rank) &&
            p.steps[i].kind != DRAIN && p.steps[i].stream == 0)
            return true;
    return !c->moved;
}

// How long the program takes with each change.
static void print_changes(const char *title, const change *c, size_t count)
{
    put_key(title);
    put_open('{');
    for (size_t i = 0; i < count; i++) {
        if (!is_possible(&c[i])) continue;
        run(&c[i]);
        put_number(c[i].text, makespan());
    }
    put_close('}');
}

// What was never slow: the last rank as quick as the others.
static void print_straggler(void)
{
    change even = { "straggler", .copies = 0 };
    even.rank_more[p.ranks - 1] = 1 / p.slow - 1;
    if (p.ranks > 1 && p.slow > 1) print_changes("straggler", &even, 1);
}

static void report(const mood *m)
{
    const length recorded = measure(kept_of);
    put_open('{');
    put_key("mood");
    fprintf(out, "\"%s\"", m->name);
    put_key("program");
    put_open('{');
    put_number("ranks", p.ranks);
    put_number("threads", p.threads);
    put_number("streams", p.streams);
    put_number("devices", p.devices);
    put_number("engines", p.engines);
    put_number("awaits", p.awaits);
    put_number("records", p.records);
    put_number("slow_percent", (int64_t)(p.slow * 100 + 0.5));
    put_number("cut", p.cut_from > 0 || p.cut_to < 1);
    put_number("skewed", p.clocks[1].offset_ns != 0);
    put_number("lost", (int64_t)lost.count);
    put_number("absent", p.absent);
    put_close('}');
    put_key("recorded_ns");
    fprintf(out, "%" PRId64, recorded.to - recorded.from);
    put_key("makespan_ns");
    fprintf(out, "%" PRId64, makespan());
    put_key("devices");
    put_open('[');
    for (int r = 0; r < p.ranks; r++)
        for (int d = 0; d < p.devices && is_present(r); d++)
            print_device(r, d);
    put_close(']');
    print_path();
    print_ranks();
    print_steps();
    print_changes("what_ifs", what_ifs, COUNT_OF(what_ifs));
    print_changes("free", frees, COUNT_OF(frees));
    print_changes("advice", advised, COUNT_OF(advised));
    print_straggler();
    put_close('}');
    fputc('\n', out);
}

#endif // TS_TRUTH_REPORT_H
