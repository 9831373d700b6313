/*
    perfetto.c - Perfetto's protobuf traces: packets, also compressed ones
*/
#include "tools/import/perfetto/perfetto.h"
#ifdef TRACESMITH_ZLIB
#include <zlib.h>
#endif

enum {
    PACKET_MAX = 64 << 20, // bytes of a packet, also of a compressed one
    RATIO = 200,           // of unpacked to packed bytes, beyond
    FREE = 64 << 20        // these
};
enum { CLEARED = 1, NEEDS_STATE = 2 }; // flags of a packet

/* ---- Recognising -------------------------------------------------------- */

// Returns whether only packets of traces have such a field.
static bool is_known(const import_field *f)
{
    static const uint8_t known[] = { 6,  8,  10, 11, 12, 13, 33, 41,
                                     45, 50, 58, 59, 60, 89, 126 };
    return memchr(known, (int)(f->number & 0xFF), sizeof known) &&
           f->number < 256;
}

static bool is_packet(import_wire w)
{
    import_field f;
    bool found = false;
    while (import_wire_field(&w, &f))
        found |= is_known(&f);
    return found && w.at == w.end;
}

// Returns whether a packet begins that is longer than what is known of it: a
// compressed one, by its first field.
static bool begins_packet(import_wire w)
{
    uint64_t tag, size;
    return import_wire_varint(&w, &tag) && tag == (1 << 3 | IMPORT_BYTES) &&
           import_wire_varint(&w, &size) && size > (uint64_t)(w.end - w.at) &&
           import_wire_varint(&w, &tag) && tag == (50 << 3 | IMPORT_BYTES);
}

static bool recognise(import_source *source)
{
    size_t size;
    const uint8_t *const head = import_source_head(source, &size);
    import_wire w = { head, head + size };
    import_field f;
    bool is_one = begins_packet(w);
    for (int i = 0; i < 8 && import_wire_field(&w, &f); i++) {
        if (f.number != 1 || f.type != IMPORT_BYTES) return false;
        is_one |= is_packet(f.bytes);
    }
    return is_one;
}

/* ---- Packets ------------------------------------------------------------ */

// Names of packets that are not imported, by field.
static const char *name_of(uint64_t field)
{
    static const struct {
        uint64_t field;
        const char *name;
    } names[] = {
        { 1, "ftrace events (bundles)" },
        { 9, "process statistics" },
        { 33, "trace configuration" },
        { 35, "trace statistics" },
        { 37, "heap profiles" },
        { 39, "Android log" },
        { 43, "process descriptors of the old kind" },
        { 44, "thread descriptors of the old kind" },
        { 45, "system information" },
        { 52, "GPU counters" },
        { 66, "samples of perf" },
        { 126, "trace attributes" },
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].field == field) return names[i].name;
    return NULL;
}

static void leave_out(perfetto *p, const import_field *f)
{
    char other[32];
    const char *name = name_of(f->number);
    if (f->number == 133) {
        import_bad(p->job, "zstd_packets", IMPORT_NONE);
        return;
    }
    if (!name) {
        snprintf(other, sizeof other, "packets with field %" PRIu64, f->number);
        name = other;
    }
    import_unowned(p->job, name, strlen(name));
}

static void unpack(perfetto *p, import_wire packed);

// Reads a part of a packet that applies to it as a whole.
static bool take_head(perfetto_packet *packet, const import_field *f,
                      uint32_t *sequence, bool *is_dropped)
{
    switch (f->number) {
    case 8:
        packet->time = f->value;
        packet->has_time = true;
        return true;
    case 10: *sequence = (uint32_t)f->value; return true;
    case 13: packet->flags |= f->value; return true;
    case 41: packet->flags |= f->value ? CLEARED : 0; return true;
    case 42: *is_dropped = f->value != 0; return true;
    case 58:
        packet->clock = f->value;
        packet->has_clock = true;
        return true;
    case 3: // the writer's user, process, order and machine
    case 79:
    case 87:
    case 88:
    case 98: return true;
    default: return false;
    }
}

