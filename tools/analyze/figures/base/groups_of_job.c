/*
    groups_of_job.c - the groups of a job's operations, made once

    A file of its own, because tools without a job use groups.c.
*/
#include "tools/analyze/figures/base/groups.h"

static void close_kept(void *data)
{
    names_close(data);
    free(data);
}

// Returns the groups of the job; NULL if memory runs out.
static const names_index *kept_of(analyze_job *job)
{
    analyze_kept *const kept = analyze_kept_at(job, ANALYZE_KEEP_GROUPS);
    if (kept->data) return kept->data;
    names_index *const n = malloc(sizeof *n);
    if (!n) return NULL;
    if (names_open(n, analyze_replay(job))) {
        *kept = (analyze_kept){ n, close_kept };
        return n;
    }
    close_kept(n);
    return NULL;
}

bool names_of_job(names_index *n, analyze_job *job)
{
    memset(n, 0, sizeof *n);
    const names_index *const kept = kept_of(job);
    if (!kept ||
        !cli_grow(&n->groups, &n->room, kept->count + 1, sizeof *n->groups) ||
        !cli_index_copy(&n->texts, &kept->texts) ||
        !cli_map_copy(&n->labels, &kept->labels))
        return false;
    if (kept->count)
        memcpy(n->groups, kept->groups, kept->count * sizeof *n->groups);
    n->count = kept->count;
    n->of = kept->of;
    n->op_count = kept->op_count;
    n->borrowed = true;
    return true;
}
