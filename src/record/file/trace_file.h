TS__SMALL_BEGIN

/* ---- Trace file --------------------------------------------------------- */

/*
    Appends chunks to a trace. The caller of every function here holds the
    writer's lock. An append is atomic even if the process dies in it: see
    ts__sidecar.
*/

// Bytes that the end of the trace may take: ledger, open zones, index, end.
static uint64_t ts__writer_reserve(const ts__writer *w)
{
    return (16u << 10) + (w->sidecar->state.index_count + 64) *
                             (sizeof(ts_chunk_header) + 8 * TS_LOD_CELLS);
}

// Reserves disk space in advance, and keeps some for the end of the trace.
static bool ts__writer_space(ts__writer *w, uint64_t end)
{
    const uint64_t need = end + ts__writer_reserve(w);
    if (w->final) return true;
    if (!ts__file_may_grow(need)) return false;
    if (need <= w->reserved) return true;
    // Little: on a memory file system it is memory.
    static const uint32_t steps[] = { 1u << 20, 1u << 16, 0 };
    for (int i = 0; i < 3; i++) {
        const uint64_t upto = need + steps[i];
        if (!ts__file_may_grow(upto)) continue;
        // From where it is reserved: a memory file system walks each page.
        if (fallocate(w->file.fd, FALLOC_FL_KEEP_SIZE, (off_t)w->reserved,
                      (off_t)(upto - w->reserved)) == 0) {
            w->reserved = upto;
            return true;
        }
        if (errno != ENOSPC && errno != EDQUOT && errno != EINTR) {
            w->reserved = UINT64_MAX; // not supported by this file system
            return true;
        }
    }
    return false;
}

static size_t ts__chunk_bytes(const ts_chunk_header *header)
{
    return sizeof *header + (((size_t)header->stored_size + 7) & ~(size_t)7);
}

typedef struct ts__commit { // what an append changes outside the file
    ts__writer_state state; // offset, sequence, index_count: filled in
    ts__ring *ring;         // NULL: none
    uint64_t tail, kept;    // of the ring
    uint32_t track;
    bool index; // the chunks are not listed in the index
} ts__commit;

static ts__commit ts__commit_begin(const ts__writer *w)
{
    ts__commit commit;
    memset(&commit, 0, sizeof commit);
    commit.state = w->sidecar->state;
    return commit;
}

// Gives finished chunks their number, session and checksum, and adds them to
// the index under construction; they count once the append is committed.
static void ts__writer_seal(ts__writer *w, ts__commit *commit, uint8_t *bytes,
                            size_t size, const uint64_t (*lod)[TS_LOD_CELLS])
{
    ts__sidecar *const sidecar = w->sidecar;
    for (size_t at = 0; at < size;) {
        ts_chunk_header header;
        memcpy(&header, bytes + at, sizeof header);
        memcpy(&header.session, sidecar->head.header.session, 4);
        header.sequence = commit->state.sequence++;
        header.checksum = ts__checksum(
            bytes + at + sizeof header, header.stored_size,
            ts__checksum(&header, offsetof(ts_chunk_header, checksum), 0));
        memcpy(bytes + at, &header, sizeof header);
        if (!commit->index) {
            const uint32_t i = commit->state.index_count++;
            header.checksum = commit->state.offset;
            sidecar->index[i] = header;
            if (header.kind == TS_CHUNK_EVENTS)
                memcpy(sidecar->lod[i], lod++, sizeof *lod);
#ifdef TRACESMITH_PICTURES
            if (header.kind == TS_CHUNK_PICTURES) lod++; // it has a place
#endif
        }
        commit->state.offset += ts__chunk_bytes(&header);
        at += ts__chunk_bytes(&header);
    }
}

