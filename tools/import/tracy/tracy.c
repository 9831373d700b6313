/*
    tracy.c - the CSV that tracy-csvexport prints of a Tracy capture

    The first row names the columns, and so the kind of the others:

        -u  name, src_file, src_line, ns_since_start, exec_time_ns [, thread
            [, value]]: zones, ordered by their place in the source; with -p
            also plots, whose rows have a name, a time and a value only
        -g  name, src_file, time and duration: zones of GPUs
        -m  MessageName, total_ns: messages and their times
            name, src_file, src_line, total_ns, ...: statistics of each place

    Nothing is quoted: names may contain the separator, of which there is any
    (--sep). So cells are found by the numbers among them.

    Source: csvexport.cpp of Tracy, 0.7 to 0.13.
*/
#include "tools/import/profile/profile.h"
#include "tools/import/sqlite.h"

enum { CELLS = 1024, SEPARATOR = 8 };

typedef enum kind { NONE, ZONES, GPU, MESSAGES, STATISTICS } kind;

typedef struct tracy {
    import_job *job;
    profile p; // of statistics
    kind kind;
    size_t columns;
    char separator[SEPARATOR];
    size_t separator_size;
    ts_text cells[CELLS]; // of the row; text beyond is in the last one
    size_t count;
} tracy;

/* ---- Rows ---------------------------------------------------------------- */

static const char *find(ts_text in, const char *text, size_t size)
{
    for (; in.size >= size; in.text++, in.size--)
        if (!memcmp(in.text, text, size)) return in.text;
    return NULL;
}

static void split(tracy *t, ts_text line)
{
    const char *at;
    t->count = 0;
    while (t->count < CELLS - 1 &&
           (at = find(line, t->separator, t->separator_size))) {
        const size_t size = (size_t)(at - line.text);
        t->cells[t->count++] = (ts_text){ line.text, size };
        line.text += size + t->separator_size;
        line.size -= size + t->separator_size;
    }
    t->cells[t->count++] = line;
}

// The text of cells [0, count), with the separators between them.
static ts_text joined(const tracy *t, size_t from, size_t count)
{
    const ts_text *const last = &t->cells[count - 1];
    const char *const begin = t->cells[from].text;
    return (ts_text){ begin, (size_t)(last->text + last->size - begin) };
}

static bool number(const tracy *t, size_t cell, int64_t *value)
{
    return cell < t->count &&
           import_number(t->cells[cell].text, t->cells[cell].size, value);
}

// Finds the separator, between the first two names of columns.
static kind read_head(tracy *t, ts_text line)
{
    static const struct {
        const char *first, *second;
    } begins[] = { { "name", "src_file" }, { "MessageName", "total_ns" } };
    for (size_t i = 0; i < 2; i++) {
        const size_t first = strlen(begins[i].first);
        const size_t second = strlen(begins[i].second);
        const char *const at = find(line, begins[i].second, second);
        if (!at || line.size < first ||
            memcmp(line.text, begins[i].first, first))
            continue;
        t->separator_size = (size_t)(at - line.text) - first;
        if (!t->separator_size || t->separator_size > SEPARATOR) continue;
        memcpy(t->separator, line.text + first, t->separator_size);
        split(t, line);
        t->columns = t->count;
        if (i == 1) return t->count == 2 ? MESSAGES : NONE;
        if (t->count == 4 && cli_is_text(t->cells[3], "GPU execution time"))
            return GPU;
        if (t->count < 5 || !cli_is_text(t->cells[2], "src_line")) return NONE;
        if (cli_is_text(t->cells[3], "ns_since_start")) return ZONES;
        return cli_is_text(t->cells[3], "total_ns") && t->count >= 10
                   ? STATISTICS
                   : NONE;
    }
    return NONE;
}

