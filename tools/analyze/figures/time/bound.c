/*
    bound.c - what a run is bound by, and the host zone that caused most idle
    time
*/
#include "tools/analyze/figures/time/bound.h"
#include "tools/analyze/figures/base/wording.h"
#include "tools/analyze/figures/base/zone_paths.h"

const char *bound_name(bound which)
{
    static const char *const names[BOUND_LIMIT] = { "launch-bound",
                                                    "host-bound", "copy-bound",
                                                    "communication-bound" };
    return names[which];
}

static int64_t in_launches(const sums *calls, const launch_result *launch)
{
    int64_t ns = 0;
    for (size_t i = 0; i < calls->count; i++)
        if (launch_is_function(launch, (uint32_t)calls->rows[i].key))
            ns += calls->rows[i].ns;
    return ns;
}

int64_t bound_launching(const ts_timeline_figures *f, const idle_result *idle,
                        const launch_result *launch)
{
    return f->cause_ns[TS_IDLE_LAUNCH_LATENCY] - f->dispatch_ns -
           idle->loading_ns + in_launches(&idle->late_calls, launch);
}

int64_t bound_loading(const idle_result *idle, const launch_result *launch)
{
    return idle->loading_ns + in_launches(&idle->long_calls, launch);
}

// Whether a name is an interpreter frame: a place in a file, or a builtin.
static bool is_frame(ts_text name)
{
    if (name.size && *name.text == '<') return true;
    for (size_t i = 0; i + 4 < name.size; i++)
        if (!memcmp(name.text + i, ".py(", 4)) return true;
    return false;
}

// Returns the nearest outer zone that is an explicit annotation.
static ts_text outer_of(const path_tree *p, uint32_t node)
{
    for (uint32_t n = p->nodes[node].parent; n != PATHS_ROOT;
         n = p->nodes[n].parent)
        if (!is_frame(p->names[p->nodes[n].name]))
            return p->names[p->nodes[n].name];
    return (ts_text){ "", 0 };
}

// Returns the path of a zone: `node` or the nearest path around it whose name
// is `zone`; the root if there is none.
static uint32_t node_of(const path_tree *p, uint32_t node, ts_text zone)
{
    for (uint32_t n = node; n != PATHS_ROOT; n = p->nodes[n].parent) {
        const ts_text name = p->names[p->nodes[n].name];
        if (name.size == zone.size && !memcmp(name.text, zone.text, name.size))
            return n;
    }
    return PATHS_ROOT;
}

enum { LOOKS = 33 }; // sampled times of a gap

static bool find_outer(bound_cause *cause, analyze_job *job,
                       const ts_replay *replay, const idle_gap *gap,
                       ts_text zone)
{
    path_tree p;
    paths_query looks[LOOKS];
    ts_replay_file file = { 0 };
    ts_replay_file_at(replay, gap->file, &file);
    const int64_t length = gap->gap.end_ns - gap->gap.start_ns;
    for (uint32_t i = 0; i < LOOKS; i++)
        looks[i] = (paths_query){ gap->gap.start_ns - file.offset_ns +
                                      length / LOOKS * i,
                                  gap->thread, i, PATHS_ROOT };
    bool ok = paths_open(&p) &&
              paths_resolve(&p, analyze_reader(job, gap->file), looks, LOOKS);
    for (size_t i = 0; ok && i < LOOKS && !cause->outer.size; i++) {
        const uint32_t node = node_of(&p, looks[i].node, zone);
        if (node != PATHS_ROOT)
            cause->outer = topic_brief(job, outer_of(&p, node));
    }
    paths_close(&p);
    return ok;
}

bool bound_cause_find(bound_cause *cause, analyze_job *job,
                      const ts_replay *replay, const names_index *names,
                      const idle_result *idle)
{
    memset(cause, 0, sizeof *cause);
    cause->outer = (ts_text){ "", 0 };
    if (!idle->zones.count) return true;
    const sums_row *row = idle->zones.rows;
    const sums_row *const end = row + idle->zones.count;
    while (row < end && (row->key == TS_NODE_NONE ||
                         names_waits(names->groups[row->key].text)))
        row++;
    if (row == end) return true;
    const idle_gap *const gap = &idle->gaps[row->most];
    cause->ns = row->ns;
    cause->zone = topic_brief(job, topic_group(job, names, (uint32_t)row->key));
    cause->where =
        report_from_to(gap->file, gap->gap.start_ns, gap->gap.end_ns);
    report_evidence_add(&cause->where, gap->gap.operation);
    return find_outer(cause, job, replay, gap, names->groups[row->key].text);
}
