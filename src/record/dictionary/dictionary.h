/* ---- Dictionary --------------------------------------------------------- */

/*
    Names, sites, tracks and so on live as long as the process, in blocks that
    are never freed or moved. Lookups take no lock: an entry or a table is
    complete before the pointer to it is published. During a session each new
    entry also goes into a log in the sidecar, from which the drain or salvage
    writes it to the trace.
*/
static const uint8_t *ts__entry_bytes(const ts__entry *entry)
{
    return (const uint8_t *)(entry + 1);
}

static size_t ts__entry_room(size_t size)
{
    return (sizeof(ts__entry) + size + 7) & ~(size_t)7;
}

// Finds the entry with these bytes in a table; if there is none, adds `put`.
// Stacks are added without a lock: see ts__shelf.
static ts__entry *ts__table_get(ts__entry **table, uint32_t kind,
                                const void *bytes, size_t size, uint64_t hash,
                                ts__entry *put)
{
    // The mask lies before the table, so that the two always match.
    const uint64_t mask = (uint64_t)(uintptr_t)table[-1];
    // The lowest bit of a hash is always set.
    for (uint64_t i = hash >> 1 & mask;; i = (i + 1) & mask) {
        // acquire: pairs with the release here, of another thread
        ts__entry *e = __atomic_load_n(&table[i], __ATOMIC_ACQUIRE);
        if (!e && (!put || __atomic_compare_exchange_n(&table[i], &e, put,
                                                       false, __ATOMIC_SEQ_CST,
                                                       __ATOMIC_ACQUIRE)))
            return put;
        if (e->hash == hash && e->kind == kind && e->size == size &&
            memcmp(ts__entry_bytes(e), bytes, size) == 0)
            return e;
    }
}

static ts__entry *ts__table_put(ts__entry **table, ts__entry *e)
{
    return ts__table_get(table, e->kind, ts__entry_bytes(e), e->size, e->hash,
                         e);
}

static ts__entry *ts__entry_find(uint32_t kind, const void *bytes, size_t size,
                                 uint64_t hash)
{
    // acquire: pairs with the release in ts__table_grow
    ts__entry **const table = __atomic_load_n(&ts__c.table, __ATOMIC_ACQUIRE);
    return table ? ts__table_get(table, kind, bytes, size, hash, NULL) : NULL;
}

// Makes an entry visible to other threads. Returns the number of the entry with
// these bytes, which is another one if another thread was faster.
static uint32_t ts__entry_show(ts__entry *e)
{
    ts__entry **const table = __atomic_load_n(&ts__c.table, __ATOMIC_ACQUIRE);
    const ts__entry *known = ts__table_put(table, e);
    // Either a copy in progress sees the entry, or this thread sees the copy.
    ts__entry **const next =
        __atomic_load_n(&ts__c.table_next, __ATOMIC_SEQ_CST);
    if (next != table) known = ts__table_put(next, e);
    __atomic_fetch_add(&ts__c.table_used, 1, __ATOMIC_RELAXED);
    return known->id;
}

// Whether the table is half full, or there is none yet.
static bool ts__table_full(void)
{
    ts__entry **const table = __atomic_load_n(&ts__c.table, __ATOMIC_ACQUIRE);
    return !table || TS__LOAD(&ts__c.table_used) >= (uintptr_t)table[-1] / 2;
}

// Makes the table four times as large when it is full. Old tables are kept for
// lookups in progress; together they take a third of the present one.
static bool ts__table_grow(void)
{
    if (!ts__table_full()) return true;
    ts__entry **const old = ts__c.table;
    const size_t count = old ? ((uintptr_t)old[-1] + 1) * 4 : 4096;
    ts__entry **const table =
        (ts__entry **)ts__pages_new((count + 1) * sizeof *table);
    if (!table) return false;
    // All of it will be touched; one page fault after another takes ten times
    // as long.
    madvise(table, (count + 1) * sizeof *table, MADV_POPULATE_WRITE);
    table[0] = (ts__entry *)(count - 1);
    __atomic_store_n(&ts__c.table_next, table + 1, __ATOMIC_SEQ_CST);
    for (size_t i = 0; i < count / 4 && old; i++) {
        ts__entry *const e = __atomic_load_n(&old[i], __ATOMIC_SEQ_CST);
        if (e) ts__table_put(table + 1, e);
    }
    __atomic_store_n(&ts__c.table, table + 1, __ATOMIC_RELEASE);
    return true;
}

// What a part of the sidecar is for. There may be room for entries where there
// is none for rings, which are large.
enum { TS__GROW_ENTRIES, TS__GROW_RINGS };

// After a failure each record would try again. Of these requests only the
// first, second, fourth and so on, and then each 4,096th, reach the disk.
static bool ts__grow_refused(int what)
{
    uint32_t *const failed = &ts__c.grow_failed[what];
    const uint32_t n = TS__LOAD(failed);
    if (!(n & (n - 1)) || n % 4096 == 0) return false;
    TS__STORE(failed, n + 1);
    return true;
}

static void ts__grow_failed(int what)
{
    TS__STORE(&ts__c.grow_failed[what], TS__LOAD(&ts__c.grow_failed[what]) + 1);
}

// A part of the sidecar for a block or a ring; NULL when there is no space,
// which ts_session_stop reports.
static void *ts__sidecar_grow(int what, size_t size, uint64_t *offset)
{
    ts__sidecar *const sidecar = ts__c.writer.sidecar;
    void *pages = NULL;
    size = ts__page_round(size);
    *offset = __atomic_fetch_add(&sidecar->size, size, __ATOMIC_RELAXED);
    errno = EIO;
    if (ts__file_keep(&ts__c.sidecar_file, ts__c.sidecar_path))
        pages = ts__pages_map(ts__c.sidecar_file.fd, *offset, size);
    if (!pages)
        ts__writer_failed(
            &ts__c.writer,
            ts__disk_error(errno == EIO ? TS_ERR_IO : TS_ERR_MEMORY));
    if (pages)
        TS__STORE(&ts__c.grow_failed[what], 0);
    else
        ts__grow_failed(what);
    return pages;
}

