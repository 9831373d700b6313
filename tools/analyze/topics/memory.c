/*
    memory.c - memory use over time and by place
*/
#include "tools/analyze/topics/memory.h"

/* ---- Names -------------------------------------------------------------- */

ts_text topic_memory_pool(const memory_job *a, uint32_t index)
{
    static const char *const kinds[] = { "memory",        "pageable", "pinned",
                                         "device memory", "managed",  "array" };
    if (index == CLI_NONE) return analyze_format(a->job, "unknown");
    const memory_pool *const p = &a->m.pools[index];
    const bool several = a->job->file_count > 1;
    const int size = p->name.size < 200 ? (int)p->name.size : 200;
    const char *const of = several ? " of " : "";
    const cli_text file =
        several ? analyze_file_name(a->job, p->file) : cli_format("%s", "");
    if (p->process) {
        const ts_text process = analyze_track(a->job, p->file, p->process);
        return analyze_format(a->job, "%.*s of %.*s", size ? size : 9,
                              size ? p->name.text : "host heap",
                              process.size < 200 ? (int)process.size : 200,
                              process.text);
    }
    if (!p->device)
        return analyze_format(a->job, "%.*s%s%s", size ? size : 9,
                              size ? p->name.text : "host heap", of, file.s);
    const ts_text device = analyze_track(a->job, p->file, p->device);
    return analyze_format(a->job, "%.*s %.*s%s%s", (int)device.size,
                          device.text,
                          size ? size : (int)strlen(kinds[p->memory % 6]),
                          size ? p->name.text : kinds[p->memory % 6], "", "");
}

ts_text topic_memory_path(const memory_job *a, uint32_t path)
{
    char text[240];
    const size_t size = paths_text(&a->m.paths, path, text, sizeof text);
    if (!size) return analyze_format(a->job, "(in no zone)");
    return analyze_format(a->job, "%.*s", (int)size, text);
}

static ts_text category_name(const memory_job *a, uint32_t category)
{
    static const ts_text none = { "(none)", 6 };
    return category == CLI_NONE ? none : a->m.paths.names[category];
}

report_evidence topic_memory_around(const memory_job *a, uint32_t file,
                                    int64_t from_ns, int64_t to_ns)
{
    const int64_t end = to_ns == MEMORY_NEVER ? a->m.last_ns : to_ns;
    return report_from_to(file, from_ns, end > from_ns ? end : from_ns + 1);
}

// Limits the rows of a table, since all could be as large as the trace.
size_t topic_memory_shown(const memory_job *a, size_t count)
{
    const analyze_options *const o = &a->job->options;
    const uint64_t most = o->rows > o->top ? o->rows : o->top;
    return count < most ? count : (size_t)most;
}

/* ---- Pools -------------------------------------------------------------- */

static int by_peak(const void *left, const void *right)
{
    const memory_pool *const a = *(const memory_pool *const *)left,
                             *const b = *(const memory_pool *const *)right;
    if (a->peak_size != b->peak_size)
        return a->peak_size > b->peak_size ? -1 : 1;
    return (a > b) - (a < b); // both are in one array: keep its order
}

// Returns the pools sorted by peak; the caller frees the list.
static const memory_pool **sorted_pools(const memory *m)
{
    const memory_pool **const sorted =
        malloc((m->pool_count + 1) * sizeof *sorted);
    for (size_t i = 0; sorted && i < m->pool_count; i++)
        sorted[i] = &m->pools[i];
    if (sorted) qsort(sorted, m->pool_count, sizeof *sorted, by_peak);
    return sorted;
}

static void put_pools(const memory_job *a, const memory_pool **pools)
{
    static const report_column columns[] = {
        { "pool", "pool", REPORT_TEXT },
        { "peak_bytes", "peak", REPORT_BYTES },
        { "peak_ns", "at", REPORT_TIME },
        { "peak_blocks", "blocks", REPORT_COUNT },
        { "end_bytes", "at the end", REPORT_BYTES },
        { "allocations", "allocations", REPORT_COUNT },
        { "allocated_bytes", "of bytes", REPORT_BYTES },
        { "per_second", "per s", REPORT_COUNT },
    };
    report_table *const t =
        report_table_begin(a->section, "pools", "Pools", columns, 8);
    for (size_t i = 0; i < topic_memory_shown(a, a->m.pool_count); i++) {
        const memory_pool *const p = pools[i];
        const int64_t span = p->last_ns - p->first_ns;
        const report_value row[] = {
            report_text(topic_memory_pool(a, (uint32_t)(p - a->m.pools))),
            report_bytes(p->peak_size),
            report_time(p->peak_ns),
            report_count(p->peak_count),
            report_bytes(p->live_size),
            report_count(p->allocations),
            report_bytes(p->allocated_size),
            span > 0 ? report_count(p->allocations * UINT64_C(1000000000) /
                                    (uint64_t)span)
                     : report_unknown(REPORT_COUNT),
        };
        const report_evidence e =
            topic_memory_around(a, p->file, p->peak_ns, p->peak_ns + 1);
        report_row(t, row, &e);
    }
}

