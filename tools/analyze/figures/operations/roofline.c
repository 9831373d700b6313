/*
    roofline.c - FLOPs and achieved rates
*/
#include "tools/analyze/figures/operations/roofline.h"
#include "tools/cli/search.h"

// A zone of an operator, and the kernels launched in it.
typedef struct product_zone {
    uint32_t file, thread, site;
    int64_t start_ns, end_ns; // on the axis of the replay
    roofline_product product;
    bool has_dims, known;
    ts_text name;
    size_t row; // index of its row, plus 1
} product_zone;

typedef struct roofline_walk {
    roofline_result *r;
    const ts_replay *replay;
    const names_index *names;
    product_zone *zones;
    size_t zone_count, zone_room;
    char *dims; // dimensions of the zone at the end of the list
    size_t dims_size;
    uint8_t *wanted; // by site of a file
    uint32_t site_limit;
    uint32_t *row_of_group; // row by group, if a rule matches, plus 1
} roofline_walk;

static const char *const operators[] = { "aten::mm", "aten::addmm", "aten::bmm",
                                         "aten::baddbmm" };

/* ---- Rows ---------------------------------------------------------------- */

// Adds a row with a copy of the text; NULL if memory runs out.
static roofline_row *add_row(roofline_result *r, const char *text, size_t size)
{
    if (!cli_grow(&r->rows, &r->row_room, r->count + 1, sizeof *r->rows))
        return NULL;
    roofline_row *const row = &r->rows[r->count];
    memset(row, 0, sizeof *row);
    row->operation = TS_NODE_NONE;
    row->text = malloc(size + 1);
    if (!row->text) return NULL;
    memcpy(row->text, text, size);
    row->text[size] = 0;
    r->count++;
    return row;
}

static int by_product(const void *left, const void *right)
{
    const product_zone *const a = *(product_zone *const *)left;
    const product_zone *const b = *(product_zone *const *)right;
    const size_t size =
        a->name.size < b->name.size ? a->name.size : b->name.size;
    const int name = memcmp(a->name.text, b->name.text, size);
    if (name) return name;
    if (a->name.size != b->name.size)
        return a->name.size < b->name.size ? -1 : 1;
    const int text = strcmp(a->product.text, b->product.text);
    if (text) return text;
    if (a->product.bytes != b->product.bytes)
        return a->product.bytes < b->product.bytes ? -1 : 1;
    return (a > b) - (a < b);
}

// Sorts the products and gives equal ones the same row.
static bool number_products(roofline_walk *w)
{
    product_zone **const sorted = malloc((w->zone_count + 1) * sizeof *sorted);
    size_t count = 0;
    bool ok = sorted;
    for (size_t i = 0; ok && i < w->zone_count; i++)
        if (w->zones[i].known) sorted[count++] = &w->zones[i];
    if (ok && count) qsort(sorted, count, sizeof *sorted, by_product);
    for (size_t i = 0; ok && i < count; i++) {
        const product_zone *const before = i ? sorted[i - 1] : NULL;
        if (before && cli_is_text(before->name, sorted[i]->name.text) &&
            !strcmp(before->product.text, sorted[i]->product.text) &&
            before->product.bytes == sorted[i]->product.bytes) {
            sorted[i]->row = before->row;
        } else {
            char text[128];
            const int size = snprintf(
                text, sizeof text, "%.*s %s", (int)sorted[i]->name.size,
                sorted[i]->name.text, sorted[i]->product.text);
            ok = add_row(w->r, text, (size_t)size);
            sorted[i]->row = w->r->count;
        }
    }
    free(sorted);
    return ok;
}

/* ---- Zones --------------------------------------------------------------- */

// Marks the sites of operators. Returns false if there are none or memory runs
// out.
static bool find_sites(roofline_walk *w, const ts_reader *reader)
{
    bool any = false;
    w->site_limit = ts_reader_info(reader)->site_count + 1;
    free(w->wanted);
    w->wanted = calloc((size_t)w->site_limit + 1, 1);
    for (uint32_t i = 0; w->wanted && i <= w->site_limit; i++) {
        for (size_t k = 0; k < sizeof operators / sizeof *operators; k++)
            if (cli_is_text(ts_reader_site_name(reader, i), operators[k]))
                w->wanted[i] = 1;
        any |= w->wanted[i];
    }
    return any;
}

// Begins a zone of an operator, unless it is inside another one and so a part
// of that.
static bool begin_zone(roofline_walk *w, product_zone zone)
{
    for (size_t i = w->zone_count; i-- > 0 && i + 16 > w->zone_count;) {
        const product_zone *const z = &w->zones[i];
        if (z->file == zone.file && z->thread == zone.thread &&
            zone.start_ns < z->end_ns)
            return true;
    }
    if (!cli_grow(&w->zones, &w->zone_room, w->zone_count + 1,
                  sizeof *w->zones))
        return false;
    w->zones[w->zone_count++] = zone;
    w->r->operators++;
    w->dims_size = 0;
    return true;
}

