/*
    sums_plan.c - what EXPLAIN QUERY PLAN shows of ts_sums
*/
#include "tools/query/pushdown/sums_plan.h"

#ifdef TRACESMITH_SQLITE

static const char *op_text(uint32_t op)
{
    switch (op) {
    case SQLITE_INDEX_CONSTRAINT_EQ: return "=?";
    case SQLITE_INDEX_CONSTRAINT_NE: return "<>?";
    case SQLITE_INDEX_CONSTRAINT_GT: return ">?";
    case SQLITE_INDEX_CONSTRAINT_GE: return ">=?";
    case SQLITE_INDEX_CONSTRAINT_LT: return "<?";
    case SQLITE_INDEX_CONSTRAINT_LE: return "<=?";
    case SQLITE_INDEX_CONSTRAINT_LIKE: return " like ?";
    case SQLITE_INDEX_CONSTRAINT_GLOB: return " glob ?";
    case SQLITE_INDEX_CONSTRAINT_ISNULL: return " is null";
    default: return " is not null";
    }
}

static const char *what_text(push_what what)
{
    static const char *const texts[] = { "count", "count", "sum",
                                         "sum",   "min",   "max" };
    return texts[what];
}

char *sums_plan_text(const query *q, const sums_plan *plan)
{
    const query_push *const p = q->push;
    const query_column *const columns = p->table->columns;
    sqlite3_str *const text = sqlite3_str_new(q->db);
    sqlite3_str_appendf(text, "columns of %s", p->table->name);
    for (uint32_t i = 0; i < plan->test_count; i++)
        sqlite3_str_appendf(text, "%s%s%s", i ? ", " : " where ",
                            columns[plan->tests[i].column].name,
                            op_text(plan->tests[i].op));
    uint32_t keys = 0;
    for (uint32_t i = 0; i < p->texts.count; i++)
        sqlite3_str_appendf(text, "%s%s", keys++ ? ", " : " by ",
                            columns[p->texts.columns[i]].name);
    for (uint32_t i = 0; i < p->numbers.count; i++)
        sqlite3_str_appendf(text, "%s%s", keys++ ? ", " : " by ",
                            columns[p->numbers.columns[i]].name);
    for (uint32_t i = 0; i < p->sum_count; i++)
        sqlite3_str_appendf(
            text, "%s%s(%s)", i ? ", " : ": ", what_text(p->sums[i].what),
            p->sums[i].what == PUSH_ROWS ? "*"
                                         : columns[p->sums[i].column].name);
    return sqlite3_str_finish(text);
}

#endif
