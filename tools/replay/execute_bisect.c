/*
    execute_bisect.c - the operations that a divergence takes, as a trace
*/
#define TRACESMITH_WRITER
#include "tools/replay/execute.h"

/* ---- Narrowing ----------------------------------------------------------- */

// Runs a part again on its own; *first: which row of it diverged first.
static bool try_part(const execute_job *job, size_t from, size_t to, bool chain,
                     size_t *first)
{
    execute_job part = *job;
    const size_t size = job->count * sizeof *job->rows;
    part.rows = malloc(size + 1);
    if (!part.rows) {
        cli_error(job->replay->tool, NULL, "out of memory");
        return false;
    }
    memcpy(part.rows, job->rows, size);
    const bool ok = execute_rows(&part, from, to, chain);
    *first = part.first;
    free(part.rows);
    return ok;
}

/*
    The shortest part that ends with `last` and in whose chain that one
    diverges. Longer parts are taken to diverge if a shorter one does.
*/
static bool shorten(const execute_job *job, size_t last, size_t *from)
{
    size_t low = 0, high = last; // diverges from low on, not from high on
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        size_t first;
        if (!try_part(job, middle, last + 1, true, &first)) return false;
        if (first == last)
            low = middle;
        else
            high = middle;
    }
    *from = low;
    return true;
}

// Which rows it takes.
static bool narrow(const execute_job *job, size_t *from, size_t *to)
{
    size_t first = job->first;
    *from = *to = job->first;
    if (!job->wish->chain) return true;
    if (!try_part(job, 0, job->first + 1, false, &first)) return false;
    if (first < job->count) {
        *from = *to = first;
        return true;
    }
    return shorten(job, *to, from);
}

/* ---- Writing ------------------------------------------------------------- */

static uint32_t copy_name(const execute_job *job, ts_writer *w, uint32_t name)
{
    const ts_text text = ts_reader_name(job->reader, name);
    return name ? ts_writer_name(w, text.text, text.size) : 0;
}

static void copy_tracks(const execute_job *job, ts_writer *w)
{
    ts_track t;
    for (size_t i = 0; ts_reader_track_at(job->reader, i, &t); i++) {
        const ts_track_entry entry = {
            .type = (uint8_t)t.type,
            .parent = t.parent,
            .name = ts_writer_name(w, t.name.text, t.name.size),
            .unit =
                t.unit.size ? ts_writer_name(w, t.unit.text, t.unit.size) : 0,
            .number = t.number,
            .flags = t.flags,
        };
        ts_writer_track(w, t.id, &entry);
    }
}

// False without memory.
static bool copy_blob(const execute_job *job, ts_writer *w,
                      const uint64_t hash[2])
{
    const void *bytes;
    size_t size;
    const ts_result result = ts_reader_blob(job->reader, hash, &bytes, &size);
    if (result == TS_OK) ts_writer_blob(w, bytes, size, NULL);
    ts_reader_blobs_free(job->reader);
    return result != TS_ERR_MEMORY;
}

static bool copy_list(const execute_job *job, ts_writer *w,
                      const uint64_t list[2])
{
    uint64_t *hashes;
    size_t count;
    bool ok = execute_list(job, list, &hashes, &count);
    for (size_t i = 0; ok && i < count; i++)
        ok = copy_blob(job, w, &hashes[2 * i]);
    free(hashes);
    return ok && ((!list[0] && !list[1]) || copy_blob(job, w, list));
}

static bool copy_image(const execute_job *job, ts_writer *w, uint32_t id)
{
    ts_capture_image image;
    if (!ts_reader_image(job->reader, id, &image)) return true;
    const ts_module_entry *const m =
        ts_reader_module(job->reader, image.module);
    const ts_text build = ts_reader_build_id(job->reader, image.module);
    ts_module_entry entry = { 0 };
    if (m) entry = *m;
    entry.path = copy_name(job, w, entry.path);
    image.module = ts_writer_module(w, &entry, build.text, build.size);
    image.vendor = copy_name(job, w, image.vendor);
    image.options = copy_name(job, w, image.options);
    if (!copy_blob(job, w, image.hash)) return false;
    ts_writer_capture(w, &image, sizeof image);
    return true;
}

