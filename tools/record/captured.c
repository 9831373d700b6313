/*
    captured.c - the captured operations in the summary
*/
#include "tools/record/record.h"

static uint64_t blob_bytes(ts_reader *reader)
{
    ts_chunk_info info;
    uint64_t bytes = 0;
    for (size_t i = 0; ts_reader_chunk(reader, i, &info); i++)
        if (info.header.kind == TS_CHUNK_BLOB)
            bytes +=
                info.header.raw_size - 16; // without the 16 bytes of its hash
    return bytes;
}

record_kept record_kept_of(ts_reader *reader)
{
    record_kept kept = { .whole = 0 };
    ts_capture c;
    for (size_t i = 0; ts_reader_capture(reader, i, &c); i++) {
        const uint32_t state = c.head.state, reason = c.head.reason;
        kept.whole += state == TS_CAPTURE_WHOLE;
        kept.hashes += state == TS_CAPTURE_HASHES;
        kept.declined += state == TS_CAPTURE_DECLINED;
        if (state == TS_CAPTURE_DECLINED)
            kept.reasons[reason < TS_REASON_LIMIT ? reason : 0]++;
    }
    if (kept.whole || kept.hashes) kept.bytes = blob_bytes(reader);
    return kept;
}

static record_kept sum_of(const record_job *job)
{
    record_kept sum = { .whole = 0 };
    for (size_t i = 0; i < job->part_count; i++) {
        const record_kept *const k = &job->parts[i].kept;
        if (job->parts[i].live) continue;
        sum.whole += k->whole;
        sum.hashes += k->hashes;
        sum.declined += k->declined;
        sum.bytes += k->bytes;
        for (size_t r = 0; r < TS_REASON_LIMIT; r++)
            sum.reasons[r] += k->reasons[r];
    }
    return sum;
}

static const char *operations(uint64_t count)
{
    return count == 1 ? "operation" : "operations";
}

// "3 UVM, 1 DRAIN_TIMEOUT"; a later recorder may have reasons unknown here.
static void print_declined(const record_kept *kept)
{
    const char *comma = ": ";
    if (!kept->declined) return;
    fprintf(stderr, "ts-record: %s %s cannot be run again",
            cli_count(kept->declined).s, operations(kept->declined));
    for (uint32_t r = 0; r < TS_REASON_LIMIT; r++) {
        if (!kept->reasons[r]) continue;
        fprintf(stderr, "%s%s %s", comma, cli_count(kept->reasons[r]).s,
                r ? ts_reason_name(r) : "for other reasons");
        comma = ", ";
    }
    fputc('\n', stderr);
}

// Whether a backend was asked to capture. *budget: the reached budget, 0: none.
static bool was_requested(const ts_reader *trace, uint64_t *budget)
{
    static const char by[] = "capture.by.",
                      reached[] = "capture.budget_reached";
    ts_metadata m;
    bool requested = false;
    *budget = 0;
    for (size_t i = 0; ts_reader_metadata_at(trace, i, &m); i++) {
        if (m.key.size >= sizeof by && !memcmp(m.key.text, by, sizeof by - 1))
            requested = true;
        if (m.key.size >= sizeof reached && m.type == TS_VALUE_INT &&
            !memcmp(m.key.text, reached, sizeof reached - 1))
            *budget = (uint64_t)m.number;
    }
    return requested;
}

// Prints the first reason that applies.
static void print_none(const record_job *job, const ts_reader *trace,
                       bool requested)
{
    ts_metadata m;
    bool began = !job->options.capture_on;
    for (size_t i = 0; ts_reader_metadata_at(trace, i, &m); i++)
        began = began || (m.key.size == 16 &&
                          !memcmp(m.key.text, "capture.captures", 16));
    fputs("ts-record: no operation was captured: ", stderr);
    if (!began)
        fprintf(stderr, "the trigger %s did not occur\n",
                job->options.capture_on);
    else if (requested)
        fputs("no operation matched --capture\n", stderr);
    else
        fputs("the program ran no operation that can be captured; "
              "docs/execution.md lists those\n",
              stderr);
}

// The number of programs, of all processes, that were loaded as binaries.
static uint64_t binary_count(const ts_reader *trace)
{
    static const char key[] = "opencl.device_binaries";
    ts_metadata m, last;
    uint64_t sum = 0;
    for (size_t i = 0; ts_reader_metadata_at(trace, i, &m); i++)
        if (m.key.size == sizeof key - 1 && m.type == TS_VALUE_INT &&
            !memcmp(m.key.text, key, m.key.size) &&
            ts_reader_metadata(trace, m.track, key, &last) &&
            last.number == m.number)
            sum += (uint64_t)m.number;
    return sum;
}

void record_print_kept(const record_job *job, ts_reader *trace)
{
    const record_kept kept = sum_of(job);
    uint64_t budget;
    const bool requested = was_requested(trace, &budget);
    if (!kept.whole && !kept.hashes && !kept.declined) {
        print_none(job, trace, requested);
        return;
    }
    fprintf(stderr,
            "ts-record: %s %s can be run again with ts-replay --execute; %s of "
            "memory captured\n",
            cli_count(kept.whole).s, operations(kept.whole),
            cli_bytes(kept.bytes).s);
    const uint64_t binaries = binary_count(trace);
    if (binaries)
        fprintf(stderr,
                "ts-record: %s OpenCL program%s had a compiled binary only, no "
                "source: operations that use %s can be run again only on the "
                "same type of device\n",
                cli_count(binaries).s, binaries == 1 ? "" : "s",
                binaries == 1 ? "it" : "them");
    if (job->options.every && kept.whole + kept.hashes >= RECORD_MANY)
        fputs("ts-record: every operation was captured; --capture count:3 (of "
              "each kernel), operations:1000 or kernel:NAME captures fewer and "
              "delays the program less\n",
              stderr);
    if (kept.hashes)
        fprintf(stderr, "ts-record: %s %s captured as hashes only%s\n",
                cli_count(kept.hashes).s, operations(kept.hashes),
                budget ? cli_format(": the budget of %s was reached",
                                    cli_bytes(budget).s)
                             .s
                       : "");
    print_declined(&kept);
}
