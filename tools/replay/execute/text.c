/*
    text.c - the result of an execution as text
*/
#include "tools/replay/execute/execute.h"

enum { SHOWN = 20 };

static const char *const outcomes[] = { "not run", "executed", "substituted",
                                        "declined" };

/* ---- Operations ---------------------------------------------------------- */

void execute_put_row(FILE *out, const execute_job *job, const execute_row *row)
{
    ts_capture c;
    replay_put_node(out, job->replay, row->operation);
    if (execute_find_graph(job, row, &c))
        fprintf(out, ", a launch of a graph of %s nodes",
                cli_count(execute_count_nodes(&c)).s);
}

static void print_site(const execute_job *job, const execute_row *row)
{
    ts_text name, file;
    uint32_t line;
    if (!execute_find_site(job, row, &name, &file, &line)) return;
    fputs("    launched in ", stdout);
    cli_put_text(stdout, name.text, name.size);
    if (file.size) {
        fputs(", ", stdout);
        cli_put_text(stdout, file.text, file.size);
        printf(":%" PRIu32, line);
    }
    putchar('\n');
}

// Classes of rows to print, the most important first.
typedef enum row_class {
    ROW_DIFFERS, // from the record, or between runs
    ROW_FAILED,  // requested but could not be executed
    ROW_PLAIN,
    ROW_LEFT_OUT, // not captured
    ROW_CLASSES
} row_class;

static row_class class_of(const ts_execution_item *item)
{
    if (item->diverged || item->unstable) return ROW_DIFFERS;
    if (item->reason == TS_REASON_NOT_CAPTURED) return ROW_LEFT_OUT;
    return item->outcome == TS_OUTCOME_DECLINED || item->why[0] ? ROW_FAILED
                                                                : ROW_PLAIN;
}

// Chooses the least important class that still fits.
static row_class choose_rows(const size_t counts[ROW_CLASSES])
{
    row_class last = ROW_DIFFERS;
    size_t all = 0;
    for (int c = ROW_DIFFERS; c < ROW_LEFT_OUT; c++) {
        if (all && all + counts[c] > SHOWN) break;
        all += counts[c];
        last = (row_class)c;
    }
    return last;
}

static void print_row(const execute_job *job, const execute_row *row)
{
    const ts_execution_item *const item = &row->item;
    printf("  %7" PRIu32 "  %-5s  %-11s  ", row->operation,
           item->level == 1   ? "S1"
           : item->level == 2 ? "S2"
                              : "S3",
           item->diverged   ? "diverged"
           : item->unstable ? "unstable"
                            : outcomes[item->outcome % 4]);
    execute_put_row(stdout, job, row);
    if (item->reason) printf(": %s", ts_reason_name(item->reason));
    if (item->fault_address) printf(" at 0x%" PRIx64, item->fault_address);
    putchar('\n');
}

// Messages of a compiler may have several lines.
static void print_why(const char *why)
{
    for (size_t size; *why; why += size + (why[size] != 0)) {
        size = strcspn(why, "\n");
        fputs("           ", stdout);
        cli_put_text(stdout, why, size);
        putchar('\n');
    }
}

static void print_rest(const size_t counts[ROW_CLASSES])
{
    static const char *const names[] = { "that differ",
                                         "that could not be executed",
                                         "executed or substituted",
                                         "that were not captured" };
    const char *before = "           not shown: ";
    for (int c = 0; c < ROW_CLASSES; c++) {
        if (!counts[c]) continue;
        printf("%s%s %s", before, cli_count(counts[c]).s, names[c]);
        before = ", ";
    }
    if (*before == ',') puts("; --json lists all");
}

static void print_rows(const execute_job *job)
{
    size_t counts[ROW_CLASSES] = { 0 }, shown = 0;
    const char *why = "";
    for (size_t i = 0; i < job->count; i++)
        if (!execute_is_silent(&job->rows[i]))
            counts[class_of(&job->rows[i].item)]++;
    const row_class last = choose_rows(counts);
    for (size_t i = 0; i < job->count && shown < SHOWN; i++) {
        const execute_row *const row = &job->rows[i];
        const row_class class = class_of(&row->item);
        if (execute_is_silent(row) || class > last) continue;
        if (!shown++) puts("\n   number  level  outcome      operation");
        counts[class]--;
        print_row(job, row);
        // Printed once for all rows with the same reason.
        if (strcmp(why, row->item.why)) print_why(row->item.why);
        if (row->item.why[0]) why = row->item.why;
    }
    if (!shown) putchar('\n');
    print_rest(counts);
}

