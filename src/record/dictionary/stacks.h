/* ---- Stacks ------------------------------------------------------------- */

/*
    New stacks arrive by the thousand, and one system call or page fault would
    take as long as the rest of the work. So they are added without a lock
    (which would require blocked signals) and stored once: in blocks of the log
    that outlive the session, because they belong to the process as well.

    A shelf holds one such block. Adding an entry takes a shelf by one
    instruction; a shelf that is taken already, by another thread or by code
    that a signal handler interrupted, is skipped, so that nobody waits. A shelf
    that is never given back (a jump out of a handler) is out of use until the
    session ends; the next session takes it over, and a thread still in the old
    session does not get a shelf that the new one has used. When no shelf is
    free, entries are added like all others.

    An entry is in the log before it is in the table, where other threads find
    it.
*/
enum { TS__SHELVES = 8, TS__SHELF_FROM = 32 };
typedef struct ts__shelf {
    uint32_t taken;   // 2 * the last session that used it, + 1 if taken
    ts__block *block; // one of the process's
} ts__shelf;
static ts__shelf ts__shelves[TS__SHELVES];
static struct {
    uint32_t session, count; // new stacks in it
    uint32_t none;           // the session in which there is no room
} ts__shelf_use;

/*
    Maps a block of the log through its own file descriptor: it remains mapped
    in a child made by fork, where the session's descriptor would keep the
    sidecar locked after the parent's death. The child does not write to the
    block; `kept` says what was in it at the fork.
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
    In a child made by fork: a signal handler that forks may have interrupted an
    addition, which then continues in both processes. The block's contents and
    the entry being added become the child's own; the parent's log is not
    touched.
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

// Set once shelves are used: a program without stacks need not link them.
static void (*ts__shelves_own)(void);

// Gives the next block to a shelf that this thread has taken. Names' lock held.
static ts__block *ts__shelf_block(const ts__shelf *shelf, uint32_t gate)
{
    ts__sidecar *const sidecar = ts__c.writer.sidecar;
    uint64_t offset = 0;
    // An ending session unmaps its memory once names are no longer shared. Each
    // session has its own blocks; half of all blocks are for other entries.
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
    // release: pairs with the acquire in ts__shelf_put, where a thread of the
    // session before may read it
    if (block)
        __atomic_store_n(&shelf->block, block, __ATOMIC_RELEASE);
    else
        TS__STORE(&ts__shelf_use.none, gate);
    ts__lock_give(&ts__c.names);
    ts__leave(&old);
    return block;
}

TS__SMALL_END

// Adds an entry to a shelf that this thread has taken.
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
    // Write to the log before checking the session: if it has not ended by
    // then, its log has the entry, and the next session begins with it.
    uint64_t *const logged = (uint64_t *)(void *)block->bytes - 1;
    __atomic_exchange_n(logged, used, __ATOMIC_SEQ_CST);
    if (!ts__session_still(gate)) return 0;
    return ts__entry_show(e);
}

// Adds an unknown stack; 0: it must be added like other entries.
static uint32_t ts__shelf_add(const ts__entry *head, const void *bytes)
{
    const uint32_t gate = TS__LOAD(&ts__here.session);
    if (!gate || ts__table_full() || TS__LOAD(&ts__shelf_use.none) == gate)
        return 0;
    if (TS__LOAD(&ts__shelf_use.session) != gate) {
        TS__STORE(&ts__shelf_use.count, 0);
        TS__STORE(&ts__shelf_use.session, gate);
    }
    // A session with few new stacks needs no block for them.
    if (TS__LOAD(&ts__shelf_use.count) < TS__SHELF_FROM) {
        __atomic_fetch_add(&ts__shelf_use.count, 1, __ATOMIC_RELAXED);
        return 0;
    }
    for (uint32_t i = 0; i < TS__SHELVES; i++) {
        ts__shelf *const shelf = &ts__shelves[i];
        uint32_t was = TS__LOAD(&shelf->taken);
        // One taken in an earlier session writes to that session's block only.
        if ((int32_t)(was - 2 * gate) > 0 ||
            !__atomic_compare_exchange_n(&shelf->taken, &was, 2 * gate + 1,
                                         false, __ATOMIC_ACQUIRE,
                                         __ATOMIC_RELAXED))
            continue;
        // Check after the shelf was taken: see ts__shelves_to_own.
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

// Two independent sums run in parallel, where one would be a chain. Up to three
// words behind the last one must be zeros.
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
