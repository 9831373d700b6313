/*
    memory.c - turns events into blocks, and blocks into pools
*/
#include "tools/analyze/figures/operations/memory_rows.h"

/* ---- Blocks ------------------------------------------------------------- */

static bool put_fault(memory_work *w, memory_fault_kind kind,
                      const memory_row *row, uint32_t pool, uint32_t block)
{
    memory *const m = w->m;
    m->fault_counts[kind]++;
    if (m->fault_count == MEMORY_FAULTS_KEPT) return true;
    if (!cli_grow(&m->faults, &m->fault_room, m->fault_count + 1,
                  sizeof *m->faults))
        return false;
    m->faults[m->fault_count++] =
        (memory_fault){ kind,         pool,      block,    row->address,
                        row->time_ns, row->file, row->path };
    return true;
}

static uint32_t line_of(memory_work *w, uint32_t category)
{
    memory *const m = w->m;
    const uint32_t known = cli_map_row(&w->categories, category);
    if (known != CLI_NONE) return known;
    if (m->line_count == m->pool_lines + MEMORY_LINES_MOST)
        return (uint32_t)m->line_count - 1;
    if (!cli_grow(&m->lines, &m->line_room, m->line_count + 1,
                  sizeof *m->lines) ||
        !cli_map_set(&w->categories, category, (uint32_t)m->line_count))
        return CLI_NONE;
    m->lines[m->line_count] =
        (memory_line){ .pool = CLI_NONE, .category = category };
    return (uint32_t)m->line_count++;
}

static uint32_t slice_of(const memory *m, int64_t time_ns)
{
    const uint64_t span = (uint64_t)m->last_ns - (uint64_t)m->first_ns;
    const uint64_t width = span / MEMORY_SLICES + 1;
    return (uint32_t)(((uint64_t)time_ns - (uint64_t)m->first_ns) / width);
}

int64_t memory_slice_ns(const memory *m, uint32_t slice)
{
    const uint64_t span = (uint64_t)m->last_ns - (uint64_t)m->first_ns;
    return m->first_ns + (int64_t)(slice * (span / MEMORY_SLICES + 1));
}

// Fills a line up to a slice. Between events its value does not change.
static void line_reach(memory_line *line, uint32_t slice)
{
    for (; line->slice < slice; line->slice++)
        line->most[line->slice + 1] = line->live;
}

// Takes the value of a line after all events of one time.
static void line_settle(const memory *m, memory_line *line, int64_t time_ns)
{
    line_reach(line, slice_of(m, time_ns));
    if (line->live > line->most[line->slice])
        line->most[line->slice] = line->live;
    if (line->live > line->peak) line->peak = line->live;
}

static bool touch_line(memory_work *w, uint32_t at, uint64_t size,
                       int64_t time_ns)
{
    memory_line *const line = &w->m->lines[at];
    line_reach(line, slice_of(w->m, time_ns));
    line->live += size; // modulo 2^64: a free adds a negative size
    if (line->touched) return true;
    if (!cli_grow(&w->touched_lines, &w->lines_room, w->touched_line_count + 1,
                  sizeof *w->touched_lines))
        return false;
    line->touched = true;
    w->touched_lines[w->touched_line_count++] = at;
    return true;
}

// Changes the pool and lines of a block, to be settled after all events of this
// time.
static bool touch(memory_work *w, const memory_block *b, uint64_t size,
                  int64_t time_ns)
{
    memory *const m = w->m;
    memory_pool *const pool = &m->pools[b->pool];
    const uint32_t category = line_of(w, b->category);
    const uint32_t last = (uint32_t)m->pool_lines - 1;
    if (category == CLI_NONE ||
        !cli_grow(&w->touched_pools, &w->pools_room, w->touched_pool_count + 1,
                  sizeof *w->touched_pools))
        return false;
    pool->live_size += size;
    if (!pool->touched) w->touched_pools[w->touched_pool_count++] = b->pool;
    pool->touched = true;
    return touch_line(w, b->pool < last ? b->pool : last, size, time_ns) &&
           touch_line(w, category, size, time_ns);
}

