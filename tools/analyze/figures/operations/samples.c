/*
    samples.c - samples of profiles: weights by call stack and by function
*/
#include "tools/analyze/figures/operations/samples.h"

typedef struct gather {
    samples *s;
    analyze_job *job;
    flame_stacks stacks;
    uint32_t file;
    int64_t offset_ns;
    samples_visit *visit; // NULL: none
    void *user;
    // The type of the last row, since neighbours mostly have the same.
    uint64_t name, unit;
    samples_type *type;
} gather;

/* ---- Types --------------------------------------------------------------- */

static void set_unit(samples_type *t)
{
    const cli_unit unit = cli_unit_of(t->unit);
    t->shown = unit.of == CLI_TIME   ? REPORT_NS
               : unit.of == CLI_SIZE ? REPORT_BYTES
                                     : REPORT_COUNT;
    t->scale = unit.scale;
}

static samples_type *type_of(gather *g, uint64_t name, uint64_t unit)
{
    samples *const s = g->s;
    if (g->type && g->name == name && g->unit == unit) return g->type;
    const ts_reader *const reader = analyze_reader(g->job, g->file);
    samples_type made = { .name = ts_reader_name(reader, (uint32_t)name),
                          .unit = ts_reader_name(reader, (uint32_t)unit) };
    size_t i = 0;
    while (i < s->type_count && !(cli_same_text(s->types[i].name, made.name) &&
                                  cli_same_text(s->types[i].unit, made.unit)))
        i++;
    if (i == SAMPLES_TYPES) return NULL;
    if (i == s->type_count) {
        set_unit(&made);
        s->types[s->type_count++] = made;
    }
    g->name = name;
    g->unit = unit;
    return g->type = &s->types[i];
}

/* ---- Rows ---------------------------------------------------------------- */

static bool add_weight(samples_type *t, uint32_t node, double weight)
{
    const size_t before = t->room;
    if (!cli_grow(&t->weights, &t->room, (size_t)node + 1, sizeof *t->weights))
        return false;
    for (size_t i = before; i < t->room; i++)
        t->weights[i] = 0;
    t->weights[node] += weight;
    t->total += weight;
    return true;
}

static uint64_t value_at(const ts_columns *c, ts_column column, uint32_t row)
{
    return c->values[column] ? c->values[column][row] : 0;
}

// A weight that is no number or negative counts as 0.
static double weight_at(const ts_columns *c, uint32_t row)
{
    const uint64_t bits = value_at(c, TS_COLUMN_VALUE, row);
    double real = (double)(int64_t)bits;
    if (value_at(c, TS_COLUMN_TYPE, row) == TS_VALUE_DOUBLE)
        memcpy(&real, &bits, sizeof real);
    return real > 0 && real < 1e300 ? real : 0;
}

static bool take_row(gather *g, const ts_columns *c, uint32_t row)
{
    static const ts_text nowhere = { "(no stack)", 10 };
    const uint32_t stack = (uint32_t)value_at(c, TS_COLUMN_STACK, row);
    samples_type *const t = type_of(g, value_at(c, TS_COLUMN_NAME, row),
                                    value_at(c, TS_COLUMN_UNIT, row));
    g->s->count++;
    if (!t) return g->s->left_out++, true;
    t->count++;
    uint32_t node = PATHS_ROOT;
    if (stack) node = flame_stack_node(&g->stacks, g->file, stack);
    if (node == PATHS_ROOT) {
        const uint32_t name = paths_name(&g->s->paths, nowhere);
        if (name == CLI_NONE) return false;
        t->without_stack++;
        node = paths_child(&g->s->paths, PATHS_ROOT, name);
    }
    const double weight = weight_at(c, row);
    if (weight < 1e15 && weight > (double)(int64_t)weight) t->fractions = true;
    if (node == CLI_NONE || !add_weight(t, node, weight * t->scale))
        return false;
    const samples_one one = { .type = (size_t)(t - g->s->types),
                              .node = node,
                              .file = g->file,
                              .stack = stack,
                              .start_ns = c->start_ns[row] + g->offset_ns,
                              .weight = weight * t->scale };
    return !g->visit || g->visit(g->user, &one);
}

