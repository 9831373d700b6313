/*
    wording.c - texts that several topics share
*/
#include "tools/analyze/figures/base/wording.h"

static ts_text text_of(const char *string)
{
    const ts_text text = { string, strlen(string) };
    return text;
}

ts_text topic_group(analyze_job *job, const names_index *names, uint32_t group)
{
    if (group == TS_NODE_NONE) return text_of("(none)");
    const names_group *const g = &names->groups[group];
    if (g->kind == TS_EVENT_MEMCPY)
        return strcmp(g->text.text, "copy")
                   ? analyze_format(job, "copy %s", g->text.text)
                   : g->text;
    return g->text.size ? analyze_name(job, g->text) : text_of("(no name)");
}

ts_text topic_in_zone(analyze_job *job, const names_index *names, uint32_t zone)
{
    if (zone == TS_NODE_NONE) return text_of("host in no zone");
    const ts_text name = topic_group(job, names, zone);
    return analyze_format(job, "host in %.*s", TOPIC_TEXT(name));
}

ts_text topic_hold(analyze_job *job, const ts_replay *replay,
                   const names_index *names, const hold *held, uint32_t next)
{
    const bool call = held->call != TS_NODE_NONE;
    if (held->zone == TS_NODE_NONE && !call) {
        const ts_text name = topic_node(job, replay, next, false);
        return name.size ? analyze_format(job, "host in no zone before %.*s",
                                          TOPIC_TEXT(name))
                         : topic_in_zone(job, names, TS_NODE_NONE);
    }
    if (held->zone == TS_NODE_NONE)
        return topic_in_zone(job, names, held->call);
    const ts_text zone = topic_group(job, names, held->zone);
    if (held->zone_ns < (held->length_ns + 1) / 2)
        return analyze_format(job, "host mostly in %.*s (%s)", TOPIC_TEXT(zone),
                              cli_time(held->zone_ns).s);
    if (!call) return topic_in_zone(job, names, held->zone);
    const ts_text name = topic_group(job, names, held->call);
    return analyze_format(job, "host in %.*s: %.*s", TOPIC_TEXT(zone),
                          TOPIC_TEXT(name));
}

// Returns the length of a name without template and function arguments.
static size_t plain_size(ts_text name)
{
    static const char unnamed[] = "(anonymous";
    size_t end = 0;
    while (end < name.size &&
           (!end || !name.text[end] || !strchr("<(", name.text[end]))) {
        end++;
        if (name.size - end >= sizeof unnamed &&
            !memcmp(name.text + end, unnamed, sizeof unnamed - 1))
            end += sizeof unnamed - 1;
    }
    return end;
}

ts_text topic_brief(analyze_job *job, ts_text name)
{
    enum { WIDEST = 60 };
    if (name.size <= 40) return name;
    if (!memcmp(name.text, "void ", 5)) {
        name.text += 5;
        name.size -= 5;
    }
    static const char chosen[] = "std::enable_if<"; // the return type
    if (name.size >= sizeof chosen && !memcmp(name.text, chosen, 15))
        name = cli_short_name(name);
    const size_t plain = plain_size(name);
    // A file and line in parentheses are not arguments.
    if (plain > 12) name.size = plain;
    char *const cut = cli_cut(name.text, name.size, WIDEST, "...");
    if (!cut) return name;
    name = analyze_format(job, "%s", cut);
    free(cut);
    return name;
}

ts_text topic_thread(analyze_job *job, uint32_t file, uint32_t thread)
{
    return thread ? analyze_track(job, file, thread) : text_of("");
}

ts_text topic_node(analyze_job *job, const ts_replay *replay, uint32_t node,
                   bool where)
{
    ts_node n;
    ts_operation op;
    ts_text name = { "", 0 };
    if (!ts_replay_node(replay, node, &n)) return name;
    if (n.type == TS_NODE_CALL) {
        name = ts_reader_name(ts_replay_reader(replay, n.file), n.name);
        if (!name.size) name = text_of("a launch");
    } else if (!ts_replay_operation(replay, n.owner, &op)) {
        return name; // a join, which takes no time
    } else if (op.kind == TS_EVENT_MEMCPY) {
        const char *const direction = names_direction(op.label);
        name = strcmp(direction, "copy")
                   ? analyze_format(job, "copy %s", direction)
                   : text_of(direction);
    } else {
        name = topic_brief(job, analyze_label(job, &op));
    }
    if (!where || !n.track) return name;
    const ts_text on = analyze_track(job, n.file, n.track);
    return analyze_format(job, "%.*s on %.*s", TOPIC_TEXT(name),
                          TOPIC_TEXT(on));
}

uint64_t *topic_column(analyze_job *job, const ts_replay *replay,
                       ts_column column, bool *ok)
{
    const uint32_t count = ts_replay_graph(replay).operation_count;
    const analyze_values *values = NULL;
    uint32_t file = UINT32_MAX;
    bool any = false;
    ts_operation op;
    for (uint32_t i = 0; i < job->file_count && !any; i++)
        any = analyze_column(job, i, column) != NULL;
    if (!any) return NULL;
    uint64_t *const all = calloc((size_t)count + 1, sizeof *all);
    *ok = all;
    for (uint32_t i = 0; all && ts_replay_operation(replay, i, &op); i++) {
        if (op.file != file) {
            file = op.file;
            values = analyze_column(job, file, column);
        }
        all[i] = analyze_value(values, op.row);
    }
    return all;
}

