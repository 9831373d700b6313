/*
    match.c - finds the differences of two traces
*/
#include "tools/replay/verify/verify.h"

/* ---- Streams ------------------------------------------------------------- */

static void pair(verify_side side[2], uint32_t a, uint32_t b, bool by_number)
{
    side[0].streams[a].partner = b;
    side[1].streams[b].partner = a;
    side[0].streams[a].by_number = side[1].streams[b].by_number = by_number;
}

static int same_place(const verify_stream *a, const verify_stream *b)
{
    const uint64_t of_a[] = { a->device, a->context, (uint64_t)a->track.type,
                              a->track.number, a->syncs };
    const uint64_t of_b[] = { b->device, b->context, (uint64_t)b->track.type,
                              b->track.number, b->syncs };
    for (int i = 0; i < 5; i++)
        if (of_a[i] != of_b[i]) return of_a[i] < of_b[i] ? -1 : 1;
    return 0;
}

static int64_t first_use(const verify_side *side, uint32_t stream)
{
    return side->ops[side->streams[stream].first].start_ns;
}

typedef struct unpaired { // a stream without a partner
    uint64_t device, type;
    int64_t first_ns;
    uint32_t stream;
} unpaired;

static int by_use(const void *left, const void *right)
{
    const unpaired *const a = left, *const b = right;
    if (a->device != b->device) return a->device < b->device ? -1 : 1;
    if (a->type != b->type) return a->type < b->type ? -1 : 1;
    if (a->first_ns != b->first_ns) return a->first_ns < b->first_ns ? -1 : 1;
    return (a->stream > b->stream) - (a->stream < b->stream);
}

static size_t list_unpaired(const verify_side *side, bool on_device,
                            unpaired *list)
{
    size_t n = 0;
    for (uint32_t i = 0; i < side->stream_count; i++) {
        const verify_stream *const s = &side->streams[i];
        if (s->partner != VERIFY_NONE) continue;
        const unpaired one = { on_device ? s->device : 0,
                               (uint64_t)s->track.type * 2 + s->syncs,
                               first_use(side, i), i };
        list[n++] = one;
    }
    qsort(list, n, sizeof *list, by_use);
    return n;
}

// Pairs remaining streams in order of first use; first those whose devices have
// the same number.
static bool pair_by_use(verify_side side[2], bool on_device)
{
    unpaired *const a = malloc((side[0].stream_count + 1) * sizeof *a);
    unpaired *const b = malloc((side[1].stream_count + 1) * sizeof *b);
    const size_t n = a && b ? list_unpaired(&side[0], on_device, a) : 0;
    const size_t k = a && b ? list_unpaired(&side[1], on_device, b) : 0;
    for (size_t i = 0, j = 0; i < n && j < k;) {
        if (a[i].device == b[j].device && a[i].type == b[j].type) {
            pair(side, a[i++].stream, b[j++].stream, false);
        } else if (a[i].device != b[j].device ? a[i].device < b[j].device
                                              : a[i].type < b[j].type) {
            i++;
        } else {
            j++;
        }
    }
    const bool ok = a && b;
    free(a);
    free(b);
    return ok;
}

static bool pair_streams(verify_side side[2])
{
    uint32_t a = 0, b = 0;
    while (a < side[0].stream_count && b < side[1].stream_count) {
        const int order = same_place(&side[0].streams[a], &side[1].streams[b]);
        if (!order) pair(side, a, b, true);
        a += order <= 0;
        b += order >= 0;
    }
    return pair_by_use(side, true) && pair_by_use(side, false);
}

/* ---- Differences --------------------------------------------------------- */

typedef struct matcher {
    verify_report *report;
    bool *only[2];    // by operation
    uint32_t *values; // contents of the two compared streams
    size_t room;      // of report->differences
    bool failed;
} matcher;

static void differ(matcher *m, verify_what what, uint32_t a, uint32_t b)
{
    verify_report *const r = m->report;
    if (!cli_grow(&r->differences, &m->room, r->count + 1,
                  sizeof *r->differences)) {
        m->failed = true;
        return;
    }
    const verify_difference d = { what, a, b, 0 };
    r->differences[r->count++] = d;
    r->of[what]++;
    const uint32_t ops[] = { a, b };
    for (int s = 0; s < 2; s++) {
        if (ops[s] == VERIFY_NONE) continue;
        r->side[s].ops[ops[s]].partner = ops[1 - s];
        r->side[s].ops[ops[s]].what = what;
        m->only[s][ops[s]] = false;
    }
}

typedef struct loose { // an operation without a counterpart in its place
    uint32_t content, op;
} loose;

static int by_content(const void *left, const void *right)
{
    const loose *const a = left, *const b = right;
    if (a->content != b->content) return a->content < b->content ? -1 : 1;
    return (a->op > b->op) - (a->op < b->op);
}

static size_t collect(const verify_side *side, const bool *only, uint32_t first,
                      uint32_t count, loose *list)
{
    size_t n = 0;
    for (uint32_t i = first; i < first + count; i++) {
        if (!only[i]) continue;
        const loose one = { side->ops[i].content, i };
        list[n++] = one;
    }
    qsort(list, n, sizeof *list, by_content);
    return n;
}

