/*
    execute_text.c - what came of an execution, for people
*/
#include "tools/replay/execute.h"

enum { SHOWN = 20 };

static const char *const outcomes[] = { "not run", "executed", "substituted",
                                        "declined" };

/* ---- Operations ---------------------------------------------------------- */

void execute_put_row(FILE *out, const execute_job *job, const execute_row *row)
{
    replay_put_node(out, job->replay, row->operation);
}

bool execute_find_event(const execute_job *job, const ts_operation *op,
                        ts_columns *columns, uint32_t *at)
{
    ts_chunk_info info;
    uint64_t first = 0;
    for (size_t i = 0; ts_reader_chunk(job->reader, i, &info); i++) {
        if (info.header.kind != TS_CHUNK_EVENTS ||
            info.header.event < TS_EVENT_GPU_FIRST ||
            info.header.event >= TS_EVENT_LIMIT)
            continue;
        *at = (uint32_t)(op->row - first);
        if (op->row >= first && *at < info.header.count)
            return ts_reader_decode(job->reader, i, columns) == TS_OK;
        first += info.header.count;
    }
    return false;
}

// The zone that an operation was launched from.
static void print_site(const execute_job *job, const execute_row *row)
{
    ts_operation op;
    ts_columns columns = { 0 };
    uint32_t at, site = 0;
    if (ts_replay_operation(job->replay->replay, row->operation, &op) &&
        execute_find_event(job, &op, &columns, &at) &&
        columns.values[TS_COLUMN_SITE])
        site = (uint32_t)columns.values[TS_COLUMN_SITE][at];
    ts_columns_close(job->reader, &columns);
    if (!site) return;
    const ts_text name = ts_reader_site_name(job->reader, site);
    const ts_site_entry *const entry = ts_reader_site(job->reader, site);
    fputs("    launched in ", stdout);
    cli_put_text(stdout, name.text, name.size);
    if (entry && entry->file) {
        const ts_text file = ts_reader_name(job->reader, entry->file);
        fputs(", ", stdout);
        cli_put_text(stdout, file.text, file.size);
        printf(":%" PRIu32, entry->line);
    }
    putchar('\n');
}

static void print_rows(const execute_job *job)
{
    size_t shown = 0, left = 0;
    puts("\n   number  level  outcome      operation");
    for (size_t i = 0; i < job->count; i++) {
        const execute_row *const row = &job->rows[i];
        const ts_execution_item *const item = &row->item;
        if (row->order) continue;
        if (shown == SHOWN) {
            left++;
            continue;
        }
        shown++;
        printf("  %7" PRIu32 "  %-5s  %-11s  ", row->operation,
               item->level == 1   ? "S1"
               : item->level == 2 ? "S2"
                                  : "S3",
               item->diverged ? "diverged" : outcomes[item->outcome % 4]);
        execute_put_row(stdout, job, row);
        if (item->reason) printf(": %s", ts_reason_name(item->reason));
        if (item->fault_address) printf(" at 0x%" PRIx64, item->fault_address);
        putchar('\n');
    }
    if (left)
        printf("           and %s more; --json has all\n", cli_count(left).s);
}

/* ---- Divergence ---------------------------------------------------------- */

static void put_value(const execute_job *job, const uint8_t *bytes)
{
    double real;
    float small;
    uint64_t wide;
    uint32_t narrow;
    memcpy(&real, bytes, sizeof real);
    memcpy(&small, bytes, sizeof small);
    memcpy(&wide, bytes, sizeof wide);
    memcpy(&narrow, bytes, sizeof narrow);
    const bool is_wide = job->desc.element == 9;
    if (job->desc.compare != TS_COMPARE_EXACT)
        printf("%s", cli_real(is_wide ? real : (double)small).s);
    else
        printf("0x%08" PRIx32, narrow);
}