// Reads an argument. Dimensions may come before or after the types; both are
// needed.
static bool take_argument(roofline_walk *w, const ts_event *event,
                          ts_text argument, int64_t start, char **types,
                          size_t *types_size)
{
    product_zone *const z = w->zone_count ? &w->zones[w->zone_count - 1] : NULL;
    const bool dims = cli_is_text(argument, "Input Dims");
    const ts_text text = ts_event_text(event);
    if (!z || (!dims && !cli_is_text(argument, "Input type")) ||
        z->thread != event->track || z->start_ns != start ||
        z->site != (uint32_t)ts_event_value(event, TS_COLUMN_SITE))
        return true;
    char **const keep = dims ? &w->dims : types;
    char *const copy = realloc(*keep, text.size + 1);
    if (!copy) return false;
    memcpy(copy, text.text, text.size);
    *keep = copy;
    *(dims ? &w->dims_size : types_size) = text.size;
    z->has_dims |= dims;
    const ts_text d = { w->dims, w->dims_size };
    const ts_text t = { *types ? *types : "", *types ? *types_size : 0 };
    if (z->has_dims) z->known = roofline_product_of(&z->product, z->name, d, t);
    return true;
}

static bool take_zones(roofline_walk *w, uint32_t index,
                       const ts_replay_file *file)
{
    const ts_filter filter = { .kinds = TS_FILTER(ZONE) | TS_FILTER(ZONE_ARG) };
    ts_cursor *cursor = NULL;
    ts_event event;
    char *types = NULL;
    size_t types_size = 0;
    bool ok = ts_cursor_open(&cursor, file->reader, &filter) != TS_ERR_MEMORY;
    while (ok && cursor && ts_cursor_next(cursor, &event)) {
        const uint64_t site = ts_event_value(&event, TS_COLUMN_SITE);
        if (site > w->site_limit || !w->wanted[site]) continue;
        const int64_t start = event.start_ns + file->offset_ns;
        if (event.kind == TS_EVENT_ZONE) {
            const product_zone zone = { .file = index,
                                        .thread = event.track,
                                        .site = (uint32_t)site,
                                        .start_ns = start,
                                        .end_ns = start + event.duration_ns,
                                        .name = ts_reader_site_name(
                                            file->reader, (uint32_t)site) };
            types_size = 0;
            ok = begin_zone(w, zone);
        } else {
            ok = take_argument(
                w, &event,
                ts_reader_name(file->reader, (uint32_t)ts_event_value(
                                                 &event, TS_COLUMN_NAME)),
                start, &types, &types_size);
        }
    }
    ts_cursor_close(cursor);
    free(types);
    return ok;
}