/* ---- Divergence ---------------------------------------------------------- */

// Memory between the nodes of a graph is not recorded, so any node may be the
// cause.
static void print_within(const execute_job *job, const execute_row *row)
{
    ts_capture_node node = { .index = 0 };
    ts_capture c;
    uint32_t last = 0, shown = 0;
    if (!execute_find_graph(job, row, &c)) return;
    fputs("    the operation is part of a graph launch of", stdout);
    while (ts_capture_node_next(&c, &node)) {
        if (!node.head.name || node.head.name == last) continue;
        last = node.head.name;
        const ts_text name = ts_reader_name(job->reader, last);
        if (shown++ < SHOWN) {
            fputs(shown > 1 ? ", " : " ", stdout);
            cli_put_text(stdout, name.text, name.size);
        }
    }
    puts(shown > SHOWN ? ", ..." : shown ? "" : " copies and memsets");
}

// Prints the first differing value with its probable type.
static void put_value(const execute_job *job, const ts_execution_item *item,
                      const uint8_t *bytes)
{
    const execute_value v = execute_value_of(job, item, bytes);
    if (v.type == EXECUTE_BYTES) {
        fputs("the bytes", stdout);
        for (size_t i = 0; i < v.size; i++)
            printf(" %02x", bytes[i]);
    } else if (v.type == EXECUTE_SIGNED) {
        printf("%" PRId64, (int64_t)v.whole);
    } else if (v.type == EXECUTE_UNSIGNED) {
        printf("%" PRIu64, v.whole);
    } else if (job->desc.compare != TS_COMPARE_EXACT) {
        printf("%.*g", v.size == 8 ? 17 : 9, v.real);
    } else if (v.type == EXECUTE_REAL) {
        printf("0x%08" PRIx32 " (%.9g as a float)", v.bits, v.real);
    } else {
        printf("0x%08" PRIx32 " (%" PRId32 ")", v.bits, (int32_t)v.bits);
    }
}

static void put_argument(const execute_job *job, const execute_row *row)
{
    const execute_place place = execute_place_of(job, row);
    switch (place.by) {
    case EXECUTE_BY_PARAM: printf(", argument %" PRIu32, place.index); break;
    case EXECUTE_BY_BYTES:
        printf(", pointed to by byte %" PRIu32 " of the arguments",
               place.index);
        break;
    case EXECUTE_BY_MEMORY: printf(", pointed to from memory"); break;
    case EXECUTE_BY_GLOBAL: printf(", a variable of the module"); break;
    default: break;
    }
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
    print_within(job, row);
    printf("    buffer 0x%" PRIx64 " of %s", item->address,
           cli_bytes(item->size).s);
    put_argument(job, row);
    if (item->bytes_known) {
        printf("\n    byte %" PRIu64 ": expected ", item->offset);
        put_value(job, item, item->expected);
        fputs(", found ", stdout);
        put_value(job, item, item->found);
        printf("\n    %s values of this chunk differ",
               cli_count(item->elements).s);
        if (job->desc.compare != TS_COMPARE_EXACT)
            printf(", by at most %s", cli_real(item->largest).s);
    } else {
        printf("\n    the 64 KiB from byte %" PRIu64 " differ; the difference "
               "is unknown, because\n    the trace holds only their hash",
               item->offset);
    }
    printf("; %s of %s chunks differ\n", cli_count(item->chunks_different).s,
           cli_count(item->chunks).s);
    if (job->options->overlap)
        puts("    the operation shown is the last that wrote there: --chain "
             "finds the first\n    one that diverges");
}

// Prints where a chain continued with recorded memory.
static void print_patched(const execute_job *job)
{
    size_t shown = 0;
    if (!job->patched) return;
    puts("\nmemory taken from the record:");
    for (size_t i = 0; i < job->count && shown <= SHOWN; i++) {
        const ts_execution_item *const item = &job->rows[i].item;
        if (job->rows[i].capture == EXECUTE_NONE || !item->patched) continue;
        if (shown++ == SHOWN) continue;
        printf("    before operation %" PRIu32 ", ", job->rows[i].operation);
        execute_put_row(stdout, job, &job->rows[i]);
        printf(": %s %s, the first at 0x%" PRIx64 "\n",
               cli_count(item->patched).s,
               item->patched == 1 ? "chunk" : "chunks", item->patched_address);
    }
    if (shown > SHOWN) puts("    ...; --json lists all");
}

