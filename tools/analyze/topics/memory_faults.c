/*
    memory_faults.c - invalid frees and uses after free
*/
#include "tools/analyze/topics/memory.h"

static const char *fault_name(memory_fault_kind kind)
{
    switch (kind) {
    case MEMORY_DOUBLE_FREE: return "freed twice";
    case MEMORY_UNKNOWN_FREE: return "allocation not recorded";
    case MEMORY_REPLACED: break;
    }
    return "allocated again without a free";
}

static void put_faults(const memory_job *a)
{
    static const report_column columns[] = {
        { "fault", "what", REPORT_TEXT },
        { "pool", "pool", REPORT_TEXT },
        { "time_ns", "at", REPORT_TIME },
        { "zone", "zone", REPORT_TEXT },
        { "address", "address", REPORT_TEXT },
        { "before_ns", "freed before at", REPORT_TIME },
    };
    uint64_t count = 0;
    for (int i = 0; i < MEMORY_FAULTS; i++)
        count += a->m.fault_counts[i];
    if (!count) return;
    report_table *const t =
        report_table_begin(a->section, "faults",
                           "Frees without a matching allocation", columns, 6);
    // Certain errors come first.
    for (int kind = 0; kind < MEMORY_FAULTS; kind++)
        for (size_t i = 0; i < a->m.fault_count; i++) {
            const memory_fault *const f = &a->m.faults[i];
            if ((int)f->kind != kind) continue;
            const report_value row[] = {
                report_string(fault_name(f->kind)),
                report_text(topic_memory_pool(a, f->pool)),
                report_time(f->time_ns),
                report_text(topic_memory_path(a, f->path)),
                report_text(analyze_format(a->job, "0x%" PRIx64, f->address)),
                f->kind == MEMORY_DOUBLE_FREE
                    ? report_time(a->m.blocks[f->block].to_ns)
                    : report_unknown(REPORT_TIME),
            };
            const report_evidence e =
                report_from_to(f->file, f->time_ns, f->time_ns + 1);
            report_row(t, row, &e);
        }
    report_rows_of(t, count);
}

/* ---- Use after free ----------------------------------------------------- */

static ts_text side_text(const memory_job *a, const ts_races *races,
                         const ts_race_side *side)
{
    const ts_reader *const reader = analyze_reader(a->job, side->file);
    const ts_text name = analyze_name(a->job, ts_race_side_label(races, side));
    const ts_text zone = ts_reader_site_name(reader, side->site);
    if (!zone.size) return name;
    return analyze_format(a->job, "%.*s in %.*s",
                          name.size < 120 ? (int)name.size : 120, name.text,
                          zone.size < 120 ? (int)zone.size : 120, zone.text);
}

static void put_use(const memory_job *a, report_table *t, const ts_races *races,
                    const ts_race *race)
{
    // In order of time: the free, then the use.
    const ts_race_side *const gone = &race->first, *const use = &race->second;
    const report_value row[] = {
        report_text(side_text(a, races, use)),
        report_time(use->start_ns),
        report_text(side_text(a, races, gone)),
        report_time(gone->start_ns),
        report_text(analyze_format(a->job, "0x%" PRIx64, race->address)),
        report_count(race->instances),
    };
    report_evidence e =
        report_from_to(use->file, gone->start_ns, use->end_ns + 1);
    if (use->operation != TS_NODE_NONE) report_evidence_add(&e, use->operation);
    if (gone->operation != TS_NODE_NONE)
        report_evidence_add(&e, gone->operation);
    report_row(t, row, &e);
}

// Adds the uses after free and returns their number. The table is created for
// the first one.
static uint64_t put_uses(const memory_job *a, const ts_races *races)
{
    static const report_column columns[] = {
        { "use", "used by", REPORT_TEXT },
        { "use_ns", "at", REPORT_TIME },
        { "free", "freed by", REPORT_TEXT },
        { "free_ns", "at", REPORT_TIME },
        { "address", "address", REPORT_TEXT },
        { "instances", "times", REPORT_COUNT },
    };
    report_table *t = NULL;
    ts_race race;
    uint64_t count = 0;
    for (size_t i = 0; ts_races_at(races, i, &race); i++) {
        if (race.kind != TS_RACE_USE_AFTER_FREE) continue;
        if (!count++)
            t = report_table_begin(a->section, "use_after_free",
                                   "Used after it was freed", columns, 6);
        put_use(a, t, races, &race);
    }
    return count;
}

uint64_t topic_memory_faults(const memory_job *a)
{
    const uint64_t twice = a->m.fault_counts[MEMORY_DOUBLE_FREE];
    ts_races *races = NULL;
    uint64_t uses = 0;
    uint64_t frees = 0;
    for (size_t i = 0; i < a->m.pool_count; i++)
        frees += a->m.pools[i].frees;
    ts_replay *const replay = frees ? analyze_replay(a->job) : NULL;
    if (replay && ts_races_open(&races, replay) == TS_OK) {
        uses = put_uses(a, races);
        const ts_races_stats *const stats = ts_races_result(races);
        if (stats->known < stats->operations)
            report_note(a->section,
                        "The accessed memory is known for %s of %s on the "
                        "devices; a use after free is found only among these.",
                        cli_count(stats->known).s,
                        cli_count(stats->operations).s);
    }
    if (uses)
        report_answer(a->section, "Memory was used after it was freed, in %s.",
                      cli_counted(uses, "place", "places").s);
    if (twice)
        report_answer(a->section, "%s freed twice.",
                      cli_counted(twice, "block", "blocks").s);
    put_faults(a);
    ts_races_close(races);
    return uses + twice;
}