static void put_line(const memory_job *a, report_chart *chart, ts_text label,
                     const memory_line *line)
{
    if (!line->peak) return;
    const uint32_t at = report_series_line(chart, label);
    for (uint32_t i = 0; i < MEMORY_SLICES; i++)
        if (!i || line->most[i] != line->most[i - 1])
            report_series_add(chart, at, memory_slice_ns(&a->m, i),
                              (int64_t)line->most[i]);
    report_series_add(chart, at, a->m.last_ns,
                      (int64_t)line->most[MEMORY_SLICES - 1]);
}

static void put_lines(const memory_job *a)
{
    const memory *const m = &a->m;
    report_chart *const pools = report_series_begin(
        a->section, "held", "Memory in use over time, by pool", REPORT_BYTES);
    for (size_t i = 0; i < m->pool_lines; i++) {
        const bool others =
            i + 1 == MEMORY_LINES_MOST && m->pool_count > MEMORY_LINES_MOST;
        put_line(a, pools,
                 others ? analyze_format(a->job, "other pools")
                        : topic_memory_pool(a, (uint32_t)i),
                 &m->lines[i]);
    }
    // A single category carries no information.
    if (m->line_count < m->pool_lines + 2) return;
    report_chart *const categories = report_series_begin(
        a->section, "held_by_category", "Memory in use over time, by category",
        REPORT_BYTES);
    for (size_t i = m->pool_lines; i < m->line_count; i++)
        put_line(a, categories, category_name(a, m->lines[i].category),
                 &m->lines[i]);
}

/* ---- Largest users ------------------------------------------------------ */

static ts_text group_name(const memory_job *a, memory_key key,
                          const memory_group *g)
{
    const uint32_t file = a->m.pools[g->pool].file;
    switch (key) {
    case MEMORY_BY_PATH: return topic_memory_path(a, g->value);
    case MEMORY_BY_STACK:
        return g->value ? analyze_stack(a->job, file, g->value, 6)
                        : analyze_format(a->job, "(no stack)");
    case MEMORY_BY_SIZE:
        return analyze_format(
            a->job, "up to %s",
            g->value < 63 ? cli_bytes(UINT64_C(1) << g->value).s : "all");
    case MEMORY_BY_CATEGORY: break;
    }
    return category_name(a, g->value);
}

// Returns the source location of the zone of a block; "" if unknown.
static ts_text source_of(const memory_job *a, const memory_block *b)
{
    const ts_reader *const reader = analyze_reader(a->job, b->file);
    const ts_site_entry *const site =
        b->site ? ts_reader_site(reader, b->site) : NULL;
    ts_text file = { "", 0 };
    if (site) file = ts_reader_name(reader, site->file);
    if (!file.size) return file;
    return analyze_format(a->job, "%.*s:%" PRIu32,
                          file.size < 200 ? (int)file.size : 200, file.text,
                          site->line);
}

static bool put_groups(const memory_job *a, memory_key key, bool never_freed,
                       const char *table, const char *title)
{
    static const char *const labels[] = { "zone", "stack", "size", "category" };
    const report_column columns[] = {
        { "pool", "pool", REPORT_TEXT },
        { "bytes", "bytes", REPORT_BYTES },
        { "share", never_freed ? "of allocated" : "of peak", REPORT_SHARE },
        { "blocks", "blocks", REPORT_COUNT },
        { labels[key], labels[key], REPORT_TEXT },
        { "source", "source", REPORT_TEXT },
    };
    bool sources = false;
    memory_group *groups;
    size_t count;
    if (!memory_groups(&a->m, key, never_freed, &groups, &count)) return false;
    // One group for each pool carries no more information than the pools.
    bool useful = key == (never_freed ? MEMORY_BY_PATH : MEMORY_BY_SIZE);
    for (size_t i = 0; i < count; i++)
        useful |= groups[i].value != 0 && groups[i].value != CLI_NONE;
    for (size_t i = 0;
         i < topic_memory_shown(a, count) && key == MEMORY_BY_PATH; i++)
        sources |= source_of(a, &a->m.blocks[groups[i].first]).size > 0;
    if (count > 0 && useful) {
        report_table *const t = report_table_begin(a->section, table, title,
                                                   columns, sources ? 6 : 5);
        for (size_t i = 0; i < topic_memory_shown(a, count); i++) {
            const memory_group *const g = &groups[i];
            const memory_pool *const p = &a->m.pools[g->pool];
            const memory_block *const b = &a->m.blocks[g->first];
            const report_value row[] = {
                report_text(topic_memory_pool(a, g->pool)),
                report_bytes(g->size),
                report_share(
                    (int64_t)g->size,
                    (int64_t)(never_freed ? p->allocated_size : p->peak_size)),
                report_count(g->count),
                report_text(group_name(a, key, g)),
                report_text(source_of(a, b)),
            };
            const report_evidence e = topic_memory_around(
                a, p->file, b->from_ns, never_freed ? b->to_ns : p->peak_ns);
            report_row(t, row, &e);
        }
        report_rows_of(t, count);
    }
    free(groups);
    return true;
}

