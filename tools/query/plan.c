/*
    plan.c - query plans for tables of events (xBestIndex)
*/
#include "tools/query/events.h"

#ifdef TRACESMITH_SQLITE
#include <math.h>

// The most bytes that copies for an order may take.
static const double copy_bytes_most = 4294967296.0;

uint64_t query_column_uses(const query_column *c)
{
    if (c->show == SHOW_VALUE)
        return RAW_BIT(TS_COLUMN_VALUE) | RAW_BIT(TS_COLUMN_TYPE) |
               RAW_BIT(RAW_TEXT);
    return RAW_BIT(c->raw);
}

/* ---- Conditions --------------------------------------------------------- */

static bool is_comparison(uint8_t op)
{
    return op == SQLITE_INDEX_CONSTRAINT_EQ ||
           op == SQLITE_INDEX_CONSTRAINT_GT ||
           op == SQLITE_INDEX_CONSTRAINT_GE ||
           op == SQLITE_INDEX_CONSTRAINT_LT || op == SQLITE_INDEX_CONSTRAINT_LE;
}

static bool is_pattern(uint8_t op)
{
    return op == SQLITE_INDEX_CONSTRAINT_LIKE ||
           op == SQLITE_INDEX_CONSTRAINT_GLOB ||
           op == SQLITE_INDEX_CONSTRAINT_REGEXP;
}

// Texts are compared by bytes here, so only such conditions can be tested.
static bool can_test(sqlite3_index_info *info, int i, const query_column *c)
{
    const uint8_t op = info->aConstraint[i].op;
    if (c->show >= SHOW_VALUE) return false;
    if (!query_show_is_text(c->show)) return is_comparison(op);
    if (is_pattern(op)) return true;
    return is_comparison(op) &&
           !sqlite3_stricmp(sqlite3_vtab_collation(info, i), "BINARY");
}

// Rates an equality: higher finds fewer rows; 0: not worth an index.
static uint32_t key_worth(const query_column *c, uint8_t op)
{
    static const uint8_t keys[] = { TS_COLUMN_LAUNCH,      TS_COLUMN_STACK,
                                    TS_COLUMN_ADDRESS,     TS_COLUMN_ID,
                                    TS_COLUMN_RECORD,      RAW_START,
                                    TS_COLUMN_CORRELATION, RAW_ZONE,
                                    RAW_OPERATION };
    if (op != SQLITE_INDEX_CONSTRAINT_EQ || c->show > SHOW_OPTION) return 0;
    if (!c->key && c->raw != RAW_START) return 0;
    for (uint32_t i = 0; i < sizeof keys; i++)
        if (keys[i] == c->raw) return i + 1;
    return 0;
}

static double share_of(uint8_t op, const query_column *c)
{
    if (op != SQLITE_INDEX_CONSTRAINT_EQ) return 0.25;
    return c->raw == RAW_KIND || c->raw == RAW_TRACK ? 0.2 : 0.05;
}

static const char *op_text(uint8_t op)
{
    switch (op) {
    case SQLITE_INDEX_CONSTRAINT_EQ: return "=";
    case SQLITE_INDEX_CONSTRAINT_GT: return ">";
    case SQLITE_INDEX_CONSTRAINT_GE: return ">=";
    case SQLITE_INDEX_CONSTRAINT_LT: return "<";
    case SQLITE_INDEX_CONSTRAINT_LE: return "<=";
    case SQLITE_INDEX_CONSTRAINT_LIKE: return " like ";
    case SQLITE_INDEX_CONSTRAINT_GLOB: return " glob ";
    default: return " regexp ";
    }
}

static void take_tests(const query_vtab *vtab, sqlite3_index_info *info,
                       query_plan *plan, sqlite3_str *text)
{
    uint32_t worth = 0;
    plan->lookup = -1;
    for (int i = 0; i < info->nConstraint; i++) {
        const struct sqlite3_index_constraint *const one =
            &info->aConstraint[i];
        if (!one->usable || one->iColumn < 0 ||
            (uint32_t)one->iColumn >= vtab->of.table->column_count ||
            plan->test_count == QUERY_TESTS_MOST)
            continue;
        const query_column *const c = &vtab->of.table->columns[one->iColumn];
        if (!can_test(info, i, c)) continue;
        const uint32_t here = key_worth(c, one->op);
        if (here > worth) {
            worth = here;
            plan->lookup = (int)plan->test_count;
        }
        plan->rows *= share_of(one->op, c);
        plan->uses |= query_column_uses(c);
        plan->tests[plan->test_count].column = (uint32_t)one->iColumn;
        plan->tests[plan->test_count++].op = one->op;
        info->aConstraintUsage[i].argvIndex = (int)plan->test_count;
        info->aConstraintUsage[i].omit = query_show_is_text(c->show);
        sqlite3_str_appendf(text, "%s%s%s?", plan->test_count > 1 ? ", " : "",
                            c->name, op_text(one->op));
    }
    if (worth && vtab->rows < UINT32_MAX / 2)
        plan->rows = worth >= 7 ? 2 : worth >= 4 ? 4 : plan->rows;
    else
        plan->lookup = -1;
    if (plan->lookup >= 0) sqlite3_str_appendall(text, ", by index");
}

