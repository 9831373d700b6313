/*
    text.c - the comparison of two traces for people
*/
#include "tools/replay/verify/verify.h"

enum { CONTEXT = 2, LISTED = 10 };

static void label(const char *text)
{
    printf("  %-15s ", text);
}

static void put_stream(const verify_stream *s)
{
    cli_text made;
    const ts_text name = cli_track_name(&s->track, &made);
    if (s->device != UINT64_MAX) printf("%" PRIu64 ":", s->device);
    if (s->track.type == TS_TRACK_STREAM)
        printf("%" PRIu64, s->track.number);
    else
        fputs(s->track.type ? cli_track_type(s->track.type) : "track", stdout);
    if (s->syncs) fputs(", syncs", stdout);
    if (!s->track.name.size) return;
    fputs(" (", stdout);
    cli_put_text(stdout, name.text, name.size);
    putchar(')');
}

// Prints an operation as "kernel saxpy grid 64,1,1 block 256,1,1", without
// zeros and defaults; of a long name only the function.
static void put_op(verify_side *side, uint32_t op)
{
    enum { LONG = 60 };
    verify_field fields[VERIFY_FIELDS];
    const size_t count = verify_fields(side, op, fields);
    for (size_t i = 0; i < count; i++) {
        const bool is_long =
            fields[i].text.size > LONG && !strcmp(fields[i].key, "name");
        const ts_text text =
            is_long ? cli_short_name(fields[i].text) : fields[i].text;
        const bool bare =
            !strcmp(fields[i].key, "kind") || !strcmp(fields[i].key, "name");
        if (!text.size ||
            (!bare && (!strcmp(text.text, "0") || !strcmp(text.text, "0,0,0"))))
            continue;
        if (i) putchar(' ');
        if (!bare) printf("%s ", fields[i].key);
        cli_put_text(stdout, text.text, text.size);
    }
}

static const ts_text *field_of(const verify_field *fields, size_t count,
                               const char *key)
{
    static const ts_text none = { "none", 4 };
    for (size_t i = 0; i < count; i++)
        if (!strcmp(fields[i].key, key)) return &fields[i].text;
    return &none;
}

static void put_change(const char *key, const ts_text *a, const ts_text *b)
{
    printf("%s ", key);
    cli_put_text(stdout, a->text, a->size);
    fputs(" -> ", stdout);
    cli_put_text(stdout, b->text, b->size);
}

// Prints "grid 64,1,1 -> 32,1,1, registers 32 -> 40".
static void put_changes(verify_report *r, const verify_difference *d)
{
    verify_field a[VERIFY_FIELDS], b[VERIFY_FIELDS];
    const size_t n = verify_fields(&r->side[0], d->a, a);
    const size_t k = verify_fields(&r->side[1], d->b, b);
    const char *before = "";
    for (size_t i = 0; i < n; i++) {
        const ts_text *const other = field_of(b, k, a[i].key);
        if (cli_same_text(a[i].text, *other)) continue;
        fputs(before, stdout);
        put_change(a[i].key, &a[i].text, other);
        before = ", ";
    }
    for (size_t i = 0; i < k; i++) {
        const ts_text *const other = field_of(a, n, b[i].key);
        if (strcmp(other->text, "none")) continue;
        fputs(before, stdout);
        put_change(b[i].key, other, &b[i].text);
        before = ", ";
    }
}

static const verify_stream *stream_of(const verify_report *r,
                                      const verify_difference *d)
{
    const int s = d->a == VERIFY_NONE;
    const verify_side *const side = &r->side[s];
    return &side->streams[side->ops[s ? d->b : d->a].stream];
}

static void put_place(const verify_report *r, int s, uint32_t op)
{
    const verify_side *const side = &r->side[s];
    const verify_stream *const stream = &side->streams[side->ops[op].stream];
    printf("number %" PRIu32 " of ", op - stream->first);
    put_stream(stream);
}

// Prints a difference in content: other arguments, or another operation.
static void put_content(verify_report *r, const verify_difference *d)
{
    const bool same = r->side[0].ops[d->a].name == r->side[1].ops[d->b].name;
    fputs(same ? ": " : " became ", stdout);
    if (same)
        put_changes(r, d);
    else
        put_op(&r->side[1], d->b);
}