static bool take_file(gather *g)
{
    ts_reader *const reader = analyze_reader(g->job, g->file);
    ts_columns columns = { 0 };
    ts_chunk_info chunk;
    bool ok = true;
    g->type = NULL;
    if (g->visit) g->offset_ns = analyze_offset(g->job, g->file);
    for (size_t i = 0; ok && ts_reader_chunk(reader, i, &chunk); i++) {
        if (chunk.header.kind != TS_CHUNK_EVENTS ||
            chunk.header.event != TS_EVENT_SAMPLE)
            continue;
        const ts_result result = ts_reader_decode(reader, i, &columns);
        ok = result != TS_ERR_MEMORY;
        for (uint32_t k = 0; result == TS_OK && ok && k < columns.count; k++)
            ok = take_row(g, &columns, k);
    }
    ts_columns_close(reader, &columns);
    return ok;
}

bool samples_walk(samples *s, analyze_job *job, samples_visit *visit,
                  void *user)
{
    *s = (samples){ 0 };
    gather g = { .s = s,
                 .job = job,
                 .visit = visit,
                 .user = user,
                 .stacks = { .job = job, .paths = &s->paths } };
    bool ok = paths_open(&s->paths);
    for (; ok && g.file < job->file_count; g.file++)
        ok = take_file(&g);
    flame_stacks_close(&g.stacks);
    return ok;
}

bool samples_open(samples *s, analyze_job *job)
{
    return samples_walk(s, job, NULL, NULL);
}

void samples_close(samples *s)
{
    for (size_t i = 0; i < s->type_count; i++)
        free(s->types[i].weights);
    paths_close(&s->paths);
}

/* ---- Results ------------------------------------------------------------- */

static cli_samples samples_of(const samples_type *t)
{
    return (cli_samples){ t->shown == REPORT_NS, t->total, t->count };
}

const samples_type *samples_main(const samples *s)
{
    const samples_type *best = NULL;
    for (const samples_type *t = s->types; t < s->types + s->type_count; t++)
        if (!best || cli_samples_lead(samples_of(t), samples_of(best)))
            best = t;
    return best;
}

int64_t samples_parts(const samples_type *type)
{
    const bool parts = type->fractions && type->shown == REPORT_COUNT &&
                       type->total < SAMPLES_PARTS;
    return parts ? SAMPLES_PARTS : 1;
}

void samples_weigh(samples *s, const samples_type *type)
{
    // No sum of them overflows.
    const double scale =
        type->total < 9e18 ? (double)samples_parts(type) : 9e18 / type->total;
    for (uint32_t n = 0; n < s->paths.node_count; n++) {
        const double weight = n < type->room ? type->weights[n] * scale : 0;
        s->paths.nodes[n].own_ns = (int64_t)(weight + 0.5);
    }
}

static int64_t sum(int64_t a, int64_t b)
{
    return a > INT64_MAX - b ? INT64_MAX : a + b;
}

static int by_self(const void *left, const void *right)
{
    const samples_function *const a = left, *const b = right;
    if (a->self != b->self) return a->self > b->self ? -1 : 1;
    if (a->total != b->total) return a->total > b->total ? -1 : 1;
    return (a->name > b->name) - (a->name < b->name);
}

bool samples_functions(const samples *s, samples_function **list, size_t *count)
{
    const path_tree *const p = &s->paths;
    samples_function *const all = calloc(p->name_count + 1u, sizeof *all);
    // The last path by whose weight each name was counted.
    uint32_t *const seen = calloc(p->name_count + 1u, sizeof *seen);
    *list = all;
    *count = 0;
    for (uint32_t n = 1; all && seen && n < p->node_count; n++) {
        const int64_t own = p->nodes[n].own_ns;
        if (!own) continue;
        all[p->nodes[n].name].self = sum(all[p->nodes[n].name].self, own);
        for (uint32_t at = n; at != PATHS_ROOT; at = p->nodes[at].parent) {
            const uint32_t name = p->nodes[at].name;
            if (seen[name] == n) continue;
            seen[name] = n;
            all[name].total = sum(all[name].total, own);
        }
    }
    for (uint32_t i = 0; all && seen && i < p->name_count; i++)
        if (all[i].total)
            all[(*count)++] =
                (samples_function){ i, all[i].self, all[i].total };
    if (all && seen) qsort(all, *count, sizeof *all, by_self);
    const bool ok = all && seen;
    free(seen);
    return ok;
}
