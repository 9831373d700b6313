/*
    read.c - Chakra execution traces: decodes protobuf to nodes

    A file is a sequence of messages, each preceded by its size as a varint: one
    GlobalMetadata, then nodes. Source: schema/protobuf/et_def.proto of
    mlcommons/chakra, versions 0.0.4 to 1.0; encoding: protobuf.dev.
*/
#include "tools/import/chakra/chakra.h"
#include "tools/import/wire.h"

/* ---- Attributes --------------------------------------------------------- */

enum { STRING = 29, BYTES = 31 }; // fields of AttributeProto

static void take_value(chakra_attribute *a, const import_field *f)
{
    if (!chakra_is_value(f->number)) return;
    a->field = f->number;
    a->value = *f;
    a->number = chakra_number(f->number, f);
    if ((f->number != STRING && f->number != BYTES) || f->type != IMPORT_BYTES)
        return;
    a->text.text = (const char *)f->bytes.at;
    a->text.size = (size_t)(f->bytes.end - f->bytes.at);
}

bool chakra_attribute_take(import_wire w, chakra_attribute *a)
{
    import_field f;
    *a = (chakra_attribute){ .name = { "", 0 }, .number = IMPORT_NONE };
    while (import_wire_field(&w, &f)) {
        if (f.number == 1 && f.type == IMPORT_BYTES) {
            a->name.text = (const char *)f.bytes.at;
            a->name.size = (size_t)(f.bytes.end - f.bytes.at);
        }
        take_value(a, &f);
    }
    return w.at == w.end && a->name.size;
}

/* ---- Recognising -------------------------------------------------------- */

static bool is_metadata(import_wire w)
{
    import_field f;
    chakra_attribute a;
    bool any = false;
    for (; import_wire_field(&w, &f); any = true)
        if (f.type != IMPORT_BYTES || f.number > 2 ||
            (f.number == 2 && !chakra_attribute_take(f.bytes, &a)))
            return false;
    return any && w.at == w.end;
}

// The buffer may contain only the beginning of a node.
static bool is_node(import_wire w)
{
    static const uint8_t types[] = { 0,
                                     IMPORT_VARINT,
                                     IMPORT_BYTES,
                                     IMPORT_VARINT,
                                     IMPORT_BYTES,
                                     IMPORT_BYTES,
                                     IMPORT_VARINT,
                                     IMPORT_VARINT,
                                     IMPORT_BYTES,
                                     IMPORT_BYTES,
                                     IMPORT_BYTES,
                                     IMPORT_BYTES };
    import_field f;
    bool named = false;
    while (import_wire_field(&w, &f)) {
        if (f.number >= sizeof types) return false;
        if (f.type != types[f.number] &&
            !((f.number == 4 || f.number == 5) && f.type == IMPORT_VARINT))
            return false;
        named = named || f.number == 2;
    }
    return named;
}