// Pairs equal operations left on both sides: moved to another place.
static void pair_equal(matcher *m, verify_what what, const uint32_t first[2],
                       const uint32_t count[2])
{
    verify_report *const r = m->report;
    loose *const a = malloc((count[0] + 1) * sizeof *a);
    loose *const b = malloc((count[1] + 1) * sizeof *b);
    m->failed |= !a || !b;
    if (a && b) {
        const size_t n =
            collect(&r->side[0], m->only[0], first[0], count[0], a);
        const size_t k =
            collect(&r->side[1], m->only[1], first[1], count[1], b);
        for (size_t i = 0, j = 0; i < n && j < k;) {
            if (a[i].content == b[j].content) {
                differ(m, what, a[i++].op, b[j++].op);
            } else if (a[i].content < b[j].content) {
                i++;
            } else {
                j++;
            }
        }
    }
    free(a);
    free(b);
}

// Pairs operations between two common parts: first those of the same kind and
// name; then, if as many are left on both sides, in order.
static void pair_gap(matcher *m, const uint32_t from[2], const uint32_t to[2])
{
    enum { NEAR = 64 };
    const verify_report *const r = m->report;
    const verify_op *const a = r->side[0].ops, *const b = r->side[1].ops;
    uint32_t left[2] = { 0, 0 }, next = from[1];
    for (uint32_t i = from[0]; i < to[0]; i++) {
        if (!m->only[0][i]) continue;
        for (uint32_t j = next; j < to[1] && j - next < NEAR; j++) {
            if (!m->only[1][j] || a[i].name != b[j].name) continue;
            differ(m, VERIFY_CONTENT, i, j);
            next = j + 1;
            break;
        }
    }
    for (int s = 0; s < 2; s++)
        for (uint32_t i = from[s]; i < to[s]; i++)
            left[s] += m->only[s][i];
    if (left[0] != left[1]) return;
    for (uint32_t i = from[0], j = from[1]; left[0]; left[0]--) {
        while (!m->only[0][i])
            i++;
        while (!m->only[1][j])
            j++;
        differ(m, VERIFY_CONTENT, i, j);
    }
}

// Visits the gaps between the common parts of both sequences.
static void walk_gaps(matcher *m, const verify_stream *sa,
                      const verify_stream *sb, const bool *only_a,
                      const bool *only_b)
{
    verify_report *const r = m->report;
    uint32_t i = 0, j = 0;
    while (i < sa->count || j < sb->count) {
        const uint32_t from[2] = { sa->first + i, sb->first + j };
        while (i < sa->count && only_a[i])
            i++;
        while (j < sb->count && only_b[j])
            j++;
        const uint32_t to[2] = { sa->first + i, sb->first + j };
        pair_gap(m, from, to);
        if (i == sa->count || j == sb->count) continue;
        r->side[0].ops[to[0]].partner = to[1];
        r->side[1].ops[to[1]].partner = to[0];
        r->matched++;
        i++;
        j++;
    }
}

static void compare_streams(matcher *m, const verify_stream *sa,
                            const verify_stream *sb)
{
    verify_report *const r = m->report;
    const uint32_t first[2] = { sa->first, sb->first };
    const uint32_t count[2] = { sa->count, sb->count };
    uint32_t *const a = m->values, *const b = m->values + sa->count;
    bool *const marks = calloc((size_t)sa->count + sb->count + 1, 1);
    for (uint32_t i = 0; i < sa->count; i++)
        a[i] = r->side[0].ops[sa->first + i].content;
    for (uint32_t i = 0; i < sb->count; i++)
        b[i] = r->side[1].ops[sb->first + i].content;
    if (!marks ||
        !verify_diff(a, sa->count, b, sb->count, marks, marks + sa->count)) {
        m->failed = true;
        free(marks);
        return;
    }
    memcpy(m->only[0] + sa->first, marks, sa->count);
    memcpy(m->only[1] + sb->first, marks + sa->count, sb->count);
    pair_equal(m, VERIFY_ORDER, first, count);
    walk_gaps(m, sa, sb, marks, marks + sa->count);
    free(marks);
}

// Finds equal collectives on different communicators.
static void compare_communicators(matcher *m)
{
    verify_report *const r = m->report;
    m->failed |= !verify_communicators(r);
    for (uint32_t i = 0; i < r->side[0].op_count && !m->failed; i++) {
        const verify_op *const op = &r->side[0].ops[i];
        if (op->what != VERIFY_SAME || !verify_joins_others(r, i)) continue;
        r->matched--;
        differ(m, VERIFY_CONTENT, i, op->partner);
    }
}

static void leave_rest(matcher *m)
{
    verify_report *const r = m->report;
    for (uint32_t i = 0; i < r->side[0].op_count; i++)
        if (m->only[0][i]) differ(m, VERIFY_MISSING, i, VERIFY_NONE);
    for (uint32_t i = 0; i < r->side[1].op_count; i++)
        if (m->only[1][i]) differ(m, VERIFY_EXTRA, VERIFY_NONE, i);
}

