/*
    operators.c - the operators of a Chakra trace that was made of an execution
    trace of PyTorch, with their record function ids
*/
#include "tools/import/chakra/chakra.h"
#include "tools/import/execution/execution.h"

static void take_text(execution_file *file, const char *key, import_wire w)
{
    execution_node_value(file, key, EXECUTION_STRING, (const char *)w.at,
                         (size_t)(w.end - w.at));
}

static void take_id(execution_file *file, uint64_t id)
{
    char text[24];
    const int size = snprintf(text, sizeof text, "%" PRIu64, id);
    execution_node_value(file, "id", EXECUTION_NUMBER, text, (size_t)size);
}

// Takes the values, shapes and types of inputs or outputs: "input" or "output".
static void take_tensors(execution_file *file, const char *word, import_wire w)
{
    static const char *const names[] = { "s", "_shapes", "_types" };
    import_field f;
    char key[24];
    while (import_wire_field(&w, &f)) {
        if (f.type != IMPORT_BYTES || f.number < 1 || f.number > 3) continue;
        snprintf(key, sizeof key, "%s%s", word, names[f.number - 1]);
        take_text(file, key, f.bytes);
    }
}

// Takes an attribute. False: its node is no operator of the host.
static bool take_attribute(execution_file *file, chakra_text *text,
                           import_wire w)
{
    chakra_attribute a;
    char key[EXECUTION_KEY];
    if (!chakra_attribute_take(w, &a) || a.name.size >= sizeof key) {
        file->left_out++;
        return true;
    }
    memcpy(key, a.name.text, a.name.size);
    key[a.name.size] = 0;
    if (!strcmp(key, "name")) return true;
    if (a.text.text)
        execution_node_value(file, key, EXECUTION_STRING, a.text.text,
                             a.text.size);
    else if (chakra_print(text, &a))
        execution_node_value(file, key,
                             a.field % 2 ? EXECUTION_NUMBER : EXECUTION_STRING,
                             text->data, text->size);
    else
        file->left_out++;
    return strcmp(key, "is_cpu_op") || a.number > 0;
}

enum { CONTROL, DATA, UINT64_LIST = 14 };

// Takes the dependencies of a node as lists.
static void take_deps(execution_file *file, chakra_text *deps)
{
    static const char *const keys[] = { "ctrl_deps", "data_deps" };
    for (int i = CONTROL; i <= DATA; i++) {
        if (!deps[i].size || deps[i].no_memory) continue;
        deps[i].data[deps[i].size++] = ']'; // there is room for one
        execution_node_value(file, keys[i], EXECUTION_STRING, deps[i].data,
                             deps[i].size);
        deps[i].size = 0;
    }
}

// What texts are made in, for all nodes.
typedef struct texts {
    chakra_text value, deps[2];
} texts;

// Returns whether the node is well-formed.
static bool take_node(execution_file *file, texts *t, import_wire w)
{
    import_field f;
    bool on_host = true, good = true;
    execution_node_begin(file);
    while (good && import_wire_field(&w, &f)) {
        const bool is_bytes = f.type == IMPORT_BYTES;
        if (f.number == 1 && f.type == IMPORT_VARINT)
            take_id(file, f.value);
        else if (f.number == 2 && is_bytes)
            take_text(file, "name", f.bytes);
        else if (f.number == 4 || f.number == 5)
            good = chakra_list_add(&t->deps[f.number - 4], UINT64_LIST, &f);
        else if ((f.number == 8 || f.number == 9) && is_bytes)
            take_tensors(file, f.number == 8 ? "input" : "output", f.bytes);
        else if (f.number == 10 && is_bytes)
            on_host = take_attribute(file, &t->value, f.bytes) && on_host;
    }
    take_deps(file, t->deps);
    file->no_memory |= t->value.no_memory || t->deps[CONTROL].no_memory ||
                       t->deps[DATA].no_memory;
    if (!on_host) file->open.id = 0;
    execution_node_end(file);
    return good && w.at == w.end;
}

static void take_metadata(execution_file *file, import_wire w)
{
    import_field f;
    chakra_attribute a;
    while (import_wire_field(&w, &f)) {
        if (f.type != IMPORT_BYTES || !chakra_attribute_take(f.bytes, &a))
            continue;
        if (cli_is_text(a.name, "pid")) file->process = a.number;
        if (cli_is_text(a.name, "schema") && a.text.text)
            snprintf(file->schema, sizeof file->schema, "%.*s",
                     a.text.size < 63 ? (int)a.text.size : 63, a.text.text);
    }
}

const char *execution_read_protobuf(execution_file *file, import_source *source)
{
    uint8_t *bytes = NULL;
    size_t room = 0;
    uint64_t size;
    texts t = { 0 };
    bool broken = false, first = true;
    while (!file->no_memory && !broken &&
           chakra_read_size(source, &size, &broken)) {
        if (!cli_grow(&bytes, &room, (size_t)size + 1, 1)) {
            file->no_memory = true;
            break;
        }
        const import_wire w = { bytes, bytes + size };
        broken = import_source_read(source, bytes, (size_t)size) != size;
        if (!broken && first)
            take_metadata(file, w);
        else if (!broken)
            broken = !take_node(file, &t, w);
        first = false;
    }
    free(bytes);
    free(t.value.data);
    free(t.deps[CONTROL].data);
    free(t.deps[DATA].data);
    return broken ? "the file is truncated or damaged" : NULL;
}