typedef struct image_list {
    uint32_t *ids;
    size_t count, capacity;
} image_list;

// Once. False without memory.
static bool copy_image_once(const execute_job *job, ts_writer *w,
                            image_list *done, uint32_t id)
{
    for (size_t i = 0; i < done->count; i++)
        if (done->ids[i] == id) return true;
    if (!id) return true;
    if (done->count == done->capacity) {
        const size_t capacity = 2 * done->capacity + 16;
        uint32_t *const more = realloc(done->ids, capacity * sizeof *more);
        if (!more) return false;
        done->ids = more;
        done->capacity = capacity;
    }
    done->ids[done->count++] = id;
    return copy_image(job, w, id);
}

// The code of an operation, of the variables that it reaches, and of the nodes
// of a graph.
static bool copy_images(const execute_job *job, ts_writer *w, image_list *done,
                        const ts_capture *c)
{
    ts_capture_node node = { .index = 0 };
    bool ok = copy_image_once(job, w, done, c->head.image);
    for (uint32_t i = 0; ok && i < c->head.region_count; i++)
        ok = copy_image_once(job, w, done, c->regions[i].image);
    while (ok && ts_capture_node_next(c, &node))
        ok = copy_image_once(job, w, done, node.head.image);
    return ok;
}

// Nodes of a graph have names of their own.
static void rename_nodes(const execute_job *job, ts_writer *w, char *bytes,
                         const ts_capture *c)
{
    const uint8_t *const from = c->attributes.bytes;
    ts_capture_node node = { .index = 0 };
    while (ts_capture_node_next(c, &node)) {
        const uint8_t *const at =
            (const uint8_t *)node.after - sizeof node.head;
        node.head.name = copy_name(job, w, node.head.name);
        memcpy(bytes + (at - from), &node.head, sizeof node.head);
    }
}

static bool copy_record(const execute_job *job, ts_writer *w,
                        const ts_capture *c)
{
    ts_capture_operation head = c->head;
    const size_t params = head.param_count * sizeof *c->params;
    const size_t args = (head.args_size + 7u) & ~(size_t)7;
    const size_t regions = head.region_count * sizeof *c->regions;
    const size_t attributes = (size_t)c->attributes.size;
    char *const record =
        calloc(1, sizeof head + params + args + regions + attributes);
    if (!record) return false;
    bool ok = true;
    for (uint32_t i = 0; ok && i < head.region_count; i++)
        ok = copy_list(job, w, c->regions[i].before) &&
             copy_list(job, w, c->regions[i].after);
    head.name = copy_name(job, w, head.name);
    head.vendor = copy_name(job, w, head.vendor);
    memcpy(record, &head, sizeof head);
    if (params) memcpy(record + sizeof head, c->params, params);
    if (args) memcpy(record + sizeof head + params, c->args, head.args_size);
    if (regions)
        memcpy(record + sizeof head + params + args, c->regions, regions);
    if (attributes)
        memcpy(record + sizeof head + params + args + regions,
               c->attributes.bytes, attributes);
    rename_nodes(job, w, record + sizeof head + params + args + regions, c);
    ts_writer_capture(w, record,
                      sizeof head + params + args + regions + attributes);
    free(record);
    return ok;
}

