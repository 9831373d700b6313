/*
    nested.c - zones whose begin and end are rows of their own
*/
#include "tools/import/nested.h"

enum {
    DEPTH = 4096,    // begun zones of a thread
    ROOM = 64 << 20, // bytes of all begun zones
};

typedef struct begun_arg {
    struct begun_arg *next;
    uint64_t value;
    uint32_t name;
    ts_value_type type;
    size_t size;
    char text[];
} begun_arg;

struct import_begun {
    import_begun *below;
    begun_arg *first, *last;
    int64_t start_ns, duration_ns; // start_ns IMPORT_NONE: not written
    uint32_t site, depth;
    size_t size;
    char text[];
};

import_nested import_nested_open(import_job *job)
{
    return (import_nested){ .job = job };
}

// Returns the nest of a thread; NULL: no memory.
static import_nest *nest_of(import_nested *n, uint32_t thread)
{
    const uint32_t row = cli_map_row(&n->rows, thread);
    if (row != CLI_NONE) return &n->nests[row];
    if (!cli_grow(&n->nests, &n->room, n->count + 1, sizeof *n->nests) ||
        !cli_map_set(&n->rows, thread, n->count)) {
        n->no_memory = true;
        return NULL;
    }
    n->nests[n->count] = (import_nest){ .thread = thread };
    return &n->nests[n->count++];
}

void import_nested_begin(import_nested *n, uint32_t thread, int64_t start_ns,
                         uint32_t site, const char *text, size_t size)
{
    import_nest *const nest = nest_of(n, thread);
    if (!nest) return;
    const uint32_t depth = nest->top ? nest->top->depth + 1 : 0;
    const size_t bytes = sizeof(import_begun) + size;
    if (start_ns == IMPORT_NONE) import_bad(n->job, "bad_time", IMPORT_NONE);
    if (nest->lost || depth >= DEPTH || n->bytes + bytes > ROOM) {
        nest->lost++;
        if (start_ns != IMPORT_NONE)
            import_bad(n->job, "too_much_begun", start_ns);
        return;
    }
    import_begun *const begun = malloc(bytes);
    if (!begun) {
        n->no_memory = true;
        return;
    }
    *begun = (import_begun){ .below = nest->top,
                             .start_ns = start_ns,
                             .site = site,
                             .depth = depth,
                             .size = size };
    if (size) memcpy(begun->text, text, size);
    nest->top = begun;
    n->bytes += bytes;
}

void import_nested_arg(import_nested *n, uint32_t thread, uint32_t name,
                       ts_value_type type, uint64_t value, const char *text,
                       size_t size)
{
    import_nest *const nest = nest_of(n, thread);
    import_begun *const begun = nest && !nest->lost ? nest->top : NULL;
    const size_t bytes = sizeof(begun_arg) + size;
    if (!nest) return;
    if (!begun || n->bytes + bytes > ROOM) {
        import_bad(n->job,
                   begun || nest->lost ? "too_much_begun" : "arg_without_zone",
                   IMPORT_NONE);
        return;
    }
    begun_arg *const arg = malloc(bytes);
    if (!arg) {
        n->no_memory = true;
        return;
    }
    *arg =
        (begun_arg){ .value = value, .name = name, .type = type, .size = size };
    if (size) memcpy(arg->text, text, size);
    *(begun->last ? &begun->last->next : &begun->first) = arg;
    begun->last = arg;
    n->bytes += bytes;
}

static void forget(import_nested *n, import_begun *begun)
{
    for (begun_arg *arg = begun->first, *next; arg; arg = next) {
        next = arg->next;
        n->bytes -= sizeof *arg + arg->size;
        free(arg);
    }
    n->bytes -= sizeof *begun + begun->size;
    free(begun);
}