static void take_contents(perfetto *p, perfetto_packet *packet,
                          const import_field *f)
{
    import_wire *const to = f->number == 2    ? &packet->tree
                            : f->number == 6  ? &packet->clocks
                            : f->number == 11 ? &packet->event
                            : f->number == 12 ? &packet->interned
                            : f->number == 53 ? &packet->gpu
                            : f->number == 59 ? &packet->defaults
                            : f->number == 60 ? &packet->track
                                              : NULL;
    if (f->type == IMPORT_BYTES && f->number == 50)
        unpack(p, f->bytes);
    else if (f->type == IMPORT_BYTES && to)
        *to = f->bytes;
    else
        leave_out(p, f);
}

// Applies what the packet defines, then reads its event.
static void take_parts(perfetto *p, const perfetto_packet *packet)
{
    const size_t s = packet->sequence;
    if (packet->clocks.at) perfetto_take_clocks(p, s, packet->clocks);
    if (packet->defaults.at) perfetto_take_defaults(p, s, packet->defaults);
    if (packet->interned.at) perfetto_take_texts(p, s, packet->interned);
    if (packet->track.at) perfetto_take_track(p, packet->track);
    if (packet->tree.at) perfetto_take_tree(p, packet->tree);
    if (!packet->event.at && !packet->gpu.at) return;
    if (!packet->has_time)
        import_bad(p->job, "no_time", IMPORT_NONE);
    else if ((packet->flags & NEEDS_STATE) && !p->sequences[s].has_state)
        import_bad(p->job, "undefined_state", IMPORT_NONE);
    else if (packet->event.at)
        perfetto_take_event(p, packet);
    else
        perfetto_take_gpu(p, packet);
}

static void take_packet(perfetto *p, import_wire w)
{
    perfetto_packet packet = { 0 };
    import_wire rest = w;
    import_field f;
    uint32_t sequence = 0;
    bool is_dropped = false;
    p->job->rows++;
    while (import_wire_field(&rest, &f))
        if (!take_head(&packet, &f, &sequence, &is_dropped))
            take_contents(p, &packet, &f);
    if (rest.at < rest.end) {
        import_bad(p->job, "broken_packet", IMPORT_NONE);
        return;
    }
    const size_t before = p->sequence_count;
    packet.sequence = perfetto_sequence_of(p, sequence);
    if (p->out_of_memory) return;
    // It is set on the first packet of each sequence, too.
    if (is_dropped && before == p->sequence_count)
        import_bad(p->job, "dropped_packets", IMPORT_NONE);
    if (packet.flags & CLEARED) perfetto_clear(p, packet.sequence);
    take_parts(p, &packet);
}

/* ---- Compressed packets ------------------------------------------------- */

#ifdef TRACESMITH_ZLIB
static void take_packets(perfetto *p, import_wire w)
{
    import_field f;
    while (import_wire_field(&w, &f))
        if (f.number == 1 && f.type == IMPORT_BYTES)
            take_packet(p, f.bytes);
        else
            import_bad(p->job, "broken_packet", IMPORT_NONE);
    if (w.at < w.end) import_bad(p->job, "broken_packet", IMPORT_NONE);
}

// Returns how many bytes may be unpacked: as much as is plausible for a trace.
static size_t allowed(const perfetto *p)
{
    const uint64_t all = FREE + RATIO * import_source_done(p->job->source);
    const uint64_t left = all > p->unpacked ? all - p->unpacked : 0;
    return left < PACKET_MAX ? (size_t)left : PACKET_MAX;
}