report_evidence topic_evidence(const ts_replay *replay, uint32_t operation)
{
    ts_operation op = { 0 };
    ts_replay_operation(replay, operation, &op);
    report_evidence e =
        report_from_to(op.file, op.recorded_start_ns, op.recorded_end_ns);
    report_evidence_add(&e, operation);
    return e;
}

report_section *topic_begin(analyze_job *job, report *r, const char *name,
                            const char *title, ts_replay **replay,
                            ts_timeline **timeline)
{
    report_section *const s = report_begin(r, name, title);
    *replay = analyze_replay(job);
    if (timeline) *timeline = *replay ? analyze_timeline(job) : NULL;
    if (*replay && (!timeline || *timeline)) return s;
    report_not_applicable(s, "%s", analyze_why(job));
    return NULL;
}

void topic_trust_threads(report_section *s, const ts_replay_stats *stats)
{
    if (ts_replay_host_unknown(stats))
        report_trust(s, REPORT_LOW,
                     "for %s, threads may have waited for each other or for "
                     "queued operations, which is not recorded",
                     cli_time(stats->unknown_host_ns).s);
    if (stats->shared_syncs)
        report_trust(s, REPORT_MEDIUM,
                     "which operations %s for depends on which thread launches "
                     "first",
                     cli_counted(stats->shared_syncs, "device sync waits",
                                 "device syncs wait")
                         .s);
    if (stats->lost)
        report_trust(s, REPORT_LOW,
                     "%s lost: causes of waits may be missing "
                     "too",
                     cli_counted(stats->lost, "record was", "records were").s);
}

void topic_trust_guessed(report_section *s, const ts_replay_stats *stats,
                         report_confidence most)
{
    if (stats->rendezvous_guessed)
        report_trust(s, most,
                     "%s matched by name and order, but the ranks do not end "
                     "together",
                     cli_counted(stats->rendezvous_guessed, "collective is",
                                 "collectives are")
                         .s);
}

void topic_trust_ranks(report_section *s, const ts_replay *replay,
                       int64_t communication_ns)
{
    const ts_replay_stats *const stats = ts_replay_result(replay);
    const int64_t whole = stats->recorded_end_ns - stats->recorded_start_ns;
    if (stats->rendezvous_partial)
        report_trust(s,
                     communication_ns > whole / 50 ? REPORT_LOW : REPORT_MEDIUM,
                     "the traces of some ranks are missing: recorded durations "
                     "of collectives include waiting");
    topic_trust_guessed(s, stats,
                        ts_replay_device_count(replay) > 2 &&
                                communication_ns > whole / 50
                            ? REPORT_LOW
                            : REPORT_MEDIUM);
}

void topic_trust_graph(report_section *s, analyze_job *job,
                       const ts_replay *replay, const ts_timeline *timeline)
{
    const ts_timeline_figures *const f = ts_timeline_total(timeline);
    const ts_replay_stats *const stats = ts_replay_result(replay);
    if (stats->different)
        report_trust(
            s, REPORT_LOW, "%s not start or end at the recorded time",
            cli_counted(stats->different, "operation does", "operations do").s);
    topic_trust_threads(s, stats);
    if (!f->idle_ns) return;
    if (stats->missing_records && analyze_selected(job).size)
        report_trust(s, REPORT_LOW,
                     "%s not in what is analyzed: causes that lie there are "
                     "missing or wrong",
                     cli_counted(stats->missing_records, "awaited event is",
                                 "awaited events are")
                         .s);
    const double known = (double)f->explicit_ns / (double)f->idle_ns;
    const double guessed = (double)f->inferred_ns / (double)f->idle_ns;
    const report_confidence c = known >= 0.9             ? REPORT_HIGH
                                : known + guessed >= 0.8 ? REPORT_MEDIUM
                                                         : REPORT_LOW;
    if (!report_is_none(f->explicit_ns, f->idle_ns))
        report_trust(s, c,
                     "the cause is recorded for %s of the idle time and "
                     "inferred from times for %s",
                     cli_percent(known).s, cli_percent(guessed).s);
    else if (!report_is_none(f->inferred_ns, f->idle_ns))
        report_trust(s, c,
                     "the cause is recorded for none of the idle time and "
                     "inferred from times for %s",
                     cli_percent(guessed).s);
    else
        report_trust(s, c, "no cause of the idle time is known");
}

/* ---- Device time by cause ------------------------------------------------ */

enum { BUSY_PARTS = 3 };

report_chart *topic_time_chart(report_section *s, const char *key,
                               const char *title)
{
    const char *parts[BUSY_PARTS + TS_IDLE_LIMIT] = { "kernels",
                                                      "communication",
                                                      "copies" };
    for (uint32_t i = 0; i < TS_IDLE_LIMIT; i++)
        parts[BUSY_PARTS + i] = ts_idle_name(i);
    return report_stacked_begin(s, key, title, REPORT_NS, parts,
                                BUSY_PARTS + TS_IDLE_LIMIT);
}

// Overlapping work counts as kernels, so that the parts add up to the span.
void topic_time_bar(analyze_job *job, report_chart *c,
                    const ts_timeline_figures *f)
{
    int64_t parts[BUSY_PARTS + TS_IDLE_LIMIT] = {
        0, f->only_ns[TS_WORK_COLLECTIVE], f->only_ns[TS_WORK_COPY]
    };
    parts[0] = f->busy_ns - parts[1] - parts[2];
    memcpy(parts + BUSY_PARTS, f->cause_ns, sizeof f->cause_ns);
    report_stacked_bar(c, analyze_track(job, f->file, f->track), parts);
}