static ts_result ts__writer_append(ts__writer *w, uint8_t *bytes, size_t size,
                                   const uint64_t (*lod)[TS_LOD_CELLS],
                                   ts__commit *commit)
{
    ts__sidecar *const sidecar = w->sidecar;
    const uint64_t offset = sidecar->state.offset;
    ts__writer_seal(w, commit, bytes, size, lod);
    if (!ts__file_keep(&w->file, w->path)) return TS_ERR_IO;
    if (!ts__writer_space(w, offset + size)) return TS_ERR_DISK_FULL;
    sidecar->before = sidecar->state;
    __atomic_signal_fence(__ATOMIC_SEQ_CST); // a crash sees program order
    __atomic_store_n(&sidecar->step, 1, __ATOMIC_RELEASE);
    const ts_result result = ts__file_write(w->file.fd, offset, bytes, size);
    if (result == TS_OK) {
        sidecar->state = commit->state;
        sidecar->ring = TS__RINGS_MAX;
        if (commit->ring) {
            sidecar->ring = ts__rest(commit->ring)->index;
            sidecar->tail = commit->tail;
            sidecar->kept = commit->kept;
            sidecar->track = commit->track;
        }
        __atomic_store_n(&sidecar->step, 2, __ATOMIC_RELEASE);
        if (commit->ring) {
            TS__STORE(&ts__rest(commit->ring)->track, commit->track);
            ts__rest(commit->ring)->kept = commit->kept;
            // release: pairs with the acquire in ts__ring_refresh
            __atomic_store_n(&commit->ring->tail, commit->tail,
                             __ATOMIC_RELEASE);
        }
    }
    __atomic_store_n(&sidecar->step, 0, __ATOMIC_RELEASE);
    return result;
}

// Appends the chunks in the scratch space up to `end`.
static ts_result ts__writer_scratch(ts__writer *w, const uint8_t *end)
{
    ts__commit commit = ts__commit_begin(w);
    return ts__writer_append(w, w->scratch, (size_t)(end - w->scratch), NULL,
                             &commit);
}

// Starts a chunk of entries in the scratch space at `at`.
static uint8_t *ts__entries_begin(uint8_t *at, uint32_t kind)
{
    ts_chunk_header header;
    memset(&header, 0, sizeof header);
    header.magic = TS_CHUNK_MAGIC;
    header.kind = (uint8_t)kind;
    memcpy(at, &header, sizeof header);
    return at + sizeof header;
}

static uint8_t *ts__entries_add(uint8_t *at, uint32_t id, const void *bytes,
                                uint32_t size)
{
    const uint32_t head[2] = { id, size };
    memcpy(at, head, sizeof head);
    memcpy(at + sizeof head, bytes, size);
    return at + sizeof head + size;
}

// The same for a packed stack.
static uint8_t *ts__entries_unpack(uint8_t *out, const ts__entry *e)
{
    uint8_t *const body = ts__entries_add(out, e->id, e, 0);
    const uint32_t *word = (const uint32_t *)(const void *)(e + 1);
    const uint32_t *const end = word + e->size / sizeof *word;
    uint32_t where = 0, size = 0;
    for (; word < end; word++) {
        if (*word >> 31) {
            where = *word << 1;
            continue;
        }
        // u32 module, u32 unused, u64 offset
        const uint64_t frame[] = { where >> 18,
                                   (uint64_t)where << 30 << 16 >> 16 | *word };
        memcpy(body + size, frame, sizeof frame);
        size += sizeof frame;
    }
    memcpy(body - sizeof size, &size, sizeof size);
    return body + size;
}

static uint8_t *ts__entries_end(uint8_t *start, uint8_t *end, uint32_t count)
{
    ts_chunk_header header;
    memcpy(&header, start, sizeof header);
    header.count = count;
    header.stored_size = header.raw_size =
        (uint32_t)(end - start - (ptrdiff_t)sizeof header);
    memcpy(start, &header, sizeof header);
    while ((size_t)(end - start) & 7)
        *end++ = 0;
    return end;
}

// A chunk of one entry.
static uint8_t *ts__entries_one(uint8_t *at, uint32_t kind, uint32_t id,
                                const void *bytes, uint32_t size)
{
    uint8_t *const body = ts__entries_begin(at, kind);
    return ts__entries_end(at, ts__entries_add(body, id, bytes, size), 1);
}

