/*
    next.c - suggested commands at the end of a report
*/
#include "tools/analyze/output/output.h"
#include "tools/analyze/report/parts.h"

static void put_files(FILE *out, const analyze_job *job)
{
    for (uint32_t i = 0; i < job->file_count; i++) {
        fputc(' ', out);
        cli_put_word(out, job->files[i].path);
    }
}

// Writes a command with the selection of the report, so that its figures
// agree with the report.
static void put_tool(FILE *out, const analyze_job *job, const char *command)
{
    const char *const selected = job->options.selected;
    const size_t name = strcspn(command, " ");
    const bool all =
        !selected || !*selected || !strncmp(command, "ts-merge", 8);
    fprintf(out, "%.*s", (int)name, command);
    if (!all) fputc(' ', out);
    if (!all) cli_put_text(out, selected, strlen(selected));
    fputs(command + name, out);
}

// Adds a command for all files. after: for a tool that takes one trace, the
// arguments after it; several files are first merged with ts-merge.
static void add(analyze_commands *c, const analyze_job *job,
                const char *command, const char *after, const char *purpose)
{
    analyze_command *const to = &c->list[c->count];
    size_t size = 0;
    FILE *const out = open_memstream(&to->text, &size);
    if (!out) return;
    put_tool(out, job, command);
    if (after) {
        fputc(' ', out);
        cli_put_word(out,
                     job->file_count > 1 ? "merged.sbt" : job->files[0].path);
        fputs(after, out);
    } else {
        put_files(out, job);
    }
    fclose(out);
    to->purpose = purpose;
    c->count += to->text != NULL;
}

static const report_table *find_table(const report *r, const char *topic,
                                      const char *key)
{
    for (const report_section *s = r->sections; s; s = s->next)
        for (const report_table *t = s->tables; t; t = t->next)
            if (!strcmp(s->name, topic) && !strcmp(t->key, key))
                return t->row_count ? t : NULL;
    return NULL;
}

static const report_value *value_of(const report_table *t, size_t row,
                                    const char *key)
{
    for (size_t c = 0; c < t->column_count; c++)
        if (!strcmp(t->columns[c].key, key))
            return &t->values[row * t->column_count + c];
    return NULL;
}

// Formats a time as --from takes it, "1.234567s".
static cli_text moment(int64_t ns, int digits)
{
    cli_text text = cli_moment(ns, digits);
    char *const blank = strchr(text.s, ' ');
    if (blank) memmove(blank, blank + 1, strlen(blank));
    return text;
}

// Returns the row with the largest value in a column, else the first.
static size_t largest(const report_table *t, const char *key)
{
    size_t best = 0;
    for (size_t i = 1; i < t->row_count; i++) {
        const report_value *const v = value_of(t, i, key);
        if (v && v->number > value_of(t, best, key)->number) best = i;
    }
    return best;
}

// Adds a command for the place to look at first: a slow step, else the longest
// gap, else the longest operation.
static void add_zoom(analyze_commands *c, const analyze_job *job,
                     const report *r)
{
    static const struct {
        const char *topic, *table, *key, *purpose;
    } places[] = {
        { "steps", "slow", "duration_ns", "a timeline of the slowest step" },
        { "idle", "gaps", "idle_ns",
          "a timeline of the longest time that a device was idle" },
        { "zones", "zones", "exclusive_ns",
          "a timeline of the longest instance of the zone that takes most "
          "time" },
    };
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        const report_table *const t =
            find_table(r, places[i].topic, places[i].table);
        if (!t || !t->has_evidence) continue;
        const report_evidence *const e =
            &t->evidence[largest(t, places[i].key)];
        if (!e->has_time) continue;
        // Microseconds would cut off much of a short range, or all of it.
        const int digits = e->to_ns - e->from_ns < 10000 ? 9 : 6;
        char command[128];
        snprintf(command, sizeof command, "ts-view --from %s --to %s",
                 moment(e->from_ns, digits).s, moment(e->to_ns, digits).s);
        add(c, job, command, "", places[i].purpose);
        return;
    }
}

// Adds a command for the rank for which the others wait longest.
static void add_rank(analyze_commands *c, const analyze_job *job,
                     const report *r)
{
    const report_table *const t = find_table(r, "ranks", "ranks");
    const size_t row = t ? largest(t, "caused_ns") : 0;
    const report_value *const rank = t ? value_of(t, row, "rank") : NULL;
    const report_value *const caused = t ? value_of(t, row, "caused_ns") : NULL;
    int64_t number;
    char command[64];
    if (job->file_count == 1 || !rank || !caused || caused->number <= 0 ||
        sscanf(rank->text.text, "rank %" SCNd64, &number) != 1)
        return;
    snprintf(command, sizeof command, "ts-analyze --rank %" PRId64, number);
    add(c, job, command, NULL, "a report of the rank that the others wait for");
}

// Adds the most promising what-if, from the costs of the critical path.
static void add_what_if(analyze_commands *c, const analyze_job *job,
                        const report *r)
{
    static const struct {
        const char *cost, *command, *purpose;
    } changes[] = {
        { "host", "ts-replay --what-if 'host 0.5'",
          "the gain of a host twice as fast" },
        { "launch", "ts-replay --what-if no-launch-overhead",
          "the gain of launches that take no time" },
        { "compute", "ts-replay --what-if 'scale kernel~.=0.5'",
          "the gain of kernels twice as fast" },
        { "copy", "ts-replay --what-if 'copy h2d,d2h,d2d=0.5'",
          "the gain of copies twice as fast" },
        { "communication", "ts-replay --what-if ideal-overlap",
          "the gain of hiding all communication and copies" },
    };
    const report_table *const t = find_table(r, "path", "costs");
    const char *best = NULL;
    double most = 0;
    for (size_t i = 0; t && i < t->row_count; i++) {
        const report_value *const gain = value_of(t, i, "gain");
        const report_value *const cost = value_of(t, i, "cost");
        if (!gain || !cost || report_is_unknown(*gain)) continue;
        const double share = (double)gain->number / (double)gain->of;
        if (share > most) best = cost->text.text;
        if (share > most) most = share;
    }
    for (size_t i = 0; best && i < sizeof changes / sizeof *changes; i++)
        if (!strcmp(best, changes[i].cost))
            add(c, job, changes[i].command, "", changes[i].purpose);
}

void analyze_next(analyze_commands *c, const analyze_job *job, const report *r)
{
    memset(c, 0, sizeof *c);
    for (uint32_t i = 0; i < job->file_count; i++)
        // Stdin, or a path that looks like an option.
        if (job->files[i].path[0] == '-') return;
    add(c, job, "ts-analyze --html report.html", NULL,
        "this report as one HTML page");
    add_rank(c, job, r);
    if (job->file_count > 1)
        add(c, job, "ts-merge -o merged.sbt", NULL,
            "merge the traces for the following commands");
    add_zoom(c, job, r);
    add_what_if(c, job, r);
    add(c, job, "ts-diff", " OTHER.sbt", "compare with another run");
    add(c, job, "ts-diff --gate 'makespan +3%'", " OTHER.sbt",
        "the same as a test that fails if the other run is slower");
}

void analyze_next_close(analyze_commands *c)
{
    for (size_t i = 0; i < c->count; i++)
        free(c->list[i].text);
    c->count = 0;
}
