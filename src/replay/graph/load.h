/* ---- Graph: loading ----------------------------------------------------- */

static void ts__loader_close(ts__loader *l)
{
    ts__rvec_close(l->allocator, &l->referenced);
    ts__rvec_close(l->allocator, &l->classes);
    ts__rvec_close(l->allocator, &l->rows);
    ts__rvec_close(l->allocator, &l->ops);
    ts__rvec_close(l->allocator, &l->events);
    ts__rvec_close(l->allocator, &l->colls);
    ts__rvec_close(l->allocator, &l->jobs);
    ts__rvec_close(l->allocator, &l->chunk_side);
    ts__rvec_close(l->allocator, &l->chunk_row);
    ts__rvec_close(l->allocator, &l->chunk_rows);
    ts__rvec_close(l->allocator, &l->chunk_place);
    ts__rvec_close(l->allocator, &l->chunk_ok);
    ts__rvec_close(l->allocator, &l->filter);
    ts__rvec_close(l->allocator, &l->calls);
    ts__rsort_close(l->allocator, &l->sort);
    ts__rvec_close(l->allocator, &l->lanes.entries);
}

// Returns the offset to add to the times of a file, from the Unix times of the
// starts. Starts centuries apart count as unknown.
static int64_t ts__replay_offset(const ts_replay *r, ts_replay_file *file)
{
    const uint64_t zero = ts_reader_info(r->reader)->start_realtime_ns;
    const uint64_t own = ts_reader_info(file->reader)->start_realtime_ns;
    const int64_t offset = (int64_t)(own - zero);
    if (!zero || !own || offset > TS__REPLAY_TIME_MAX / 2 ||
        offset < -TS__REPLAY_TIME_MAX / 2)
        return 0;
    file->realtime = true;
    return offset;
}

static bool ts__replay_boot(const ts_reader *reader, ts_text *boot,
                            uint64_t *raw_ns)
{
    uint64_t boottime_ns;
    ts_metadata m;
    if (!ts_reader_metadata(reader, 0, "boot_id", &m) ||
        m.type != TS_VALUE_TEXT || !m.text.size)
        return false;
    *boot = m.text;
    return ts_reader_boot(reader, raw_ns, &boottime_ns);
}

// Looks for an earlier file with the same machine clock, which gives the exact
// offset.
static void ts__replay_clock(const ts_replay *r, uint32_t file)
{
    ts_replay_file *const own = ts__replay_file(r, file);
    ts_text boot, other;
    uint64_t raw, other_raw;
    own->clock = file;
    if (!ts__replay_boot(own->reader, &boot, &raw)) return;
    for (uint32_t i = 0; i < file; i++) {
        const ts_replay_file *const first = ts__replay_file(r, i);
        if (first->clock != i ||
            !ts__replay_boot(first->reader, &other, &other_raw) ||
            other.size != boot.size ||
            memcmp(other.text, boot.text, boot.size) != 0)
            continue;
        const int64_t shift = (int64_t)(raw - other_raw);
        if (!ts__replay_time_ok(shift) ||
            !ts__replay_time_ok(first->offset_ns + shift))
            return;
        own->clock = i;
        own->offset_ns = first->offset_ns + shift;
        return;
    }
}

static ts_result ts__loader_file(ts__loader *l, uint32_t file, uint32_t threads)
{
    ts_replay_file *const f = ts__replay_file(l->replay, file);
    l->reader = f->reader;
    l->file = file;
    l->offset = f->offset_ns = ts__replay_offset(l->replay, f);
    ts__replay_clock(l->replay, file);
    l->offset = f->offset_ns;
    l->row_first = l->rows.count;
    l->call_first = l->calls.count;
    ts_result result = ts__loader_rows(l, threads);
    const bool all = !l->replay->clocks_only;
    if (result == TS_OK && all) result = ts__loader_deps(l);
    if (result == TS_OK && all) result = ts__loader_calls(l, threads);
    if (result != TS_OK) return result;
    if (!ts__loader_match(l) || !ts__loader_polls(l)) return TS_ERR_MEMORY;
    ts__loader_drop_calls(l);
    return ts__loader_assign_lanes(l) ? TS_OK : TS_ERR_MEMORY;
}

static ts_result ts__replay_load(ts_replay *r, uint32_t requested)
{
    const uint32_t threads = ts__thread_count(requested, 64);
    ts__loader l = { 0 };
    l.replay = r;
    l.allocator = &r->allocator;
    ts_result result = TS_OK;
    for (uint32_t i = 0; result == TS_OK && i < r->files.count; i++)
        result = ts__loader_file(&l, i, threads);
    if (result == TS_OK && !r->stats.loaded && !r->clocks_only)
        result = TS_ERR_NOT_FOUND;
    if (result == TS_OK && !(ts__loader_lanes(&l) && ts__replay_results(r) &&
                             ts__loader_rendezvous(&l) && ts__loader_ops(&l) &&
                             ts__loader_add_calls(&l) && ts__replay_queue(r) &&
                             ts__replay_ends(r)))
        result = TS_ERR_MEMORY;
    ts__loader_close(&l);
    return result;
}
