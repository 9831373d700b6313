/*
    words.c - values and names as text for people
*/
#include "tools/analyze/report/parts.h"

bool report_is_unknown(report_value v)
{
    const bool of = v.unit == REPORT_SHARE || v.unit == REPORT_RATE ||
                    v.unit == REPORT_FACTOR || v.unit == REPORT_FLOPS;
    return v.unknown || (of && !v.of);
}

// Formats number / ns as a rate per second, with a prefix for powers of 1000.
static cli_text per_second(double number, double ns, const char *unit)
{
    static const char *const scales[] = { "", "k", "M", "G", "T", "P" };
    double value = number * 1e9 / ns;
    size_t i = 0;
    for (; value >= 999.95 && i + 1 < sizeof scales / sizeof *scales; i++)
        value /= 1000;
    return cli_format("%.*f %s%s",
                      value >= 99.95   ? 0
                      : value >= 9.995 ? 1
                                       : 2,
                      value, scales[i], unit);
}

static cli_text count(int64_t number)
{
    cli_text text =
        cli_count(number < 0 ? 0 - (uint64_t)number : (uint64_t)number);
    return number < 0 ? cli_format("-%s", text.s) : text;
}

static cli_text bytes(int64_t number)
{
    cli_text text =
        cli_bytes(number < 0 ? 0 - (uint64_t)number : (uint64_t)number);
    return number < 0 ? cli_format("-%s", text.s) : text;
}

cli_text report_words(report_value v)
{
    if (report_is_unknown(v)) return cli_format("-");
    switch (v.unit) {
    case REPORT_TEXT: break;
    case REPORT_COUNT: return count(v.number);
    case REPORT_NS: return cli_time(v.number);
    case REPORT_TIME: return cli_moment(v.number, 6);
    case REPORT_BYTES: return bytes(v.number);
    case REPORT_SHARE: return cli_percent((double)v.number / (double)v.of);
    case REPORT_RATE: return per_second((double)v.number, (double)v.of, "B/s");
    case REPORT_FLOPS:
        return per_second((double)v.number, (double)v.of, "FLOP/s");
    case REPORT_FACTOR:
        return cli_format("%.2f", (double)v.number / (double)v.of);
    }
    return cli_format("%s", "");
}

int64_t report_length(const report_evidence *e)
{
    int64_t ns;
    // A trace may hold any time.
    if (__builtin_sub_overflow(e->to_ns, e->from_ns, &ns)) return INT64_MAX;
    return ns;
}

const char *report_confidence_name(report_confidence confidence)
{
    static const char *const names[] = { "high", "medium", "low" };
    return names[confidence];
}

const char *report_severity_name(report_severity severity)
{
    static const char *const names[] = { "info", "warning", "severe" };
    return names[severity];
}

const char *report_unit_name(report_unit unit)
{
    static const char *const names[] = {
        "text",  "count",       "ns",     "ns",        "bytes",
        "share", "bytes_per_s", "factor", "flop_per_s"
    };
    return names[unit];
}

char **report_cuts(const report_table *t, size_t column, size_t rows,
                   uint32_t width, const char *dots)
{
    ts_text *const texts = calloc(rows + 1, sizeof *texts);
    bool fits = true;
    for (size_t r = 0; texts && r < rows; r++) {
        const report_value *const v = &t->values[r * t->column_count + column];
        const bool is = v->unit == REPORT_TEXT && !v->unknown;
        texts[r] = is ? v->text : (ts_text){ "", 0 };
        fits = fits && cli_columns(texts[r].text, texts[r].size) <= width;
    }
    char **const cuts =
        texts && !fits ? cli_cut_names(texts, rows, width, dots) : NULL;
    free(texts);
    return cuts;
}

void report_window_set(report *r, report_window window)
{
    const report_window *const w = &window;
    char text[1400];
    size_t size = (size_t)snprintf(
        text, sizeof text, "%.*s%s%s recorded, from %s to %s",
        (int)(w->selected.size & 1023), w->selected.text,
        w->selected.size ? ": " : "", cli_time(w->to_ns - w->from_ns).s,
        report_words(report_time(w->from_ns)).s,
        report_words(report_time(w->to_ns)).s);
    if (w->works)
        size += (size_t)snprintf(text + size, sizeof text - size,
                                 "; devices worked for %s, from %s to %s",
                                 cli_time(w->work_to_ns - w->work_from_ns).s,
                                 report_words(report_time(w->work_from_ns)).s,
                                 report_words(report_time(w->work_to_ns)).s);
    window.words = report_keep(r, (ts_text){ text, size });
    r->window = window;
}
