/*
    report.c - the changes, most important first
*/
#include "tools/diff/report_parts.h"

/* ---- Order of rows ------------------------------------------------------ */

static uint64_t magnitude(int64_t value)
{
    return value < 0 ? (uint64_t)-value : (uint64_t)value;
}

// Whether counts differ. They are exact: noise cannot explain a difference.
static bool counts_differ(const diff_row *row)
{
    return !row->by_step && row->subject != DIFF_STEP && !diff_is_sample(row) &&
           row->subject != DIFF_LATENCY && row->subject != DIFF_IDLE &&
           row->parts[0].count != row->parts[1].count;
}

bool diff_differs(const diff *d, const diff_row *row)
{
    return diff_is_significant(d, row) || counts_differ(row) ||
           diff_is_new(row) || diff_is_gone(row);
}

typedef struct ranked_row {
    const diff_row *row;
    bool matters;
    uint64_t weight;
} ranked_row;

static int by_weight(const void *left, const void *right)
{
    const ranked_row *const a = left, *const b = right;
    if (a->row->by_step != b->row->by_step) return a->row->by_step ? -1 : 1;
    if (a->matters != b->matters) return a->matters ? -1 : 1;
    if (a->weight != b->weight) return a->weight > b->weight ? -1 : 1;
    return (a->row > b->row) - (a->row < b->row);
}

// Returns the rows of some subjects that differ, the important ones first. The
// caller frees it. Returns NULL if memory runs out.
static ranked_row *changed_rows(const diff *d, uint32_t subjects, size_t *count,
                                size_t *same)
{
    ranked_row *const rows = malloc((d->row_count + 1) * sizeof *rows);
    *count = *same = 0;
    for (size_t i = 0; rows && i < d->row_count; i++) {
        const diff_row *const row = &d->rows[i];
        if (!(subjects >> row->subject & 1)) continue;
        const int64_t change = diff_change(d, row, diff_main(row->subject));
        const bool equal = !change && !diff_change(d, row, DIFF_COUNT) &&
                           row->parts[0].count == row->parts[1].count &&
                           row->parts[0].median == row->parts[1].median;
        *same += equal;
        if (!equal)
            rows[(*count)++] =
                (ranked_row){ row, diff_differs(d, row), magnitude(change) };
    }
    if (rows) qsort(rows, *count, sizeof *rows, by_weight);
    return rows;
}

/* ---- Tables ------------------------------------------------------------- */

diff_metric diff_main(diff_subject subject)
{
    return subject == DIFF_STEP || subject == DIFF_LATENCY ? DIFF_MEDIAN
                                                           : DIFF_TOTAL;
}

const char *diff_unit(const diff *d, const diff_row *row)
{
    return !row->by_step              ? "all"
           : d->sides[0].steps.marked ? "a step"
                                      : "a detected step";
}

static bool has_counts(const diff_row *row)
{
    return !row->by_step && row->subject != DIFF_STEP &&
           row->subject != DIFF_LATENCY && row->subject != DIFF_MEMORY &&
           row->subject != DIFF_MAKESPAN && !diff_is_sample(row);
}

report_value diff_weight(const diff *d, int64_t parts)
{
    return d->sampled.parts > 1 ? report_factor(parts, d->sampled.parts)
                                : report_number(d->sampled.unit, parts, 0);
}

static int mean_sign(const diff_part *a, const diff_part *b)
{
    const double of_a = (double)a->total / (double)a->count;
    const double of_b = (double)b->total / (double)b->count;
    return (of_b > of_a) - (of_b < of_a);
}

/*
    Returns the verdict on a row without steps. Two things may have changed: the
    count, which is exact, and the duration of each event, which is tested. The
    total is neither. If test, median and mean disagree in direction, the
    verdict claims none.
*/
static cli_text word_of_all(const diff *d, const diff_row *row)
{
    const diff_part *const a = &row->parts[0], *const b = &row->parts[1];
    const bool longer = row->toward > 0;
    const int64_t middle = diff_change(d, row, DIFF_MEDIAN);
    const bool each = diff_is_significant(d, row) &&
                      (longer ? middle > 0 : middle < 0) &&
                      mean_sign(a, b) == (longer ? 1 : -1);
    const char *const slow = row->subject == DIFF_IDLE
                                 ? (longer ? "longer" : "shorter")
                                 : (longer ? "slower" : "faster");
    if (a->count == b->count)
        return cli_format("%s", !row->tested                   ? "untested"
                                : !diff_is_significant(d, row) ? "noise"
                                : each                         ? slow
                                                               : "mixed");
    const char *const number = a->count < b->count ? "more" : "fewer";
    if (!each) return cli_format("%s", number);
    return cli_format("%s, each %s", number, slow);
}

