/* ---- Reader: bytes of the trace ----------------------------------------- */

static const ts__fault ts__truncated = { TS_ERR_TRUNCATED,
                                         "the file ends inside a chunk" };
static const ts__fault ts__unreadable = { TS_ERR_IO, "reading failed" };

/*
    A file is read into private memory and never mapped. Other processes may
    change or truncate it meanwhile; access to a truncated page of a mapping
    would kill this process. Checks apply to the private copy, which cannot
    change.
*/
static ts__fault ts__read_at(const ts_reader *reader, uint64_t offset, void *to,
                             size_t size)
{
    uint8_t *const bytes = to;
    if (reader->bytes) {
        memcpy(bytes, reader->bytes + offset, size);
        return ts__no_fault;
    }
    for (size_t have = 0; have < size;) {
        const int64_t got = reader->desc.read(reader->desc.user, offset + have,
                                              bytes + have, size - have);
        if (got < 0 || (uint64_t)got > size - have) return ts__unreadable;
        if (!got) return ts__truncated;
        have += (size_t)got;
    }
    return ts__no_fault;
}

// Updates the size of the trace. False if it is unchanged, or smaller than what
// was already read: chunks that were read are kept.
static bool ts__reader_grow(ts_reader *reader)
{
    if (reader->bytes || !reader->desc.length) return false;
    const uint64_t size = reader->desc.length(reader->desc.user);
    if (size == reader->size || size < reader->resume) return false;
    reader->size = size;
    return true;
}
