/*
    execution.c - operators of execution traces, by process and id

    A file keeps the values of its nodes one after the other, each as the number
    of its key, its type, its size and its bytes. A node's name is a value, too.
*/
#include "tools/import/execution/execution.h"

#include <stdlib.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

enum { NAME_KEY = 255, VALUE_HEAD = 6 }; // key, type, 4 bytes of size

/* ---- Nodes as they are read --------------------------------------------- */

void execution_node_begin(execution_file *file)
{
    file->open = (execution_node){ .at = file->size };
}

static bool add(execution_file *file, uint8_t key, execution_type type,
                const char *text, size_t size)
{
    const uint32_t kept =
        size > EXECUTION_TEXT ? EXECUTION_TEXT : (uint32_t)size;
    file->truncated += kept < size;
    if (!cli_grow(&file->bytes, &file->bytes_room,
                  file->size + VALUE_HEAD + kept, 1)) {
        file->no_memory = true;
        return false;
    }
    uint8_t *const to = file->bytes + file->size;
    to[0] = key;
    to[1] = (uint8_t)type;
    memcpy(to + 2, &kept, sizeof kept);
    memcpy(to + VALUE_HEAD, text, kept);
    file->size += VALUE_HEAD + kept;
    return true;
}

// Returns the number of a key; NAME_KEY: there are too many.
static uint8_t key_of(execution_file *file, const char *key)
{
    size_t i = 0;
    while (i < file->key_count && strcmp(file->keys[i], key))
        i++;
    if (i < file->key_count) return (uint8_t)i;
    if (i == EXECUTION_KEYS || strlen(key) >= sizeof *file->keys)
        return NAME_KEY;
    memcpy(file->keys[file->key_count++], key, strlen(key) + 1);
    return (uint8_t)i;
}

static uint64_t number_of(const char *text, size_t size)
{
    uint64_t number = 0;
    for (size_t i = 0; i < size; i++) {
        const unsigned digit = (unsigned char)text[i] - '0';
        if (digit > 9 || __builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, digit, &number))
            return 0;
    }
    return number;
}

void execution_node_value(execution_file *file, const char *key,
                          execution_type type, const char *text, size_t size)
{
    execution_node *const node = &file->open;
    if (!strcmp(key, "rf_id")) {
        node->id = number_of(text, size);
    } else if (!strcmp(key, "name")) {
        if (!add(file, NAME_KEY, type, text, size)) return;
        node->name_size = size > EXECUTION_TEXT ? EXECUTION_TEXT : size;
        node->name_at = file->size - node->name_size;
    } else if (size && (size != 2 || memcmp(text, "[]", 2))) {
        const uint8_t number = key_of(file, key);
        if (number != NAME_KEY)
            add(file, number, type, text, size);
        else
            file->left_out++;
    }
}

static uint64_t key_of_name(uint64_t id, const void *name, size_t size)
{
    return XXH3_64bits_withSeed(name, size, id);
}

void execution_node_end(execution_file *file)
{
    execution_node *const node = &file->open;
    node->end = file->size;
    file->size = node->at;
    if (!node->id || !node->name_size) return;
    uint64_t *const index = cli_map_at(
        &file->named,
        key_of_name(node->id, file->bytes + node->name_at, node->name_size));
    uint64_t *const first = cli_map_at(&file->node_of, node->id);
    if (!index || !first ||
        !cli_grow(&file->nodes, &file->room, file->count + 1,
                  sizeof *file->nodes)) {
        file->no_memory = true;
        return;
    }
    file->doubles += *index != 0;
    if (*index) return;
    file->size = node->end;
    file->nodes[file->count++] = *node;
    *index = file->count;
    if (!*first) *first = file->count;
}

/* ---- Files -------------------------------------------------------------- */

static void close_file(execution_file *file)
{
    free(file->from);
    free(file->profile);
    free(file->nodes);
    free(file->bytes);
    cli_map_close(&file->node_of);
    cli_map_close(&file->named);
}

bool import_executions_add(import_executions *all, const cli_tool *tool,
                           import_source *source)
{
    const char *const from = import_source_name(source);
    size_t size;
    const uint8_t *const head = import_source_head(source, &size);
    if (!cli_grow(&all->files, &all->room, all->count + 1, sizeof *all->files))
        return cli_out_of_memory(tool);
    execution_file *const file = &all->files[all->count++];
    *file =
        (execution_file){ .process = IMPORT_NONE,
                          .rank = execution_rank(import_source_base(source)),
                          .from = strdup(from) };
    file->no_memory = !file->from;
    file->is_chakra = !execution_is_json(head, size);
    const char *const wrong = file->is_chakra
                                  ? execution_read_protobuf(file, source)
                                  : execution_read_json(file, source);
    const char *const why = import_source_error(source);
    if (file->no_memory) return cli_out_of_memory(tool);
    // What has no ids is dropped, and its errors are said when it is imported.
    if ((why || wrong) && (!file->is_chakra || file->count))
        return cli_fail(tool, TS_ERR_CORRUPT, from,
                        "%s; what is before is used", why ? why : wrong);
    return true;
}

bool import_executions_drop(import_executions *all)
{
    if (!all->count) return false;
    execution_file *const last = &all->files[all->count - 1];
    if (!last->is_chakra || last->count) return false;
    close_file(last);
    all->count--;
    return true;
}

