/*
    read.c - Chakra execution traces: decodes protobuf to nodes

    A file is a sequence of messages, each preceded by its size as a varint: one
    GlobalMetadata, then nodes. Source: schema/protobuf/et_def.proto of
    mlcommons/chakra, versions 0.0.4 to 1.0; encoding: protobuf.dev.
*/
#include "tools/import/chakra/chakra.h"

enum { MESSAGE_MAX = 64 << 20 };
enum { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };

/* ---- Wire format -------------------------------------------------------- */

typedef struct wire {
    const uint8_t *at, *end;
} wire;

typedef struct field {
    uint64_t number, value; // value: of a varint or fixed-size field
    wire bytes;
    uint8_t type;
} field;

static bool take_varint(wire *w, uint64_t *value)
{
    *value = 0;
    for (uint32_t shift = 0; w->at < w->end && shift < 64; shift += 7) {
        const uint8_t byte = *w->at++;
        *value |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80) return true;
    }
    return false;
}

static bool take_fixed(wire *w, size_t size, uint64_t *value)
{
    if ((size_t)(w->end - w->at) < size) return false;
    *value = 0;
    for (size_t i = 0; i < size; i++)
        *value |= (uint64_t)w->at[i] << 8 * i;
    w->at += size;
    return true;
}

static bool take_bytes(wire *w, wire *bytes)
{
    uint64_t size;
    if (!take_varint(w, &size) || size > (uint64_t)(w->end - w->at))
        return false;
    *bytes = (wire){ w->at, w->at + size };
    w->at += size;
    return true;
}

// Reads the next field; false at the end, or if the bytes are malformed: then
// w->at < w->end.
static bool take_field(wire *w, field *f)
{
    wire rest = *w;
    uint64_t tag;
    *f = (field){ 0 };
    if (rest.at == rest.end || !take_varint(&rest, &tag)) return false;
    f->number = tag >> 3;
    f->type = tag & 7;
    const bool taken = f->type == VARINT    ? take_varint(&rest, &f->value)
                       : f->type == FIXED64 ? take_fixed(&rest, 8, &f->value)
                       : f->type == FIXED32
                           ? take_fixed(&rest, 4, &f->value)
                           : f->type == BYTES && take_bytes(&rest, &f->bytes);
    if (taken && f->number) *w = rest;
    return taken && f->number;
}

static int64_t unzigzag(uint64_t value)
{
    return (int64_t)(value >> 1 ^ (0 - (value & 1)));
}

/* ---- Attributes --------------------------------------------------------- */

typedef struct attribute {
    ts_text name, text; // text: if it is a string or bytes, else NULL
    int64_t number;     // IMPORT_NONE: it is no number
} attribute;

// Case labels are field numbers of AttributeProto's oneof.
static void take_value(attribute *a, const field *f)
{
    switch (f->number) {
    case 7: // int32 to uint64, bool
    case 9:
    case 11:
    case 13:
    case 27:
        if (f->type == VARINT) a->number = (int64_t)f->value;
        break;
    case 15: // sint32, sint64
    case 17:
        if (f->type == VARINT) a->number = unzigzag(f->value);
        break;
    case 19: // fixed32, fixed64, sfixed64
    case 21:
    case 25:
        if (f->type != VARINT && f->type != BYTES)
            a->number = (int64_t)f->value;
        break;
    case 23:
        if (f->type == FIXED32) a->number = (int32_t)(uint32_t)f->value;
        break;
    case 29: // string, bytes
    case 31:
        if (f->type != BYTES) break;
        a->text.text = (const char *)f->bytes.at;
        a->text.size = (size_t)(f->bytes.end - f->bytes.at);
    }
}

static bool take_attribute(wire w, attribute *a)
{
    field f;
    *a = (attribute){ .name = { "", 0 }, .number = IMPORT_NONE };
    while (take_field(&w, &f)) {
        if (f.number == 1 && f.type == BYTES) {
            a->name.text = (const char *)f.bytes.at;
            a->name.size = (size_t)(f.bytes.end - f.bytes.at);
        }
        take_value(a, &f);
    }
    return w.at == w.end && a->name.size;
}

static bool is(ts_text text, const char *word)
{
    return text.size == strlen(word) && !memcmp(text.text, word, text.size);
}

/* ---- Recognising -------------------------------------------------------- */

static bool is_metadata(wire w)
{
    field f;
    attribute a;
    bool any = false;
    for (; take_field(&w, &f); any = true)
        if (f.type != BYTES || f.number > 2 ||
            (f.number == 2 && !take_attribute(f.bytes, &a)))
            return false;
    return any && w.at == w.end;
}