// Writes the index part under construction and begins a new one.
static ts_result ts__writer_index(ts__writer *w)
{
    ts__sidecar *const sidecar = w->sidecar;
    const uint32_t count = sidecar->state.index_count;
    const uint64_t head[2] = { sidecar->state.index_offset, 0 };
    uint8_t *p = ts__entries_begin(w->scratch, TS_CHUNK_INDEX);
    memcpy(p, head, sizeof head);
    p += sizeof head;
    memcpy(p, sidecar->index, count * sizeof *sidecar->index);
    p += count * sizeof *sidecar->index;
    for (uint32_t i = 0; i < count; i++) {
        if (sidecar->index[i].kind != TS_CHUNK_EVENTS) continue;
        memcpy(p, sidecar->lod[i], sizeof sidecar->lod[i]);
        p += sizeof sidecar->lod[i];
    }
    p = ts__entries_end(w->scratch, p, count);
    ts__commit commit = ts__commit_begin(w);
    commit.index = true;
    commit.state.index_offset = commit.state.offset;
    commit.state.index_count = 0;
    return ts__writer_append(w, w->scratch, (size_t)(p - w->scratch), NULL,
                             &commit);
}

// Room in the index for this many more chunks.
static ts_result ts__writer_prepare(ts__writer *w, uint32_t chunks)
{
    if (w->sidecar->state.index_count + chunks <= TS__INDEX_ENTRIES)
        return TS_OK;
    return ts__writer_index(w);
}

static const uint8_t ts__dictionary_kinds[] = {
    TS_CHUNK_NAMES,   TS_CHUNK_SITES,  TS_CHUNK_TRACKS,  TS_CHUNK_LAUNCHES,
    TS_CHUNK_MODULES, TS_CHUNK_STACKS, TS_CHUNK_METADATA
};

// Whether the entry at `at` of a block belongs to this session: threads report
// their tracks to each session, and facts about a session end with it.
static bool ts__entry_here(const ts__block *block, uint64_t at,
                           const ts__entry *e)
{
    if (e->kind == TS_CHUNK_TRACKS && e->size &&
        ts__entry_bytes(e)[0] == TS_TRACK_THREAD)
        return at >= block->reported;
    return e->kind != TS_CHUNK_METADATA || e->id || at >= block->past;
}

// Writes the dictionary entries that lie in [from, to) of a block, a chunk for
// each kind. The scratch space holds four times the largest range, which packed
// stacks can need.
static ts_result ts__writer_range(ts__writer *w, const ts__block *block,
                                  uint64_t from, uint64_t to)
{
    uint8_t *out = w->scratch;
    for (size_t k = 0; k < sizeof ts__dictionary_kinds; k++) {
        uint8_t *const start = out;
        uint8_t *p = ts__entries_begin(start, ts__dictionary_kinds[k]);
        uint32_t count = 0;
        const ts__entry *e;
        for (uint64_t at = from; at < to; at += ts__entry_room(e->size)) {
            e = (const ts__entry *)(const void *)(block->bytes + at);
            const bool packed = e->kind == TS__ENTRY_PACKED;
            if ((packed ? (uint32_t)TS_CHUNK_STACKS : e->kind) !=
                    ts__dictionary_kinds[k] ||
                !ts__entry_here(block, at, e))
                continue;
            p = packed ? ts__entries_unpack(p, e)
                       : ts__entries_add(p, e->id, e + 1, e->size);
            count++;
        }
        if (count) out = ts__entries_end(start, p, count);
    }
    if (out == w->scratch) return TS_OK;
    return ts__writer_scratch(w, out);
}

// How much of a block of dictionary entries fits one append.
static size_t ts__range_size(const uint8_t *bytes, size_t size)
{
    size_t at = 0;
    while (size - at >= sizeof(ts__entry)) {
        const ts__entry *const e =
            (const ts__entry *)(const void *)(bytes + at);
        const size_t next = at + ts__entry_room(e->size);
        if (next > size || next > TS__SCRATCH_BYTES / 4 - 1024) break;
        at = next;
    }
    return at;
}

