/*
    facts.c - what stands around the rows: devices, ranks, names
*/
#include "tools/export/kineto/kineto.h"
#include <ctype.h>
#include <stdio.h>

static bool is_key(const ts_metadata *m, const char *key)
{
    return cli_is_text(m->key, key);
}

static bool begins(ts_text text, const char *start)
{
    const size_t size = strlen(start);
    return text.size > size && !memcmp(text.text, start, size);
}

static bool find_fact(const torch_export *k, uint32_t track, const char *key,
                      ts_metadata *found)
{
    for (size_t i = 0; ts_reader_metadata_at(k->reader, i, found); i++)
        if (found->track == track && is_key(found, key)) return true;
    return false;
}

static void put_fact(torch_export *k, const ts_metadata *m)
{
    uint64_t bits = (uint64_t)m->number;
    if (m->type == TS_VALUE_DOUBLE) memcpy(&bits, &m->real, sizeof bits);
    torch_value(&k->block, m->type, bits, m->text);
}

static void put_text_key(torch_export *k, bool *filled, ts_text key)
{
    if (*filled) torch_put(k, ",");
    *filled = true;
    export_json_string(&k->block, key);
    torch_put(k, ":");
}

// "compute_major" is "computeMajor" there.
static void put_camel_key(torch_export *k, bool *filled, ts_text key)
{
    export_buffer made = { 0 };
    for (size_t i = 0; i < key.size; i++) {
        const bool hump = i && i + 1 < key.size && key.text[i] == '_' &&
                          islower((unsigned char)key.text[i + 1]);
        const char c =
            hump ? (char)toupper((unsigned char)key.text[i + 1]) : key.text[i];
        export_put(&made, &c, 1);
        i += hump;
    }
    put_text_key(k, filled, (ts_text){ (char *)made.data, made.size });
    export_resize(made.data, 0);
}

/* ---- Devices ------------------------------------------------------------- */

static bool is_label(const ts_metadata *m)
{
    return is_key(m, "labels") || is_key(m, "sort_index");
}

static void put_device_fact(torch_export *k, const ts_metadata *m)
{
    bool filled = true;
    if (is_key(m, "memory_bytes"))
        torch_key(k, &filled, "totalGlobalMem");
    else if (is_key(m, "multiprocessors"))
        torch_key(k, &filled, "numSms");
    else
        put_camel_key(k, &filled, m->key);
    put_fact(k, m);
}

static void put_device(torch_export *k, const ts_track *device)
{
    ts_metadata m;
    bool filled = false, named = false;
    torch_put(k, "\n{");
    torch_key_uint(k, &filled, "id", device->number & INT64_MAX);
    for (size_t i = 0; ts_reader_metadata_at(k->reader, i, &m); i++) {
        if (m.track != device->id || is_label(&m) || is_key(&m, "id")) continue;
        named |= is_key(&m, "name");
        put_device_fact(k, &m);
    }
    if (!named && device->name.size) {
        torch_key(k, &filled, "name");
        export_json_string(&k->block, device->name);
    }
    torch_put(k, "}");
}

static void put_devices(torch_export *k)
{
    ts_track track;
    bool filled = false;
    torch_put(k, "\"deviceProperties\":[");
    for (size_t i = 0; ts_reader_track_at(k->reader, i, &track); i++) {
        if (track.type != TS_TRACK_DEVICE) continue;
        if (filled) torch_put(k, ",");
        filled = true;
        put_device(k, &track);
    }
    torch_put(k, "]");
}

/* ---- The session --------------------------------------------------------- */

static const char distributed[] = "distributed.";

static void put_distributed(torch_export *k)
{
    ts_metadata m;
    bool filled = false;
    torch_put(k, ",\n\"distributedInfo\":{");
    for (size_t i = 0; ts_reader_metadata_at(k->reader, i, &m); i++) {
        if (m.track) continue;
        ts_text key = m.key;
        if (begins(key, distributed))
            key.text += sizeof distributed - 1,
                key.size -= sizeof distributed - 1;
        else if (is_key(&m, "process_groups"))
            key = export_text("pg_config");
        else if (!is_key(&m, "rank") && !is_key(&m, "world_size"))
            continue;
        put_text_key(k, &filled, key);
        put_fact(k, &m);
    }
    torch_put(k, "}");
}

// Facts that the head has, that an importer adds, or that rows follow from.
static bool is_own(const ts_metadata *m)
{
    static const char *const keys[] = { "schema_version",
                                        "display_time_unit",
                                        "base_time_nanoseconds",
                                        "process_groups",
                                        "rank",
                                        "world_size" };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (is_key(m, keys[i])) return true;
    return begins(m->key, distributed) || begins(m->key, "import.");
}

// "metadata.errors" was a value of the object "metadata". Returns the size of
// the name of the object; 0: none.
static size_t group_size(ts_text key)
{
    const char *const dot = key.size ? memchr(key.text, '.', key.size) : NULL;
    return dot && dot + 1 < key.text + key.size ? (size_t)(dot - key.text) : 0;
}

