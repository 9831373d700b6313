/* ---- 12.5 Dictionary ---------------------------------------------------- */

/*
    Names, sites, tracks ... live as long as the process, in blocks that are
    never freed or moved. Lookups take no lock: an entry and a table are
    complete before the pointer to them is published. During a session each
    new entry also goes into a log in the sidecar, from which it is written to
    the trace, by the drain or by salvage.
*/
static const uint8_t *ts__entry_bytes(const ts__entry *entry)
{
    return (const uint8_t *)(entry + 1);
}

static size_t ts__entry_room(size_t size)
{
    return (sizeof(ts__entry) + size + 7) & ~(size_t)7;
}

// The entry of a table that has these bytes; if none has, `put` becomes it.
// Stacks are put without a lock: see ts__shelf.
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

// Shows an entry to others. The number of the one that has its bytes: another
// thread may have been faster.
static uint32_t ts__entry_show(ts__entry *e)
{
    ts__entry **const table = __atomic_load_n(&ts__c.table, __ATOMIC_ACQUIRE);
    const ts__entry *known = ts__table_put(table, e);
    // Either the copy under way sees the entry, or this sees the copy.
    ts__entry **const next =
        __atomic_load_n(&ts__c.table_next, __ATOMIC_SEQ_CST);
    if (next != table) known = ts__table_put(next, e);
    __atomic_fetch_add(&ts__c.table_used, 1, __ATOMIC_RELAXED);
    return known->id;
}

// Half load, or no table yet.
static bool ts__table_full(void)
{
    ts__entry **const table = __atomic_load_n(&ts__c.table, __ATOMIC_ACQUIRE);
    return !table || TS__LOAD(&ts__c.table_used) >= (uintptr_t)table[-1] / 2;
}

// Makes the table four times as large when it is full. The old one stays for
// lookups under way: all old ones together are a third of the present one.
static bool ts__table_grow(void)
{
    if (!ts__table_full()) return true;
    ts__entry **const old = ts__c.table;
    const size_t count = old ? ((uintptr_t)old[-1] + 1) * 4 : 4096;
    ts__entry **const table =
        (ts__entry **)ts__pages_new((count + 1) * sizeof *table);
    if (!table) return false;
    // All of it is going to be touched, and page for page takes ten times as
    // long.
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

// What asks for a part of the sidecar. Entries may have room where rings, which
// are large, have none.
enum { TS__GROW_ENTRIES, TS__GROW_RINGS };

// Where there was no space each record asks for some. Of these requests the
// first, second, fourth, ... and each 4,096th go through.
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
// which ts_session_stop tells.
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

// The next of the blocks, with the word before its bytes that says how much
// of it is used. offset: of a part of the sidecar.
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
    // Not before: a session that starts sets it before names are shared.
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
        // A session that ends lets go of its memory once names are not shared.
        if (ts__c.names_shared) ts__loss_now(0, TS_LOSS_INCOMPLETE);
        return 0;
    }
    ts__entry *const e = ts__block_put(block, kind, id, bytes, size, hash);
    return hash ? ts__entry_show(e) : id;
}

// The next number of a kind, 0 when there are no more. It is lost if what it
// was for cannot be kept.
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

// Makes an entry that was not found, unless somebody else did meanwhile.
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

// The identifier of an entry with these bytes, made if there is none yet.
static uint32_t ts__entry_get(uint32_t kind, const void *bytes, size_t size)
{
    const uint64_t hash = ts__mix(bytes, size, kind) | 1;
    const ts__entry *const known = ts__entry_find(kind, bytes, size, hash);
    return known ? known->id : ts__entry_make(kind, bytes, size, hash);
}

uint32_t ts_name_define_sized(const char *text, size_t size)
{
    if (!text) return 0;
    if (size > TS__NAME_MAX) size = TS__NAME_MAX;
    return ts__entry_get(TS_CHUNK_NAMES, text, size);
}

uint32_t ts_name_define(const char *text)
{
    return text ? ts_name_define_sized(text, strlen(text)) : 0;
}

static uint32_t ts__site_get(const char *name, const ts_site *site)
{
    ts_site_entry entry;
    memset(&entry, 0, sizeof entry);
    if (!name && site) name = site->name ? site->name : site->function;
    entry.name = ts_name_define(name);
    if (name && !entry.name) return 0;
    if (site) {
        entry.category = ts_name_define(site->category);
        entry.function = ts_name_define(site->function);
        entry.file = ts_name_define(site->file);
        entry.line = site->line;
        entry.color = site->color;
    }
    return ts__entry_get(TS_CHUNK_SITES, &entry, sizeof entry);
}