cli_text diff_word(const diff *d, const diff_row *row)
{
    const int64_t change = diff_change(d, row, diff_main(row->subject));
    if (diff_is_new(row)) return cli_format("new");
    if (diff_is_gone(row)) return cli_format("gone");
    if (row->subject == DIFF_MEMORY && change)
        return cli_format(change > 0 ? "more" : "less");
    if (has_counts(row) &&
        (change || row->parts[0].count != row->parts[1].count))
        return word_of_all(d, row);
    if (!change) return cli_format("same");
    if (!diff_is_significant(d, row))
        return cli_format(row->tested ? "noise" : "untested");
    // Most samples changed one way, and a few changed more in the other.
    if ((change > 0) != (row->toward > 0)) return cli_format("mixed");
    if (diff_is_sample(row)) return cli_format(change > 0 ? "more" : "less");
    return cli_format(change > 0 ? "slower" : "faster");
}

static report_value value_of(const diff *d, const diff_row *row,
                             diff_metric metric, int side)
{
    const diff_number n = diff_value(d, row, metric, side);
    if (metric != DIFF_COUNT && diff_is_sample(row))
        return diff_weight(d, n.number / n.of);
    const report_unit unit = metric == DIFF_COUNT          ? REPORT_COUNT
                             : row->subject == DIFF_MEMORY ? REPORT_BYTES
                                                           : REPORT_NS;
    // Counts per step are rarely whole numbers.
    if (metric == DIFF_COUNT && n.of > 1) return report_factor(n.number, n.of);
    return report_number(unit, n.of ? n.number / n.of : 0, 0);
}

static report_evidence place_of(const diff *d, const diff_row *row)
{
    if (row->subject == DIFF_LATENCY) return (report_evidence){ 0 };
    const int side = row->parts[1].count ? 1 : 0; // a gone row: the part of A
    const diff_part *const p = &row->parts[side];
    report_evidence e = report_from_to(
        p->longest_file, p->longest_from_ns,
        p->longest_from_ns + (row->subject == DIFF_MEMORY ||
                                      diff_is_sample(row) || p->longest_ns < 1
                                  ? 1
                                  : p->longest_ns));
    (void)d;
    if (p->longest != TS_NODE_NONE) report_evidence_add(&e, p->longest);
    return e;
}

enum { COLUMNS = 12, SAMPLES = 1u << DIFF_SAMPLE | 1u << DIFF_SAMPLE_STACK };

// A configuration has a name like "8 x 128, 32 regs, 0+0 B: kernel".
typedef struct config_name {
    ts_text kernel, config;
} config_name;

static config_name split_config(const diff_row *row)
{
    config_name name = { row->name, { "", 0 } };
    const char *const colon = row->subject == DIFF_CONFIG && row->name.size
                                  ? memchr(row->name.text, ':', row->name.size)
                                  : NULL;
    const size_t size = colon ? (size_t)(colon - row->name.text) : 0;
    if (!colon || row->name.text[0] < '0' || row->name.text[0] > '9' ||
        size + 2 > row->name.size)
        return name; // the trace does not define this launch
    name.config = (ts_text){ row->name.text, size };
    name.kernel = (ts_text){ colon + 2, row->name.size - size - 2 };
    return name;
}

typedef struct table_parts {
    uint32_t subjects;
    const char *key, *title;
    report_column columns[COLUMNS];
} table_parts;

