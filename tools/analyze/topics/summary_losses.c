/*
    summary_losses.c - losses, and which figures they affect
*/
#include "tools/analyze/topics/summary.h"
#include "tools/analyze/job/stats.h"

// Returns what a track of this type records, and which figures are wrong
// without it.
static const char *meaning_of(ts_track_type type)
{
    switch (type) {
    case TS_TRACK_THREAD:
        return "host times, counts too low; idle time may lack its cause";
    case TS_TRACK_STREAM:
    case TS_TRACK_DEVICE:
    case TS_TRACK_CONTEXT:
        return "busy time, counts too low; idle time may have been busy";
    case TS_TRACK_COUNTER: return "samples: peaks may be missing";
    default: return "any figure may be too low";
    }
}

static void put_file(analyze_job *job, report_table *t, uint32_t file)
{
    ts_reader *const reader = analyze_reader(job, file);
    const int64_t offset = analyze_offset(job, file);
    ts_loss_row row;
    for (size_t i = 0; ts_reader_loss(reader, i, &row); i++) {
        ts_track track = { .type = 0 };
        if (row.cause >= TS_LOSS_STALL_FIRST) continue; // nothing was lost
        const bool known = ts_reader_track(reader, row.track, &track);
        const int64_t first = stats_sum(row.first_ns, offset);
        const int64_t last = stats_sum(row.last_ns, offset);
        const report_value values[] = {
            known ? report_text(analyze_track(job, file, row.track))
                  : report_string("the whole trace"),
            report_string(ts_loss_name(row.cause)),
            report_count(row.count),
            report_string(meaning_of(track.type)),
            report_time(first),
            report_time(last),
        };
        const report_evidence e = report_from_to(file, first, last);
        report_row(t, values, &e);
    }
}

void summary_losses(analyze_job *job, report_section *s)
{
    static const report_column columns[] = {
        { "track", "track", REPORT_TEXT },
        { "cause", "cause", REPORT_TEXT },
        { "count", "records", REPORT_COUNT },
        { "meaning", "consequence", REPORT_TEXT },
        { "first_ns", "first", REPORT_TIME },
        { "last_ns", "last", REPORT_TIME },
    };
    uint64_t lost = 0;
    for (uint32_t i = 0; i < job->file_count; i++)
        lost += analyze_info(job, i)->lost;
    if (!lost) return;
    report_table *const t =
        report_table_begin(s, "losses", "Losses and their consequences",
                           columns, sizeof columns / sizeof *columns);
    for (uint32_t i = 0; i < job->file_count; i++)
        put_file(job, t, i);
}