/* ---- The answer --------------------------------------------------------- */

// Reports the peak. The counters of the allocator are better evidence than the
// blocks that the trace recorded.
static void answer_peak(const memory_job *a, const memory_pool *p, ts_text pool)
{
    const cli_text at = report_words(report_time(p->peak_ns));
    if (a->counted.size > p->peak_size)
        report_answer(a->section,
                      "At most %s of %.*s was in use at once, at %s, according "
                      "to counter %.*s; the trace contains allocations of %s "
                      "of it, and the rest was allocated before.",
                      cli_bytes(a->counted.size).s, (int)pool.size, pool.text,
                      at.s, (int)a->counted.counter.size,
                      a->counted.counter.text, cli_bytes(p->peak_size).s);
    else
        report_answer(a->section,
                      "At most %s of %.*s was in use at once, at "
                      "%s.",
                      cli_bytes(p->peak_size).s, (int)pool.size, pool.text,
                      at.s);
}

// Returns the pool with the highest peak, from counters or blocks.
static const memory_pool *first_pool(const memory_job *a,
                                     const memory_pool **pools)
{
    return a->counted.size > pools[0]->peak_size ? &a->m.pools[a->counted.pool]
                                                 : pools[0];
}

static bool put_answer(const memory_job *a, const memory_pool *p)
{
    memory_group *groups;
    size_t count;
    const uint32_t index = (uint32_t)(p - a->m.pools);
    const ts_text pool = topic_memory_pool(a, index);
    answer_peak(a, p, pool);
    if (!memory_groups(&a->m, MEMORY_BY_PATH, false, &groups, &count))
        return false;
    for (size_t i = 0; i < count; i++) {
        if (groups[i].pool != index || groups[i].value == PATHS_ROOT) continue;
        const path_tree *const tree = &a->m.paths;
        const ts_text zone = tree->names[tree->nodes[groups[i].value].name];
        report_answer(a->section, "%s of %s came from zone %.*s.",
                      report_words(report_share((int64_t)groups[i].size,
                                                (int64_t)p->peak_size))
                          .s,
                      a->counted.size > p->peak_size ? "these" : "it",
                      zone.size < 80 ? (int)zone.size : 80, zone.text);
        break;
    }
    free(groups);
    return true;
}

// Without an allocation there is no peak, and nothing that is left.
static bool frees_alone(const memory_job *a)
{
    for (size_t i = 0; i < a->m.pool_count; i++)
        if (a->m.pools[i].allocations) return false;
    return true;
}

static void put_left(const memory_job *a)
{
    uint64_t size = 0, count = 0;
    bool finished = true, imported = false;
    ts_metadata of;
    for (size_t i = 0; i < a->m.pool_count; i++) {
        size += a->m.pools[i].live_size;
        count += a->m.pools[i].live_count;
    }
    for (uint32_t i = 0; i < a->job->file_count; i++) {
        finished &= analyze_info(a->job, i)->finished;
        imported |= ts_reader_metadata(analyze_reader(a->job, i), 0,
                                       "import.format", &of);
    }
    if (!count) {
        report_answer(a->section, "Everything was freed again.");
        return;
    }
    report_answer(a->section, "%s in %s %s.", cli_bytes(size).s,
                  cli_counted(count, "block", "blocks").s,
                  finished ? "were never freed"
                           : "were not yet freed where the trace ends");
    if (!finished)
        report_note(a->section,
                    "The trace is not finished: memory that is not freed in it "
                    "is not necessarily a leak.");
    else if (imported || a->m.fault_counts[MEMORY_UNKNOWN_FREE])
        report_note(a->section,
                    "The trace may cover only a part of the run: memory that "
                    "is not freed in it may be freed later.");
}