static void put_difference(verify_report *r, const verify_difference *d)
{
    const int s = d->a == VERIFY_NONE;
    put_op(&r->side[s], s ? d->b : d->a);
    switch (d->what) {
    case VERIFY_CONTENT: put_content(r, d); break;
    case VERIFY_ORDER:
    case VERIFY_MOVED:
        fputs(" is ", stdout);
        put_place(r, 0, d->a);
        fputs(" in A, ", stdout);
        put_place(r, 1, d->b);
        fputs(" in B", stdout);
        break;
    default: printf(" exists only in %s", s ? "B" : "A");
    }
}

/* ---- The first difference in context ------------------------------------ */

// A place between the operations of two streams.
typedef struct cut {
    verify_report *report;
    const verify_stream *stream[2]; // NULL: only the other side has it
    uint32_t at[2];
} cut;

static bool is_same(const cut *c, int s, uint32_t at)
{
    return c->report->side[s].ops[c->stream[s]->first + at].what == VERIFY_SAME;
}

// Whether the next operation of a side has no counterpart.
static bool alone(const cut *c, int s)
{
    return c->stream[s] && c->at[s] < c->stream[s]->count &&
           !is_same(c, s, c->at[s]);
}
static bool alone_before(const cut *c, int s)
{
    return c->stream[s] && c->at[s] && !is_same(c, s, c->at[s] - 1);
}
static bool both(const cut *c)
{
    return c->stream[0] && c->stream[1] && c->at[0] < c->stream[0]->count &&
           c->at[1] < c->stream[1]->count;
}

static bool step_back(cut *c)
{
    for (int s = 1; s >= 0; s--)
        if (alone_before(c, s)) {
            c->at[s]--;
            return true;
        }
    if (!c->stream[0] || !c->stream[1] || !c->at[0] || !c->at[1]) return false;
    c->at[0]--;
    c->at[1]--;
    return true;
}

static void print_line(cut *c, int from, int to, const char *sign)
{
    printf("  %s ", sign);
    for (int s = 0; s < 2; s++)
        if (s < from || s > to)
            printf("%8s  ", "");
        else
            printf("%8" PRIu32 "  ", c->at[s]);
    put_op(&c->report->side[from], c->stream[from]->first + c->at[from]);
    putchar('\n');
    for (int s = from; s <= to; s++)
        c->at[s]++;
}

static bool step(cut *c)
{
    if (alone(c, 0))
        print_line(c, 0, 0, "-");
    else if (alone(c, 1))
        print_line(c, 1, 1, "+");
    else if (both(c))
        print_line(c, 0, 1, " ");
    else
        return false;
    return true;
}

// The position on the other side that corresponds to an operation: after the
// counterpart of the nearest earlier operation that has one.
static uint32_t place_on_other(const verify_report *r, int s, uint32_t op)
{
    const verify_side *const side = &r->side[s];
    const verify_stream *const stream = &side->streams[side->ops[op].stream];
    for (uint32_t i = op; i-- > stream->first;)
        if (side->ops[i].what == VERIFY_SAME)
            return side->ops[i].partner + 1 -
                   r->side[1 - s].streams[stream->partner].first;
    return 0;
}

static void print_first(verify_report *r)
{
    const verify_difference *const d = &r->differences[0];
    const int s = d->a == VERIFY_NONE;
    const uint32_t op = s ? d->b : d->a;
    const verify_stream *const stream = stream_of(r, d);
    cut c = { .report = r };
    c.stream[s] = stream;
    c.at[s] = op - stream->first;
    if (stream->partner != VERIFY_NONE) {
        c.stream[1 - s] = &r->side[1 - s].streams[stream->partner];
        c.at[1 - s] = place_on_other(r, s, op);
    }
    printf("\nfirst difference, %s after the first operation, on ",
           cli_time(d->time_ns).s);
    put_stream(stream);
    fputs(":\n    ", stdout);
    put_difference(r, d);
    printf("\n    %8s  %8s\n", "A", "B");
    int before = 0;
    while (before < CONTEXT && step_back(&c))
        before++;
    for (int i = 0; i < before + 1 + CONTEXT && step(&c); i++) {}
}