static int by_time(const void *left, const void *right)
{
    const product_zone *const a = left, *const b = right;
    if (a->file != b->file) return a->file < b->file ? -1 : 1;
    if (a->thread != b->thread) return a->thread < b->thread ? -1 : 1;
    return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

// Returns the operator zone of a call; those of a thread do not overlap.
static product_zone *zone_of(const roofline_walk *w, const ts_node *call)
{
    const product_zone key = { .file = call->file,
                               .thread = call->track,
                               .start_ns = call->recorded_ns };
    size_t low = 0, high = w->zone_count;
    while (low < high) // the first zone that begins later
        cli_halve(&low, &high,
                  by_time(&w->zones[cli_middle(low, high)], &key) <= 0);
    product_zone *const z = low ? &w->zones[low - 1] : NULL;
    return z && z->file == call->file && z->thread == call->track &&
                   call->recorded_ns < z->end_ns
               ? z
               : NULL;
}

/* ---- Operations ---------------------------------------------------------- */

static void add_kernel(roofline_walk *w, roofline_row *row, uint32_t operation,
                       int64_t ns)
{
    row->kernels++;
    row->work_ns += ns;
    w->r->known_ns += ns;
    if (row->operation == TS_NODE_NONE) row->operation = operation;
}

// Adds with saturation, so that sums stay below 2^63.
static void add_to(uint64_t *sum, uint64_t more)
{
    *sum = more > INT64_MAX - *sum ? INT64_MAX : *sum + more;
}

static void add_work(roofline_walk *w, roofline_row *row, uint64_t flops,
                     uint64_t bytes)
{
    row->count++;
    add_to(&row->flops, flops);
    add_to(&row->bytes, bytes);
    add_to(&w->r->flops, flops);
}

static uint64_t amount(uint64_t each, roofline_per per,
                       const ts_launch_entry *launch)
{
    uint64_t all = each;
    for (int i = 0; launch && i < 3 && per != ROOFLINE_LAUNCH; i++) {
        if (launch->grid[i]) all = roofline_times(all, launch->grid[i]);
        if (launch->block[i] && per == ROOFLINE_THREAD)
            all = roofline_times(all, launch->block[i]);
    }
    return all;
}

// Returns the first rule that matches a name.
static const roofline_rule *rule_of(const roofline_rule *rules, size_t count,
                                    ts_text name)
{
    for (size_t i = 0; i < count; i++)
        if (cli_regex_matches(&rules[i].regex, name)) return &rules[i];
    return NULL;
}

static bool take_rules(roofline_walk *w, const roofline_rule *rules,
                       size_t count, const roofline_rule **of_group)
{
    for (size_t i = 0; i < w->names->count; i++) {
        const names_group *const g = &w->names->groups[i];
        of_group[i] =
            g->kind == TS_EVENT_KERNEL ? rule_of(rules, count, g->text) : NULL;
        if (!of_group[i]) continue;
        roofline_row *const row = add_row(w->r, g->text.text, g->text.size);
        if (!row) return false;
        row->rule = true;
        w->row_of_group[i] = (uint32_t)w->r->count;
    }
    return true;
}

static void take_operation(roofline_walk *w, uint32_t index,
                           const ts_operation *op,
                           const roofline_rule *const *of_group)
{
    const int64_t ns = op->recorded_end_ns - op->recorded_start_ns;
    const uint32_t group = w->names->of[index];
    ts_node call;
    w->r->kernel_ns += ns;
    if (w->row_of_group[group]) {
        const roofline_rule *const rule = of_group[group];
        const ts_launch_entry *const launch =
            ts_reader_launch(ts_replay_reader(w->replay, op->file), op->label);
        roofline_row *const row = &w->r->rows[w->row_of_group[group] - 1];
        add_kernel(w, row, index, ns);
        add_work(w, row, amount(rule->flops, rule->flops_per, launch),
                 amount(rule->bytes, rule->bytes_per, launch));
        return;
    }
    if (op->call == TS_NODE_NONE || !ts_replay_node(w->replay, op->call, &call))
        return;
    product_zone *const zone = zone_of(w, &call);
    if (!zone || !zone->row) return;
    roofline_row *const row = &w->r->rows[zone->row - 1];
    add_kernel(w, row, index, ns);
    if (zone->has_dims) // its FLOPs count once, with its first kernel
        add_work(w, row, zone->product.flops, zone->product.bytes);
    zone->has_dims = false;
}

static int longer_first(const void *left, const void *right)
{
    const roofline_row *const a = left, *const b = right;
    if (a->work_ns != b->work_ns) return a->work_ns > b->work_ns ? -1 : 1;
    return strcmp(a->text, b->text);
}

// Sorts the rows, and drops products that launched nothing.
static void sort_rows(roofline_result *r)
{
    size_t kept = 0;
    for (size_t i = 0; i < r->count; i++)
        if (r->rows[i].kernels)
            r->rows[kept++] = r->rows[i];
        else
            free(r->rows[i].text);
    r->count = kept;
    if (kept) qsort(r->rows, kept, sizeof *r->rows, longer_first);
}

static bool walk(roofline_walk *w, const roofline_rule *rules,
                 size_t rule_count)
{
    const roofline_rule **const of_group =
        calloc(w->names->count + 1, sizeof *of_group);
    ts_replay_file file;
    ts_operation op;
    bool ok = of_group;
    for (uint32_t i = 0; ok && ts_replay_file_at(w->replay, i, &file); i++)
        if (find_sites(w, file.reader)) ok = take_zones(w, i, &file);
    if (ok && w->zone_count)
        qsort(w->zones, w->zone_count, sizeof *w->zones, by_time);
    ok = ok && number_products(w) && take_rules(w, rules, rule_count, of_group);
    for (uint32_t i = 0; ok && ts_replay_operation(w->replay, i, &op); i++)
        if (op.kind == TS_EVENT_KERNEL) take_operation(w, i, &op, of_group);
    if (ok) sort_rows(w->r);
    free(of_group);
    return ok;
}

bool roofline_open(roofline_result *r, const ts_replay *replay,
                   const names_index *names, const roofline_rule *rules,
                   size_t rule_count)
{
    roofline_walk w = { .r = r, .replay = replay, .names = names };
    memset(r, 0, sizeof *r);
    w.row_of_group = calloc(names->count + 1, sizeof *w.row_of_group);
    const bool ok = w.row_of_group && walk(&w, rules, rule_count);
    free(w.row_of_group);
    free(w.zones);
    free(w.dims);
    free(w.wanted);
    return ok;
}

void roofline_close(roofline_result *r)
{
    for (size_t i = 0; i < r->count; i++)
        free(r->rows[i].text);
    free(r->rows);
    memset(r, 0, sizeof *r);
}