static uint64_t copy_value(const execute_job *job, ts_writer *w,
                           ts_column column, uint64_t value)
{
    if (!value) return 0;
    if (column == TS_COLUMN_NAME) return copy_name(job, w, (uint32_t)value);
    if (column == TS_COLUMN_STACK) return 0;
    if (column == TS_COLUMN_SITE) {
        const ts_site_entry *const s =
            ts_reader_site(job->reader, (uint32_t)value);
        ts_site_entry site = { 0 };
        if (!s) return 0;
        site = *s;
        site.name = copy_name(job, w, site.name);
        site.category = copy_name(job, w, site.category);
        site.function = copy_name(job, w, site.function);
        site.file = copy_name(job, w, site.file);
        return ts_writer_site(w, &site);
    }
    if (column == TS_COLUMN_LAUNCH) {
        const ts_launch_entry *const l =
            ts_reader_launch(job->reader, (uint32_t)value);
        ts_launch_entry launch = { 0 };
        if (!l) return 0;
        launch = *l;
        launch.name = copy_name(job, w, launch.name);
        return ts_writer_launch(w, &launch);
    }
    return value;
}

static void copy_event(const execute_job *job, ts_writer *w,
                       const execute_row *row)
{
    ts_operation op;
    ts_columns columns = { 0 };
    uint32_t at;
    if (!ts_replay_operation(job->replay->replay, row->operation, &op) ||
        !execute_find_event(job, &op, &columns, &at)) {
        ts_columns_close(job->reader, &columns);
        return;
    }
    const uint8_t *const known = ts_event_columns(op.kind);
    ts_writer_value values[TS_COLUMN_LIMIT];
    size_t count = 0;
    for (size_t i = 0; known && known[i]; i++) {
        const ts_column column = (ts_column)known[i];
        if (column == TS_COLUMN_START || column == TS_COLUMN_DURATION ||
            !columns.values[column])
            continue;
        values[count].column = column;
        values[count++].value =
            copy_value(job, w, column, columns.values[column][at]);
    }
    ts_writer_event(w, op.kind, op.track, columns.start_ns[at],
                    columns.duration_ns[at], values, count);
    ts_columns_close(job->reader, &columns);
}

static bool write_rows(const execute_job *job, size_t from, size_t to)
{
    const ts_writer_desc desc = { .path = job->wish->output };
    ts_writer *w;
    bool ok = true;
    image_list images = { NULL, 0, 0 };
    ts_result result = ts_writer_open(&w, &desc);
    if (result == TS_OK) {
        copy_tracks(job, w);
        for (size_t i = from; ok && i <= to; i++) {
            const execute_row *const row = &job->rows[i];
            ts_capture c;
            copy_event(job, w, row);
            if (row->capture == EXECUTE_NONE ||
                !ts_reader_capture(job->reader, row->capture, &c))
                continue;
            ok = copy_images(job, w, &images, &c) && copy_record(job, w, &c);
        }
        ts_writer_metadata(
            w, 0, "bisect.of", TS_VALUE_TEXT,
            ts_writer_name(w, job->replay->path, strlen(job->replay->path)));
        result = ts_writer_close(w);
    }
    free(images.ids);
    if (result != TS_OK || !ok)
        cli_error(job->replay->tool, job->wish->output, "%s",
                  ok ? ts_result_text(result) : "out of memory");
    return result == TS_OK && ok;
}

bool execute_bisect(execute_job *job)
{
    size_t from, to;
    FILE *const out = job->wish->json ? stderr : stdout;
    if (job->first >= job->count) {
        fprintf(out, "nothing diverges: there is nothing to narrow down\n");
        return true;
    }
    if (!narrow(job, &from, &to) || !write_rows(job, from, to)) return false;
    if (from == to) {
        fprintf(out, "narrowed down to operation %" PRIu32 ", ",
                job->rows[to].operation);
        execute_put_row(out, job, &job->rows[to]);
    } else {
        fprintf(out,
                "no operation diverges from its recorded inputs; it takes "
                "%s, from %" PRIu32 " to %" PRIu32,
                cli_count(to - from + 1).s, job->rows[from].operation,
                job->rows[to].operation);
    }
    fputs("\n    written to ", out);
    cli_put_text(out, job->wish->output, strlen(job->wish->output));
    fputs(from == to ? "; run it with --execute --trust\n"
                     : "; run it with --execute --chain --trust\n",
          out);
    return true;
}
