/*
    wording.c - changes as text
*/
#include "tools/diff/diff.h"

__extension__ typedef __int128 wide;

cli_text diff_p(uint64_t p)
{
    if (p < DIFF_CERTAIN / 1000) return cli_format("<0.001");
    const uint64_t thousandths =
        (p + DIFF_CERTAIN / 2000) / (DIFF_CERTAIN / 1000);
    return cli_format("%" PRIu64 ".%03" PRIu64, thousandths / 1000,
                      thousandths % 1000);
}

cli_text diff_percent(const diff *d, const diff_row *row, diff_metric metric)
{
    const diff_number a = diff_value(d, row, metric, 0);
    const diff_number b = diff_value(d, row, metric, 1);
    if (diff_is_new(row)) return cli_format("new");
    if (diff_is_gone(row)) return cli_format("gone");
    const wide below = (wide)a.number * b.of;
    if (below <= 0) return cli_format("%s", b.number > 0 ? "new" : "-");
    // In tenths of a percent, rounded half away from zero.
    const wide change = ((wide)b.number * a.of - below) * 1000;
    const wide size = change < 0 ? -change : change;
    const wide tenths = (size + below / 2) / below;
    const char *const sign = !tenths ? "" : change < 0 ? "-" : "+";
    if (tenths >= 100000)
        return cli_format("%s%" PRId64 " x", sign, (int64_t)(tenths / 1000));
    return cli_format("%s%" PRId64 ".%" PRId64 " %%", sign,
                      (int64_t)(tenths / 10), (int64_t)(tenths % 10));
}