static void put_row(const diff *d, report_table *t, const diff_row *row)
{
    const diff_metric metric = diff_main(row->subject);
    const int64_t change = diff_change(d, row, metric);
    const diff_number a = diff_value(d, row, metric, 0);
    const cli_text p = diff_p(row->adjusted), word = diff_word(d, row);
    const config_name name = split_config(row);
    const report_value values[] = {
        report_text(name.kernel),
        report_text(name.config),
        value_of(d, row, metric, 0),
        value_of(d, row, metric, 1),
        diff_is_sample(row)
            ? diff_weight(d, change)
            : report_number(row->subject == DIFF_MEMORY ? REPORT_BYTES
                                                        : REPORT_NS,
                            change, 0),
        report_share(change, a.of ? a.number / a.of : 0),
        report_string(word.s),
        row->tested ? report_string(p.s) : report_unknown(REPORT_TEXT),
        value_of(d, row, DIFF_COUNT, 0),
        value_of(d, row, DIFF_COUNT, 1),
        value_of(d, row, DIFF_MEDIAN, 0),
        value_of(d, row, DIFF_MEDIAN, 1),
    };
    const report_evidence e = place_of(d, row);
    // Only tables of configurations have the second column.
    report_value shown[COLUMNS];
    const bool config = row->subject == DIFF_CONFIG;
    shown[0] = values[0];
    memcpy(shown + 1, values + (config ? 1 : 2),
           (COLUMNS - (config ? 1u : 2u)) * sizeof *shown);
    report_row(t, shown, &e);
}

bool diff_any_changed(const diff *d, uint32_t subjects)
{
    size_t count, same;
    free(changed_rows(d, subjects, &count, &same));
    return count > 0;
}

// Whether the values are sums that have a unit: all, or per step.
static bool has_unit(uint32_t subjects)
{
    return !(subjects & (1u << DIFF_MAKESPAN | 1u << DIFF_STEP |
                         1u << DIFF_LATENCY | 1u << DIFF_MEMORY));
}

// Adds a row for the total of a table, including unchanged rows.
static void put_total(const diff *d, report_table *t, uint32_t subjects,
                      bool by_step)
{
    int64_t ns[2] = { 0, 0 };
    uint64_t counts[2] = { 0, 0 };
    for (size_t i = 0; i < d->row_count; i++) {
        const diff_row *const row = &d->rows[i];
        if (!(subjects >> row->subject & 1) || row->by_step != by_step)
            continue;
        for (int side = 0; side < 2; side++) {
            const diff_number n = diff_value(d, row, DIFF_TOTAL, side);
            ns[side] += n.number / n.of;
            counts[side] += row->parts[side].count;
        }
    }
    const bool config = subjects == 1u << DIFF_CONFIG;
    report_value values[COLUMNS];
    size_t n = 0;
    values[n++] = report_string("(total)");
    if (config) values[n++] = report_unknown(REPORT_TEXT);
    const bool sampled = (subjects & SAMPLES) != 0;
    const int64_t totals[] = { ns[0], ns[1], ns[1] - ns[0] };
    for (int i = 0; i < 3; i++)
        values[n++] =
            sampled ? diff_weight(d, totals[i]) : report_ns(totals[i]);
    values[n++] = report_share(ns[1] - ns[0], ns[0]);
    values[n++] = report_unknown(REPORT_TEXT);
    values[n++] = report_unknown(REPORT_TEXT);
    for (int side = 0; side < 2; side++)
        values[n++] = by_step
                          ? report_factor((int64_t)counts[side],
                                          (int64_t)d->sides[side].steps.count)
                          : report_count(counts[side]);
    values[n++] = report_unknown(REPORT_NS);
    values[n++] = report_unknown(REPORT_NS);
    report_row(t, values, NULL);
}

// Adds a table of values per step, or of values of the whole trace: the values
// of one table have one unit. `other`: the section already has a table of
// values per step.
static void put_part(diff *d, report_section *s, const table_parts *p,
                     const ranked_row *rows, size_t count, bool other)
{
    const analyze_options *const o = &d->sides[0].job.options;
    const uint64_t most = o->rows > o->top ? o->rows : o->top;
    const bool config = p->subjects == 1u << DIFF_CONFIG;
    if (!count) return;
    const diff_row *const first = rows[0].row;
    ts_text title = { p->title, strlen(p->title) };
    if (has_unit(p->subjects))
        title = analyze_format(&d->sides[0].job, "%s, %s", p->title,
                               other ? "all, because it differs between steps"
                                     : diff_unit(d, first));
    report_table *const t =
        report_table_begin(s, other ? "outside" : p->key, title.text,
                           p->columns, config ? COLUMNS : COLUMNS - 1);
    // Zones are nested: their times do not add up to a whole.
    const bool total = has_unit(p->subjects) && first->subject != DIFF_ZONE;
    if (total) put_total(d, t, p->subjects, first->by_step);
    for (size_t i = 0; i < count && i < most; i++)
        put_row(d, t, rows[i].row);
    report_rows_of(t, count + total);
}