// Writes the entries of dictionary blocks that this file does not have yet.
static ts_result ts__writer_blocks(ts__writer *w, const ts__block *blocks,
                                   const uint32_t *count)
{
    // acquire: pairs with the release in ts__block_add
    const uint32_t most = __atomic_load_n(count, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < most; i++) {
        const ts__block *const block = &blocks[i];
        uint64_t *const at = &w->sidecar->blocks[i].written;
        // acquire: pairs with the releases of those who add entries
        const uint64_t end = __atomic_load_n(block->used, __ATOMIC_ACQUIRE);
        while (*at < end) {
            const size_t size =
                ts__range_size(block->bytes + *at, (size_t)(end - *at));
            if (!size) return TS_ERR_CORRUPT; // only in a damaged sidecar
            ts_result result = ts__writer_prepare(w, 16);
            if (result == TS_OK)
                result = ts__writer_range(w, block, *at, *at + size);
            if (result != TS_OK) return result;
            // Not in the journal: at worst, entries are written twice.
            *at += size;
        }
    }
    return TS_OK;
}

// Writes the whole dictionary: at the start of a trace, and for a dump. Names'
// lock held.
static ts_result ts__writer_dictionary(ts__writer *w)
{
    return ts__writer_blocks(w, ts__c.blocks, &ts__c.block_count);
}

// Writes new dictionary entries from the log in the sidecar. Called after
// records were read from their ring and before they are written, so that names
// come before their use.
static ts_result ts__writer_entries(ts__writer *w, const ts__block *log)
{
    return ts__writer_blocks(w, log, &w->sidecar->block_count);
}

static ts_result ts__writer_clock(ts__writer *w, uint32_t clock,
                                  const ts_clock_entry *sample)
{
    const ts_result result = ts__writer_prepare(w, 1);
    if (result != TS_OK) return result;
    return ts__writer_scratch(w,
                              ts__entries_one(w->scratch, TS_CHUNK_CLOCK, clock,
                                              sample, sizeof *sample));
}

// Writes the rows of the ledger that the trace does not have yet.
static ts_result ts__writer_losses(ts__writer *w, ts__ring *const *rings,
                                   uint32_t ring_count)
{
    const uint64_t epoch = w->sidecar->state.loss_epoch;
    uint8_t *p = ts__entries_begin(w->scratch, TS_CHUNK_LOSS);
    uint32_t count = 0;
    const uint32_t most = TS__SCRATCH_BYTES / 2 / 48;
    for (uint32_t i = 0; i <= ring_count && count < most; i++) {
        ts__loss_total *const totals =
            i < ring_count ? ts__rest(rings[i])->losses : w->sidecar->losses;
        const uint32_t n = i < ring_count ? TS__LOSS_SLOTS : TS__GLOBAL_LOSSES;
        for (uint32_t j = 0; j < n; j++) {
            if (!ts__loss_open(&totals[j], epoch)) continue;
            const ts_loss_entry row = ts__loss_row(&totals[j], epoch);
            p = ts__entries_add(p, TS__LOAD(&totals[j].track), &row,
                                sizeof row);
            count++;
        }
    }
    if (!count) return TS_OK;
    uint8_t *const end = ts__entries_end(w->scratch, p, count);
    ts__commit commit = ts__commit_begin(w);
    commit.state.loss_epoch = epoch + 1;
    return ts__writer_append(w, w->scratch, (size_t)(end - w->scratch), NULL,
                             &commit);
}

// Writes a figure about the trace at its end, as metadata. The dictionary never
// gives the number of its name.
static ts_result ts__writer_note(ts__writer *w, uint32_t number,
                                 const char *key, uint64_t value)
{
    ts_metadata_entry entry;
    entry.key = 0xFFFFFF00u + number;
    entry.type = TS_VALUE_INT;
    entry.value = value;
    const ts_result result = ts__writer_prepare(w, 2);
    if (result != TS_OK) return result;
    uint8_t *p = ts__entries_one(w->scratch, TS_CHUNK_NAMES, entry.key, key,
                                 (uint32_t)strlen(key));
    p = ts__entries_one(p, TS_CHUNK_METADATA, 0, &entry, sizeof entry);
    return ts__writer_scratch(w, p);
}

static ts_result ts__writer_chunks(ts__writer *w, ts__encoder *e,
                                   ts__commit *commit)
{
    commit->state.records += e->records;
    return ts__writer_append(w, e->out, e->size,
                             (const uint64_t(*)[TS_LOD_CELLS])e->lod, commit);
}