// A record that cannot be made because what it is called has no number.
static uint32_t ts__nameless(void)
{
    ts__caller old;
    if (!ts__enter(&old)) return 0;
    if (ts__session_still(TS__LOAD(&ts__here.session)))
        ts__loss_now(ts__track, TS_LOSS_DICTIONARY_FULL);
    ts__leave(&old);
    return 0;
}

uint32_t ts_site_define(const char *name, const ts_site *base)
{
    const uint32_t code = ts__site_get(name, base);
    return code ? code : ts__nameless();
}

uint32_t ts__site_code(ts_site *site)
{
    const uint32_t code = ts_site_define(NULL, site);
    __atomic_store_n(&site->code, code, __ATOMIC_RELEASE);
    return code;
}

// Adds a track, or defines `id` again when it is not 0.
static uint32_t ts__track_put(uint32_t id, ts_track_type type, uint32_t parent,
                              uint32_t name, uint32_t unit, uint64_t number,
                              uint64_t flags)
{
    ts_track_entry entry;
    memset(&entry, 0, sizeof entry);
    entry.type = (uint8_t)type;
    entry.parent = parent;
    entry.name = name;
    entry.unit = unit;
    entry.number = number;
    entry.flags = flags;
    ts__caller old;
    if (!ts__enter(&old)) return 0;
    ts__lock_take(&ts__c.names);
    if (id)
        id = ts__entry_add(TS_CHUNK_TRACKS, id, &entry, sizeof entry, 0);
    else
        id = ts__entry_new(TS_CHUNK_TRACKS, &entry, sizeof entry);
    ts__lock_give(&ts__c.names);
    ts__leave(&old);
    return id;
}