bool diff_put_table(diff *d, report_section *s, uint32_t subjects,
                    const char *key, const char *title)
{
    const report_unit unit = subjects & SAMPLES              ? d->sampled.unit
                             : subjects == 1u << DIFF_MEMORY ? REPORT_BYTES
                                                             : REPORT_NS;
    const report_column all[COLUMNS] = {
        { "name", "name", REPORT_TEXT },
        { "config", "launched with", REPORT_TEXT },
        { "a", "A", unit },
        { "b", "B", unit },
        { "change", "change", unit },
        { "share", "of A", REPORT_SHARE },
        { "verdict", "verdict", REPORT_TEXT },
        { "p", "p", REPORT_TEXT },
        { "count_a", "count A", REPORT_COUNT },
        { "count_b", "B", REPORT_COUNT },
        { "median_a", "median A", unit },
        { "median_b", "B", unit },
    };
    const bool config = subjects == 1u << DIFF_CONFIG;
    table_parts p = { subjects, key, title, { all[0] } };
    memcpy(p.columns + 1, all + (config ? 1 : 2),
           (COLUMNS - (config ? 1u : 2u)) * sizeof *p.columns);
    size_t count, same;
    ranked_row *const rows = changed_rows(d, subjects, &count, &same);
    if (!rows) return false;
    size_t steps = 0;
    while (steps < count && rows[steps].row->by_step)
        steps++;
    put_part(d, s, &p, rows, steps, false);
    put_part(d, s, &p, rows + steps, count - steps, steps > 0);
    free(rows);
    return true;
}

/* ---- The answer --------------------------------------------------------- */

const diff_row *diff_single(const diff *d, diff_subject subject)
{
    for (size_t i = 0; i < d->row_count; i++)
        if (d->rows[i].subject == subject) return &d->rows[i];
    return NULL;
}

// Shortens a name as in tables: namespaces are removed first, then the middle.
cli_text diff_short(ts_text name)
{
    enum { WIDEST = 46 };
    // This is a function with its parameters; zones may have any name.
    char *const less = name.size && name.text[name.size - 1] == ')'
                           ? cli_brief_name(name.text, name.size)
                           : NULL;
    if (less) name = (ts_text){ less, strlen(less) };
    cli_text text = { "" };
    // Some characters take more bytes than columns.
    for (uint32_t width = WIDEST; width && !*text.s; width -= 2) {
        char *const cut = cli_cut(name.text, name.size, width, "...");
        if (!cut) break;
        if (strlen(cut) < sizeof text.s) memcpy(text.s, cut, strlen(cut) + 1);
        free(cut);
        if (!name.size) break;
    }
    free(less);
    return text;
}

typedef struct come_and_gone { // counts and totals of new and gone rows
    size_t count[2];
    int64_t ns[2];
} come_and_gone;

static void count_come(come_and_gone *c, const diff *d, const diff_row *row)
{
    for (int gone = 0; gone < 2; gone++)
        if (gone ? diff_is_gone(row) : diff_is_new(row)) {
            const diff_number n = diff_value(d, row, DIFF_TOTAL, !gone);
            c->count[gone]++;
            c->ns[gone] += n.number / n.of;
        }
}