static void print_first(const execute_job *job)
{
    if (job->first >= job->count) return;
    const execute_row *const row = &job->rows[job->first];
    const ts_execution_item *const item = &row->item;
    printf("\nfirst divergence: operation %" PRIu32 ", ", row->operation);
    execute_put_row(stdout, job, row);
    putchar('\n');
    print_site(job, row);
    printf("    buffer 0x%" PRIx64 " of %s, byte %" PRIu64 ": ", item->address,
           cli_bytes(item->size).s, item->offset);
    if (item->bytes_known) {
        fputs("expected ", stdout);
        put_value(job, item->expected);
        fputs(", found ", stdout);
        put_value(job, item->found);
        printf("\n    %s values of this chunk differ",
               cli_count(item->elements).s);
        if (job->desc.compare != TS_COMPARE_EXACT)
            printf(", by %s at most", cli_real(item->largest).s);
    } else {
        printf("another chunk of 64 KiB; by how much is not known, because\n"
               "    the trace holds its hash only");
    }
    printf("; %s of %s chunks differ\n", cli_count(item->chunks_different).s,
           cli_count(item->chunks).s);
    if (job->wish->overlap)
        puts("    named is what wrote there last: --chain tells where it "
             "begins");
}

static void print_unstable(const execute_job *job)
{
    size_t shown = 0;
    if (!job->unstable) return;
    printf("\n%s operations gave other results from the same inputs:\n",
           cli_count(job->unstable).s);
    for (size_t i = 0; i < job->count && shown < SHOWN; i++) {
        if (!job->rows[i].item.unstable) continue;
        const ts_execution_item *const item = &job->rows[i].item;
        printf("    operation %" PRIu32 ", ", job->rows[i].operation);
        execute_put_row(stdout, job, &job->rows[i]);
        if (item->diverged)
            printf(", buffer 0x%" PRIx64 ", chunk %" PRIu64 ", by %s",
                   item->address, item->offset / TS_CAPTURE_CHUNK,
                   cli_real(item->largest).s);
        putchar('\n');
        shown++;
    }
}

/* ---- All ----------------------------------------------------------------- */

static void print_reasons(const execute_job *job)
{
    const char *before = "  declined      ";
    for (uint32_t i = 0; i < TS_REASON_LIMIT; i++) {
        if (!job->reasons[i]) continue;
        printf("%s%s %s", before, cli_count(job->reasons[i]).s,
               ts_reason_name(i));
        before = ", ";
    }
    if (*before == ',') putchar('\n');
}

static void print_verdict(const execute_job *job)
{
    if (!job->executed)
        puts("\nnothing was executed");
    else if (job->diverged)
        printf("\ndiverged: %s of %s operations left other bytes than the "
               "record\n",
               cli_count(job->diverged).s, cli_count(job->executed).s);
    else if (job->unstable)
        puts("\nnot determined: runs from the same inputs differ");
    else if (!job->compared)
        puts("\nnothing could be compared");
    else if (job->wish->overlap)
        printf("\nsame: %s regions hold the recorded bytes at the end%s\n",
               cli_count(job->whole.regions).s,
               job->declined ? ", of what ran" : "");
    else
        printf("\nsame: %s operations left the recorded bytes%s\n",
               cli_count(job->compared).s,
               job->declined ? ", of those that ran" : "");
}

void execute_text(const execute_job *job)
{
    const uint64_t all = job->executed + job->substituted + job->declined;
    cli_put_text(stdout, job->replay->path, strlen(job->replay->path));
    printf(": executed on %s, %s\n\n", job->executor->name,
           job->wish->as_graph  ? "as one graph"
           : job->wish->overlap ? "in a chain, streams beside each other"
           : job->wish->chain   ? "in a chain"
                                : "each operation from its recorded inputs");
    printf("  operations    %s: %s executed, %s substituted, %s declined\n",
           cli_count(all).s, cli_count(job->executed).s,
           cli_count(job->substituted).s, cli_count(job->declined).s);
    print_reasons(job);
    if (job->order)
        printf("  order         %s events, waits, syncs and allocations hold "
               "no data\n",
               cli_count(job->order).s);
    printf("  addresses     %s as recorded (S1), %s rewritten (S2), "
           "%s not run (S3)\n",
           cli_count(job->levels[1]).s, cli_count(job->levels[2]).s,
           cli_count(job->levels[0]).s);
    if (job->wish->overlap)
        execute_whole_text(job);
    else if (job->wish->chain)
        printf("  from record   %s chunks that nobody replayed had written\n",
               cli_count(job->patched).s);
    if (job->wish->loops > 1 && !job->wish->overlap)
        printf("  runs          %s of each\n", cli_count(job->wish->loops).s);
    printf("  compared      %s\n", cli_count(job->compared).s);
    printf("  digest        %016" PRIx64 "\n", job->digest);
    print_rows(job);
    print_first(job);
    print_unstable(job);
    print_verdict(job);
}