static bool recognise(import_source *source)
{
    size_t size;
    const char *const head = (const char *)import_source_head(source, &size);
    const char *const end = size ? memchr(head, '\n', size) : NULL;
    if (end) size = (size_t)(end - head);
    if (size && head[size - 1] == '\r') size--;
    tracy *const t = size < 512 ? calloc(1, sizeof *t) : NULL;
    const bool is_one = t && read_head(t, (ts_text){ head, size }) != NONE;
    free(t);
    return is_one;
}

/* ---- Zones --------------------------------------------------------------- */

typedef struct place { // in the source; and where its numbers begin
    ts_text name, file;
    size_t numbers;
} place;

// Finds the first `count` numbers in a row that a name and a file precede.
// behind: the fewest cells behind them.
static bool find_numbers(const tracy *t, size_t count, size_t behind, place *at)
{
    int64_t value;
    for (size_t i = 2; i + count + behind <= t->count; i++) {
        size_t found = 0;
        while (found < count && number(t, i + found, &value))
            found++;
        if (found < count || (!behind && i + count < t->count)) continue;
        *at = (place){ joined(t, 0, i - 1), t->cells[i - 1], i };
        return true;
    }
    return false;
}

static uint32_t site_of(tracy *t, const place *at, int64_t line)
{
    ts_site_entry site = { .line = line > 0 && line < UINT32_MAX
                                       ? (uint32_t)line
                                       : 0 };
    site.name = import_name(t->job, at->name.text, at->name.size);
    if (at->file.size)
        site.file = import_name(t->job, at->file.text, at->file.size);
    return ts_writer_site(t->job->writer, &site);
}

static bool put_zone(tracy *t, uint32_t track, int64_t start_ns, int64_t ns,
                     uint32_t site)
{
    if (ns < 0) import_bad(t->job, "reversed_time", start_ns);
    if (ns >= 0) import_zone_at(t->job, track, start_ns, ns, site, NULL);
    return ns >= 0;
}

// Reads "name,,,time,,,value".
static bool take_plot(tracy *t)
{
    const size_t at = t->count - 4; // of the time
    profile_weight value;
    int64_t time_ns;
    if (t->columns != 7 || t->count < 7 || t->cells[at - 2].size ||
        t->cells[at - 1].size || t->cells[at + 1].size ||
        t->cells[at + 2].size || !number(t, at, &time_ns) ||
        !profile_weight_read(&value, t->cells[at + 3].text,
                             t->cells[at + 3].size))
        return false;
    const ts_text name = joined(t, 0, at - 2);
    const ts_writer_value values[] = { { TS_COLUMN_TYPE, value.type },
                                       { TS_COLUMN_VALUE, value.value } };
    const uint32_t track =
        import_counter_track(t->job, 0, name.text, name.size, NULL);
    import_event(t->job, TS_EVENT_COUNTER, track, time_ns, 0, values, 2);
    return true;
}

static bool take_zone(tracy *t)
{
    const bool has_thread = t->columns > 5, has_value = t->columns > 6;
    int64_t line, start_ns, ns, thread = 0;
    place at;
    if (!find_numbers(t, 3 + has_thread, has_value, &at)) return take_plot(t);
    number(t, at.numbers, &line);
    number(t, at.numbers + 1, &start_ns);
    number(t, at.numbers + 2, &ns);
    if (has_thread) number(t, at.numbers + 3, &thread);
    const uint32_t site = site_of(t, &at, line);
    const uint32_t track = import_thread(t->job, IMPORT_NONE, thread);
    if (!has_thread) import_flaw(t->job, "no_thread");
    if (!put_zone(t, track, start_ns, ns, site) || !has_value) return true;
    const ts_text value = joined(t, at.numbers + 4, t->count);
    if (value.size)
        import_zone_text(t->job, track, start_ns, site,
                         import_name(t->job, "value", 5), value.text,
                         value.size);
    return true;
}