static void write_args(import_nested *n, uint32_t thread, const import_begun *b)
{
    for (const begun_arg *arg = b->first; arg; arg = arg->next) {
        double real;
        memcpy(&real, &arg->value, sizeof real);
        if (arg->type == TS_VALUE_TEXT)
            import_zone_text(n->job, thread, b->start_ns, b->site, arg->name,
                             arg->text, arg->size);
        else if (arg->type == TS_VALUE_DOUBLE)
            import_zone_double(n->job, thread, b->start_ns, b->site, arg->name,
                               real);
        else
            import_zone_int(n->job, thread, b->start_ns, b->site, arg->name,
                            (int64_t)arg->value);
    }
}

static void write_ended(import_nested *n, import_nest *nest)
{
    for (import_begun *b = nest->ended, *below; b; b = below) {
        below = b->below;
        import_zone_at(n->job, nest->thread, b->start_ns, b->duration_ns,
                       b->site, NULL);
        if (b->size)
            import_zone_text(n->job, nest->thread, b->start_ns, b->site,
                             import_name(n->job, "args", 4), b->text, b->size);
        write_args(n, nest->thread, b);
        forget(n, b);
    }
    nest->ended = NULL;
}

// Zones of the same time are held back, as the outermost must come first.
static void push_ended(import_nested *n, import_nest *nest, import_begun *b)
{
    const import_begun *const inner = nest->ended;
    if (inner && (inner->start_ns != b->start_ns || inner->depth <= b->depth ||
                  inner->duration_ns != b->duration_ns))
        write_ended(n, nest);
    b->below = nest->ended;
    nest->ended = b;
}

// Takes the zone that an end belongs to from the open ones; NULL: there is
// none. Ends of the zones within it are lost.
static import_begun *pop(import_nested *n, import_nest *nest, uint32_t site)
{
    import_begun *found = nest->top;
    while (site && found && found->site != site)
        found = found->below;
    if (!found) return NULL;
    for (import_begun *b = nest->top, *below; b != found; b = below) {
        below = b->below;
        if (b->start_ns != IMPORT_NONE)
            import_bad(n->job, "begin_without_end", b->start_ns);
        forget(n, b);
    }
    nest->top = found->below;
    return found;
}

static void end(import_nested *n, import_nest *nest, import_begun *b,
                int64_t end_ns)
{
    const bool is_timed = b->start_ns != IMPORT_NONE && end_ns != IMPORT_NONE;
    if (is_timed && end_ns >= b->start_ns &&
        !__builtin_sub_overflow(end_ns, b->start_ns, &b->duration_ns)) {
        push_ended(n, nest, b);
        return;
    }
    if (is_timed) import_bad(n->job, "reversed_time", b->start_ns);
    forget(n, b);
}

void import_nested_end(import_nested *n, uint32_t thread, int64_t end_ns,
                       uint32_t site)
{
    import_nest *const nest = nest_of(n, thread);
    if (!nest) return;
    if (end_ns == IMPORT_NONE) import_bad(n->job, "bad_time", IMPORT_NONE);
    if (nest->lost) {
        nest->lost--;
        return;
    }
    import_begun *const begun = pop(n, nest, site);
    if (begun)
        end(n, nest, begun, end_ns);
    else if (end_ns != IMPORT_NONE)
        import_bad(n->job, "end_without_begin", end_ns);
}

static void write_open(import_nested *n, import_nest *nest)
{
    for (import_begun *b = nest->top, *below; b; b = below) {
        below = b->below;
        const ts_writer_value values[] = { { TS_COLUMN_SITE, b->site },
                                           { TS_COLUMN_DEPTH, b->depth } };
        if (b->start_ns != IMPORT_NONE)
            import_event(n->job, TS_EVENT_ZONE_OPEN, nest->thread, b->start_ns,
                         0, values, 2);
        if (b->start_ns != IMPORT_NONE) write_args(n, nest->thread, b);
        forget(n, b);
    }
}

bool import_nested_close(import_nested *n)
{
    for (size_t i = 0; i < n->count; i++) {
        write_ended(n, &n->nests[i]);
        write_open(n, &n->nests[i]);
    }
    free(n->nests);
    cli_map_close(&n->rows);
    return !n->no_memory;
}
