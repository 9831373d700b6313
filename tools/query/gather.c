/*
    gather.c - copies rows of many chunks

    Copies are kept small, because touching new memory takes longer than writing
    it: numbers take 32 bits until one does not fit.
*/
#ifdef __linux__
#define _DEFAULT_SOURCE // madvise
#endif
#include "tools/query/tables.h"

#ifdef TRACESMITH_SQLITE
#include <sys/mman.h>

/* ---- Memory ------------------------------------------------------------- */

// Asks for huge pages, which cause fewer page faults.
void *query_array(size_t count, size_t item)
{
    enum { LARGE = 1 << 21 };
    const size_t size = (count ? count : 1) * item;
    if (size < 4 * (size_t)LARGE) return malloc(size);
    void *array = NULL;
    if (posix_memalign(&array, LARGE, size)) return NULL;
#ifdef MADV_HUGEPAGE
    madvise(array, size, MADV_HUGEPAGE);
#endif
    return array;
}

// As realloc; only `used` elements of `old` are copied.
static void *more_of(void *old, size_t used, size_t count, size_t item)
{
    void *const more = query_array(count, item);
    if (!more) return NULL;
    if (old) memcpy(more, old, used * item);
    free(old);
    return more;
}

static bool room_for_texts(query_rows *to, uint32_t room)
{
    const char **const texts =
        more_of(to->kept_texts, to->total, room, sizeof *texts);
    if (!texts) return false;
    to->kept_texts = texts;
    uint32_t *const sizes =
        more_of(to->kept_sizes, to->total, room, sizeof *sizes);
    if (!sizes) return false;
    to->kept_sizes = sizes;
    return true;
}

static bool room_for(query_rows *to, uint64_t uses, uint32_t room)
{
    for (uint32_t raw = 0; raw < RAW_LIMIT; raw++) {
        if (!(uses >> raw & 1) || raw == RAW_TEXT) continue;
        void *const more =
            to->made[raw]
                ? more_of(to->made[raw], to->total, room, sizeof(uint64_t))
                : more_of(to->made_narrow[raw], to->total, room,
                          sizeof(uint32_t));
        if (!more) return false;
        if (to->made[raw])
            to->made[raw] = more;
        else
            to->made_narrow[raw] = more;
    }
    if (to->kept_numbers) {
        uint32_t *const numbers =
            more_of(to->kept_numbers, to->total, room, sizeof *numbers);
        if (!numbers) return false;
        to->kept_numbers = numbers;
    }
    to->room = room;
    return !(uses >> RAW_TEXT & 1) || room_for_texts(to, room);
}

/* ---- Copying ------------------------------------------------------------ */

static bool widen(query_rows *to, uint32_t raw)
{
    const uint32_t *const narrow = to->made_narrow[raw];
    uint64_t *const wide = query_array(to->room, sizeof *wide);
    if (!wide) return false;
    for (uint32_t i = 0; i < to->total; i++)
        wide[i] = narrow[i];
    free(to->made_narrow[raw]);
    to->made_narrow[raw] = NULL;
    to->made[raw] = wide;
    return true;
}

static bool fits(const query_rows *from, uint32_t raw)
{
    uint64_t any = from->values[raw] ? 0 : from->constant[raw];
    for (uint32_t i = 0; from->values[raw] && i < from->total; i++)
        any |= from->values[raw][i];
    return any <= UINT32_MAX;
}

static bool copy_column(query_rows *to, const query_rows *from, uint32_t raw)
{
    const uint64_t *const values = from->values[raw];
    const uint32_t *const order = from->order;
    const uint64_t constant = from->constant[raw];
    if (!to->made[raw] && !fits(from, raw) && !widen(to, raw)) return false;
    if (to->made[raw]) {
        uint64_t *const at = to->made[raw] + to->total;
        for (uint32_t i = 0; i < from->count; i++)
            at[i] = values ? values[order ? order[i] : i] : constant;
        return true;
    }
    uint32_t *const at = to->made_narrow[raw] + to->total;
    for (uint32_t i = 0; i < from->count; i++)
        at[i] = (uint32_t)(values ? values[order ? order[i] : i] : constant);
    return true;
}

// Copies the rows' numbers, if they are not consecutive.
static bool copy_numbers(query_rows *to, const query_rows *from)
{
    if (!to->total && !to->kept_numbers) to->first_row = from->first_row;
    const bool follows = from->count == from->total &&
                         from->first_row == to->first_row + to->total;
    if (follows && !to->kept_numbers) return true;
    if (!to->kept_numbers) {
        to->kept_numbers = query_array(to->room, sizeof *to->kept_numbers);
        if (!to->kept_numbers) return false;
        for (uint32_t i = 0; i < to->total; i++)
            to->kept_numbers[i] = (uint32_t)to->first_row + i;
    }
    uint32_t *const at = to->kept_numbers + to->total;
    for (uint32_t i = 0; i < from->count; i++)
        at[i] = (uint32_t)from->first_row + (from->order ? from->order[i] : i);
    return true;
}