// Appends an encoder's chunks. open_sent: how many open zones are written then.
static ts_result ts__writer_encoded(ts__writer *w, ts__encoder *e,
                                    uint32_t open_sent)
{
    const ts_result result = ts__writer_prepare(w, e->chunks);
    if (result != TS_OK) return result;
    ts__commit commit = ts__commit_begin(w);
    commit.state.open_sent = open_sent;
    return ts__writer_chunks(w, e, &commit);
}

// Writes the zones that are open at the end. The state records how many are
// written, because salvage may be killed as well.
static ts_result ts__writer_open_zones(ts__writer *w, ts__encoder *e)
{
    ts_result result = TS_OK;
    while (result == TS_OK && w->sidecar->state.open_sent < e->open_count) {
        uint32_t i = w->sidecar->state.open_sent, count = 0;
        ts__encoder_reset(e);
        for (; i < e->open_count && count < TS__BATCH_ROWS; i++) {
            const ts__open_zone *const zone = &e->open[i];
            if (!zone->site) continue;
            e->column[0][count] = zone->start;
            e->column[1][count] = zone->site;
            e->column[2][count] = zone->depth;
            e->text_size[count] = 0;
            e->track[count++] = zone->track;
        }
        if (!count) break;
        ts__encode_rows(e, TS_EVENT_ZONE_OPEN, 0, count);
        result = ts__writer_encoded(w, e, i);
    }
    return result;
}

// Makes a path absolute, so that it remains valid when the program changes its
// working directory.
static void ts__path_whole(char *path)
{
    char whole[PATH_MAX];
    if (realpath(path, whole) && strlen(whole) < TS__PATH_MAX)
        memcpy(path, whole, strlen(whole) + 1);
}

// Removes the sidecar of a dead process's trace that is about to be replaced.
static void ts__sidecar_orphan(int trace, const char *path, uid_t owner)
{
    ts_file_header old;
    char dir[TS__PATH_MAX], name[TS__PATH_MAX];
    if (!ts__file_read(trace, 0, &old, sizeof old) ||
        memcmp(old.magic, TS_FILE_MAGIC, sizeof old.magic) != 0)
        return;
    ts__directory_of(dir, path);
    const char *const dirs[] = { "/dev/shm", dir, ts__c.sidecar_dir };
    for (int i = 0; i < 3; i++) {
        if (!ts__sidecar_name(name, dirs[i], old.session)) continue;
        const int fd = open(name, O_RDWR | TS__OPEN_STRANGE);
        if (fd >= 0 && ts__sidecar_own(fd, owner) && ts__file_lock(fd))
            unlink(name);
        if (fd >= 0) close(fd);
    }
}

// Opens the file and locks it: a file that another process writes is not
// touched.
static ts_result ts__writer_open(ts__writer *w, const char *path)
{
    struct stat st;
    w->path = path;
    if (ts__file_open(&w->file, path, O_RDWR | O_CREAT, 0666) < 0)
        return ts__disk_error(errno == EISDIR ? TS_ERR_NOT_FILE : TS_ERR_IO);
    if (fstat(w->file.fd, &st) != 0) return TS_ERR_IO;
    if (!S_ISREG(st.st_mode)) return TS_ERR_NOT_FILE;
    // Other errors: a file system without locks, so go on without.
    if (!ts__file_lock(w->file.fd) && (errno == EAGAIN || errno == EACCES))
        return TS_ERR_BUSY;
    ts__sidecar_orphan(w->file.fd, path, st.st_uid);
    return ftruncate(w->file.fd, 0) == 0 ? TS_OK : TS_ERR_IO;
}

// Creates the file with its header.
static ts_result ts__writer_create(ts__writer *w, const char *path)
{
    ts_file_header *const header = &w->sidecar->head.header;
    ts_result result = ts__writer_open(w, path);
    w->error = TS_OK;
    w->reserved = 0;
    w->final = false;
    w->sidecar->state.offset = sizeof *header;
    if (result == TS_OK)
        result = ts__file_write(w->file.fd, 0, header, sizeof *header);
    if (result == TS_OK && !ts__writer_space(w, sizeof *header))
        result = TS_ERR_DISK_FULL;
    if (result == TS_OK) return TS_OK;
    ts__file_close(&w->file);
    return result;
}