static bool take_gpu(tracy *t)
{
    int64_t start_ns, ns;
    place at;
    if (!find_numbers(t, 2, 0, &at)) return false;
    number(t, at.numbers, &start_ns);
    number(t, at.numbers + 1, &ns);
    const uint32_t lane =
        import_lane(t->job, import_device(t->job, 0), "zones", 5);
    put_zone(t, lane, start_ns, ns, site_of(t, &at, 0));
    return true;
}

/* ---- Messages, statistics ------------------------------------------------ */

static bool take_message(tracy *t)
{
    int64_t time_ns;
    if (t->count < 2 || !number(t, t->count - 1, &time_ns)) return false;
    const ts_text text = joined(t, 0, t->count - 1);
    const uint32_t thread = import_thread(t->job, IMPORT_NONE, 0);
    const ts_writer_value site = {
        TS_COLUMN_SITE,
        import_site(t->job, import_name(t->job, "message", 7), 0)
    };
    import_event_text(t->job, TS_EVENT_MESSAGE, thread, time_ns, 0, &site, 1,
                      text.text, text.size);
    return true;
}

static void put_sample(tracy *t, uint32_t frame_of, const char *name,
                       const char *unit, int64_t value)
{
    profile_weight weight = { .type = TS_VALUE_INT, .value = (uint64_t)value };
    weight.name = import_name(t->job, name, strlen(name));
    if (unit) weight.unit = import_name(t->job, unit, strlen(unit));
    profile_sample(&t->p, import_thread(t->job, IMPORT_NONE, 0), 0, &weight,
                   frame_of);
}

// The other columns have no free text: cells are counted from the end.
static bool take_statistics(tracy *t)
{
    int64_t line, total, count;
    if (t->count < t->columns) return false;
    const size_t at = t->count - t->columns + 2;
    if (!number(t, at, &line) || !number(t, at + 1, &total) ||
        !number(t, at + 3, &count))
        return false;
    const ts_text name = joined(t, 0, at - 1), file = t->cells[at - 1];
    profile_function function = { .name = profile_name(&t->p, name.text,
                                                       name.size) };
    if (file.size) function.file = import_name(t->job, file.text, file.size);
    function.line = line > 0 && line < UINT32_MAX ? (uint32_t)line : 0;
    const ts_frame_entry frame = profile_frame(&t->p, &function);
    profile_push(&t->p, &frame);
    const uint32_t stack = profile_stack(&t->p, true);
    put_sample(t, stack, "total", "ns", total);
    put_sample(t, stack, "count", NULL, count);
    return true;
}

/* ---- The file ------------------------------------------------------------ */

static void take_row(tracy *t, const profile_lines *l)
{
    static bool (*const take[])(tracy *) = { [ZONES] = take_zone,
                                             [GPU] = take_gpu,
                                             [MESSAGES] = take_message,
                                             [STATISTICS] = take_statistics };
    if (!l->size) return;
    t->job->rows++;
    split(t, (ts_text){ l->line, l->size });
    if (l->cut || !take[t->kind](t))
        import_bad(t->job, l->cut ? "long_line" : "broken_row", IMPORT_NONE);
}

static bool import(import_job *job)
{
    tracy *const t = calloc(1, sizeof *t);
    profile_lines l;
    if (!t) return import_out_of_memory(job);
    t->job = job;
    t->p = profile_open(job);
    if (!profile_lines_open(&l, job->source)) t->p.no_memory = true;
    if (!t->p.no_memory && profile_lines_next(&l))
        t->kind = read_head(t, (ts_text){ l.line, l.size });
    while (t->kind && !t->p.no_memory && profile_lines_next(&l)) {
        take_row(t, &l);
        import_progress(job);
    }
    if (t->kind == STATISTICS && job->rows)
        import_unowned_many(job, "means, extremes, deviations", 27, job->rows);
    profile_lines_close(&l);
    const bool good = profile_close(&t->p);
    free(t);
    return good;
}

const import_format import_tracy = {
    .name = "tracy",
    .title = "CSV of tracy-csvexport",
    .recognise = recognise,
    .import = import,
};
