/*
    metadata.c - labels of processes and threads, devices, the session
*/
#include "tools/import/kineto/kineto.h"
#include <ctype.h>

/* ---- Values beside the events ------------------------------------------- */

// Converts "totalGlobalMem" to "total_global_mem"; other characters become
// underscores.
static void snake(char *to, size_t room, const char *prefix, const char *key,
                  size_t size)
{
    size_t n = (size_t)snprintf(to, room, "%s", prefix);
    for (size_t i = 0; i < size && n + 2 < room; i++) {
        const unsigned char c = (unsigned char)key[i];
        const bool after_small = i && (islower((unsigned char)key[i - 1]) ||
                                       isdigit((unsigned char)key[i - 1]));
        if (isupper(c) && after_small) to[n++] = '_';
        to[n++] = isalnum(c) || c == '.' ? (char)tolower(c) : '_';
    }
    to[n] = 0;
}

static void put_fact(kineto *k, uint32_t track, const char *key,
                     kineto_value value)
{
    int64_t number;
    double real;
    switch (value.type) {
    case KINETO_NUMBER:
        if (!kineto_is_real(value) && kineto_int(value, &number))
            import_meta_int(k->job, track, key, number);
        else if (kineto_double(value, &real))
            import_meta_double(k->job, track, key, real);
        break;
    case KINETO_TRUE:
    case KINETO_FALSE:
        import_meta_int(k->job, track, key, value.type == KINETO_TRUE);
        break;
    case KINETO_TEXT:
    case KINETO_NESTED:
        import_meta_text(k->job, track, key, value.text, value.size);
        break;
    case KINETO_NULL:
    case KINETO_NONE: break;
    }
}

static void take_device(kineto *k)
{
    int64_t id;
    if (!kineto_int(kineto_find(k->row, "id"), &id)) {
        import_bad(k->job, "device_without_id", IMPORT_NONE);
        return;
    }
    const uint32_t track = import_device(k->job, id);
    for (size_t i = 0; i < k->row->arg_count; i++) {
        const kineto_arg *const arg = &k->row->args[i];
        char key[96];
        snake(key, sizeof key, "", arg->key, arg->key_size);
        if (!strcmp(key, "id")) continue;
        if (!strcmp(key, "name") && arg->value.type == KINETO_TEXT)
            import_track_name(k->job, track, arg->value.text, arg->value.size);
        put_fact(k, track,
                 !strcmp(key, "total_global_mem") ? "memory_bytes"
                 : !strcmp(key, "num_sms")        ? "multiprocessors"
                                                  : key,
                 arg->value);
    }
}

static void take_distributed(kineto *k, const char *key, kineto_value value)
{
    int64_t number;
    char name[128];
    if (!strcmp(key, "rank") && kineto_int(value, &number))
        k->job->rank = number;
    else if (!strcmp(key, "world_size") && kineto_int(value, &number))
        k->job->world_size = number;
    else if (!strcmp(key, "pg_config"))
        put_fact(k, 0, "process_groups", value);
    else if (snprintf(name, sizeof name, "distributed.%s", key) > 0)
        put_fact(k, 0, name, value);
}

static bool is_key(const kineto_row *row, const char *key)
{
    return row->key_size == strlen(key) &&
           !memcmp(row->key, key, row->key_size);
}

static void take_object(kineto *k)
{
    const bool distributed = is_key(k->row, "distributedInfo");
    char prefix[64], key[128];
    snake(prefix, sizeof prefix, "", k->row->key, k->row->key_size);
    strncat(prefix, ".", sizeof prefix - strlen(prefix) - 1);
    for (size_t i = 0; i < k->row->arg_count; i++) {
        const kineto_arg *const arg = &k->row->args[i];
        snake(key, sizeof key, distributed ? "" : prefix, arg->key,
              arg->key_size);
        if (distributed)
            take_distributed(k, key, arg->value);
        else
            put_fact(k, 0, key, arg->value);
    }
}

// Leaves out the parts of Chrome's traces that are neither events nor facts.
static bool leave_out(kineto *k)
{
    static const char *const keys[] = { "systemTraceEvents", "stackFrames",
                                        "samples" };
    if (k->row->place == KINETO_DEVICE) return false;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (is_key(k->row, keys[i])) {
            import_unowned(k->job, keys[i], strlen(keys[i]));
            return true;
        }
    return false;
}

void kineto_take_metadata(kineto *k)
{
    const kineto_arg *const arg = &k->row->args[0];
    char key[96];
    if (leave_out(k)) return;
    if (k->row->place == KINETO_DEVICE) {
        take_device(k);
    } else if (k->row->place == KINETO_OBJECT) {
        take_object(k);
    } else {
        int64_t base;
        snake(key, sizeof key, "", arg->key, arg->key_size);
        if (!strcmp(key, "base_time_nanoseconds") &&
            kineto_int(arg->value, &base)) {
            k->job->has_unix_offset = true;
            k->job->unix_offset_ns = base;
        }
        put_fact(k, 0, key, arg->value);
    }
}

/* ---- Names of processes and threads ------------------------------------- */

