/* ---- Writer: dictionaries ----------------------------------------------- */

// Writes the waiting entries; kinds that others refer to come first.
static void ts__put_entries(ts_writer *w)
{
    static const uint8_t kinds[] = { TS_CHUNK_NAMES,    TS_CHUNK_SITES,
                                     TS_CHUNK_TRACKS,   TS_CHUNK_LAUNCHES,
                                     TS_CHUNK_MODULES,  TS_CHUNK_STACKS,
                                     TS_CHUNK_METADATA, TS_CHUNK_LOSS,
                                     TS_CHUNK_SYMBOLS };
    for (size_t i = 0; i < sizeof kinds && w->file.error == TS_OK; i++) {
        ts__put_list *const list = &w->lists[kinds[i]];
        if (!list->count) continue;
        const uint8_t *const end =
            ts__entries_end(list->bytes, list->bytes + list->size, list->count);
        ts__put_append(w, list->bytes, (size_t)(end - list->bytes));
        list->count = 0;
    }
}

// Adds an entry whose body consists of two parts.
static void ts__put_entry(ts_writer *w, uint32_t kind, uint32_t id,
                          const void *body, size_t size, const void *more,
                          size_t more_size)
{
    ts__put_list *const list = &w->lists[kind];
    if (w->file.error != TS_OK) return;
    if (list->count && list->size > TS__PUT_ENTRIES) ts__put_entries(w);
    if (!list->count) list->size = sizeof(ts_chunk_header);
    const size_t need = list->size + 8 + size + more_size + 8;
    if (need > list->capacity) {
        uint8_t *const bytes =
            (uint8_t *)ts__put_memory(w, list->bytes, 2 * need);
        if (!bytes) {
            ts__put_failed(w, TS_ERR_MEMORY);
            return;
        }
        list->bytes = bytes;
        list->capacity = 2 * need;
    }
    if (!list->count++) ts__entries_begin(list->bytes, kind);
    uint8_t *p = list->bytes + list->size;
    p = ts__entries_add(p, id, body, (uint32_t)size);
    if (more_size) memcpy(p, more, more_size);
    const uint32_t whole = (uint32_t)(size + more_size);
    memcpy(list->bytes + list->size + 4, &whole, sizeof whole);
    list->size = (size_t)(p - list->bytes) + more_size;
}

static bool ts__put_known_grow(ts_writer *w)
{
    const uint32_t count = w->known ? 2 * (w->known_mask + 1) : 1024;
    ts__put_known *const known =
        (ts__put_known *)ts__put_memory(w, NULL, count * sizeof *known);
    if (!known) return false;
    memset(known, 0, count * sizeof *known);
    for (uint32_t i = 0; w->known && i <= w->known_mask; i++) {
        if (!w->known[i].id) continue;
        uint32_t at = (uint32_t)w->known[i].low & (count - 1);
        while (known[at].id)
            at = (at + 1) & (count - 1);
        known[at] = w->known[i];
    }
    free(w->known);
    w->known = known;
    w->known_mask = count - 1;
    return true;
}

// The number of the entry with this hash, or a new one; 0: no memory.
static uint32_t ts__put_find(ts_writer *w, uint32_t kind, XXH128_hash_t hash,
                             bool *known)
{
    *known = false;
    if ((!w->known || w->known_count > w->known_mask / 2) &&
        !ts__put_known_grow(w)) {
        ts__put_failed(w, TS_ERR_MEMORY);
        return 0;
    }
    uint32_t at = (uint32_t)hash.low64 & w->known_mask;
    for (; w->known[at].id; at = (at + 1) & w->known_mask) {
        *known =
            w->known[at].low == hash.low64 && w->known[at].high == hash.high64;
        if (*known) return w->known[at].id;
    }
    w->known_count++;
    w->known[at].low = hash.low64;
    w->known[at].high = hash.high64;
    w->known[at].id = ++w->last_id[kind];
    return w->known[at].id;
}

// The number of an entry, or a new one. Contents are distinguished by their
// XXH3-128 alone, as blobs are.
static uint32_t ts__put_define(ts_writer *w, uint32_t kind, const void *body,
                               size_t size, const void *more, size_t more_size)
{
    XXH3_state_t state;
    XXH128_hash_t hash = XXH3_128bits_withSeed(body, size, kind);
    if (more_size) {
        XXH3_128bits_reset_withSeed(&state, kind);
        XXH3_128bits_update(&state, body, size);
        XXH3_128bits_update(&state, more, more_size);
        hash = XXH3_128bits_digest(&state);
    }
    bool known;
    const uint32_t id = ts__put_find(w, kind, hash, &known);
    if (id && !known) ts__put_entry(w, kind, id, body, size, more, more_size);
    return id;
}

