/*
    api.c - API calls by function, thread and result
*/
#include "tools/analyze/figures/operations/api.h"

static bool keys(const stats_event *e, stats_key *key, void *user)
{
    (void)user;
    const uint64_t name = stats_value(e, TS_COLUMN_NAME);
    key[API_NAME] = (stats_key){ { name, 0 } };
    key[API_THREAD] = (stats_key){ { stats_track(e), 0 } };
    key[API_RESULT] = (stats_key){ { name, stats_value(e, TS_COLUMN_RESULT) } };
    return true;
}

static bool has(ts_text text, const char *part)
{
    const size_t size = strlen(part);
    for (size_t i = 0; i + size <= text.size; i++)
        if (!memcmp(text.text + i, part, size)) return true;
    return false;
}

bool api_may_block(ts_text name)
{
    if (has(name, "Synchronize") || has(name, "clFinish") ||
        has(name, "clWaitForEvents"))
        return true;
    if (has(name, "Async")) return false;
    return has(name, "Memcpy") || has(name, "cudaFree") ||
           has(name, "hipFree") || has(name, "MemFree");
}

static ts_text name_of(const stats_group *g, void *user)
{
    const api *const a = user;
    const ts_text name =
        ts_reader_name(analyze_reader(a->job, g->file), (uint32_t)g->key[0]);
    if (name.size) return analyze_name(a->job, name);
    return analyze_format(a->job, "function %" PRIu64, g->key[0]);
}

static ts_text thread_of(const stats_group *g, void *user)
{
    const api *const a = user;
    return analyze_track(a->job, g->file, (uint32_t)g->key[0]);
}

static ts_text result_of(const stats_group *g, void *user)
{
    const api *const a = user;
    const ts_text name = name_of(g, user);
    return analyze_format(a->job, "%.*s: %" PRId64, (int)name.size, name.text,
                          (int64_t)g->key[1]);
}

bool api_open(api *a, analyze_job *job)
{
    *a = (api){ .job = job };
    a->scan = (stats_scan){ .kinds = TS_FILTER(API_CALL),
                            .map_count = API_MAPS,
                            .keys = keys,
                            .user = a };
    if (!stats_run_all(job, &a->scan, a->maps) ||
        !stats_rows_open(&a->names, &a->maps[API_NAME], name_of, a) ||
        !stats_rows_quantiles(&a->names, job, &a->scan, API_NAME,
                              &a->maps[API_NAME]) ||
        !stats_rows_open(&a->threads, &a->maps[API_THREAD], thread_of, a) ||
        !stats_rows_open(&a->results, &a->maps[API_RESULT], result_of, a))
        return false;
    for (size_t i = 0; i < a->names.count; i++)
        if (api_may_block(a->names.rows[i].text))
            stats_join(&a->blocking, &a->names.rows[i].sum);
    return true;
}

void api_close(api *a)
{
    for (size_t i = 0; i < API_MAPS; i++)
        stats_close(&a->maps[i]);
    stats_rows_close(&a->names);
    stats_rows_close(&a->threads);
    stats_rows_close(&a->results);
}