// The buffer may contain only the beginning of a node.
static bool is_node(wire w)
{
    static const uint8_t types[] = { 0,     VARINT, BYTES,  VARINT,
                                     BYTES, BYTES,  VARINT, VARINT,
                                     BYTES, BYTES,  BYTES,  BYTES };
    field f;
    bool named = false;
    while (take_field(&w, &f)) {
        if (f.number >= sizeof types) return false;
        if (f.type != types[f.number] &&
            !((f.number == 4 || f.number == 5) && f.type == VARINT))
            return false;
        named = named || f.number == 2;
    }
    return named;
}

bool chakra_is(const uint8_t *head, size_t size)
{
    wire w = { head, head + size }, message;
    uint64_t node_size;
    if (!take_bytes(&w, &message) || !is_metadata(message)) return false;
    if (w.at == w.end) return true; // no nodes
    if (!take_varint(&w, &node_size) || node_size > MESSAGE_MAX) return false;
    if (node_size < (uint64_t)(w.end - w.at)) w.end = w.at + node_size;
    return is_node(w);
}

/* ---- Nodes -------------------------------------------------------------- */

static void take_dep(chakra *c, uint64_t id, bool is_data)
{
    if (c->dep_count == c->dep_room) {
        const size_t room = c->dep_room * 2 + 1024;
        chakra_dep *const more = realloc(c->deps, room * sizeof *more);
        c->out_of_memory |= !more || room > UINT32_MAX;
        if (!more) return;
        c->deps = more;
        c->dep_room = room;
    }
    c->deps[c->dep_count++] = (chakra_dep){ id, UINT32_MAX, is_data };
}

// Reads dependencies, packed (as proto3 writes them) or one by one.
static bool take_deps(chakra *c, field *f)
{
    const bool is_data = f->number == 5;
    uint64_t id;
    if (f->type == VARINT) take_dep(c, f->value, is_data);
    if (f->type != BYTES) return f->type == VARINT;
    while (f->bytes.at < f->bytes.end) {
        if (!take_varint(&f->bytes, &id)) return false;
        take_dep(c, id, is_data);
    }
    return true;
}

// Converts microseconds; IMPORT_NONE if the result does not fit.
static int64_t to_ns(uint64_t us)
{
    return us > (uint64_t)INT64_MAX / 4000 ? IMPORT_NONE : (int64_t)(us * 1000);
}

static uint64_t to_count(int64_t number)
{
    return number < 0 ? 0 : (uint64_t)number;
}

static void use_attribute(chakra *c, chakra_node *node, const attribute *a)
{
    char what[60];
    if (is(a->name, "is_cpu_op"))
        node->on_host = a->number > 0;
    else if (is(a->name, "tid") || is(a->name, "stream"))
        node->thread = a->number;
    else if (is(a->name, "comm_type"))
        node->comm_type = a->number;
    else if (is(a->name, "comm_size") || is(a->name, "tensor_size"))
        node->size = a->number == IMPORT_NONE ? 0 : to_count(a->number);
    else if (is(a->name, "comm_tag"))
        node->tag = a->number;
    else if (is(a->name, "comm_src") || is(a->name, "comm_dst"))
        node->peer = (is(a->name, "comm_dst") == (node->type == CHAKRA_SEND))
                         ? a->number
                         : node->peer;
    else if (is(a->name, "pg_name") && a->text.text)
        node->group = import_communicator(a->text.text, a->text.size);
    else if (is(a->name, "comm_group") && a->number != IMPORT_NONE)
        node->group = import_communicator((const char *)&a->number, 8);
    else {
        const int size = snprintf(what, sizeof what, "attribute %.*s",
                                  (int)(a->name.size < 40 ? a->name.size : 40),
                                  a->name.text);
        import_unowned(c->job, what, (size_t)size);
    }
}

static bool take_node_field(chakra *c, chakra_node *node, field *f)
{
    const int64_t ns = to_ns(f->value);
    attribute a;
    switch (f->number) {
    case 1: node->id = f->value; return f->type == VARINT;
    case 2:
        node->name = import_name(c->job, (const char *)f->bytes.at,
                                 (size_t)(f->bytes.end - f->bytes.at));
        return f->type == BYTES;
    case 3:
        node->type = f->value > CHAKRA_COLLECTIVE ? 0 : (uint8_t)f->value;
        return f->type == VARINT;
    case 4:
    case 5: return take_deps(c, f);
    case 6:
        if (f->value) node->start_ns = ns;
        return f->type == VARINT && ns != IMPORT_NONE;
    case 7:
        node->duration_ns = ns;
        return f->type == VARINT && ns != IMPORT_NONE;
    case 8: import_unowned(c->job, "inputs", 6); return true;
    case 9: import_unowned(c->job, "outputs", 7); return true;
    case 10:
        if (f->type != BYTES || !take_attribute(f->bytes, &a)) return false;
        use_attribute(c, node, &a);
        return true;
    case 11: c->old = true; return true;
    default: import_unowned(c->job, "unknown fields", 14); return true;
    }
}

