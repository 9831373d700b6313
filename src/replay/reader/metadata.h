/* ---- Reader: metadata --------------------------------------------------- */

static int ts__order_fact(const void *a, const void *b)
{
    const ts__fact *const x = a, *const y = b;
    if (x->track != y->track) return ts__order_u64(x->track, y->track);
    if (x->entry.key != y->entry.key)
        return ts__order_u64(x->entry.key, y->entry.key);
    return ts__order_u64(x->order, y->order);
}

// Sorts by track and key; of several values of a key the last one is kept.
static void ts__facts_finish(ts_reader *reader)
{
    ts__fact *const facts = reader->facts;
    size_t unique = 0;
    ts__sort(facts, reader->fact_count, sizeof *facts, ts__order_fact);
    for (size_t i = 0; i < reader->fact_count; i++) {
        const bool last = i + 1 == reader->fact_count ||
                          facts[i].track != facts[i + 1].track ||
                          facts[i].entry.key != facts[i + 1].entry.key;
        if (last) facts[unique++] = facts[i];
    }
    reader->fact_count = unique;
    for (size_t i = 0; i < unique; i++)
        facts[i].order = (uint32_t)i;
}

TS_API size_t ts_reader_metadata_count(const ts_reader *reader)
{
    return reader->fact_count;
}

TS_API bool ts_reader_metadata_at(const ts_reader *reader, size_t index,
                                  ts_metadata *metadata)
{
    if (index >= reader->fact_count) return false;
    const ts__fact *const fact = &reader->facts[index];
    const uint64_t value = fact->entry.value;
    const ts_metadata made = {
        .track = fact->track,
        .key = ts_reader_name(reader, fact->entry.key),
        .type = (ts_value_type)fact->entry.type,
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

static uint64_t ts__fact_number(const ts_reader *reader, const char *key)
{
    ts_metadata fact;
    if (!ts_reader_metadata(reader, 0, key, &fact)) return 0;
    if (fact.type == TS_VALUE_INT && fact.number > 0)
        return (uint64_t)fact.number;
    if (fact.type == TS_VALUE_DOUBLE && fact.real >= 1 && fact.real < 1e18)
        return (uint64_t)fact.real;
    return 0;
}