// The process's own track: number 1 of the first process to ask, and a new
// one in a fork child.
static uint32_t ts__process_track(void)
{
    if (!TS__LOAD(&ts__c.process_track)) {
        char name[256];
        ts__text_read("/proc/self/comm", name, sizeof name);
        name[strcspn(name, "\n")] = 0;
        const uint32_t track =
            ts__track_put(0, TS_TRACK_PROCESS, 0, ts_name_define(name), 0,
                          (uint64_t)getpid(), 0);
        uint32_t none = 0; // another thread may have been faster
        __atomic_compare_exchange_n(&ts__c.process_track, &none, track, false,
                                    __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    }
    return ts__c.process_track;
}

static uint32_t ts__thread_tell(uint32_t name)
{
    const uint32_t session = TS__LOAD(&ts__here.session);
    const uint32_t process = ts__process_track();
    if (session && ts__track_told != session)
        __atomic_fetch_add(&ts__c.threads, 1, __ATOMIC_RELAXED);
    ts__track_name = name;
    ts__track_told = session;
    ts__track = ts__track_put(ts__track, TS_TRACK_THREAD, process, name, 0,
                              (uint64_t)syscall(SYS_gettid), 0);
    return ts__track;
}

// Threads come and go: a trace has the tracks of those that were there, so
// each tells every session anew.
uint32_t ts_thread_track(void)
{
    if (ts__track && ts__track_told == TS__LOAD(&ts__here.session))
        return ts__track;
    if (!ts__track_name) {
        char name[17] = { 0 };
        prctl(PR_GET_NAME, name);
        ts__track_name = ts_name_define(name);
    }
    return ts__thread_tell(ts__track_name);
}

void ts_thread_name(const char *name)
{
    if (name) ts__thread_tell(ts_name_define(name));
}

// A counter is known by its name: a key entry leads to its track.
static uint32_t ts__counter_track(const char *name, const char *unit,
                                  uint32_t flags, bool define)
{
    const uint32_t key = ts_name_define(name);
    if (!key) return 0;
    ts__caller old;
    const uint32_t unit_name = ts_name_define(unit);
    const uint32_t parent = ts__process_track();
    if (!ts__enter(&old)) return 0;
    ts__lock_take(&ts__c.names);
    const uint64_t hash = ts__mix(&key, 4, TS__ENTRY_COUNTER) | 1;
    ts__entry *known = ts__entry_find(TS__ENTRY_COUNTER, &key, 4, hash);
    uint32_t id = known ? known->id : 0;
    if (!id || define) {
        ts_track_entry entry;
        memset(&entry, 0, sizeof entry);
        entry.type = TS_TRACK_COUNTER;
        entry.parent = parent;
        entry.name = key;
        entry.unit = unit_name;
        entry.flags = flags;
        if (id)
            ts__entry_add(TS_CHUNK_TRACKS, id, &entry, sizeof entry, 0);
        else
            id = ts__entry_new(TS_CHUNK_TRACKS, &entry, sizeof entry);
        if (id && !known) ts__entry_add(TS__ENTRY_COUNTER, id, &key, 4, hash);
    }
    ts__lock_give(&ts__c.names);
    ts__leave(&old);
    return id;
}

uint32_t ts_counter_define(const char *name, const char *unit, uint32_t flags)
{
    return ts__counter_track(name, unit, flags, true);
}

uint32_t ts__counter_code(ts_counter *counter)
{
    const uint32_t code = ts__counter_track(counter->name, NULL, 0, false);
    __atomic_store_n(&counter->code, code, __ATOMIC_RELEASE);
    return code ? code : ts__nameless();
}

static void ts__metadata_put(uint32_t track, const char *key, uint32_t type,
                             uint64_t value)
{
    ts_metadata_entry entry;
    entry.key = ts_name_define(key);
    entry.type = type;
    entry.value = value;
    ts__caller old;
    if (!entry.key || !ts__enter(&old)) return;
    ts__lock_take(&ts__c.names);
    ts__entry_add(TS_CHUNK_METADATA, track, &entry, sizeof entry, 0);
    ts__lock_give(&ts__c.names);
    ts__leave(&old);
}

void ts_metadata_int(uint32_t track, const char *key, int64_t value)
{
    ts__metadata_put(track, key, TS_VALUE_INT, (uint64_t)value);
}

void ts_metadata_double(uint32_t track, const char *key, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    ts__metadata_put(track, key, TS_VALUE_DOUBLE, bits);
}

void ts_metadata_text(uint32_t track, const char *key, const char *value)
{
    if (!value) return;
    ts__metadata_put(track, key, TS_VALUE_TEXT, ts_name_define(value));
}

uint32_t ts_module_define(const char *path, uint64_t address, uint64_t size,
                          const void *build_id, size_t build_id_size)
{
    uint8_t bytes[sizeof(ts_module_entry) + 64];
    ts_module_entry entry;
    if (build_id_size > 64) build_id_size = 64;
    if (!build_id) build_id_size = 0;
    memset(&entry, 0, sizeof entry);
    entry.path = ts_name_define(path);
    entry.address = address;
    entry.size = size;
    memcpy(bytes, &entry, sizeof entry);
    if (build_id_size) memcpy(bytes + sizeof entry, build_id, build_id_size);
    return ts__entry_get(TS_CHUNK_MODULES, bytes, sizeof entry + build_id_size);
}

/*
    New stacks come by the thousand, where a call of the kernel or a page that
    it has to find takes as long as the rest. So they need no lock, which would
    need signals to be blocked, and are kept once: in blocks of the log that
    stay when the session ends, because they are the process's as well.

    A shelf has one such block. Whoever adds an entry takes a shelf, by one
    instruction; one that is taken, by another thread or by what a signal
    handler interrupted, is passed by. Nobody waits, and one that is never
    given back (a jump out of a handler) is one less until the session ends:
    the next session takes it, and a thread that is still in the one before
    gets none that the next one has had. Without a shelf entries are added like
    all others.

    An entry is in the log before it is in the table, where others find it.
*/
enum { TS__SHELVES = 8, TS__SHELF_FROM = 32 };
typedef struct ts__shelf {
    uint32_t taken;   // twice the session that used it last; odd: busy
    ts__block *block; // one of the process's
} ts__shelf;
static ts__shelf ts__shelves[TS__SHELVES];
static struct {
    uint32_t session, count; // new stacks in it
    uint32_t none;           // the session in which there is no room
} ts__shelf_use;

/*
    A block of the log by a file descriptor of its own: in a child made by
    fork it stays mapped, where one of the session's would keep the sidecar
    locked after the parent's death. The child does not write to it, and knows
    from `kept` what was in it at the fork.
*/
static void *ts__shelf_memory(size_t size, uint64_t *offset)
{
    ts__file file;
    void *memory = NULL;
    ts__sidecar *const sidecar = ts__c.writer.sidecar;
    if (ts__file_open(&file, ts__c.sidecar_path, O_RDWR, 0) < 0) return NULL;
    if (ts__file_is(&ts__c.sidecar_file, file.fd)) {
        *offset = __atomic_fetch_add(&sidecar->size, size, __ATOMIC_RELAXED);
        memory = ts__pages_map(file.fd, *offset, size);
    }
    close(file.fd);
    return memory;
}

/*
    In a child made by fork: a signal handler that forks may have interrupted a
    put, which goes on in both. What is in a block, and what is being put there,
    becomes the child's own; the parent's log is left alone.
*/
static void ts__shelves_to_own(void)
{
    for (uint32_t i = 0; i < TS__SHELVES; i++) {
        const ts__block *const block = ts__shelves[i].block;
        if (!(ts__shelves[i].taken & 1) || !block) continue;
        uint64_t keep = block->kept + ts__entry_room(4 * TS__STACK_WORDS);
        if (keep > block->size) keep = block->size;
        ts__own_memory(block->bytes - 8, (size_t)keep + 8,
                       (size_t)block->size + 8);
    }
}

// Of a program that has shelves: others are smaller by this.
static void (*ts__shelves_own)(void);

// The next block of a shelf that this thread has. Names' lock held.
static ts__block *ts__shelf_block(const ts__shelf *shelf, uint32_t gate)
{
    ts__sidecar *const sidecar = ts__c.writer.sidecar;
    uint64_t offset = 0;
    // A session that ends lets go of its memory once names are not shared. Each
    // session has blocks of its own: half of all are for what else is added.
    if (!ts__c.names_shared || !ts__session_still(gate) ||
        sidecar->block_count >= TS__BLOCKS_MAX / 2 ||
        ts__c.block_count >= TS__BLOCKS_MAX / 2)
        return NULL;
    const bool more = shelf->block && shelf->block->session == gate;
    const size_t size = ts__page_round(TS__BLOCK_BYTES / (more ? 1 : 4));
    void *const memory = ts__shelf_memory(size, &offset);
    ts__block *const log =
        ts__block_add(ts__log, &sidecar->block_count, memory, size, offset);
    if (!log) return NULL;
    log->session = gate;
    ts__block *const block = &ts__c.blocks[ts__c.block_count];
    *block = *log;
    block->used = &block->kept;
    ts__shelves_own = ts__shelves_to_own;
    // release: pairs with the acquire in ts__writer_blocks
    __atomic_store_n(&ts__c.block_count, ts__c.block_count + 1,
                     __ATOMIC_RELEASE);
    return block;
}

static __attribute__((noinline)) ts__block *ts__shelf_fill(ts__shelf *shelf,
                                                           uint32_t gate)
{
    ts__caller old;
    if (!ts__enter(&old)) return NULL;
    ts__lock_take(&ts__c.names);
    ts__block *const block = ts__shelf_block(shelf, gate);
    // release: a thread of the session before may look at it, see ts__shelf_put
    if (block)
        __atomic_store_n(&shelf->block, block, __ATOMIC_RELEASE);
    else
        TS__STORE(&ts__shelf_use.none, gate);
    ts__lock_give(&ts__c.names);
    ts__leave(&old);
    return block;
}

TS__SMALL_END

// Adds an entry to a shelf that this thread has.
static uint32_t ts__shelf_put(ts__shelf *shelf, uint32_t gate,
                              const ts__entry *head, const void *bytes)
{
    const size_t room = ts__entry_room(head->size);
    // acquire: pairs with the release in ts__shelf_fill
    ts__block *block = __atomic_load_n(&shelf->block, __ATOMIC_ACQUIRE);
    if (!block || block->session != gate || block->kept + room > block->size)
        block = ts__shelf_fill(shelf, gate);
    if (!block) return 0;
    const uint64_t used = block->kept + room;
    ts__entry *const e = (ts__entry *)(void *)(block->bytes + block->kept);
    const uint32_t id = ts__id_next(head->kind);
    if (!id) return 0;
    *e = *head;
    e->id = id;
    memcpy(e + 1, bytes, head->size);
    // release: pairs with the acquire in ts__writer_blocks
    __atomic_store_n(&block->kept, used, __ATOMIC_RELEASE);
    // And in the log, before the look at the session: if that has not ended by
    // then, its log has the entry, and so has the beginning of the next one.
    uint64_t *const logged = (uint64_t *)(void *)block->bytes - 1;
    __atomic_exchange_n(logged, used, __ATOMIC_SEQ_CST);
    if (!ts__session_still(gate)) return 0;
    return ts__entry_show(e);
}

// A stack that is not known; 0: it is to be added like other entries.
static uint32_t ts__shelf_add(const ts__entry *head, const void *bytes)
{
    const uint32_t gate = TS__LOAD(&ts__here.session);
    if (!gate || ts__table_full() || TS__LOAD(&ts__shelf_use.none) == gate)
        return 0;
    if (TS__LOAD(&ts__shelf_use.session) != gate) {
        TS__STORE(&ts__shelf_use.count, 0);
        TS__STORE(&ts__shelf_use.session, gate);
    }
    // A session with few of them needs no block for them.
    if (TS__LOAD(&ts__shelf_use.count) < TS__SHELF_FROM) {
        __atomic_fetch_add(&ts__shelf_use.count, 1, __ATOMIC_RELAXED);
        return 0;
    }
    for (uint32_t i = 0; i < TS__SHELVES; i++) {
        ts__shelf *const shelf = &ts__shelves[i];
        uint32_t was = TS__LOAD(&shelf->taken);
        // Who has it since an earlier session writes to that one's block alone.
        if ((int32_t)(was - 2 * gate) > 0 ||
            !__atomic_compare_exchange_n(&shelf->taken, &was, 2 * gate + 1,
                                         false, __ATOMIC_ACQUIRE,
                                         __ATOMIC_RELAXED))
            continue;
        // The look comes after the shelf was taken: see ts__shelves_to_own.
        const uint32_t id = ts__session_still(gate)
                                ? ts__shelf_put(shelf, gate, head, bytes)
                                : 0;
        was = 2 * gate + 1; // unless a later session has it
        __atomic_compare_exchange_n(&shelf->taken, &was, 2 * gate, false,
                                    __ATOMIC_RELEASE, __ATOMIC_RELAXED);
        return id;
    }
    return 0;
}

// Two sums at once: one would wait for itself. Up to three words behind the
// last one are zeros.
static uint64_t ts__stack_hash(const uint32_t *words, uint32_t count)
{
    const uint64_t odd = 0x9E3779B97F4A7C15u; // 2^64 / golden ratio
    uint64_t a = count, b = odd, two[2];
    for (uint32_t i = 0; i < count; i += 4) {
        memcpy(two, words + i, sizeof two);
        a = ((a << 25 | a >> 39) ^ two[0]) * odd;
        b = ((b << 25 | b >> 39) ^ two[1]) * odd;
    }
    a = (a ^ (b << 32 | b >> 32)) * odd;
    return a ^ a >> 32;
}

uint32_t ts__stack_get(uint32_t *words, uint32_t count)
{
    if (!count) return 0;
    memset(words + count, 0, 4 * sizeof *words);
    const ts__entry head = { ts__stack_hash(words, count) | 1, 0, 4 * count,
                             TS__ENTRY_PACKED, 0 };
    const ts__entry *const known =
        ts__entry_find(head.kind, words, head.size, head.hash);
    if (known) return known->id;
    const uint32_t id = ts__shelf_add(&head, words);
    return id ? id : ts__entry_make(head.kind, words, head.size, head.hash);
}

uint32_t ts_stack_define(const ts_frame_entry *frames, uint32_t count)
{
    uint32_t words[TS__STACK_WORDS], at = 0, last = TS__STACK_WHERE(0, 0);
    uint64_t wide = 0;
    if (!frames || !count || count > 256) return 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t module = frames[i].module, offset = frames[i].offset;
        const uint32_t where = TS__STACK_WHERE(module, offset);
        wide |= module << 34 | offset;
        if (where != last) words[at++] = where;
        last = where;
        words[at++] = (uint32_t)offset & ~(1u << 31);
    }
    return wide >> 48
               ? ts__entry_get(TS_CHUNK_STACKS, frames, count * sizeof *frames)
               : ts__stack_get(words, at);
}

TS__SMALL_BEGIN