// Appends "2 kernels new (1.200 ms), 1 gone (30.00 us)" to a sentence that may
// have begun.
static size_t put_come_and_gone(char *text, size_t size, size_t room,
                                const char *one, const char *more,
                                const come_and_gone *c)
{
    bool begun = false;
    for (int gone = 0; gone < 2 && size < room; gone++) {
        if (!c->count[gone]) continue;
        size += (size_t)snprintf(text + size, room - size, "%s%zu %s%s%s (%s)",
                                 begun  ? ", "
                                 : size ? "; "
                                        : "",
                                 c->count[gone],
                                 begun                 ? ""
                                 : c->count[gone] == 1 ? one
                                                       : more,
                                 begun ? "" : " ", gone ? "gone" : "new",
                                 cli_time(c->ns[gone]).s);
        begun = true;
    }
    return size;
}

static const uint32_t changing = 1u << DIFF_KERNEL | 1u << DIFF_COPY |
                                 1u << DIFF_COLLECTIVE | 1u << DIFF_IDLE;

// Writes "gemm +12.0 % (+1.200 ms)"; for values that are not sums of steps also
// the change in count and, if that changed, the change of each duration.
static size_t put_cause(const diff *d, const diff_row *row, char *to,
                        size_t room)
{
    const int64_t change = diff_change(d, row, DIFF_TOTAL);
    const cli_text word = diff_word(d, row);
    cli_text each = { "" };
    if (strstr(word.s, ", each"))
        each = cli_format("; count %s, median %s",
                          diff_percent(d, row, DIFF_COUNT).s,
                          diff_percent(d, row, DIFF_MEDIAN).s);
    const int size =
        snprintf(to, room, "%s%s %s (%s%s%s%s)",
                 row->subject == DIFF_IDLE ? "idle time by "
                 : row->subject == DIFF_COPY && memcmp(row->name.text, "mem", 3)
                     ? "copies "
                     : "",
                 diff_short(row->name).s, diff_percent(d, row, DIFF_TOTAL).s,
                 change > 0 ? "+" : "", cli_time(change).s,
                 d->by_step && !row->by_step ? " in total" : "", each.s);
    return size < 0 ? 0 : (size_t)size < room ? (size_t)size : room - 1;
}

// Adds up to three rows, including idle time, whose change is significant.
// slower: only those that make B slower; 0: all.
static void put_causes(const diff *d, report_section *s, int slower,
                       int64_t whole)
{
    enum { MOST = 3 };
    char text[1000] = "";
    size_t count, same, size = 0, listed = 0;
    come_and_gone kernels = { { 0 }, { 0 } }, others = kernels, idle = kernels;
    ranked_row *const rows = changed_rows(d, changing, &count, &same);
    for (size_t i = 0; rows && i < count; i++) {
        const diff_row *const row = rows[i].row;
        const int64_t change = diff_change(d, row, DIFF_TOTAL);
        count_come(row->subject == DIFF_KERNEL ? &kernels
                   : row->subject == DIFF_IDLE ? &idle
                                               : &others,
                   d, row);
        if (!rows[i].matters || listed == MOST ||
            (slower && (change > 0) != (slower > 0)) || !change ||
            diff_is_new(row) || diff_is_gone(row) ||
            (slower && magnitude(change) < magnitude(whole) / 100))
            continue;
        listed++;
        if (size) memcpy(text + size, "; ", 3);
        size += size ? 2 : 0;
        size += put_cause(d, row, text + size, sizeof text - size - 400);
    }
    size = put_come_and_gone(text, size, sizeof text, "kernel", "kernels",
                             &kernels);
    size =
        put_come_and_gone(text, size, sizeof text, "kind of copy or collective",
                          "kinds of copies and collectives", &others);
    size = put_come_and_gone(text, size, sizeof text, "cause of idle time",
                             "causes of idle time", &idle);
    if (size) report_answer(s, "What changed: %s.", text);
    free(rows);
}

// Adds the row with most of the change, including idle time, if that is not
// significant and so was not reported.
static void put_largest(const diff *d, report_section *s, int64_t whole)
{
    char text[200];
    const diff_row *most = NULL;
    int64_t change = 0;
    for (size_t i = 0; i < d->row_count; i++) {
        const diff_row *const row = &d->rows[i];
        const int64_t own = diff_change(d, row, DIFF_TOTAL);
        if (!(changing >> row->subject & 1) || row->by_step != d->by_step ||
            (own > 0) != (whole > 0) || magnitude(own) <= magnitude(change))
            continue;
        most = row;
        change = own;
    }
    if (!most || (diff_differs(d, most) && most->subject != DIFF_IDLE) ||
        diff_is_significant(d, most) ||
        magnitude(change) < magnitude(whole) / 4)
        return;
    put_cause(d, most, text, sizeof text);
    report_answer(s, "The largest part is %s, %s.", text,
                  most->tested ? "which may be noise"
                               : "with too few samples to test");
}