// Copies pointers to texts and keeps the decoded chunks that they point into.
static bool copy_texts(query_rows *to, query_rows *from)
{
    for (uint32_t i = 0; i < from->count; i++) {
        const uint32_t row = from->order ? from->order[i] : i;
        const bool has = from->text_sizes;
        to->kept_texts[to->total + i] = has ? from->texts[row] : "";
        to->kept_sizes[to->total + i] = has ? from->text_sizes[row] : 0;
    }
    if (!from->text_sizes || !from->count) return true;
    ts_columns *const kept =
        realloc(to->kept, (to->kept_count + 1) * sizeof *kept);
    if (!kept) return false;
    to->kept = kept;
    uint32_t *const files =
        realloc(to->kept_files, (to->kept_count + 1) * sizeof *files);
    if (!files) return false;
    to->kept_files = files;
    files[to->kept_count] = from->columns_file;
    kept[to->kept_count++] = from->columns;
    from->columns = (ts_columns){ 0 };
    return true;
}

static bool add(query_rows *to, query_rows *from, uint64_t uses)
{
    if (from->count > UINT32_MAX - 1 - to->total) return false;
    const uint32_t need = to->total + from->count;
    if (need > to->room &&
        !room_for(to, uses, need > UINT32_MAX / 2 ? need : need * 2))
        return false;
    for (uint32_t raw = 0; raw < RAW_LIMIT; raw++)
        if (uses >> raw & 1 && raw != RAW_TEXT && !copy_column(to, from, raw))
            return false;
    if (!copy_numbers(to, from)) return false;
    if (uses >> RAW_TEXT & 1 && !copy_texts(to, from)) return false;
    to->total = need;
    return true;
}

static void finish(query_rows *to, uint64_t uses)
{
    for (uint32_t raw = 0; raw < RAW_LIMIT; raw++) {
        to->values[raw] = to->made[raw];
        to->narrow[raw] = to->made_narrow[raw];
    }
    to->numbers = to->kept_numbers;
    to->texts = to->kept_texts;
    to->text_sizes = uses >> RAW_TEXT & 1 ? to->kept_sizes : NULL;
    to->count = to->total;
}

int query_rows_gather(query *q, query_rows *rows,
                      const query_chunk *const *chunks, size_t chunk_count,
                      uint64_t uses, query_test *tests, size_t count)
{
    query_rows from = { 0 };
    uint64_t tested = uses, most = 1;
    for (size_t i = 0; i < count; i++)
        tested |= RAW_BIT(tests[i].raw);
    for (size_t i = 0; i < chunk_count; i++)
        most += chunks[i]->count;
    if (count || most >= UINT32_MAX) most = 1024;
    query_rows_close(q, rows);
    int code = room_for(rows, uses, (uint32_t)most) ? SQLITE_OK : SQLITE_NOMEM;
    for (size_t i = 0; code == SQLITE_OK && i < chunk_count; i++) {
        if (query_stops(q)) code = SQLITE_INTERRUPT;
        cli_progress_show(&q->progress, i, chunk_count);
        if (code == SQLITE_OK)
            code = query_rows_load(q, &from, chunks[i], tested);
        if (code == SQLITE_OK) code = query_rows_pick(q, &from, tests, count);
        if (code == SQLITE_OK && !add(rows, &from, uses)) code = SQLITE_NOMEM;
    }
    query_rows_close(q, &from);
    finish(rows, uses);
    return code;
}

/* ---- Putting in order --------------------------------------------------- */

/*
    Moves the rows themselves, so that reading them in order is sequential. If
    there are few rows, or texts, the rows stay and are read through `order`.
    `spare` has room for a 32-bit number of each row and is freed or reused.
*/
bool query_rows_arrange(query_rows *rows, uint32_t *spare)
{
    enum { FEW = 1 << 11 };
    const uint32_t *const order = rows->order;
    const uint32_t count = rows->total;
    bool done = true;
    for (uint32_t raw = 0; raw < RAW_LIMIT; raw++) {
        if (!order || count < FEW || rows->text_sizes) break;
        if (rows->made[raw]) {
            uint64_t *const moved = query_array(count, sizeof *moved);
            done = moved != NULL;
            if (!done) break;
            for (uint32_t i = 0; i < count; i++)
                moved[i] = rows->made[raw][order[i]];
            free(rows->made[raw]);
            rows->made[raw] = moved;
        } else if (rows->made_narrow[raw]) {
            for (uint32_t i = 0; i < count; i++)
                spare[i] = rows->made_narrow[raw][order[i]];
            uint32_t *const free_now = rows->made_narrow[raw];
            rows->made_narrow[raw] = spare;
            spare = free_now;
        }
    }
    const bool moved = order && count >= FEW && !rows->text_sizes;
    for (uint32_t raw = 0; raw < RAW_LIMIT; raw++) {
        rows->values[raw] = rows->made[raw];
        rows->narrow[raw] = rows->made_narrow[raw];
    }
    if (moved) rows->origin = order;
    if (moved) rows->order = NULL;
    free(spare);
    return done;
}

#endif