uint32_t ts_writer_name(ts_writer *w, const char *text, size_t size)
{
    if (size > TS__NAME_MAX) size = TS__NAME_MAX;
    return ts__put_define(w, TS_CHUNK_NAMES, text ? text : "", text ? size : 0,
                          NULL, 0);
}

uint32_t ts_writer_site(ts_writer *w, const ts_site_entry *site)
{
    return ts__put_define(w, TS_CHUNK_SITES, site, sizeof *site, NULL, 0);
}

uint32_t ts_writer_launch(ts_writer *w, const ts_launch_entry *launch)
{
    return ts__put_define(w, TS_CHUNK_LAUNCHES, launch, sizeof *launch, NULL,
                          0);
}

uint32_t ts_writer_module(ts_writer *w, const ts_module_entry *module,
                          const void *build_id, size_t build_id_size)
{
    ts_module_entry entry = *module;
    entry.unused = 0;
    return ts__put_define(w, TS_CHUNK_MODULES, &entry, sizeof entry, build_id,
                          !build_id            ? 0
                          : build_id_size < 64 ? build_id_size
                                               : 64);
}

uint32_t ts_writer_stack(ts_writer *w, const ts_frame_entry *frames,
                         uint32_t count)
{
    if (count > 4096) count = 4096;
    return ts__put_define(w, TS_CHUNK_STACKS, frames, count * sizeof *frames,
                          NULL, 0);
}

uint32_t ts_writer_symbol(ts_writer *w, const ts_frame_entry *frame,
                          const ts_line_entry *lines, uint32_t count)
{
    const ts_symbol_entry entry = { frame->module, 0, frame->offset };
    return ts__put_define(w, TS_CHUNK_SYMBOLS, &entry, sizeof entry, lines,
                          count * sizeof *lines);
}

uint32_t ts_writer_track(ts_writer *w, uint32_t id, const ts_track_entry *track)
{
    ts_track_entry entry = *track;
    memset(entry.unused, 0, sizeof entry.unused);
    if (!id) id = w->last_id[TS_CHUNK_TRACKS] + 1;
    if (id > w->last_id[TS_CHUNK_TRACKS]) w->last_id[TS_CHUNK_TRACKS] = id;
    if (!id || id == TS_TRACK_MIXED) {
        ts__put_failed(w, TS_ERR_USAGE);
        return 0;
    }
    ts__put_entry(w, TS_CHUNK_TRACKS, id, &entry, sizeof entry, NULL, 0);
    return id;
}

void ts_writer_metadata(ts_writer *w, uint32_t track, const char *key,
                        ts_value_type type, uint64_t value)
{
    ts_metadata_entry entry;
    entry.key = ts_writer_name(w, key, strlen(key));
    entry.type = (uint32_t)type;
    entry.value = value;
    ts__put_entry(w, TS_CHUNK_METADATA, track, &entry, sizeof entry, NULL, 0);
}

static uint64_t ts__put_tick(int64_t time_ns)
{
    const int64_t near = time_ns > TS__PUT_FAR    ? TS__PUT_FAR
                         : time_ns < -TS__PUT_FAR ? -TS__PUT_FAR
                                                  : time_ns;
    return TS__PUT_EPOCH + (uint64_t)near;
}

void ts_writer_stall(ts_writer *w, uint32_t track, uint32_t cause,
                     uint32_t detail, uint64_t count, int64_t first_ns,
                     int64_t last_ns, uint64_t stall_ns)
{
    ts_loss_entry entry;
    memset(&entry, 0, sizeof entry);
    entry.cause = cause;
    entry.detail = detail;
    entry.count = count;
    entry.first = ts__put_tick(first_ns);
    entry.last = ts__put_tick(last_ns);
    entry.stall_ns = stall_ns;
    ts__put_entry(w, TS_CHUNK_LOSS, track, &entry, sizeof entry, NULL, 0);
}

void ts_writer_loss(ts_writer *w, uint32_t track, uint32_t cause,
                    uint32_t detail, uint64_t count, int64_t first_ns,
                    int64_t last_ns)
{
    ts_writer_stall(w, track, cause, detail, count, first_ns, last_ns, 0);
}