// Unpacks into p->plain; returns the size, SIZE_MAX if it is damaged or large.
static size_t inflate_all(perfetto *p, import_wire packed)
{
    z_stream z = { .next_in = (Bytef *)packed.at,
                   .avail_in = (uInt)(packed.end - packed.at) };
    const size_t most = allowed(p);
    size_t size = 0;
    int result = inflateInit(&z) == Z_OK ? Z_OK : Z_MEM_ERROR;
    while (result == Z_OK) {
        if (size == most || !cli_grow(&p->plain, &p->plain_room, size + 1, 1))
            break;
        const size_t room = p->plain_room < most ? p->plain_room : most;
        z.next_out = p->plain + size;
        z.avail_out = (uInt)(room - size);
        result = inflate(&z, Z_NO_FLUSH);
        size = room - z.avail_out;
    }
    inflateEnd(&z);
    p->unpacked += size;
    return result == Z_STREAM_END ? size : SIZE_MAX;
}

static void unpack(perfetto *p, import_wire packed)
{
    if (p->is_unpacking) {
        import_bad(p->job, "nested_packets", IMPORT_NONE);
        return;
    }
    const size_t size = inflate_all(p, packed);
    if (size == SIZE_MAX) {
        import_bad(p->job, "damaged_packets", IMPORT_NONE);
        return;
    }
    p->is_unpacking = true;
    take_packets(p, (import_wire){ p->plain, p->plain + size });
    p->is_unpacking = false;
}
#else
static void unpack(perfetto *p, import_wire packed)
{
    (void)packed;
    import_bad(p->job, "compressed_packets", IMPORT_NONE);
}
#endif

/* ---- The file ----------------------------------------------------------- */

// Reads a varint of the source; false at its end or if it is none.
static bool read_varint(import_source *source, uint64_t *value)
{
    *value = 0;
    for (uint32_t shift = 0; shift < 64; shift += 7) {
        uint8_t byte;
        if (!import_source_read(source, &byte, 1)) return false;
        *value |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80) return true;
    }
    return false;
}

// Reads the bytes of a packet, the buffer growing with what is there.
static bool read_bytes(perfetto *p, size_t size)
{
    enum { STEP = 1 << 20 };
    for (size_t done = 0; done < size;) {
        const size_t part = size - done < STEP ? size - done : STEP;
        if (!cli_grow(&p->packet, &p->packet_room, done + part, 1)) {
            p->out_of_memory = true;
            return false;
        }
        if (import_source_read(p->job->source, p->packet + done, part) < part)
            return false;
        done += part;
    }
    return true;
}

// Nothing marks where a packet begins: reading ends at the first damage.
static void read_packets(perfetto *p)
{
    uint64_t tag, size;
    while (!p->out_of_memory && read_varint(p->job->source, &tag)) {
        if (tag != (1 << 3 | IMPORT_BYTES) ||
            !read_varint(p->job->source, &size) || size > PACKET_MAX ||
            !read_bytes(p, (size_t)size)) {
            if (!p->out_of_memory)
                import_bad(p->job, "broken_packet", IMPORT_NONE);
            p->job->is_cut = true;
            return;
        }
        take_packet(p, (import_wire){ p->packet, p->packet + size });
        import_progress(p->job);
    }
}

static void close_all(perfetto *p)
{
    for (size_t i = 0; i < p->sequence_count; i++)
        cli_map_close(&p->sequences[i].texts);
    for (size_t i = 0; i < p->text_count; i++)
        free(p->texts[i].text);
    cli_map *const maps[] = { &p->sequence_of, &p->clock_of, &p->track_of,
                              &p->lane_of };
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
        cli_map_close(maps[i]);
    free(p->sequences);
    free(p->texts);
    free(p->clocks);
    free(p->tracks);
    free(p->flows);
    free(p->packet);
    free(p->plain);
    free(p);
}

static bool import(import_job *job)
{
    enum { BOOTTIME = 6 };
    perfetto *const p = calloc(1, sizeof *p);
    if (!p) return import_out_of_memory(job);
    p->job = job;
    p->trace_clock = BOOTTIME;
    read_packets(p);
    perfetto_events_end(p);
    const bool ok = !p->out_of_memory;
    close_all(p);
    return ok ? ok : import_out_of_memory(job);
}

const import_format import_perfetto = {
    .name = "perfetto",
    .title = "Perfetto trace (protobuf)",
    .recognise = recognise,
    .import = import,
};
