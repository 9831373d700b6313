/* ---- Graph: traces made of several -------------------------------------- */

#define TS__PARTS_MAX 32767

static bool ts__parts_push(ts_replay *r, uint32_t file, size_t first)
{
    ts__trace_part *const part =
        (ts__trace_part *)ts__rvec_push(&r->allocator, &r->parts, sizeof *part);
    if (!part) return false;
    part->file = file;
    part->local = (uint32_t)(r->parts.count - 1 - first);
    part->process = 0;
    part->misses = false;
    return true;
}

// Reads the parts of a file from the metadata of its process tracks. A number
// that is too high for the number of tracks is ignored.
static bool ts__parts_read(ts_replay *r, uint32_t file, size_t first)
{
    static const char key[] = "merge.part";
    const ts_reader *const reader = ts__replay_file(r, file)->reader;
    const uint32_t most = ts_reader_info(reader)->track_count;
    ts_metadata m;
    for (size_t i = 0; ts_reader_metadata_at(reader, i, &m); i++) {
        if (!m.track || m.type != TS_VALUE_INT || m.number < 0 ||
            m.number >= most || m.number >= TS__PARTS_MAX ||
            m.key.size != sizeof key - 1 ||
            memcmp(m.key.text, key, m.key.size) != 0)
            continue;
        const size_t part = first + (size_t)m.number;
        while (r->parts.count <= part)
            if (!ts__parts_push(r, file, first)) return false;
        ts__trace_part *const of = ts__replay_part(r, (uint32_t)part);
        if (!of->process) of->process = m.track;
        if (!ts__rmap_put(&r->allocator, &r->part_of,
                          ts__replay_key(file, m.track), (uint32_t)part))
            return false;
    }
    return true;
}

// Adds the parts of a file: one, unless several traces were merged into it.
static bool ts__parts_add(ts_replay *r, uint32_t file)
{
    const size_t first = r->parts.count;
    uint32_t *const at =
        (uint32_t *)ts__rvec_push(&r->allocator, &r->part_first, sizeof *at);
    if (!at) return false;
    *at = (uint32_t)first;
    return ts__parts_read(r, file, first) &&
           (r->parts.count > first || ts__parts_push(r, file, first));
}

// Returns the part that a track belongs to; TS_NODE_NONE: not known, or the
// file was not merged. The parents in a hostile file may form a cycle.
static uint32_t ts__parts_place(const ts_replay *r, uint32_t file,
                                uint32_t track)
{
    const ts_reader *const reader = ts__replay_file(r, file)->reader;
    ts_track found = { 0 };
    found.parent = track;
    for (int depth = 0; depth < 16 && found.parent; depth++) {
        const uint32_t part =
            ts__rmap_get(&r->part_of, ts__replay_key(file, found.parent));
        if (part != TS_NODE_NONE) return part;
        if (!ts_reader_track(reader, found.parent, &found)) break;
    }
    return TS_NODE_NONE;
}

// The same, or the first part of the file.
static uint32_t ts__parts_find(const ts_replay *r, uint32_t file,
                               uint32_t track)
{
    const uint32_t part = ts__parts_place(r, file, track);
    return part != TS_NODE_NONE ? part
                                : ((const uint32_t *)r->part_first.data)[file];
}
