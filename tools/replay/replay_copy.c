/*
    replay_copy.c - dictionaries of one trace in another one
*/
#include "tools/replay/replay_write.h"

// False: look it up, then put it into *to.
static bool known(copy_cache *cache, uint32_t from, uint32_t **to)
{
    const uint32_t slot = from & (COPY_SLOTS - 1);
    *to = &cache->to[slot];
    if (cache->from[slot] == from) return true;
    cache->from[slot] = from;
    return false;
}

uint32_t copy_text(ts_writer *writer, ts_text text)
{
    return text.size ? ts_writer_name(writer, text.text, text.size) : 0;
}

uint32_t copy_name(copy *c, uint32_t name)
{
    uint32_t *to;
    if (!name) return 0;
    if (known(&c->names, name, &to)) return *to;
    *to = copy_text(c->writer, ts_reader_name(c->reader, name));
    return *to;
}

static uint32_t copy_site(copy *c, uint32_t site)
{
    uint32_t *to;
    if (!site) return 0;
    if (known(&c->sites, site, &to)) return *to;
    const ts_site_entry *const entry = ts_reader_site(c->reader, site);
    *to = 0;
    c->undefined += !entry;
    if (!entry) return 0;
    ts_site_entry made = *entry;
    made.name = copy_name(c, entry->name);
    made.category = copy_name(c, entry->category);
    made.function = copy_name(c, entry->function);
    made.file = copy_name(c, entry->file);
    *to = ts_writer_site(c->writer, &made);
    return *to;
}

static uint32_t copy_launch(copy *c, uint32_t launch)
{
    uint32_t *to;
    if (!launch) return 0;
    if (known(&c->launches, launch, &to)) return *to;
    const ts_launch_entry *const entry = ts_reader_launch(c->reader, launch);
    *to = 0;
    c->undefined += !entry;
    if (!entry) return 0;
    ts_launch_entry made = *entry;
    made.name = copy_name(c, entry->name);
    *to = ts_writer_launch(c->writer, &made);
    return *to;
}

static uint32_t copy_module(copy *c, uint32_t module)
{
    const ts_module_entry *const entry =
        module ? ts_reader_module(c->reader, module) : NULL;
    if (!entry) return 0;
    const ts_text id = ts_reader_build_id(c->reader, module);
    ts_module_entry made = *entry;
    made.path = copy_name(c, entry->path);
    return ts_writer_module(c->writer, &made, id.text, id.size);
}

static uint32_t copy_stack(copy *c, uint32_t stack)
{
    enum { MOST = 4096 };
    uint32_t *to;
    const ts_frame_entry *frames;
    if (!stack) return 0;
    if (known(&c->stacks, stack, &to)) return *to;
    uint32_t count = ts_reader_stack(c->reader, stack, &frames);
    *to = 0;
    c->undefined += !count;
    if (!count) return 0;
    if (count > MOST) count = MOST;
    ts_frame_entry made[MOST];
    for (uint32_t i = 0; i < count; i++) {
        made[i] = frames[i];
        made[i].module = copy_module(c, frames[i].module);
    }
    *to = ts_writer_stack(c->writer, made, count);
    return *to;
}

uint32_t copy_next_base(const copy *c)
{
    const uint64_t next = (uint64_t)c->track_base + c->last_track + 1;
    return next < TS_TRACK_MIXED ? (uint32_t)next : TS_TRACK_MIXED - 1;
}

// A track that the file does not define must not become another file's: all
// such become the one number between the files.
uint32_t copy_track_id(copy *c, uint32_t track)
{
    const uint32_t none = copy_next_base(c);
    if (!track) return 0;
    if (!c->merged ||
        (track <= c->last_track && (uint64_t)c->track_base + track < none))
        return c->track_base + track;
    c->undefined++;
    return none;
}

// Correlations and ids of several files must not meet.
static uint64_t copy_correlation(const copy *c, uint64_t correlation)
{
    return correlation ? correlation + ((uint64_t)c->file << 48) : 0;
}

uint64_t copy_value(copy *c, ts_event_kind kind, ts_column column,
                    uint64_t value)
{
    const uint32_t id = (uint32_t)value;
    switch (column) {
    case TS_COLUMN_SITE: return copy_site(c, id);
    case TS_COLUMN_NAME:
    case TS_COLUMN_POOL:
    case TS_COLUMN_CATEGORY: return copy_name(c, id);
    case TS_COLUMN_STACK: return copy_stack(c, id);
    case TS_COLUMN_LAUNCH: return copy_launch(c, id);
    case TS_COLUMN_THREAD: return copy_track_id(c, id);
    case TS_COLUMN_PEER: // of a copy a device, else a rank
        return kind == TS_EVENT_MEMCPY ? copy_track_id(c, id) : value;
    case TS_COLUMN_ID:
    case TS_COLUMN_CORRELATION:
    case TS_COLUMN_RECORD: return copy_correlation(c, value);
    default: return value;
    }
}

void copy_tracks(copy *c)
{
    ts_track track;
    for (size_t i = 0; ts_reader_track_at(c->reader, i, &track); i++) {
        const ts_track_entry entry = {
            .type = (uint8_t)track.type,
            .parent = copy_track_id(c, track.parent),
            .name = copy_text(c->writer, track.name),
            .unit = copy_text(c->writer, track.unit),
            .number = track.number,
            .flags = track.flags,
        };
        ts_writer_track(c->writer, copy_track_id(c, track.id), &entry);
    }
}

// What is said about the session is said by the first file only.
void copy_metadata(copy *c)
{
    ts_metadata m;
    char key[256];
    for (size_t i = 0; ts_reader_metadata_at(c->reader, i, &m); i++) {
        if ((c->file && !m.track) || m.key.size >= sizeof key) continue;
        memcpy(key, m.key.text, m.key.size);
        key[m.key.size] = 0;
        uint64_t value = (uint64_t)m.number;
        if (m.type == TS_VALUE_DOUBLE) memcpy(&value, &m.real, sizeof value);
        if (m.type == TS_VALUE_TEXT) value = copy_text(c->writer, m.text);
        ts_writer_metadata(c->writer, copy_track_id(c, m.track), key, m.type,
                           value);
    }
}

void copy_losses(copy *c, int64_t offset_ns)
{
    ts_loss_row row;
    for (size_t i = 0; ts_reader_loss(c->reader, i, &row); i++)
        ts_writer_loss(c->writer, copy_track_id(c, row.track), row.cause,
                       copy_name(c, row.detail), row.count,
                       row.first_ns + offset_ns, row.last_ns + offset_ns);
}