static cli_text more_or_less(int64_t change)
{
    return cli_format("%s %s", cli_time((int64_t)magnitude(change)).s,
                      change < 0 ? "less" : "more");
}

/*
    Splits the change of device time into work and idle time. For one device it
    also gives the rest of the makespan, since synchronisations and waits are
    neither.
*/
static void put_balance(const diff *d, report_section *s)
{
    const ts_timeline_figures *const a = &d->sides[0].total, *const b =
                                                                 &d->sides[1]
                                                                      .total;
    const diff_row *const whole = diff_single(d, DIFF_MAKESPAN);
    const int64_t busy = b->busy_ns - a->busy_ns,
                  idle = b->idle_ns - a->idle_ns;
    bool one = whole;
    for (int side = 0; side < 2; side++)
        one = one && d->sides[side].devices == 1;
    const int64_t rest =
        one ? diff_change(d, whole, DIFF_TOTAL) - busy - idle : 0;
    if (busy || idle)
        report_answer(
            s, "The device%s %s %s and %s idle %s%s%s%s.",
            one ? "" : "s together", one ? "works" : "work",
            more_or_less(busy).s, one ? "is" : "are", more_or_less(idle).s,
            rest ? "; " : "", rest ? more_or_less(rest).s : "",
            rest ? " pass before its first operation and after its last" : "");
}

static bool any_matters(const diff *d, uint32_t subjects)
{
    for (size_t i = 0; i < d->row_count; i++)
        if (subjects >> d->rows[i].subject & 1 && diff_differs(d, &d->rows[i]))
            return true;
    return false;
}

bool diff_all_same(const diff *d)
{
    size_t count, same;
    ranked_row *const rows = changed_rows(d, UINT32_MAX, &count, &same);
    free(rows);
    for (size_t i = 0; i < d->stream_count; i++)
        if (!d->streams[i].same) return false;
    const diff_sampled *const s = &d->sampled;
    if (!s->alike && (s->counts[0] || s->counts[1])) return false;
    return rows && !count && !d->only[0] && !d->only[1];
}

static const char *plural(uint64_t count, const char *one, const char *many)
{
    return count == 1 ? one : many;
}

