/* ---- Reader: losses ----------------------------------------------------- */

static int ts__order_loss(const void *a, const void *b)
{
    const ts_loss_row *const x = a, *const y = b;
    if (x->track != y->track) return ts__order_u64(x->track, y->track);
    if (x->cause != y->cause) return ts__order_u64(x->cause, y->cause);
    if (x->detail != y->detail) return ts__order_u64(x->detail, y->detail);
    return 0;
}

static uint64_t ts__sum(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static void ts__loss_merge(ts_loss_row *row, const ts_loss_row *more)
{
    row->count = ts__sum(row->count, more->count);
    row->stall_ns = ts__sum(row->stall_ns, more->stall_ns);
    if (more->first_ns < row->first_ns) row->first_ns = more->first_ns;
    if (more->last_ns > row->last_ns) row->last_ns = more->last_ns;
}

// Sums the ledger by track, cause and detail.
static ts_result ts__losses_finish(ts_reader *reader)
{
    const size_t size = reader->lost_count * sizeof(ts_loss_row);
    ts__mem_put(&reader->allocator, reader->losses, reader->losses_size);
    reader->losses = NULL;
    reader->losses_size = reader->loss_count = 0;
    if (!size) return TS_OK;
    ts_loss_row *const rows = ts__mem_get(&reader->allocator, size);
    if (!rows) return TS_ERR_MEMORY;
    reader->losses = rows;
    reader->losses_size = size;
    for (size_t i = 0; i < reader->lost_count; i++) {
        const ts__loss_seen *const lost = &reader->lost[i];
        const ts_loss_entry *const entry = &lost->entry;
        const ts_loss_row row = {
            lost->track,
            entry->cause,
            entry->detail,
            entry->count,
            ts__clock_time(reader->clocks, lost->clock, entry->first),
            ts__clock_time(reader->clocks, lost->clock, entry->last),
            entry->stall_ns,
        };
        rows[i] = row;
    }
    ts__sort(rows, reader->lost_count, sizeof *rows, ts__order_loss);
    size_t count = 0;
    for (size_t i = 0; i < reader->lost_count; i++) {
        if (count && ts__order_loss(&rows[count - 1], &rows[i]) == 0)
            ts__loss_merge(&rows[count - 1], &rows[i]);
        else
            rows[count++] = rows[i];
    }
    reader->loss_count = count;
    return TS_OK;
}

TS_API size_t ts_reader_loss_count(const ts_reader *reader)
{
    return reader->loss_count;
}

TS_API bool ts_reader_loss(const ts_reader *reader, size_t index,
                           ts_loss_row *row)
{
    if (index >= reader->loss_count) return false;
    *row = reader->losses[index];
    return true;
}
