/*
    losses.c - the losses of a trace by cause
*/
#include "tools/record/record.h"

enum { LINES = 8 };

typedef struct lost_cause {
    uint32_t cause, detail;
    uint64_t count;
} lost_cause;

// The cause of records that a flight recorder overwrites by design; -1: none.
static int forgotten(const record_job *job)
{
    return job->options.flight_ns ? TS_LOSS_OVERWRITTEN : -1;
}

static bool is_lost(const record_job *job, const ts_loss_row *row)
{
    return row->count && row->cause < TS_LOSS_STALL_FIRST &&
           (int)row->cause != forgotten(job);
}

// Collects one line for each cause, in the order of their first occurrence.
static size_t gather(const record_job *job, const ts_reader *reader,
                     lost_cause *causes, uint64_t *sum)
{
    ts_loss_row row;
    size_t count = 0;
    *sum = 0;
    for (size_t i = 0; ts_reader_loss(reader, i, &row); i++) {
        size_t k = 0;
        if (!is_lost(job, &row)) continue;
        *sum += row.count;
        while (k < count &&
               (causes[k].cause != row.cause || causes[k].detail != row.detail))
            k++;
        if (k == LINES) continue;
        if (k == count)
            causes[count++] = (lost_cause){ row.cause, row.detail, 0 };
        causes[k].count += row.count;
    }
    return count;
}

uint64_t record_print_lost(const record_job *job, const ts_reader *reader)
{
    lost_cause causes[LINES];
    uint64_t sum;
    const size_t count = gather(job, reader, causes, &sum);
    if (!sum) return 0;
    fprintf(stderr,
            "ts-record: %s record%s LOST (%s); ts-info --losses lists where\n",
            cli_count(sum).s, sum == 1 ? " was" : "s were",
            cli_loss_causes(reader, forgotten(job)).s);
    for (size_t i = 0; i < count; i++) {
        const ts_text detail = ts_reader_name(reader, causes[i].detail);
        if (!causes[i].detail || !detail.size) continue;
        fprintf(stderr, "ts-record:   %s: ", cli_count(causes[i].count).s);
        cli_put_text(stderr, detail.text, detail.size);
        fputc('\n', stderr);
    }
    return sum;
}
