/*
    merge.c - metadata about each file when several are merged
*/
#include "tools/common/rewrite/rewrite.h"
#define XXH_INLINE_ALL
#include <xxhash.h>

static const char part_key[] = "merge.part";

static bool is_part(const ts_metadata *m)
{
    return m->track && m->type == TS_VALUE_INT && m->number >= 0 &&
           m->key.size == sizeof part_key - 1 &&
           !memcmp(m->key.text, part_key, m->key.size);
}

// Only parts that a track belongs to count, because a hostile file may claim
// any number.
uint32_t copy_part_count(const ts_reader *reader)
{
    const uint32_t tracks = ts_reader_info(reader)->track_count;
    ts_metadata m;
    uint32_t count = 1;
    for (size_t i = 0; ts_reader_metadata_at(reader, i, &m); i++)
        if (is_part(&m) && m.number >= count && m.number < tracks &&
            m.number < COPY_PARTS)
            count = (uint32_t)m.number + 1;
    return count;
}

static ts_text fact(const ts_reader *reader, const char *key)
{
    ts_metadata m;
    const ts_text none = { "", 0 };
    return ts_reader_metadata(reader, 0, key, &m) && m.type == TS_VALUE_TEXT
               ? m.text
               : none;
}

// Returns a name such as "rank 3: python3 on gpu-1", from what is known. A
// process of a merged file already has its name.
uint32_t copy_process_name(copy *c, const ts_track *track)
{
    ts_metadata rank;
    char name[512];
    size_t size = 0;
    const ts_text host = fact(c->reader, "host");
    const bool ranked = ts_reader_metadata(c->reader, 0, "rank", &rank) &&
                        rank.type == TS_VALUE_INT;
    if (c->part_count > 1 || (!ranked && !(c->merge->hosts && host.size)))
        return copy_text(c, COPY_PROCESS, track->name);
    if (ranked)
        size += (size_t)snprintf(name, 32, "rank %" PRId64 "%s", rank.number,
                                 track->name.size ? ": " : "");
    const ts_text parts[] = { track->name,
                              { size || track->name.size ? " on " : "on ", 0 },
                              host };
    for (size_t i = 0; i < (c->merge->hosts && host.size ? 3 : 1); i++) {
        const size_t whole = i == 1 ? strlen(parts[i].text) : parts[i].size;
        const size_t room = sizeof name - size;
        const size_t more = whole < room ? whole : room;
        memcpy(name + size, parts[i].text, more);
        size += more;
    }
    return ts_writer_name(c->writer, name, size);
}

// Creates a process track for a file without one.
static uint32_t make_process(copy *c)
{
    const uint32_t id = c->merge->next_track < TS_TRACK_MIXED
                            ? c->merge->next_track++
                            : TS_TRACK_MIXED - 1;
    const char *const slash = strrchr(c->path, '/');
    const ts_track track = {
        .type = TS_TRACK_PROCESS,
        .name = { slash ? slash + 1 : c->path,
                  strlen(slash ? slash + 1 : c->path) },
        .number = ts_reader_info(c->reader)->process,
    };
    const ts_track_entry entry = { .type = TS_TRACK_PROCESS,
                                   .name = copy_process_name(c, &track),
                                   .number = track.number };
    return ts_writer_track(c->writer, id, &entry);
}

// Writes the part's number to each process of the file. Tracks without a
// process belong to the process that wrote the file, else to the first; the
// file of a forked child also has its parent's process.
void copy_parts(copy *c)
{
    const uint64_t writer = ts_reader_info(c->reader)->process;
    ts_track track, parent;
    c->process = 0;
    for (size_t i = 0; ts_reader_track_at(c->reader, i, &track); i++) {
        if (track.type != TS_TRACK_PROCESS ||
            (track.parent && track.parent != track.id &&
             ts_reader_track(c->reader, track.parent, &parent)))
            continue;
        const uint32_t id = copy_track_id(c, track.id);
        if (!c->process || (c->part_count == 1 && track.number == writer))
            c->process = id;
        if (c->part_count == 1 && !copy_is_joined(c, id))
            copy_note_number(c->writer, id, part_key, c->part);
    }
    if (c->process) return;
    c->process = make_process(c);
    copy_note_number(c->writer, c->process, part_key, c->part);
}

/* ---- What is common ------------------------------------------------------ */

static bool same_value(const ts_metadata *a, const ts_metadata *b)
{
    if (a->type != b->type) return false;
    switch (a->type) {
    case TS_VALUE_INT: return a->number == b->number;
    case TS_VALUE_DOUBLE: return !memcmp(&a->real, &b->real, sizeof a->real);
    default:
        return a->text.size == b->text.size &&
               !memcmp(a->text.text, b->text.text, a->text.size);
    }
}

// `boot_id` is taken from the first file, as is the clock of the trace.
static bool all_agree(ts_reader *const *readers, size_t count, const char *key,
                      const ts_metadata *m)
{
    ts_metadata other;
    if (!strcmp(key, "rank") || !strncmp(key, "merge.", 6)) return false;
    if (!strcmp(key, "boot_id")) return true;
    for (size_t i = 1; i < count; i++)
        if (!ts_reader_metadata(readers[i], 0, key, &other) ||
            !same_value(m, &other))
            return false;
    return true;
}

bool copy_is_common(const copy_merge *merge, ts_text key)
{
    const uint64_t hash = XXH3_64bits(key.text, key.size);
    for (size_t i = 0; i < merge->common_count; i++)
        if (merge->common[i] == hash) return true;
    return false;
}

void copy_common(copy_merge *merge, ts_writer *writer,
                 ts_reader *const *readers, size_t count)
{
    ts_metadata m;
    char key[1024];
    for (size_t i = 0; ts_reader_metadata_at(readers[0], i, &m); i++) {
        if (m.track || m.key.size >= sizeof key) continue;
        memcpy(key, m.key.text, m.key.size);
        key[m.key.size] = 0;
        if (!all_agree(readers, count, key, &m)) continue;
        if (strcmp(key, "boot_id") && merge->common_count < COPY_COMMON)
            merge->common[merge->common_count++] =
                XXH3_64bits(m.key.text, m.key.size);
        uint64_t value = (uint64_t)m.number;
        if (m.type == TS_VALUE_DOUBLE) memcpy(&value, &m.real, sizeof value);
        if (m.type == TS_VALUE_TEXT)
            value = ts_writer_name(writer, m.text.text, m.text.size);
        ts_writer_metadata(writer, 0, key, m.type, value);
    }
}