// Adds a block whose memory is the part of the sidecar at `offset`. The word
// before its bytes says how much of it is used.
static ts__block *ts__block_add(ts__block *blocks, uint32_t *count,
                                void *memory, size_t size, uint64_t offset)
{
    ts__block *const block = &blocks[*count];
    if (!memory) return NULL;
    memset(block, 0, sizeof *block);
    block->used = (uint64_t *)memory;
    block->bytes = (uint8_t *)memory + sizeof *block->used;
    block->size = size - sizeof *block->used;
    if (offset)
        ts__c.writer.sidecar->blocks[*count].offset =
            offset + sizeof *block->used;
    // release: pairs with the acquire in ts__writer_blocks
    __atomic_store_n(count, *count + 1, __ATOMIC_RELEASE);
    return block;
}

// A block with room for `need` bytes, the last one or a new one.
static ts__block *ts__block_get(ts__block **last, ts__block *blocks,
                                uint32_t *count, size_t need, bool shared)
{
    if (*last && *(*last)->used + need <= (*last)->size) return *last;
    if (*count == TS__BLOCKS_MAX) return NULL;
    size_t size = *last ? TS__BLOCK_BYTES : 32u << 10;
    need += sizeof *(*last)->used;
    if (size < need) size = need;
    size = ts__page_round(size);
    uint64_t offset = 0;
    void *const memory = shared
                             ? ts__sidecar_grow(TS__GROW_ENTRIES, size, &offset)
                             : ts__pages_new(size);
    ts__block *const block = ts__block_add(blocks, count, memory, size, offset);
    if (block) *last = block;
    return block;
}

static ts__entry *ts__block_put(ts__block *block, uint32_t kind, uint32_t id,
                                const void *bytes, size_t size, uint64_t hash)
{
    ts__entry *const e = (ts__entry *)(void *)(block->bytes + *block->used);
    e->hash = hash;
    e->id = id;
    e->size = (uint32_t)size;
    e->kind = kind;
    if (size) memcpy(e + 1, bytes, size);
    __atomic_store_n(block->used, *block->used + ts__entry_room(size),
                     __ATOMIC_RELEASE);
    return e;
}

static bool ts__log_add(uint32_t kind, uint32_t id, const void *bytes,
                        size_t size)
{
    if (!ts__c.names_shared || kind >= TS__ENTRY_BLOB) return true;
    // Read it only here: a starting session sets it before names are shared.
    ts__sidecar *const sidecar = ts__c.writer.sidecar;
    ts__block *const block = ts__block_get(
        &ts__c.log, ts__log, &sidecar->block_count, ts__entry_room(size), true);
    if (block) ts__block_put(block, kind, id, bytes, size, 0);
    return block != NULL;
}

// Adds an entry. Names' lock held; 0 when there is no room.
static uint32_t ts__entry_add(uint32_t kind, uint32_t id, const void *bytes,
                              size_t size, uint64_t hash)
{
    ts__block *const block =
        ts__table_grow()
            ? ts__block_get(&ts__c.block, ts__c.blocks, &ts__c.block_count,
                            ts__entry_room(size), false)
            : NULL;
    if (!block || !ts__log_add(kind, id, bytes, size)) {
        // An ending session unmaps its memory once names are no longer shared.
        if (ts__c.names_shared) ts__loss_now(0, TS_LOSS_INCOMPLETE);
        return 0;
    }
    ts__entry *const e = ts__block_put(block, kind, id, bytes, size, hash);
    return hash ? ts__entry_show(e) : id;
}

// The next number of a kind, 0 when there are no more. If its entry cannot be
// kept, the number is not used again.
static uint32_t ts__id_next(uint32_t kind)
{
    if (kind == TS__ENTRY_PACKED) kind = TS_CHUNK_STACKS;
    if (TS__LOAD(&ts__c.last_id[kind]) >= TS__CODE_LIMIT - 256) return 0;
    return __atomic_add_fetch(&ts__c.last_id[kind], 1, __ATOMIC_RELAXED);
}

// A new entry with the next identifier of its kind, never deduplicated.
static uint32_t ts__entry_new(uint32_t kind, const void *bytes, size_t size)
{
    const uint32_t id = ts__id_next(kind);
    return id ? ts__entry_add(kind, id, bytes, size, 0) : 0;
}

// Makes an entry that was not found, unless another thread has done so since.
static uint32_t ts__entry_make(uint32_t kind, const void *bytes, size_t size,
                               uint64_t hash)
{
    ts__caller old;
    if (kind < TS__ENTRY_BLOB && ts__grow_refused(TS__GROW_ENTRIES)) return 0;
    if (!ts__enter(&old)) return 0;
    ts__lock_take(&ts__c.names);
    const ts__entry *const known = ts__entry_find(kind, bytes, size, hash);
    uint32_t id = known ? known->id : ts__id_next(kind);
    if (!known && id) id = ts__entry_add(kind, id, bytes, size, hash);
    ts__lock_give(&ts__c.names);
    ts__leave(&old);
    return id;
}

// The number of the entry with these bytes, which is made if there is none.
static uint32_t ts__entry_get(uint32_t kind, const void *bytes, size_t size)
{
    const uint64_t hash = ts__mix(bytes, size, kind) | 1;
    const ts__entry *const known = ts__entry_find(kind, bytes, size, hash);
    return known ? known->id : ts__entry_make(kind, bytes, size, hash);
}
