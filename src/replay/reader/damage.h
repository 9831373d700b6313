/* ---- Reader: damage ----------------------------------------------------- */

static bool ts__damage_add(ts_reader *reader, ts_damage damage)
{
    ts_damage *const damages = ts__mem_more(
        &reader->allocator, reader->damages, &reader->damage_capacity,
        reader->damage_count, sizeof *damages);
    if (!damages) return false;
    reader->damages = damages;
    damages[reader->damage_count++] = damage;
    return true;
}

static bool ts__damage_note(ts_reader *reader, ts__fault fault, uint64_t offset,
                            uint64_t size)
{
    const ts_damage damage = { fault.result, offset, size, fault.text };
    ts__mutex_take(&reader->lock);
    const bool added = ts__damage_add(reader, damage);
    ts__mutex_give(&reader->lock);
    return added;
}

static uint64_t ts__in_chunk_bytes(const ts_chunk_header *header)
{
    return sizeof *header + ts__pad8(header->stored_size);
}

// Adds the fault of a chunk to the list of damages, once per chunk. Lack of
// memory is not damage. Returns the result of the fault.
static ts_result ts__in_chunk_report(ts_reader *reader, ts__in_chunk *chunk,
                                     ts__fault fault)
{
    if (fault.result == TS_OK || fault.result == TS_ERR_MEMORY)
        return fault.result;
    const ts_damage damage = { fault.result, chunk->offset,
                               ts__in_chunk_bytes(&chunk->header), fault.text };
    ts__mutex_take(&reader->lock);
    bool noted =
        __atomic_load_n(&chunk->state, __ATOMIC_RELAXED) & TS__CHUNK_REPORTED;
    if (!noted) noted = ts__damage_add(reader, damage);
    if (noted)
        __atomic_or_fetch(&chunk->state, TS__CHUNK_REPORTED, __ATOMIC_RELAXED);
    ts__mutex_give(&reader->lock);
    return noted ? fault.result : TS_ERR_MEMORY;
}

TS_API size_t ts_reader_damage_count(const ts_reader *reader)
{
    ts__mutex *const lock = (ts__mutex *)&reader->lock;
    ts__mutex_take(lock);
    const size_t count = reader->damage_count;
    ts__mutex_give(lock);
    return count;
}

TS_API bool ts_reader_damage(const ts_reader *reader, size_t index,
                             ts_damage *damage)
{
    ts__mutex *const lock = (ts__mutex *)&reader->lock;
    ts__mutex_take(lock);
    const bool there = index < reader->damage_count;
    if (there) *damage = reader->damages[index];
    ts__mutex_give(lock);
    return there;
}