static void print_unstable(const execute_job *job)
{
    size_t shown = 0;
    if (!job->unstable) return;
    printf("\n%s had different results from the same inputs:\n",
           cli_counted(job->unstable, "operation", "operations").s);
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

// The most frequent first.
static void print_reasons(const uint64_t reasons[TS_REASON_LIMIT],
                          const char *title)
{
    uint64_t counts[TS_REASON_LIMIT];
    memcpy(counts, reasons, sizeof counts);
    for (;;) {
        uint32_t most = 0;
        for (uint32_t i = 1; i < TS_REASON_LIMIT; i++)
            if (counts[i] > counts[most]) most = i;
        if (!counts[most]) return;
        printf("  %-12s  %s %s: %s\n", title, cli_count(counts[most]).s,
               ts_reason_name(most), ts_reason_text(most));
        counts[most] = 0;
        title = "";
    }
}

// Prints how often each kernel ran: it may have effects outside of its memory.
static void print_runs(const execute_job *job)
{
    const execute_options *const w = job->options;
    if (w->as_graph)
        printf("  runs          %s of each: alone, in the compared graph, in "
               "the measured graphs\n",
               cli_count(execute_runs(w)).s);
    else if (w->overlap)
        puts("  runs          2 of each: alone, and concurrently");
    else if (w->loops > 1)
        printf("  runs          %s of each\n", cli_count(w->loops).s);
}

static void print_verdict(const execute_job *job)
{
    if (!job->executed)
        puts("\nno operation was executed");
    else if (job->diverged)
        printf("\ndiverged: %s of %s operations did not reproduce the recorded "
               "results\n",
               cli_count(job->diverged).s, cli_count(job->executed).s);
    else if (job->unstable)
        puts("\nnot deterministic: runs from the same inputs differ");
    else if (job->escaped)
        printf("\nescaped: %s operations accessed memory that was not "
               "captured, or ended their process\n",
               cli_count(job->escaped).s);
    else if (!job->compared)
        puts("\nno result could be compared");
    else if (job->options->overlap)
        printf("\nsame: %s regions match the record at the end%s\n",
               cli_count(job->whole.regions).s,
               job->declined ? ", among those that ran" : "");
    else
        printf("\nsame: %s operations reproduced the recorded results%s\n",
               cli_count(job->compared).s,
               job->declined ? ", among those that ran" : "");
}

void execute_text(const execute_job *job)
{
    cli_fold();
    cli_put_text(stdout, job->replay->path, strlen(job->replay->path));
    printf(": executed on %s, %s\n\n", job->executor->name,
           job->options->as_graph  ? "as one graph"
           : job->options->overlap ? "in a chain, streams concurrently"
           : job->options->chain   ? "in a chain"
                                   : "each operation from its recorded inputs");
    printf("  captured      %s: %s executed, %s substituted, %s declined",
           cli_count(job->captured).s, cli_count(job->executed).s,
           cli_count(job->substituted).s, cli_count(job->declined).s);
    if (job->not_run) printf(", %s not run", cli_count(job->not_run).s);
    putchar('\n');
    print_reasons(job->reasons, "declined");
    print_reasons(job->left_out, "not captured");
    if (job->order)
        printf("  order         %s events, waits, syncs and allocations, which "
               "have no data\n",
               cli_count(job->order).s);
    if (job->nodes)
        printf(
            "  nodes         %s more nodes of graph launches, which run as one "
            "operation\n",
            cli_count(job->nodes).s);
    if (job->parts)
        printf("  parts         %s more parts of operations that the driver "
               "split; each runs as one\n                operation\n",
               cli_count(job->parts).s);
    printf("  addresses     %s as recorded (S1), %s rewritten (S2), "
           "%s not run (S3)\n",
           cli_count(job->levels[1]).s, cli_count(job->levels[2]).s,
           cli_count(job->levels[0]).s);
    execute_confined_text(&job->confined);
    print_runs(job);
    if (job->options->overlap) execute_whole_text(job);
    if (job->options->overlap || job->options->chain)
        printf("  from record   %s chunks, written by the host or by "
               "operations that were not\n                replayed\n",
               cli_count(job->patched).s);
    if (job->patched_different)
        printf("                %s of them had different bytes before\n",
               cli_count(job->patched_different).s);
    printf("  compared      %s\n", cli_count(job->compared).s);
    printf("  digest        %016" PRIx64 "\n", job->digest);
    print_rows(job);
    print_patched(job);
    print_first(job);
    print_unstable(job);
    print_verdict(job);
}
