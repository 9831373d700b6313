/* ---- Graph: dependencies that the source names -------------------------- */

// A dependency between correlations of one file.
typedef struct ts__named_dep {
    uint64_t from, to;
    uint32_t file;
} ts__named_dep;

static int ts__dep_compare(const void *left, const void *right)
{
    const ts__named_dep *const a = (const ts__named_dep *)left;
    const ts__named_dep *const b = (const ts__named_dep *)right;
    if (a->file != b->file) return a->file < b->file ? -1 : 1;
    if (a->to != b->to) return a->to < b->to ? -1 : 1;
    return (a->from > b->from) - (a->from < b->from);
}

static void ts__loader_take_deps(const ts_columns *c, uint32_t thread,
                                 void *user)
{
    (void)thread; // the scan uses one thread
    ts__loader *const l = (ts__loader *)user;
    for (uint32_t i = 0; i < c->count; i++) {
        ts__named_dep *const dep = (ts__named_dep *)ts__rvec_push(
            l->allocator, &l->replay->deps_named, sizeof *dep);
        if (!dep) {
            l->deps_failed = true;
            return;
        }
        dep->from = ts__columns_get(c, TS_COLUMN_RECORD, i);
        dep->to = ts__columns_get(c, TS_COLUMN_CORRELATION, i);
        dep->file = l->file;
    }
}

static int ts__dep_compare_number(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

// Sorts the dependencies and removes duplicates. Returns their number.
static size_t ts__deps_once(ts__named_dep *deps, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (!kept || ts__dep_compare(&deps[kept - 1], &deps[i]))
            deps[kept++] = deps[i];
    return kept;
}

// Loads the dependencies of a file, and the sorted correlations that they name:
// calls with such a correlation become nodes.
static ts_result ts__loader_deps(ts__loader *l)
{
    l->referenced.count = 0;
    if (!ts_reader_info(l->reader)->counts[TS_EVENT_DEPENDENCY]) return TS_OK;
    ts_replay *const r = l->replay;
    const size_t first = r->deps_named.count;
    const ts_filter filter = { .kinds = TS_FILTER(DEPENDENCY) };
    const ts_result scan =
        ts_reader_scan(l->reader, &filter, 1, ts__loader_take_deps, l);
    if (scan == TS_ERR_MEMORY || l->deps_failed) return TS_ERR_MEMORY;
    size_t count = r->deps_named.count - first;
    if (!count) return TS_OK;
    ts__named_dep *const deps = (ts__named_dep *)r->deps_named.data + first;
    qsort(deps, count, sizeof *deps, ts__dep_compare);
    count = ts__deps_once(deps, count);
    r->deps_named.count = first + count;
    if (!ts__rvec_reserve(l->allocator, &l->referenced, sizeof(uint64_t),
                          count * 2))
        return TS_ERR_MEMORY;
    uint64_t *const referenced = (uint64_t *)l->referenced.data;
    for (size_t i = 0; i < count; i++) {
        referenced[i * 2] = deps[i].from;
        referenced[i * 2 + 1] = deps[i].to;
    }
    l->referenced.count = count * 2;
    qsort(referenced, count * 2, sizeof *referenced, ts__dep_compare_number);
    return TS_OK;
}

static bool ts__loader_uses(const ts__loader *l, uint64_t correlation)
{
    return correlation && l->referenced.count &&
           bsearch(&correlation, l->referenced.data, l->referenced.count,
                   sizeof correlation, ts__dep_compare_number);
}