// Settles pools and lines after all events of a time.
static void settle(memory_work *w, int64_t now_ns)
{
    memory *const m = w->m;
    while (w->touched_line_count) {
        memory_line *const line =
            &m->lines[w->touched_lines[--w->touched_line_count]];
        line_settle(m, line, now_ns);
        line->touched = false;
    }
    while (w->touched_pool_count) {
        memory_pool *const pool =
            &m->pools[w->touched_pools[--w->touched_pool_count]];
        pool->touched = false;
        if (pool->live_size <= pool->peak_size) continue;
        pool->peak_size = pool->live_size;
        pool->peak_count = pool->live_count;
        pool->peak_ns = now_ns;
    }
}

static memory_use *use_of(memory_work *w, memory_block *b)
{
    memory *const m = w->m;
    const uint64_t key =
        cli_hash_join(cli_hash_join(b->size, b->pool), b->path);
    b->use = cli_map_row(&w->uses, key);
    if (b->use == CLI_NONE) {
        if (!cli_grow(&m->uses, &m->use_room, m->use_count + 1,
                      sizeof *m->uses) ||
            !cli_map_set(&w->uses, key, (uint32_t)m->use_count))
            return NULL;
        m->uses[m->use_count] = (memory_use){ .size = b->size,
                                              .pool = b->pool,
                                              .path = b->path,
                                              .first_ns = b->from_ns };
        b->use = (uint32_t)m->use_count++;
    }
    return &m->uses[b->use];
}

static void pool_seen(memory_pool *pool, int64_t time_ns)
{
    if (!pool->allocations && !pool->frees) pool->first_ns = time_ns;
    pool->last_ns = time_ns;
}

static bool end_block(memory_work *w, memory_block *b, int64_t time_ns)
{
    memory_pool *const pool = &w->m->pools[b->pool];
    memory_use *const use = &w->m->uses[b->use];
    b->to_ns = time_ns;
    pool->live_count--;
    use->live--;
    use->freed++;
    use->lifetime_ns += time_ns - b->from_ns;
    use->short_lived += time_ns - b->from_ns < w->short_ns;
    return touch(w, b, 0 - b->size, time_ns);
}

static bool row_takes(memory_work *w, const memory_row *row, uint64_t key,
                      uint32_t last)
{
    memory *const m = w->m;
    memory_block b = { .address = row->address,
                       .size = row->size,
                       .from_ns = row->time_ns,
                       .to_ns = MEMORY_NEVER,
                       .pool = row->pool,
                       .path = row->path,
                       .file = row->file,
                       .stack = row->stack,
                       .site = row->site,
                       .category = row->category };
    memory_pool *const pool = &m->pools[row->pool];
    memory_use *const use = use_of(w, &b);
    if (!use ||
        !cli_grow(&m->blocks, &m->block_room, m->block_count + 1,
                  sizeof *m->blocks) ||
        !cli_map_set(&w->blocks, key, (uint32_t)m->block_count))
        return false;
    if (last != CLI_NONE && m->blocks[last].to_ns == MEMORY_NEVER &&
        (!put_fault(w, MEMORY_REPLACED, row, row->pool, last) ||
         !end_block(w, &m->blocks[last], row->time_ns)))
        return false;
    pool_seen(pool, row->time_ns);
    pool->allocations++;
    pool->allocated_size += row->size;
    pool->live_count++;
    use->count++;
    use->last_ns = row->time_ns;
    if (++use->live > use->most) use->most = use->live;
    m->blocks[m->block_count++] = b;
    return touch(w, &b, b.size, row->time_ns);
}

static bool row_frees(memory_work *w, const memory_row *row, uint32_t last)
{
    memory *const m = w->m;
    uint32_t pool = row->pool;
    if (last != CLI_NONE) pool = m->blocks[last].pool;
    if (pool != CLI_NONE) {
        pool_seen(&m->pools[pool], row->time_ns);
        m->pools[pool].frees++;
    }
    if (last == CLI_NONE)
        return put_fault(w, MEMORY_UNKNOWN_FREE, row, pool, CLI_NONE);
    if (m->blocks[last].to_ns != MEMORY_NEVER)
        return put_fault(w, MEMORY_DOUBLE_FREE, row, pool, last);
    return end_block(w, &m->blocks[last], row->time_ns);
}

/* ---- Events of one time ------------------------------------------------- */

static uint64_t key_of(const memory_row *row)
{
    return cli_hash_join(row->address, row->space);
}

// Returns the latest block at the address of a row; CLI_NONE if there is none.
static uint32_t last_of(const memory_work *w, const memory_row *row)
{
    return cli_map_row(&w->blocks, key_of(row));
}

