/*
    analyze_losses.c - what was lost, and what that means for the answers
*/
#include "tools/analyze/analyze_private.h"

static void say_lost(const analyze_job *job, report *r, uint32_t file,
                     const char *before)
{
    const ts_info *const info = analyze_info(job, file);
    uint64_t by[TS_LOSS_STALL_FIRST] = { 0 };
    ts_loss_row row;
    if (!info->lost) return;
    for (size_t i = 0; ts_reader_loss(analyze_reader(job, file), i, &row); i++)
        if (row.cause < TS_LOSS_STALL_FIRST) by[row.cause] += row.count;
    char causes[512] = "";
    size_t size = 0;
    for (uint32_t c = 0; c < TS_LOSS_STALL_FIRST && size < 400; c++)
        if (by[c])
            size += (size_t)snprintf(causes + size, sizeof causes - size,
                                     "%s%s %s", size ? ", " : "",
                                     ts_loss_name(c), cli_count(by[c]).s);
    report_loss(r,
                "%s%s records were lost (%s): counts and totals are lower "
                "bounds, idle time may have been work.",
                before, cli_count(info->lost).s, causes);
}

static void say_file(const analyze_job *job, report *r, uint32_t file)
{
    const ts_info *const info = analyze_info(job, file);
    const cli_text name = analyze_file_name(job, file);
    const cli_text of =
        job->file_count > 1 ? cli_format("%s: ", name.s) : cli_format("%s", "");
    const size_t damaged = ts_reader_damage_count(analyze_reader(job, file));
    say_lost(job, r, file, of.s);
    if (damaged)
        report_loss(r,
                    "%s%s places of the file are damaged; what they held is in "
                    "no figure (ts-info --verify lists them).",
                    of.s, cli_count(damaged).s);
    if (info->salvage_failed)
        report_loss(r, "%sLeft-over records could not be saved: %s.", of.s,
                    ts_result_text(info->salvage));
    else if (info->live && !info->finished)
        report_loss(r, "%sThe trace is still being written.", of.s);
    else if (!info->finished && !info->salvaged)
        report_loss(r,
                    "%sThe trace is unfinished: the recorder died and left "
                    "nothing to save, or the file was cut.",
                    of.s);
    if (info->unknown_events)
        report_loss(r, "%s%s events of a later version were skipped.", of.s,
                    cli_count(info->unknown_events).s);
    if (info->clock_estimated)
        report_loss(r,
                    "%sThe clock's frequency is not in the trace: all times "
                    "are estimates.",
                    of.s);
}

void analyze_losses(const analyze_job *job, report *r)
{
    for (uint32_t i = 0; i < job->file_count; i++)
        say_file(job, r, i);
    if (!r->losses) return;
    for (report_section *s = r->sections; s; s = s->next)
        if (!s->not_applicable)
            report_trust(s, REPORT_MEDIUM, "the record is not complete");
}