bool chakra_is(const uint8_t *head, size_t size)
{
    import_wire w = { head, head + size }, message;
    uint64_t node_size;
    if (!import_wire_bytes(&w, &message) || !is_metadata(message)) return false;
    if (w.at == w.end) return true; // no nodes
    if (!import_wire_varint(&w, &node_size) || node_size > CHAKRA_MESSAGE_MAX)
        return false;
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
static bool take_deps(chakra *c, import_field *f)
{
    const bool is_data = f->number == 5;
    uint64_t id;
    if (f->type == IMPORT_VARINT) take_dep(c, f->value, is_data);
    if (f->type != IMPORT_BYTES) return f->type == IMPORT_VARINT;
    while (f->bytes.at < f->bytes.end) {
        if (!import_wire_varint(&f->bytes, &id)) return false;
        take_dep(c, id, is_data);
    }
    return true;
}

// Converts microseconds; IMPORT_NONE if the result does not fit.
static int64_t to_ns(uint64_t us)
{
    return us > (uint64_t)INT64_MAX / 4000 ? IMPORT_NONE : (int64_t)(us * 1000);
}

// Nanoseconds within the limits of to_ns.
static int64_t to_exact(int64_t ns)
{
    return ns < 0 || ns > INT64_MAX / 4 ? IMPORT_NONE : ns;
}

static uint64_t to_count(int64_t number)
{
    return number < 0 ? 0 : (uint64_t)number;
}

static void use_attribute(chakra *c, chakra_node *node,
                          const chakra_attribute *a)
{
    char what[60];
    if (cli_is_text(a->name, "is_cpu_op"))
        node->on_host = a->number > 0;
    else if (cli_is_text(a->name, "tid") || cli_is_text(a->name, "stream"))
        node->thread = a->number;
    else if (cli_is_text(a->name, "device"))
        node->device = a->number == IMPORT_NONE ? 0 : a->number;
    else if (cli_is_text(a->name, "context")) // of ts-export, as the next
        node->context = a->number;
    else if (cli_is_text(a->name, "pid"))
        node->process = a->number;
    else if (cli_is_text(a->name, "start_ns"))
        node->exact_start_ns = to_exact(a->number);
    else if (cli_is_text(a->name, "duration_ns"))
        node->exact_duration_ns = to_exact(a->number);
    else if (cli_is_text(a->name, "comm_type"))
        node->comm_type = a->number;
    else if (cli_is_text(a->name, "comm_size") ||
             cli_is_text(a->name, "tensor_size"))
        node->size = a->number == IMPORT_NONE ? 0 : to_count(a->number);
    else if (cli_is_text(a->name, "comm_tag"))
        node->tag = a->number;
    else if (cli_is_text(a->name, "comm_src") ||
             cli_is_text(a->name, "comm_dst"))
        node->peer =
            (cli_is_text(a->name, "comm_dst") == (node->type == CHAKRA_SEND))
                ? a->number
                : node->peer;
    else if (cli_is_text(a->name, "pg_name") && a->text.text)
        node->group = import_communicator(a->text.text, a->text.size);
    else if (cli_is_text(a->name, "comm_group") && a->number != IMPORT_NONE)
        node->group = import_communicator((const char *)&a->number, 8);
    else {
        const int size = snprintf(what, sizeof what, "attribute %.*s",
                                  (int)(a->name.size < 40 ? a->name.size : 40),
                                  a->name.text);
        import_unowned(c->job, what, (size_t)size);
    }
}

static bool take_node_field(chakra *c, chakra_node *node, import_field *f)
{
    const int64_t ns = to_ns(f->value);
    chakra_attribute a;
    switch (f->number) {
    case 1: node->id = f->value; return f->type == IMPORT_VARINT;
    case 2:
        node->name = import_name(c->job, (const char *)f->bytes.at,
                                 (size_t)(f->bytes.end - f->bytes.at));
        return f->type == IMPORT_BYTES;
    case 3:
        node->type = f->value > CHAKRA_COLLECTIVE ? 0 : (uint8_t)f->value;
        return f->type == IMPORT_VARINT;
    case 4:
    case 5: return take_deps(c, f);
    case 6:
        if (f->value) node->start_ns = ns;
        return f->type == IMPORT_VARINT && ns != IMPORT_NONE;
    case 7:
        node->duration_ns = ns;
        return f->type == IMPORT_VARINT && ns != IMPORT_NONE;
    case 8: import_unowned(c->job, "inputs", 6); return true;
    case 9: import_unowned(c->job, "outputs", 7); return true;
    case 10:
        if (f->type != IMPORT_BYTES || !chakra_attribute_take(f->bytes, &a))
            return false;
        use_attribute(c, node, &a);
        return true;
    case 11: c->old = true; return true;
    default: import_unowned(c->job, "unknown fields", 14); return true;
    }
}

static void take_node(chakra *c, import_wire w)
{
    chakra_node node = { .start_ns = IMPORT_NONE,
                         .thread = IMPORT_NONE,
                         .context = IMPORT_NONE,
                         .process = IMPORT_NONE,
                         .exact_start_ns = IMPORT_NONE,
                         .exact_duration_ns = IMPORT_NONE,
                         .comm_type = IMPORT_NONE,
                         .peer = IMPORT_NONE,
                         .tag = IMPORT_NONE,
                         .first_dep = (uint32_t)c->dep_count };
    import_field f;
    bool good = true;
    while (good && import_wire_field(&w, &f))
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
    if (node.exact_start_ns != IMPORT_NONE) node.start_ns = node.exact_start_ns;
    if (node.exact_duration_ns != IMPORT_NONE)
        node.duration_ns = node.exact_duration_ns;
    node.dep_count = (uint32_t)(c->dep_count - node.first_dep);
    c->has_times = c->has_times || node.start_ns != IMPORT_NONE;
    c->nodes[c->count++] = node;
}

// Reads facts about the session.
static void take_metadata(chakra *c, import_wire w)
{
    import_field f;
    chakra_text text = { 0 };
    chakra_attribute a;
    while (import_wire_field(&w, &f)) {
        char key[80] = "chakra.version";
        a = (chakra_attribute){ .text = { (const char *)f.bytes.at,
                                          (size_t)(f.bytes.end - f.bytes.at) },
                                .number = IMPORT_NONE };
        if (f.type != IMPORT_BYTES) continue;
        // In 0.0.4 field 1 is an attribute, later the version.
        chakra_attribute inner;
        if (chakra_attribute_take(f.bytes, &inner)) {
            a = inner;
            snprintf(key, sizeof key, "chakra.%.*s",
                     (int)(a.name.size < 60 ? a.name.size : 60), a.name.text);
        }
        if (cli_is_text(a.name, "pid")) c->process = a.number;
        if (a.text.text)
            import_meta_text(c->job, 0, key, a.text.text, a.text.size);
        else if (a.number != IMPORT_NONE)
            import_meta_int(c->job, 0, key, a.number);
        else if (chakra_print(&text, &a))
            import_meta_text(c->job, 0, key, text.data, text.size);
        else
            import_unowned(c->job, "metadata", 8);
    }
    c->out_of_memory |= text.no_memory;
    free(text.data);
}

/* ---- Messages ----------------------------------------------------------- */

bool chakra_read_size(import_source *source, uint64_t *size, bool *broken)
{
    uint8_t bytes[10];
    for (size_t i = 0; i < sizeof bytes; i++) {
        if (import_source_read(source, &bytes[i], 1) != 1) {
            *broken = i > 0;
            return false;
        }
        import_wire w = { bytes, bytes + i + 1 };
        if (bytes[i] >= 0x80) continue;
        *broken = !import_wire_varint(&w, size) || *size > CHAKRA_MESSAGE_MAX;
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
           chakra_read_size(c->job->source, &size, &broken)) {
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
        const import_wire w = { bytes, size ? bytes + size : bytes };
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