static void put_session_fact(torch_export *k, const ts_metadata *m,
                             size_t group, bool filled)
{
    if (is_key(m, "trace_name"))
        torch_key(k, &filled, "traceName");
    else if (group)
        put_text_key(
            k, &filled,
            (ts_text){ m->key.text + group + 1, m->key.size - group - 1 });
    else
        put_text_key(k, &filled, m->key);
    // An object of its own would be read as a group.
    if (!group && m->type == TS_VALUE_TEXT && m->text.size &&
        *m->text.text == '{')
        export_json_string(&k->block, m->text);
    else
        put_fact(k, m);
}

// Facts are in order of their keys, so that those of a group are together.
static void put_session(torch_export *k)
{
    ts_metadata m;
    ts_text open = { "", 0 };
    for (size_t i = 0; ts_reader_metadata_at(k->reader, i, &m); i++) {
        if (m.track || is_own(&m)) continue;
        const size_t group = group_size(m.key);
        const bool same = group && group == open.size &&
                          !memcmp(m.key.text, open.text, group);
        if (open.size && !same) torch_put(k, "}");
        if (!same) torch_put(k, ",\n");
        if (group && !same) {
            export_json_string(&k->block, (ts_text){ m.key.text, group });
            torch_put(k, ":{");
        }
        open = (ts_text){ m.key.text, group };
        put_session_fact(k, &m, group, same);
    }
    if (open.size) torch_put(k, "}");
}

/*
    Times are microseconds since a base, as Unix times in microseconds would not
    fit a double to the nanosecond. The base is that of the trace's source, if
    there was one, else where the trace begins.
*/
static void put_base(torch_export *k)
{
    const ts_info *const info = ts_reader_info(k->reader);
    const uint64_t start = info->start_realtime_ns;
    ts_metadata m;
    k->shift_ns =
        info->first_ns < 0 && info->first_ns > INT64_MIN ? -info->first_ns : 0;
    if (!start) return;
    int64_t base = (int64_t)(start - (uint64_t)k->shift_ns);
    if (find_fact(k, 0, "base_time_nanoseconds", &m) &&
        m.type == TS_VALUE_INT && m.number > 0 && m.number <= base) {
        k->shift_ns += base - m.number;
        base = m.number;
    }
    torch_put(k, "\"baseTimeNanoseconds\":");
    export_json_int(&k->block, base);
    torch_put(k, ",\n");
}

// CLI_KINETO knows a file of ours by its beginning.
void torch_put_head(torch_export *k)
{
    torch_put(k, "{\"schemaVersion\":1,\"displayTimeUnit\":\"ms\",\n");
    put_base(k);
    put_devices(k);
    put_distributed(k);
    torch_put(k, ",\n\"traceEvents\":[");
}

/* ---- Names of processes and threads -------------------------------------- */

static void begin_label(torch_export *k, uint32_t track, const char *what,
                        const char *key)
{
    ts_text none = { "", 0 };
    bool filled = false;
    torch_begin(k, "M", none, export_text(what), track, 0);
    torch_put(k, ",\"args\":{");
    torch_key(k, &filled, key);
}

static void end_label(torch_export *k)
{
    torch_put(k, "}");
    torch_end(k);
}

static void label_text(torch_export *k, uint32_t track, const char *what,
                       const char *key, ts_text text)
{
    if (!text.size) return;
    begin_label(k, track, what, key);
    export_json_string(&k->block, text);
    end_label(k);
}

static void sort_index(torch_export *k, uint32_t track, const char *what)
{
    ts_metadata m;
    if (!find_fact(k, track, "sort_index", &m) || m.type != TS_VALUE_INT)
        return;
    begin_label(k, track, what, "sort_index");
    export_json_int(&k->block, m.number);
    end_label(k);
}

// "GPU 0" or "CPU": by this readers tell devices from processes.
static void label_process(torch_export *k, const ts_track *track)
{
    const bool is_device = track->type == TS_TRACK_DEVICE;
    char text[48];
    ts_metadata m;
    snprintf(text, sizeof text, "GPU %" PRIu64, track->number & INT64_MAX);
    const bool known = find_fact(k, track->id, "labels", &m);
    label_text(k, track->id, "process_labels", "labels",
               known       ? m.text
               : is_device ? export_text(text)
                           : export_text("CPU"));
    label_text(k, track->id, "process_name", "name", track->name);
    sort_index(k, track->id, "process_sort_index");
}

static void put_labels(torch_export *k)
{
    ts_track track;
    for (size_t i = 0; ts_reader_track_at(k->reader, i, &track); i++) {
        const bool is_lane = track.type == TS_TRACK_THREAD && !track.number;
        if (track.type == TS_TRACK_PROCESS || track.type == TS_TRACK_DEVICE) {
            label_process(k, &track);
        } else if ((track.type == TS_TRACK_THREAD && !is_lane) ||
                   track.type == TS_TRACK_STREAM) {
            label_text(k, track.id, "thread_name", "name", track.name);
            sort_index(k, track.id, "thread_sort_index");
        }
    }
}

void torch_put_tail(torch_export *k)
{
    put_labels(k);
    torch_put(k, "\n]");
    put_session(k);
    torch_put(k, "}\n");
}