static bool put_row(memory_work *w, const memory_row *row)
{
    const uint32_t last = last_of(w, row);
    return row->takes ? row_takes(w, row, key_of(row), last)
                      : row_frees(w, row, last);
}

static int by_place(const void *left, const void *right)
{
    const memory_row *const a = left, *const b = right;
    if (a->space != b->space) return a->space < b->space ? -1 : 1;
    if (a->address != b->address) return a->address < b->address ? -1 : 1;
    if (a->takes != b->takes) return a->takes ? -1 : 1;
    return (a->order > b->order) - (a->order < b->order);
}

// Handles the events of one address at one time. Allocations precede frees in
// the array; they are applied alternately: a free whenever a block is live,
// else an allocation.
static bool put_group(memory_work *w, const memory_row *rows, size_t count)
{
    size_t take = 0, give = 0;
    while (give < count && rows[give].takes)
        give++;
    const size_t takes = give;
    while (take < takes || give < count) {
        const uint32_t last = last_of(w, &rows[0]);
        const bool there =
            last != CLI_NONE && w->m->blocks[last].to_ns == MEMORY_NEVER;
        const bool gives = give < count && (there || take == takes);
        if (!put_row(w, &rows[gives ? give++ : take++])) return false;
    }
    return true;
}

static bool put_instant(memory_work *w, memory_row *rows, size_t count)
{
    const int64_t now_ns = rows[0].time_ns;
    if (count > 1) qsort(rows, count, sizeof *rows, by_place);
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count; end++)
            if (rows[end].space != rows[i].space ||
                rows[end].address != rows[i].address)
                break;
        if (!put_group(w, rows + i, end - i)) return false;
    }
    settle(w, now_ns);
    return true;
}

static int by_time(const void *left, const void *right)
{
    const memory_row *const a = left, *const b = right;
    if (a->time_ns != b->time_ns) return a->time_ns < b->time_ns ? -1 : 1;
    return (a->order > b->order) - (a->order < b->order);
}

static bool put_rows(memory_work *w)
{
    memory *const m = w->m;
    if (!w->row_count) return true;
    for (size_t i = 1; i < w->row_count; i++) {
        if (by_time(&w->rows[i - 1], &w->rows[i]) <= 0) continue;
        qsort(w->rows, w->row_count, sizeof *w->rows, by_time);
        break;
    }
    m->first_ns = w->rows[0].time_ns;
    m->last_ns = w->rows[w->row_count - 1].time_ns;
    m->pool_lines =
        m->pool_count < MEMORY_LINES_MOST ? m->pool_count : MEMORY_LINES_MOST;
    if (!cli_grow(&m->lines, &m->line_room, m->pool_lines, sizeof *m->lines))
        return false;
    for (; m->line_count < m->pool_lines; m->line_count++)
        m->lines[m->line_count] =
            (memory_line){ .pool = (uint32_t)m->line_count,
                           .category = CLI_NONE };
    for (size_t i = 0, end; i < w->row_count; i = end) {
        for (end = i + 1; end < w->row_count; end++)
            if (w->rows[end].time_ns != w->rows[i].time_ns) break;
        if (!put_instant(w, w->rows + i, end - i)) return false;
    }
    for (size_t i = 0; i < m->line_count; i++)
        line_reach(&m->lines[i], MEMORY_SLICES - 1);
    return true;
}

bool memory_compute(memory *m, const memory_file *files, uint32_t count,
                    int64_t short_ns)
{
    memory_work w = { .m = m, .short_ns = short_ns };
    *m = (memory){ 0 };
    bool ok = paths_open(&m->paths);
    for (uint32_t i = 0; ok && i < count; i++)
        ok = memory_read(&w, &files[i], i);
    ok = ok && put_rows(&w) && memory_holes(m);
    free(w.rows);
    cli_map_close(&w.pools);
    cli_map_close(&w.spaces);
    cli_map_close(&w.blocks);
    cli_map_close(&w.uses);
    cli_map_close(&w.categories);
    free(w.touched_pools);
    free(w.touched_lines);
    return ok;
}

void memory_close(memory *m)
{
    paths_close(&m->paths);
    free(m->pools);
    free(m->blocks);
    free(m->uses);
    free(m->lines);
    free(m->faults);
    *m = (memory){ 0 };
}