static void print_others(verify_report *r)
{
    for (size_t i = 1; i < r->count && i <= LISTED; i++) {
        if (i == 1) fputs("\nfurther differences:\n", stdout);
        const verify_difference *const d = &r->differences[i];
        printf("  %-9s ", cli_time(d->time_ns).s);
        put_stream(stream_of(r, d));
        fputs("  ", stdout);
        put_difference(r, d);
        putchar('\n');
    }
    if (r->count > LISTED + 1)
        printf("  and %s more\n", cli_count(r->count - LISTED - 1).s);
}

/* ---- Figures ------------------------------------------------------------- */

static void print_only(const verify_side *side)
{
    const char *before = "; only in ";
    uint32_t shown = 0, left = 0;
    for (uint32_t i = 0; i < side->stream_count; i++) {
        if (side->streams[i].partner != VERIFY_NONE) continue;
        if (shown++ >= 8) {
            left++;
            continue;
        }
        fputs(before, stdout);
        if (shown == 1) cli_put_path(stdout, side->path);
        if (shown == 1) fputs(": ", stdout);
        put_stream(&side->streams[i]);
        before = ", ";
    }
    if (left) printf(" and %" PRIu32 " more", left);
}

static void print_streams(const verify_report *r)
{
    uint64_t paired[2] = { 0, 0 };
    for (uint32_t i = 0; i < r->side[0].stream_count; i++)
        if (r->side[0].streams[i].partner != VERIFY_NONE)
            paired[r->side[0].streams[i].by_number]++;
    label("streams");
    printf("%s matched by number", cli_count(paired[1]).s);
    if (paired[0]) printf(", %s by order of first use", cli_count(paired[0]).s);
    print_only(&r->side[0]);
    print_only(&r->side[1]);
    putchar('\n');
}

static void print_counts(const verify_report *r)
{
    label("order");
    printf("%s at a different position in their stream, %s on a different "
           "stream\n",
           cli_count(r->of[VERIFY_ORDER]).s, cli_count(r->of[VERIFY_MOVED]).s);
    label("content");
    printf("%s with different arguments, or replaced by another operation\n",
           cli_count(r->of[VERIFY_CONTENT]).s);
    label("missing, extra");
    printf("%s only in A, %s only in B\n", cli_count(r->of[VERIFY_MISSING]).s,
           cli_count(r->of[VERIFY_EXTRA]).s);
}

static void print_spread(const verify_spread *s)
{
    printf("by p50 %s, p95 %s, max %s\n", cli_time(s->p50_ns).s,
           cli_time(s->p95_ns).s, cli_time(s->max_ns).s);
}

static void print_two(const char *name, const int64_t ns[2])
{
    label(name);
    printf("%s, %s", cli_time(ns[0]).s, cli_time(ns[1]).s);
    if (ns[0])
        printf(" (%s)",
               cli_change((double)(ns[1] - ns[0]) / (double)ns[0], 1).s);
    putchar('\n');
}

static void print_timing(const verify_report *r)
{
    printf("\n  timing of matching operations:\n");
    label("durations");
    printf("%s differ, ", cli_count(r->other_durations).s);
    print_spread(&r->duration);
    label("starts");
    fputs("differ ", stdout);
    print_spread(&r->start);
    print_two("work", r->work_ns);
    print_two("makespan", r->makespan_ns);
}

void verify_text(verify_report *r)
{
    cli_fold();
    printf("A: %s\nB: %s\n\n", r->side[0].path, r->side[1].path);
    label("operations");
    printf("%s in A, %s in B, %s match\n", cli_count(r->side[0].op_count).s,
           cli_count(r->side[1].op_count).s, cli_count(r->matched).s);
    print_streams(r);
    print_counts(r);
    if (r->matched) print_timing(r);
    if (r->count) {
        print_first(r);
        print_others(r);
    }
    if (verify_is_same(r))
        printf("\nsame: %s operations in the same order with the same "
               "arguments\n",
               cli_count(r->matched).s);
    else
        printf("\ndiverged: %s difference%s\n", cli_count(r->count).s,
               r->count == 1 ? "" : "s");
}