/* ---- Order -------------------------------------------------------------- */

static bool can_order(const query_vtab *vtab, const sqlite3_index_info *info,
                      const query_plan *plan)
{
    if (!info->nOrderBy || info->nOrderBy > QUERY_ORDERS_MOST ||
        plan->lookup >= 0)
        return false;
    for (int i = 0; i < info->nOrderBy; i++) {
        const int column = info->aOrderBy[i].iColumn;
        if (column < 0 || vtab->of.table->columns[column].show >= SHOW_VALUE)
            return false;
    }
    const double row =
        8.0 * __builtin_popcountll(plan->uses) + 8.0 * info->nOrderBy + 40;
    return vtab->rows < UINT32_MAX / 2 &&
           (double)vtab->rows * row <= copy_bytes_most;
}

static void take_order(const query_vtab *vtab, sqlite3_index_info *info,
                       query_plan *plan, sqlite3_str *text)
{
    if (!can_order(vtab, info, plan)) return;
    for (int i = 0; i < info->nOrderBy; i++) {
        const query_column *const c =
            &vtab->of.table->columns[info->aOrderBy[i].iColumn];
        plan->uses |= query_column_uses(c);
        plan->orders[plan->order_count++] = (query_order){
            .raw = c->raw, .show = c->show, .desc = info->aOrderBy[i].desc
        };
        sqlite3_str_appendf(text, "%s%s%s", i ? ", " : " in order of ", c->name,
                            info->aOrderBy[i].desc ? " desc" : "");
    }
    info->orderByConsumed = 1;
}

/* ---- Plans -------------------------------------------------------------- */

static int keep_plan(query_vtab *vtab, const query_plan *plan, int *number)
{
    for (size_t i = 0; i < vtab->plan_count; i++) {
        *number = (int)i;
        if (!memcmp(&vtab->plans[i], plan, sizeof *plan)) return SQLITE_OK;
    }
    query_plan *const more =
        realloc(vtab->plans, (vtab->plan_count + 1) * sizeof *more);
    if (!more) return SQLITE_NOMEM;
    vtab->plans = more;
    *number = (int)vtab->plan_count;
    vtab->plans[vtab->plan_count++] = *plan;
    return SQLITE_OK;
}

int query_plan_best(sqlite3_vtab *base, sqlite3_index_info *info)
{
    query_vtab *const vtab = (query_vtab *)base;
    query_plan plan;
    memset(&plan, 0, sizeof plan); // clear padding: plans are compared as bytes
    plan.rows = (double)vtab->rows;
    for (uint32_t i = 0; i < vtab->of.table->column_count; i++)
        if (info->colUsed >> (i < 63 ? i : 63) & 1)
            plan.uses |= query_column_uses(&vtab->of.table->columns[i]);
    if (vtab->of.q->file_count > 1) plan.uses |= RAW_BIT(RAW_FILE);
    sqlite3_str *const text = sqlite3_str_new(vtab->of.q->db);
    take_tests(vtab, info, &plan, text);
    take_order(vtab, info, &plan, text);
    if (plan.rows < 1) plan.rows = 1;
    const double all = (double)vtab->rows;
    info->estimatedRows = (sqlite3_int64)plan.rows;
    info->estimatedCost =
        plan.lookup >= 0
            ? 20 + plan.rows * log2(all + 2) / 8
            : 50 + all * 0.2 + plan.rows * (info->orderByConsumed ? 2 : 1.5);
    info->idxStr = sqlite3_str_finish(text);
    info->needToFreeIdxStr = 1;
    return keep_plan(vtab, &plan, &info->idxNum);
}

#endif