void diff_put_answer(const diff *d, report_section *s)
{
    const diff_row *const row =
        diff_single(d, d->by_step ? DIFF_STEP : DIFF_MAKESPAN);
    if (diff_all_same(d)) {
        report_answer(s, "No difference: the same operations in the same order "
                         "took the same time.");
        return;
    }
    if (!row || !row->parts[0].count || !row->parts[1].count) {
        report_answer(s,
                      "Only the host can be compared: %s no operations of a "
                      "device.",
                      d->sides[0].has_work   ? "B has"
                      : d->sides[1].has_work ? "A has"
                                             : "both have");
        return;
    }
    // The makespan has one sample only; the test of the steps applies to it.
    const diff_row *const step = diff_single(d, DIFF_STEP);
    const bool equal = step && !diff_steps_unequal(d);
    const diff_row *const test = d->by_step || equal ? step : row;
    const diff_metric metric = diff_main(row->subject);
    const int64_t change = diff_change(d, row, metric);
    const char *const what = !d->by_step ? "it takes"
                             : d->sides[0].steps.marked
                                 ? "a step takes"
                                 : "a detected step takes";
    const report_value a = value_of(d, row, metric, 0);
    const report_value b = value_of(d, row, metric, 1);
    const cli_text percent = diff_percent(d, row, metric);
    const bool none = percent.s[0] != '+' && percent.s[0] != '-';
    if (none)
        report_answer(s, "B takes as long as A: %s %s instead of %s.", what,
                      report_words(b).s, report_words(a).s);
    else if (!test->tested)
        report_answer(s,
                      "B takes %s, A %s (%s): there are too few steps to test "
                      "whether this is noise.",
                      report_words(b).s, report_words(a).s, percent.s);
    else if (!diff_is_significant(d, test))
        report_answer(s,
                      "No significant difference: %s %s instead of %s (%s), "
                      "which may be noise.",
                      what, report_words(b).s, report_words(a).s, percent.s);
    else
        report_answer(s, "B %s%s %s: %s %s instead of %s.",
                      change > 0 ? "is " : "takes ", percent.s + 1,
                      change > 0 ? "slower" : "less time", what,
                      report_words(b).s, report_words(a).s);
    const diff_row *const whole = diff_single(d, DIFF_MAKESPAN);
    if (d->by_step && whole && diff_change(d, whole, DIFF_TOTAL))
        report_answer(s, "The whole run takes %s instead of %s (%s).",
                      report_words(value_of(d, whole, DIFF_TOTAL, 1)).s,
                      report_words(value_of(d, whole, DIFF_TOTAL, 0)).s,
                      diff_percent(d, whole, DIFF_TOTAL).s);
    const uint32_t work =
        1u << DIFF_KERNEL | 1u << DIFF_COPY | 1u << DIFF_COLLECTIVE;
    if (!any_matters(d, work))
        report_answer(s, "No kernel, copy or collective differs by more than "
                         "noise.");
    put_balance(d, s);
    put_causes(d, s, none ? 0 : change > 0 ? 1 : -1, change);
    if (!none) put_largest(d, s, change);
    uint64_t reordered = 0;
    for (size_t i = 0; i < d->stream_count; i++)
        reordered += !d->streams[i].same;
    if (reordered)
        report_answer(s, "The order of operations differs on %" PRIu64 " %s.",
                      reordered, plural(reordered, "stream", "streams"));
}

// Notes damage: an incomplete trace is compared only in part.
static void put_damage(const diff *d, report_section *s, int side,
                       uint32_t file)
{
    const analyze_job *const job = &d->sides[side].job;
    const size_t damaged = ts_reader_damage_count(analyze_reader(job, file));
    const char *const path = job->files[file].path;
    if (!analyze_info(job, file)->finished)
        report_trust(s, REPORT_LOW, "%s (%s) is not finished", path,
                     side ? "B" : "A");
    if (analyze_estimated(job, file))
        report_trust(s, REPORT_LOW,
                     "the source of %s (%s) has no times; the importer "
                     "estimated them",
                     path, side ? "B" : "A");
    if (damaged)
        report_trust(s, REPORT_LOW, "%s (%s) is damaged in %s %s", path,
                     side ? "B" : "A", cli_count(damaged).s,
                     plural(damaged, "place", "places"));
}

void diff_put_trust(const diff *d, report_section *s)
{
    if (diff_all_same(d))
        report_trust(s, REPORT_HIGH, "all figures are equal");
    else if (d->by_step)
        report_trust(s, REPORT_HIGH,
                     "tested by step: %zu of A, %zu of B%s; a single trace "
                     "does not show the noise between runs",
                     d->sides[0].steps.count, d->sides[1].steps.count,
                     d->sides[0].steps.marked
                         ? ""
                         : ", detected by repetition, not marked");
    else
        report_trust(s, REPORT_MEDIUM,
                     "tested by operation: with fewer than %d comparable steps "
                     "on both sides, the noise between steps is unknown",
                     DIFF_STEPS_LEAST);
    for (int side = 0; side < 2; side++)
        if (d->sides[side].lost)
            report_trust(s, REPORT_MEDIUM, "%s lost %s records",
                         side ? "B" : "A", cli_count(d->sides[side].lost).s);
    for (int side = 0; side < 2; side++)
        for (uint32_t i = 0; i < d->sides[side].job.file_count; i++)
            put_damage(d, s, side, i);
    if (d->thinned)
        report_note(s,
                    "For names with more than %s durations, evenly spaced ones "
                    "are used for the test and the median.",
                    cli_count(DIFF_VALUES_MOST).s);
    if (d->thinned_samples)
        report_note(s,
                    "For names with more than %s samples, evenly spaced ones "
                    "are used for the median.",
                    cli_count(DIFF_VALUES_MOST).s);
}