// Imports what a row of phase M says that is no label: facts of its process,
// such as "version.node".
static void take_facts(kineto *k)
{
    const kineto_value name = k->row->fields[KINETO_NAME];
    int64_t pid;
    char prefix[64], key[128];
    if (name.type != KINETO_TEXT || !k->row->arg_count ||
        !kineto_int(k->row->fields[KINETO_PID], &pid)) {
        kineto_no_place(k, "labels", 6);
        return;
    }
    const uint32_t process = import_process(k->job, pid);
    snake(prefix, sizeof prefix - 1, "", name.text, name.size);
    strcat(prefix, ".");
    for (size_t i = 0; i < k->row->arg_count; i++) {
        const kineto_arg *const arg = &k->row->args[i];
        snake(key, sizeof key, prefix, arg->key, arg->key_size);
        put_fact(k, process, key, arg->value);
    }
}

void kineto_take_label(kineto *k)
{
    static const struct {
        const char *row, *key;
        char kind;
        bool of_thread;
    } kinds[] = {
        { "process_name", "name", 'n', false },
        { "process_labels", "labels", 'l', false },
        { "process_sort_index", "sort_index", 's', false },
        { "thread_name", "name", 'n', true },
        { "thread_sort_index", "sort_index", 's', true },
    };
    const kineto_value name = k->row->fields[KINETO_NAME];
    kineto_label label = { .tid = IMPORT_NONE };
    size_t i = 0;
    while (i < 5 && !kineto_is(name, kinds[i].row))
        i++;
    if (i == 5) {
        take_facts(k);
        return;
    }
    const kineto_value value = kineto_find(k->row, kinds[i].key);
    // Labels of rows such as "Spans" apply only to these rows.
    if (k->label_count == KINETO_LABELS ||
        !kineto_int(k->row->fields[KINETO_PID], &label.pid) ||
        (kinds[i].of_thread &&
         !kineto_int(k->row->fields[KINETO_TID], &label.tid))) {
        kineto_no_place(k, "labels", 6);
        return;
    }
    label.kind = kinds[i].kind;
    kineto_int(value, &label.index);
    if (value.type == KINETO_TEXT) {
        label.size =
            value.size < sizeof label.text ? value.size : sizeof label.text;
        memcpy(label.text, value.text, label.size);
        while (label.size && label.text[label.size - 1] == ' ')
            label.size--;
    }
    if (!k->labels) k->labels = malloc(KINETO_LABELS * sizeof *k->labels);
    if (k->labels) k->labels[k->label_count++] = label;
}

// Returns whether a pid stands for a device: its label is "GPU 0", not "CPU".
// With other labels, such as the title of a page in Chrome, or none: if it has
// streams.
static bool is_device(const kineto *k, int64_t pid)
{
    for (size_t i = 0; i < k->label_count; i++) {
        const kineto_label *const l = &k->labels[i];
        if (l->kind != 'l' || l->pid != pid || l->size < 3) continue;
        if (!memcmp(l->text, "GPU", 3)) return true;
        if (l->size == 3 && !memcmp(l->text, "CPU", 3)) return false;
    }
    for (size_t i = 0; i < k->stream_count; i++)
        if (k->streams[i].device == pid) return true;
    return k->old.job && import_known_device(k->job, pid);
}

static void put_label(kineto *k, uint32_t track, const kineto_label *l)
{
    if (l->kind == 's')
        import_meta_int(k->job, track, "sort_index", l->index);
    else if (l->kind == 'l')
        import_meta_text(k->job, track, "labels", l->text, l->size);
    else
        import_track_name(k->job, track, l->text, l->size);
}

static void label_device(kineto *k, const kineto_label *l)
{
    if (l->tid == IMPORT_NONE) {
        const uint32_t device = import_known_device(k->job, l->pid);
        // The name is that of the process; devices have names of their own.
        if (device && l->kind != 'n') put_label(k, device, l);
        return;
    }
    for (size_t i = 0; i < k->stream_count; i++)
        if (k->streams[i].device == l->pid && k->streams[i].stream == l->tid)
            put_label(k, k->streams[i].track, l);
}

// Flags default streams: CUPTI numbers that of every context 7, ROCm 0.
static void flag_streams(kineto *k)
{
    for (size_t i = 0; i < k->stream_count; i++) {
        const kineto_stream *const s = &k->streams[i];
        const bool is_default = s->stream == (k->is_hip ? 0 : 7);
        import_track_flags(k->job, s->track,
                           s->flags |
                               (is_default ? TS_STREAM_LEGACY_DEFAULT : 0));
    }
}

void kineto_end(kineto *k)
{
    for (size_t i = 0; i < k->label_count; i++) {
        const kineto_label *const l = &k->labels[i];
        if (is_device(k, l->pid))
            label_device(k, l);
        else if (l->tid == IMPORT_NONE)
            put_label(k, import_process(k->job, l->pid), l);
        else
            put_label(k, import_thread(k->job, l->pid, l->tid), l);
    }
    flag_streams(k);
    for (size_t i = 0; i < KINETO_UNUSED; i++)
        if (k->unused[i].count)
            import_unowned_many(k->job, k->unused[i].text,
                                strlen(k->unused[i].text), k->unused[i].count);
    // Without a base, times are Unix times if they are large enough.
    if (!k->job->has_unix_offset && k->job->first_ns <= k->job->last_ns)
        k->job->has_unix_offset = k->job->first_ns >= KINETO_UNIX_FROM;
}
