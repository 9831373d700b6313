/*
    sort.c - sorts tables
*/
#include "tools/analyze/report/parts.h"

// Compares a/b with c/d without rounding.
static int compare_ratios(report_value x, report_value y)
{
    __extension__ typedef __int128 wide;
    const wide a = (wide)x.number * y.of, b = (wide)y.number * x.of;
    const bool turned = (x.of < 0) != (y.of < 0);
    return turned ? (a < b) - (a > b) : (a > b) - (a < b);
}

static int compare_texts(ts_text a, ts_text b)
{
    const size_t size = a.size < b.size ? a.size : b.size;
    const int order = size ? memcmp(a.text, b.text, size) : 0;
    return order ? order : (a.size > b.size) - (a.size < b.size);
}

// Compares two values: texts by their bytes, numbers with the largest first,
// unknown values last.
static int compare(report_value x, report_value y)
{
    const bool no_x = report_is_unknown(x), no_y = report_is_unknown(y);
    if (no_x || no_y) return no_x - no_y;
    if (x.unit == REPORT_TEXT) return compare_texts(x.text, y.text);
    if (x.of && y.of) return compare_ratios(y, x);
    return (y.number > x.number) - (y.number < x.number);
}

// Argument of the qsort comparison.
static _Thread_local const report_table *sorted;
static _Thread_local size_t sorted_column;

static int by_column(const void *left, const void *right)
{
    const size_t a = *(const size_t *)left, b = *(const size_t *)right;
    const report_value *const v = sorted->values + sorted_column;
    const size_t step = sorted->column_count;
    const int order = compare(v[a * step], v[b * step]);
    return order ? order : (a > b) - (a < b);
}

static bool sort_table(report_table *t, size_t column)
{
    const size_t row = t->column_count * sizeof *t->values;
    size_t *const order = calloc(t->row_count + 1, sizeof *order);
    report_value *const values = malloc(t->row_count * row + 1);
    report_evidence *const evidence =
        malloc((t->row_count + 1) * sizeof *evidence);
    const bool ok = order && values && evidence;
    for (size_t i = 0; ok && i < t->row_count; i++)
        order[i] = i;
    sorted = t;
    sorted_column = column;
    if (ok) qsort(order, t->row_count, sizeof *order, by_column);
    for (size_t i = 0; ok && i < t->row_count; i++) {
        memcpy(values + i * t->column_count,
               t->values + order[i] * t->column_count, row);
        evidence[i] = t->evidence[order[i]];
    }
    if (ok && t->row_count) {
        memcpy(t->values, values, t->row_count * row);
        memcpy(t->evidence, evidence, t->row_count * sizeof *evidence);
    }
    free(order);
    free(values);
    free(evidence);
    return ok;
}

bool report_sort(report *r, const char *key)
{
    bool found = false;
    for (report_section *s = r->sections; s; s = s->next)
        for (report_table *t = s->tables; t; t = t->next)
            for (size_t c = 0; c < t->column_count; c++) {
                if (strcmp(t->columns[c].key, key)) continue;
                if (!sort_table(t, c)) r->failed = true;
                found = true;
            }
    return found;
}
