/*
    memory_uses.c - holes between blocks, and repeated allocations
*/
#include "tools/analyze/topics/memory.h"

void topic_memory_holes(const memory_job *a, const memory_pool **pools)
{
    static const report_column columns[] = {
        { "pool", "pool", REPORT_TEXT },
        { "live_bytes", "live", REPORT_BYTES },
        { "free_bytes", "free between", REPORT_BYTES },
        { "holes", "holes", REPORT_COUNT },
        { "largest_bytes", "largest", REPORT_BYTES },
        { "scattered", "scattered", REPORT_SHARE },
    };
    bool any = false;
    for (size_t i = 0; i < a->m.pool_count; i++)
        any |= pools[i]->holes != 0;
    if (!any) return;
    report_table *const t =
        report_table_begin(a->section, "fragmentation",
                           "Fragmentation at the peak (estimate)", columns, 6);
    for (size_t i = 0; i < a->m.pool_count; i++) {
        const memory_pool *const p = pools[i];
        if (!p->holes) continue;
        const report_value row[] = {
            report_text(topic_memory_pool(a, (uint32_t)(p - a->m.pools))),
            report_bytes(p->peak_size),
            report_bytes(p->known_free),
            report_count(p->holes),
            report_bytes(p->largest_hole),
            report_share((int64_t)(p->known_free - p->largest_hole),
                         (int64_t)p->known_free),
        };
        const report_evidence e =
            topic_memory_around(a, p->file, p->peak_ns, p->peak_ns + 1);
        report_row(t, row, &e);
    }
    report_note(a->section,
                "Fragmentation: free are addresses that held blocks of the "
                "pool before its peak but not at the peak; scattered is the "
                "part of them outside of the largest hole.");
}

static int by_count(const void *left, const void *right)
{
    const memory_use *const a = *(const memory_use *const *)left,
                            *const b = *(const memory_use *const *)right;
    if (a->count != b->count) return a->count > b->count ? -1 : 1;
    return (a > b) - (a < b);
}

bool topic_memory_churn(const memory_job *a)
{
    static const report_column columns[] = {
        { "pool", "pool", REPORT_TEXT },
        { "size_bytes", "size", REPORT_BYTES },
        { "count", "times", REPORT_COUNT },
        { "zone", "zone", REPORT_TEXT },
        { "lifetime_ns", "mean lifetime", REPORT_NS },
        { "short_lived", "short-lived", REPORT_SHARE },
        { "most", "most at once", REPORT_COUNT },
    };
    const uint64_t least = (uint64_t)analyze_set(a->job, "memory.churn-count");
    const memory_use **const uses = malloc((a->m.use_count + 1) * sizeof *uses);
    size_t count = 0;
    uint64_t times = 0, all = 0;
    if (!uses) return false;
    for (size_t i = 0; i < a->m.use_count; i++) {
        const memory_use *const u = &a->m.uses[i];
        all += u->count;
        // Allocated and freed repeatedly, with few live at a time.
        if (u->count < least || u->most > u->count / 10) continue;
        times += u->count;
        uses[count++] = u;
    }
    qsort(uses, count, sizeof *uses, by_count);
    if (count) {
        report_table *const t = report_table_begin(
            a->section, "churn",
            "Repeated allocations of the same size at the same place in the "
            "code",
            columns, 7);
        report_rows_of(t, count);
        for (size_t i = 0; i < topic_memory_shown(a, count); i++) {
            const memory_use *const u = uses[i];
            const report_value row[] = {
                report_text(topic_memory_pool(a, u->pool)),
                report_bytes(u->size),
                report_count(u->count),
                report_text(topic_memory_path(a, u->path)),
                u->freed ? report_ns(u->lifetime_ns / (int64_t)u->freed)
                         : report_unknown(REPORT_NS),
                report_share((int64_t)u->short_lived, (int64_t)u->count),
                report_count(u->most),
            };
            const report_evidence e = topic_memory_around(
                a, a->m.pools[u->pool].file, u->first_ns, u->last_ns);
            report_row(t, row, &e);
        }
        report_answer(a->section,
                      "%s of %s allocations repeat with the same size at the "
                      "same place in the code: consider a reusable buffer.",
                      cli_count(times).s, cli_count(all).s);
    }
    free(uses);
    return true;
}