static int by_difference(const void *left, const void *right)
{
    const verify_difference *const x = left, *const y = right;
    if (x->time_ns != y->time_ns) return x->time_ns < y->time_ns ? -1 : 1;
    if (x->a != y->a) return x->a < y->a ? -1 : 1;
    return (x->b > y->b) - (x->b < y->b);
}

/* ---- Timing -------------------------------------------------------------- */

static int by_size(const void *left, const void *right)
{
    const int64_t *const a = left, *const b = right;
    return (*a > *b) - (*a < *b);
}

// Nearest-rank percentiles.
static verify_spread spread_of(int64_t *values, size_t count)
{
    const verify_spread none = { 0, 0, 0 };
    if (!count) return none;
    qsort(values, count, sizeof *values, by_size);
    const verify_spread spread = { values[(count * 50 + 99) / 100 - 1],
                                   values[(count * 95 + 99) / 100 - 1],
                                   values[count - 1] };
    return spread;
}

static int64_t distance(int64_t a, int64_t b)
{
    return a < b ? b - a : a - b;
}

static bool is_equal_pair(const verify_report *r, uint32_t a)
{
    const verify_op *const op = &r->side[0].ops[a];
    return op->partner != VERIFY_NONE && op->what != VERIFY_CONTENT &&
           r->side[1].ops[op->partner].content == op->content;
}

static int64_t makespan(const verify_side *side, int64_t *from)
{
    int64_t to = INT64_MIN;
    *from = INT64_MAX;
    for (uint32_t i = 0; i < side->op_count; i++) {
        const int64_t end = side->ops[i].start_ns + side->ops[i].duration_ns;
        if (end > to) to = end;
        if (side->ops[i].start_ns < *from) *from = side->ops[i].start_ns;
    }
    return side->op_count ? to - *from : 0;
}

static bool compare_times(verify_report *r)
{
    const verify_side *const a = &r->side[0], *const b = &r->side[1];
    int64_t *const duration = malloc((a->op_count + 1) * sizeof *duration);
    int64_t *const start = malloc((a->op_count + 1) * sizeof *start);
    int64_t from[2];
    size_t n = 0;
    for (int i = 0; i < 2; i++)
        r->makespan_ns[i] = makespan(&r->side[i], &from[i]);
    for (uint32_t i = 0; duration && start && i < a->op_count; i++) {
        if (!is_equal_pair(r, i)) continue;
        const verify_op *const x = &a->ops[i], *const y = &b->ops[x->partner];
        r->work_ns[0] += x->duration_ns;
        r->work_ns[1] += y->duration_ns;
        r->other_durations += x->duration_ns != y->duration_ns;
        duration[n] = distance(x->duration_ns, y->duration_ns);
        start[n++] = distance(x->start_ns - from[0], y->start_ns - from[1]);
    }
    const bool ok = duration && start;
    if (ok) {
        r->duration = spread_of(duration, n);
        r->start = spread_of(start, n);
    }
    free(duration);
    free(start);
    return ok;
}

/* ---- All of it ----------------------------------------------------------- */

static void sort_differences(verify_report *r)
{
    int64_t from[2];
    for (int i = 0; i < 2; i++)
        makespan(&r->side[i], &from[i]);
    for (size_t i = 0; i < r->count; i++) {
        verify_difference *const d = &r->differences[i];
        d->time_ns = d->a != VERIFY_NONE
                         ? r->side[0].ops[d->a].start_ns - from[0]
                         : r->side[1].ops[d->b].start_ns - from[1];
    }
    if (r->count)
        qsort(r->differences, r->count, sizeof *r->differences, by_difference);
}

static void compare_all(matcher *m)
{
    verify_side *const side = m->report->side;
    m->failed = !pair_streams(side);
    for (int s = 0; s < 2; s++)
        memset(m->only[s], 1, side[s].op_count);
    for (uint32_t i = 0; i < side[0].stream_count && !m->failed; i++) {
        const verify_stream *const s = &side[0].streams[i];
        if (s->partner != VERIFY_NONE)
            compare_streams(m, s, &side[1].streams[s->partner]);
    }
    const uint32_t first[2] = { 0, 0 };
    const uint32_t count[2] = { side[0].op_count, side[1].op_count };
    if (!m->failed) pair_equal(m, VERIFY_MOVED, first, count);
    if (!m->failed) leave_rest(m);
    if (!m->failed) compare_communicators(m);
}

bool verify_match(verify_report *r)
{
    const size_t a = r->side[0].op_count, b = r->side[1].op_count;
    matcher m = { .report = r };
    m.only[0] = calloc(a + 1, 1);
    m.only[1] = calloc(b + 1, 1);
    m.values = malloc((a + b + 1) * sizeof *m.values);
    m.failed = !m.only[0] || !m.only[1] || !m.values;
    if (!m.failed) compare_all(&m);
    free(m.only[0]);
    free(m.only[1]);
    free(m.values);
    if (m.failed || !compare_times(r)) return false;
    sort_differences(r);
    return true;
}