static void take_node(chakra *c, wire w)
{
    chakra_node node = { .start_ns = IMPORT_NONE,
                         .thread = IMPORT_NONE,
                         .comm_type = IMPORT_NONE,
                         .peer = IMPORT_NONE,
                         .tag = IMPORT_NONE,
                         .first_dep = (uint32_t)c->dep_count };
    field f;
    bool good = true;
    while (good && take_field(&w, &f))
        good = take_node_field(c, &node, &f);
    if (!good || w.at != w.end) {
        import_bad(c->job, "broken_row", IMPORT_NONE);
        c->dep_count = node.first_dep;
        return;
    }
    if (c->count == c->room) {
        const size_t room = c->room * 2 + 1024;
        chakra_node *const more = realloc(c->nodes, room * sizeof *more);
        c->out_of_memory |= !more || room > UINT32_MAX;
        if (!more) return;
        c->nodes = more;
        c->room = room;
    }
    node.dep_count = (uint32_t)(c->dep_count - node.first_dep);
    c->has_times = c->has_times || node.start_ns != IMPORT_NONE;
    c->nodes[c->count++] = node;
}

// Reads facts about the session; skips lists, which are neither text nor
// number.
static void take_metadata(chakra *c, wire w)
{
    field f;
    attribute a;
    while (take_field(&w, &f)) {
        char key[80] = "chakra.version";
        a = (attribute){ .text = { (const char *)f.bytes.at,
                                   (size_t)(f.bytes.end - f.bytes.at) },
                         .number = IMPORT_NONE };
        if (f.type != BYTES) continue;
        // In 0.0.4 field 1 is an attribute, later the version.
        attribute inner;
        if (take_attribute(f.bytes, &inner)) {
            a = inner;
            snprintf(key, sizeof key, "chakra.%.*s",
                     (int)(a.name.size < 60 ? a.name.size : 60), a.name.text);
        }
        if (is(a.name, "pid")) c->process = a.number;
        if (a.text.text)
            import_meta_text(c->job, 0, key, a.text.text, a.text.size);
        else if (a.number != IMPORT_NONE)
            import_meta_int(c->job, 0, key, a.number);
        else
            import_unowned(c->job, "metadata", 8);
    }
}

/* ---- Messages ----------------------------------------------------------- */

// Reads the size of a message; false at the end. *broken: it is truncated or
// too large.
static bool read_size(import_source *source, uint64_t *size, bool *broken)
{
    uint8_t bytes[10];
    for (size_t i = 0; i < sizeof bytes; i++) {
        if (import_source_read(source, &bytes[i], 1) != 1) {
            *broken = i > 0;
            return false;
        }
        wire w = { bytes, bytes + i + 1 };
        if (bytes[i] >= 0x80) continue;
        *broken = !take_varint(&w, size) || *size > MESSAGE_MAX;
        return !*broken;
    }
    *broken = true;
    return false;
}

bool chakra_read(chakra *c)
{
    uint8_t *bytes = NULL;
    size_t room = 0;
    uint64_t size;
    bool broken = false, first = true;
    while (!c->out_of_memory && !c->old &&
           read_size(c->job->source, &size, &broken)) {
        if (size > room) {
            free(bytes);
            bytes = malloc((size_t)size * 2);
            room = bytes ? (size_t)size * 2 : 0;
            c->out_of_memory |= !bytes;
            if (!bytes) break;
        }
        broken =
            import_source_read(c->job->source, bytes, (size_t)size) != size;
        if (broken) break;
        const wire w = { bytes, size ? bytes + size : bytes };
        if (first)
            take_metadata(c, w);
        else
            take_node(c, w);
        if (!first && !(++c->job->rows % 4096)) import_progress(c->job);
        first = false;
    }
    // After an invalid size the rest is lost, because the next message cannot
    // be found.
    if (broken) import_bad(c->job, "broken_message", IMPORT_NONE);
    c->job->is_cut = broken;
    free(bytes);
    return !c->out_of_memory && !c->old;
}
