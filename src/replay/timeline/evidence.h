/* ---- Timeline: what the trace proves about waits ------------------------ */

// What the trace of a part tells of the waits of its operations.
typedef struct ts__tl_evidence {
    bool waits; // it has event waits or dependencies
    bool lacks; // records were lost, or left out by choice
} ts__tl_evidence;

static ts__tl_evidence *ts__tl_evidence_at(const ts_timeline *t, size_t part)
{
    return (ts__tl_evidence *)t->evidence.data + part;
}

// Notes what a track tells. What has no known place may concern every part of
// its file, and proves a wait only if the file is one part.
static void ts__tl_note(const ts_timeline *t, uint32_t file, uint32_t track,
                        ts__tl_evidence found)
{
    const ts_replay *const r = t->replay;
    const uint32_t first = ((const uint32_t *)r->part_first.data)[file];
    const uint32_t own = ts__parts_place(r, file, track);
    size_t end = first;
    while (end < r->parts.count &&
           ts__replay_part(r, (uint32_t)end)->file == file)
        end++;
    for (size_t i = first; i < end; i++) {
        ts__tl_evidence *const e = ts__tl_evidence_at(t, i);
        if (own != TS_NODE_NONE && i != own) continue;
        e->waits |= found.waits && (i == own || end - first == 1);
        e->lacks |= found.lacks;
    }
}

// Whether metadata says that events were left out, other than by their time.
static bool ts__tl_leaves_out(const ts_metadata *m)
{
    static const char *const keys[] = { "capture.kinds", "capture.filter",
                                        "cut.thinned" };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (m->key.size == strlen(keys[i]) &&
            memcmp(m->key.text, keys[i], m->key.size) == 0)
            return true;
    return false;
}

static void ts__tl_file_evidence(const ts_timeline *t, uint32_t file)
{
    const ts__tl_evidence waits = { true, false }, lacks = { false, true };
    ts_reader *const reader = ts__replay_file(t->replay, file)->reader;
    const uint64_t *const counts = ts_reader_info(reader)->counts;
    ts_metadata m;
    ts_loss_row loss;
    ts_chunk_info chunk;
    for (size_t i = 0; ts_reader_metadata_at(reader, i, &m); i++)
        if (ts__tl_leaves_out(&m)) ts__tl_note(t, file, m.track, lacks);
    for (size_t i = 0; ts_reader_loss(reader, i, &loss); i++)
        if (loss.cause < TS_LOSS_STALL_FIRST && loss.count)
            ts__tl_note(t, file, loss.track, lacks);
    if (!counts[TS_EVENT_EVENT_WAIT] && !counts[TS_EVENT_DEPENDENCY]) return;
    for (size_t i = 0; ts_reader_chunk(reader, i, &chunk); i++)
        if (chunk.header.kind == TS_CHUNK_EVENTS &&
            (chunk.header.event == TS_EVENT_EVENT_WAIT ||
             chunk.header.event == TS_EVENT_DEPENDENCY))
            ts__tl_note(t, file, chunk.header.track, waits);
}

// Counts the streams of each device.
static bool ts__tl_count_streams(const ts_timeline *t)
{
    const ts_replay *const r = t->replay;
    ts__rmap devices = { 0 };
    bool ok = true;
    for (size_t i = 0; ok && i < t->devices.count; i++) {
        const ts_timeline_figures *const f = &ts__tl_device_at(t, i)->figures;
        if (f->track)
            ok = ts__rmap_put(&t->allocator, &devices,
                              ts__replay_key(f->file, f->track), (uint32_t)i);
    }
    for (uint32_t file = 0; ok && file < r->files.count; file++) {
        const ts_reader *const reader = ts__replay_file(r, file)->reader;
        ts_track track;
        for (size_t i = 0; ts_reader_track_at(reader, i, &track); i++) {
            if (track.type != TS_TRACK_STREAM) continue;
            uint32_t device = TS_NODE_NONE;
            // The parents in a hostile file may form a cycle.
            for (int n = 0; n < 8 && device == TS_NODE_NONE &&
                            ts_reader_track(reader, track.parent, &track);
                 n++)
                device = ts__rmap_get(&devices, ts__replay_key(file, track.id));
            if (device != TS_NODE_NONE) ts__tl_device_at(t, device)->streams++;
        }
    }
    ts__rvec_close(&t->allocator, &devices.entries);
    return ok;
}

// Finds which devices have traces that record what their work waits for.
static bool ts__tl_find_evidence(ts_timeline *t)
{
    const ts_replay *const r = t->replay;
    if (!t->gaps.count) return true;
    if (!ts__rvec_fill(&t->allocator, &t->evidence, sizeof(ts__tl_evidence),
                       r->parts.count, 0) ||
        !ts__tl_count_streams(t))
        return false;
    for (uint32_t file = 0; file < r->files.count; file++)
        ts__tl_file_evidence(t, file);
    // Those in chunks of several tracks.
    for (uint32_t i = 0; i < r->op_count; i++)
        if (ts__replay_op(r, i)->kind == TS_EVENT_EVENT_WAIT)
            ts__tl_evidence_at(t, ts__replay_part_of(r, i))->waits = true;
    for (size_t i = 0; i < t->devices.count; i++) {
        ts__tl_device *const d = ts__tl_device_at(t, i);
        if (!d->gap_count) continue;
        const ts_gap *const gap = (const ts_gap *)t->gaps.data + d->gap_first;
        const uint32_t part = ts__replay_part_of(r, gap->operation);
        const ts__tl_evidence *const e = ts__tl_evidence_at(t, part);
        d->records_waits = !e->lacks && !ts__replay_part(r, part)->misses &&
                           (e->waits || d->streams == 1);
    }
    return true;
}
