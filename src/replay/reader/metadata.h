/* ---- Reader: metadata --------------------------------------------------- */

static int ts__order_metadata(const void *a, const void *b)
{
    const ts__metadata_row *const x = a, *const y = b;
    if (x->track != y->track) return ts__order_u64(x->track, y->track);
    if (x->entry.key != y->entry.key)
        return ts__order_u64(x->entry.key, y->entry.key);
    return ts__order_u64(x->order, y->order);
}

// Sorts by track and key; of several values of a key the last one is kept.
static void ts__metadata_finish(ts_reader *reader)
{
    ts__metadata_row *const metadata = reader->metadata;
    size_t unique = 0;
    ts__sort(metadata, reader->metadata_count, sizeof *metadata,
             ts__order_metadata);
    for (size_t i = 0; i < reader->metadata_count; i++) {
        const bool last = i + 1 == reader->metadata_count ||
                          metadata[i].track != metadata[i + 1].track ||
                          metadata[i].entry.key != metadata[i + 1].entry.key;
        if (last) metadata[unique++] = metadata[i];
    }
    reader->metadata_count = unique;
    for (size_t i = 0; i < unique; i++)
        metadata[i].order = (uint32_t)i;
}

TS_API size_t ts_reader_metadata_count(const ts_reader *reader)
{
    return reader->metadata_count;
}

TS_API bool ts_reader_metadata_at(const ts_reader *reader, size_t index,
                                  ts_metadata *metadata)
{
    if (index >= reader->metadata_count) return false;
    const ts__metadata_row *const row = &reader->metadata[index];
    const uint64_t value = row->entry.value;
    const ts_metadata made = {
        .track = row->track,
        .key = ts_reader_name(reader, row->entry.key),
        .type = (ts_value_type)row->entry.type,
        .text = { "", 0 },
    };
    *metadata = made;
    if (made.type == TS_VALUE_INT) metadata->number = (int64_t)value;
    if (made.type == TS_VALUE_DOUBLE)
        memcpy(&metadata->real, &value, sizeof value);
    if (made.type == TS_VALUE_TEXT && value <= UINT32_MAX)
        metadata->text = ts_reader_name(reader, (uint32_t)value);
    return true;
}

TS_API bool ts_reader_metadata(const ts_reader *reader, uint32_t track,
                               const char *key, ts_metadata *metadata)
{
    const size_t size = strlen(key);
    bool found = false;
    ts_metadata one;
    for (size_t i = 0; ts_reader_metadata_at(reader, i, &one); i++) {
        if (one.track != track || one.key.size != size ||
            memcmp(one.key.text, key, size) != 0)
            continue;
        *metadata = one;
        found = true;
    }
    return found;
}

static uint64_t ts__session_number(const ts_reader *reader, const char *key)
{
    ts_metadata found;
    if (!ts_reader_metadata(reader, 0, key, &found)) return 0;
    if (found.type == TS_VALUE_INT && found.number > 0)
        return (uint64_t)found.number;
    if (found.type == TS_VALUE_DOUBLE && found.real >= 1 && found.real < 1e18)
        return (uint64_t)found.real;
    return 0;
}