static void put_trust(const memory_job *a)
{
    const uint64_t *const faults = a->m.fault_counts;
    if (faults[MEMORY_UNKNOWN_FREE])
        report_trust(
            a->section, REPORT_MEDIUM,
            "the trace contains %s without the allocation, so that more memory "
            "was in use than it shows",
            cli_counted(faults[MEMORY_UNKNOWN_FREE], "free", "frees").s);
    if (faults[MEMORY_REPLACED])
        report_trust(
            a->section, REPORT_MEDIUM,
            "%s allocated again without a recorded free",
            cli_counted(faults[MEMORY_REPLACED], "address", "addresses").s);
    if (a->m.bad)
        report_trust(a->section, REPORT_MEDIUM,
                     "%s beyond the end of the address space ignored",
                     cli_counted(a->m.bad, "row", "rows").s);
    if (a->m.paths.cut)
        report_note(a->section,
                    "Zones nested deeper than %d count as their parent zone.",
                    PATHS_DEPTH_MOST);
    report_trust(a->section, REPORT_HIGH,
                 "all recorded allocations and frees are included");
}

static bool put_all(memory_job *a)
{
    const memory_pool **const pools = sorted_pools(&a->m);
    if (!pools) return false;
    bool ok = true;
    if (a->m.pool_count) {
        put_pools(a, pools);
        put_lines(a);
    }
    ok = topic_memory_counters(a);
    if (ok && a->m.pool_count && frees_alone(a)) {
        report_answer(a->section, "The trace contains frees alone: what they "
                                  "freed was allocated before.");
    } else if (ok && a->m.pool_count) {
        ok = put_answer(a, first_pool(a, pools));
        put_left(a);
    }
    ok = ok &&
         put_groups(a, MEMORY_BY_PATH, false, "peak_by_zone",
                    "Memory in use at the peak, by zone") &&
         put_groups(a, MEMORY_BY_STACK, false, "peak_by_stack",
                    "Memory in use at the peak, by stack") &&
         put_groups(a, MEMORY_BY_CATEGORY, false, "peak_by_category",
                    "Memory in use at the peak, by category") &&
         put_groups(a, MEMORY_BY_SIZE, false, "peak_by_size",
                    "Memory in use at the peak, by size") &&
         put_groups(a, MEMORY_BY_PATH, true, "never_freed",
                    "Never freed, by zone") &&
         put_groups(a, MEMORY_BY_STACK, true, "never_freed_by_stack",
                    "Never freed, by stack");
    if (ok) topic_memory_faults(a);
    if (ok && a->m.pool_count) topic_memory_holes(a, pools);
    ok = ok && topic_memory_churn(a);
    put_trust(a);
    free(pools);
    return ok;
}

// Returns the offset of a file to the axis of the first file, from the graph if
// there is one, else from Unix time.
static int64_t offset_of(analyze_job *job, uint32_t file)
{
    ts_replay_file of;
    ts_replay *const replay = file ? analyze_replay(job) : NULL;
    const uint64_t first = analyze_info(job, 0)->start_realtime_ns;
    const uint64_t own = analyze_info(job, file)->start_realtime_ns;
    if (replay && ts_replay_file_at(replay, file, &of)) return of.offset_ns;
    return first && own ? (int64_t)(own - first) : 0;
}

static bool fill(analyze_job *job, report *r)
{
    memory_job a = { .job = job,
                     .section = report_begin(r, "memory", "Memory") };
    memory_file *const files = malloc(job->file_count * sizeof *files);
    a.offsets = malloc(job->file_count * sizeof *a.offsets);
    bool ok = files && a.offsets;
    for (uint32_t i = 0; ok && i < job->file_count; i++) {
        a.offsets[i] = offset_of(job, i);
        files[i] = (memory_file){ analyze_reader(job, i), a.offsets[i] };
    }
    ok = ok && memory_compute(&a.m, files, job->file_count,
                              analyze_set(job, "memory.short-lived"));
    if (ok && !a.m.rows)
        report_not_applicable(
            a.section,
            "The trace contains no allocations: record them with TS_ALLOC and "
            "TS_FREE, or enable memory events in the profiler.");
    else
        ok = ok && put_all(&a);
    memory_close(&a.m);
    free(a.offsets);
    free(files);
    return ok;
}

static const analyze_setting settings[] = {
    { "memory.short-lived", "maximum lifetime of a short-lived block",
      REPORT_NS, 1000000 },
    { "memory.churn-count",
      "minimum number of repeated allocations worth a "
      "pool",
      REPORT_COUNT, 100 },
    { 0 },
};

const analyze_topic topic_memory = {
    .name = "memory",
    .title = "Memory",
    .help =
        "memory in use at the peak, leaks, fragmentation, repeated allocations",
    .fill = fill,
    .settings = settings,
};
