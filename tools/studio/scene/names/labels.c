/*
    labels.c - names of boxes, as the trace has them and as they are read

    Compilers of C++ and Rust mangle names. The caller of the scene can read
    them: by a function, or, where there is none (the module), by a list.
*/
#include "tools/studio/scene/parts.h"

/* ---- Names that are read ------------------------------------------------- */

static bool is_mangled(ts_text name)
{
    return name.size > 3 && name.text[0] == '_' &&
           (name.text[1] == 'Z' || name.text[1] == 'R') &&
           strlen(name.text) == name.size;
}

static const scene_reading *find(const scene_readings *r, ts_text name,
                                 uint64_t hash)
{
    size_t at = 0;
    uint32_t i;
    while ((i = cli_index_next(&r->index, hash, &at)) != CLI_NONE)
        if (r->list[i].name_size == name.size &&
            !memcmp(r->list[i].name, name.text, name.size))
            return &r->list[i];
    return NULL;
}

// shown.size 0: it stays as it is. Returns the entry; NULL without memory, or
// if there are too many.
static const scene_reading *add(scene_readings *r, ts_text name, uint64_t hash,
                                ts_text shown)
{
    char *const copy = malloc(name.size + shown.size + 2);
    if (!copy || r->count == SCENE_READ_NAMES ||
        !cli_grow(&r->list, &r->room, r->count + 1, sizeof *r->list) ||
        !cli_index_add(&r->index, hash, (uint32_t)r->count)) {
        free(copy);
        return NULL;
    }
    memcpy(copy, name.text, name.size);
    copy[name.size] = 0;
    memcpy(copy + name.size + 1, shown.text, shown.size);
    copy[name.size + 1 + shown.size] = 0;
    r->list[r->count] = (scene_reading){ copy, name.size, shown.size };
    return &r->list[r->count++];
}

static const scene_reading *read_now(scene *s, ts_text name, uint64_t hash)
{
    scene_readings *const r = &s->readings;
    if (!r->read || r->count == SCENE_READ_NAMES) return NULL;
    char *const text = r->read(name.text);
    const ts_text shown = { text ? text : "", text ? strlen(text) : 0 };
    const scene_reading *const made = add(r, name, hash, shown);
    free(text);
    return made;
}

ts_text scene_readable(scene *s, ts_text name)
{
    if (!is_mangled(name)) return name;
    const uint64_t hash = cli_hash(name.text, name.size);
    const scene_reading *one = find(&s->readings, name, hash);
    if (!one) one = read_now(s, name, hash);
    return one && one->shown_size
               ? (ts_text){ one->name + one->name_size + 1, one->shown_size }
               : name;
}

void scene_read_names(scene *s, scene_read *read)
{
    s->readings.read = read;
    scene_label_texts(s);
}

bool scene_name_read(scene *s, ts_text name, ts_text shown)
{
    const uint64_t hash = cli_hash(name.text, name.size);
    return find(&s->readings, name, hash) ||
           add(&s->readings, name, hash, shown);
}

void scene_readings_close(scene *s)
{
    for (size_t i = 0; i < s->readings.count; i++)
        free(s->readings.list[i].name);
    free(s->readings.list);
    cli_index_close(&s->readings.index);
}

/* ---- Labels -------------------------------------------------------------- */

const char *scene_copy_name(uint32_t type)
{
    static const char *const names[] = {
        "copy",           "copy host to device", "copy device to host",
        "copy on device", "copy host to host",   "copy device to device"
    };
    return names[type < 6 ? type : 0];
}

static ts_text plain(const char *text)
{
    return (ts_text){ text, strlen(text) };
}

static ts_text text_of(const scene *s, uint32_t kind, uint32_t id)
{
    ts_text text = { "", 0 };
    switch (kind) {
    case TS_EVENT_ZONE:
    case TS_EVENT_MARK:
    case TS_EVENT_FRAME:
    case TS_EVENT_SPAN: text = ts_reader_site_name(s->reader, id); break;
    case TS_EVENT_KERNEL:
    case TS_EVENT_API_CALL:
    case TS_EVENT_HOST_FUNCTION:
    case TS_EVENT_COLLECTIVE: text = ts_reader_name(s->reader, id); break;
    case TS_EVENT_MEMCPY: return plain(scene_copy_name(id));
    case SCENE_KIND_IDLE: return plain(ts_idle_name(id));
    case SCENE_KIND_BUSY: return plain("busy");
    case SCENE_KIND_COST: return plain(ts_cost_name(id));
    default: break;
    }
    return text.size ? text : plain(ts_event_name(kind));
}

// Hues: 1 to 200 by name, causes and costs have their own, 0 is nothing.
static uint8_t hue_of(uint32_t kind, uint32_t id, ts_text text)
{
    if (kind == SCENE_KIND_IDLE) return (uint8_t)(240 + id);
    if (kind == SCENE_KIND_COST) return (uint8_t)(220 + id);
    if (kind == SCENE_KIND_BUSY) return 210;
    uint32_t hash = 2166136261u; // FNV-1a
    for (size_t i = 0; i < text.size; i++)
        hash = (hash ^ (uint8_t)text.text[i]) * 16777619u;
    return (uint8_t)(1 + (hash ^ hash >> 15) % 200);
}

uint32_t scene_label_of(scene *s, uint32_t kind, uint32_t id)
{
    const uint64_t key = (uint64_t)kind << 32 | id;
    scene_recent *const recent = &s->recent[(id ^ kind * 31) % RECENT];
    if (recent->key == key) return recent->label;
    const uint32_t known = cli_map_row(&s->label_index, key);
    if (known != CLI_NONE) {
        *recent = (scene_recent){ key, known };
        return known;
    }
    const ts_text text = text_of(s, kind, id);
    if (!cli_grow(&s->labels, &s->label_room, s->label_count + 1,
                  sizeof *s->labels) ||
        !cli_map_set(&s->label_index, key, s->label_count))
        return CLI_NONE;
    s->labels[s->label_count] = (scene_label){ .text = scene_readable(s, text),
                                               .kind = kind,
                                               .id = id,
                                               .hue = hue_of(kind, id, text) };
    return (uint32_t)s->label_count++;
}

ts_text scene_label_raw(const scene *s, uint32_t label)
{
    return text_of(s, s->labels[label].kind, s->labels[label].id);
}

void scene_label_texts(scene *s)
{
    for (size_t i = 0; i < s->label_count; i++)
        s->labels[i].text = scene_readable(s, scene_label_raw(s, (uint32_t)i));
}

uint32_t scene_label_row(scene *s, const ts_columns *c, uint32_t at)
{
    const ts_column column = cli_label_column(c->kind);
    const uint64_t *const values = column ? c->values[column] : NULL;
    uint32_t id = values ? (uint32_t)values[at] : 0;
    uint32_t kind = c->kind;
    if (kind == TS_EVENT_KERNEL) {
        const ts_launch_entry *const launch = ts_reader_launch(s->reader, id);
        id = launch ? launch->name : 0;
    }
    if (kind == TS_EVENT_ZONE_OPEN) kind = TS_EVENT_ZONE;
    return scene_label_of(s, kind, id);
}