size_t import_executions_unused(const import_executions *all,
                                const cli_tool *tool)
{
    size_t unused = 0;
    for (size_t i = 0; i < all->count; i++) {
        if (all->files[i].all || all->files[i].is_refused) continue;
        unused++;
        cli_fail(tool, TS_ERR_NOT_FOUND, all->files[i].from,
                 "no operator of the other files has its process and a record "
                 "function id of it");
    }
    return unused;
}

void import_executions_close(import_executions *all)
{
    for (size_t i = 0; i < all->count; i++)
        close_file(&all->files[i]);
    free(all->files);
    execution_profiles_close(all);
}

/* ---- Joining ------------------------------------------------------------ */

static void put_value(import_job *job, uint32_t thread, int64_t start_ns,
                      uint32_t site, const char *key, execution_type type,
                      const char *text, size_t size)
{
    char name[EXECUTION_KEY + 8], *end, copy[32];
    const size_t name_size = (size_t)snprintf(name, sizeof name, "et.%s", key);
    const uint32_t number = import_name(job, name, name_size);
    if (type == EXECUTION_TRUE || type == EXECUTION_FALSE) {
        import_zone_int(job, thread, start_ns, site, number,
                        type == EXECUTION_TRUE);
        return;
    }
    if (type == EXECUTION_STRING || size >= sizeof copy) {
        import_zone_text(job, thread, start_ns, site, number, text, size);
        return;
    }
    memcpy(copy, text, size);
    copy[size] = 0;
    errno = 0;
    const int64_t whole = strtoll(copy, &end, 10);
    if (!*end && !errno)
        import_zone_int(job, thread, start_ns, site, number, whole);
    else if (!*end) // it keeps its digits
        import_zone_text(job, thread, start_ns, site, number, text, size);
    else
        import_zone_double(job, thread, start_ns, site, number,
                           strtod(copy, NULL));
}

static void put_node(import_job *job, const execution_file *file,
                     const execution_node *node, uint32_t thread,
                     int64_t start_ns, uint32_t site)
{
    for (size_t at = node->at; at < node->end;) {
        const uint8_t *const value = file->bytes + at;
        uint32_t size;
        memcpy(&size, value + 2, sizeof size);
        if (value[0] != NAME_KEY)
            put_value(job, thread, start_ns, site, file->keys[value[0]],
                      (execution_type)value[1],
                      (const char *)value + VALUE_HEAD, size);
        at += VALUE_HEAD + size;
    }
}

void import_executions_join(import_job *job, int64_t process, int64_t id,
                            const char *name, size_t size, uint32_t thread,
                            int64_t start_ns, uint32_t site)
{
    const import_executions *const all = job->executions;
    for (size_t i = 0; all && id && i < all->count; i++) {
        execution_file *const file = &all->files[i];
        if (file->process != process) continue;
        if (!cli_map_find(&file->node_of, (uint64_t)id) ||
            !execution_is_for(file, job))
            continue;
        const uint64_t *const index =
            cli_map_find(&file->named, key_of_name((uint64_t)id, name, size));
        execution_node *const node =
            index && *index ? &file->nodes[*index - 1] : NULL;
        if (!node || node->id != (uint64_t)id || node->name_size != size ||
            memcmp(file->bytes + node->name_at, name, size)) {
            import_flaw(job, "other_execution_name");
            continue;
        }
        put_node(job, file, node, thread, start_ns, site);
        file->joined += !node->joined;
        file->all++;
        node->joined = true;
        return;
    }
}

// Says that the job lacks its arguments. Returns false.
static bool refuse_second(import_job *job, execution_file *file)
{
    file->is_claimed = false;
    return cli_fail(job->tool, TS_ERR_USAGE, import_source_name(job->source),
                    "it has the process of %s, which is joined with %s "
                    "already; import each profile with its own execution trace",
                    file->from, file->profile);
}

bool import_executions_end(import_job *job)
{
    static const char rest[] = "operators of an execution trace";
    static const char values[] = "values of an execution trace";
    const import_executions *const all = job->executions;
    bool ok = true;
    for (size_t i = 0; all && i < all->count; i++) {
        execution_file *const file = &all->files[i];
        if (file->is_claimed) ok = refuse_second(job, file);
        if (!file->joined) continue;
        import_meta_text(job, 0, "execution_trace.schema", file->schema,
                         strlen(file->schema));
        import_meta_int(job, 0, "execution_trace.operators",
                        (int64_t)file->count);
        import_meta_int(job, 0, "execution_trace.joined",
                        (int64_t)file->joined);
        if (file->left_out)
            import_unowned_many(job, values, sizeof values - 1, file->left_out);
        for (uint64_t k = 0; k < file->truncated; k++)
            import_flaw(job, "truncated_execution_value");
        for (uint64_t k = 0; k < file->doubles; k++)
            import_flaw(job, "duplicate_execution_id");
        if (file->count > file->joined)
            import_unowned_many(job, rest, sizeof rest - 1,
                                file->count - file->joined);
        for (size_t k = 0; k < file->count; k++)
            file->nodes[k].joined = false;
        file->joined = 0;
    }
    return ok;
}
