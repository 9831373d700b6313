/*
    findings.c - losses and damage of a trace as items
*/
#include "tools/export/findings.h"
#include <stdlib.h>

/* ---- Losses and damage -------------------------------------------------- */

static void show_loss(export_rows *rows, export_args *args,
                      const ts_loss_row *loss)
{
    export_row *const row = export_rows_losses(rows, loss->track);
    export_item item = {
        .start_ns = loss->first_ns,
        .end_ns =
            loss->last_ns > loss->first_ns ? loss->last_ns : loss->first_ns,
        .category =
            export_text(loss->cause < TS_LOSS_STALL_FIRST ? "loss" : "stall"),
    };
    export_buffer name = { 0 };
    const char *const head =
        loss->cause < TS_LOSS_STALL_FIRST ? "lost: " : "stalled: ";
    export_put(&name, head, strlen(head));
    export_put(&name, ts_loss_name(loss->cause),
               strlen(ts_loss_name(loss->cause)));
    item.name = (ts_text){ (char *)name.data, name.size };
    const size_t from = args->count;
    export_add_uint(args, EXPORT_ARG_COUNT, loss->count);
    export_add_uint(args, EXPORT_ARG_CAUSE, loss->cause);
    export_add_name(args, EXPORT_ARG_DETAIL, loss->detail);
    if (loss->stall_ns)
        export_add_uint(args, EXPORT_ARG_STALL_NS, loss->stall_ns);
    item.args = args->args + from;
    item.arg_count = (uint32_t)(args->count - from);
    export_rows_slice(rows, row, &item);
    export_resize(name.data, 0);
}

static int by_start(const void *a, const void *b)
{
    const ts_loss_row *const x = a, *const y = b;
    if (x->first_ns != y->first_ns) return x->first_ns < y->first_ns ? -1 : 1;
    if (x->last_ns != y->last_ns) return x->last_ns > y->last_ns ? -1 : 1;
    if (x->track != y->track) return x->track < y->track ? -1 : 1;
    if (x->cause != y->cause) return x->cause < y->cause ? -1 : 1;
    return (x->detail > y->detail) - (x->detail < y->detail);
}

static bool is_outside(const export_options *options, int64_t first_ns,
                       int64_t last_ns)
{
    return options->from_ns != options->to_ns &&
           (last_ns < options->from_ns || first_ns >= options->to_ns);
}

void export_show_losses(export_rows *rows, export_args *args,
                        const export_options *options)
{
    const size_t count = ts_reader_loss_count(rows->reader);
    ts_loss_row *const losses =
        export_resize(NULL, (count + 1) * sizeof *losses);
    for (size_t i = 0; i < count; i++)
        ts_reader_loss(rows->reader, i, &losses[i]);
    qsort(losses, count, sizeof *losses, by_start);
    for (size_t i = 0; i < count; i++)
        if (!is_outside(options, losses[i].first_ns, losses[i].last_ns))
            show_loss(rows, args, &losses[i]);
    export_resize(losses, 0);
}

/* ---- Damage ------------------------------------------------------------- */

// Damage has an offset in the file; its time is estimated from the chunks
// before it.
typedef struct reached { // the time reached by the chunk at `offset`
    uint64_t offset;
    int64_t time_ns;
} reached;

static reached *find_reached(const export_rows *rows, size_t *count)
{
    int64_t time_ns = ts_reader_info(rows->reader)->first_ns;
    const size_t chunks = ts_reader_chunk_count(rows->reader);
    reached *const all = export_resize(NULL, (chunks + 1) * sizeof *all);
    all[0] = (reached){ 0, time_ns };
    *count = 1;
    ts_chunk_info chunk;
    for (size_t i = 0; ts_reader_chunk(rows->reader, i, &chunk); i++) {
        if (chunk.header.kind == TS_CHUNK_EVENTS && chunk.last_ns > time_ns)
            time_ns = chunk.last_ns;
        if (i < chunks) all[(*count)++] = (reached){ chunk.offset, time_ns };
    }
    return all;
}

static int64_t damage_time(const reached *all, size_t count, uint64_t offset)
{
    size_t low = 0, high = count; // all[low] precedes it
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (all[middle].offset < offset)
            low = middle;
        else
            high = middle;
    }
    return all[low].time_ns;
}

static void show_damage(export_rows *rows, export_args *args,
                        const ts_damage *damage, int64_t time_ns)
{
    export_row *const row = export_rows_damage(rows);
    // Damage is listed in the order of its discovery, but times on a row must
    // not decrease.
    if (time_ns > row->last_ns) row->last_ns = time_ns;
    export_item item = { .start_ns = row->last_ns,
                         .end_ns = row->last_ns,
                         .name = export_text("damage"),
                         .name_kept = true,
                         .category = export_text("damage") };
    const size_t from = args->count;
    export_add_uint(args, EXPORT_ARG_OFFSET, damage->offset);
    export_add_uint(args, EXPORT_ARG_BYTES, damage->size);
    export_add_text(args, EXPORT_ARG_WHAT,
                    export_text(damage->text ? damage->text : ""));
    export_add_text(args, EXPORT_ARG_RESULT,
                    export_text(ts_result_text(damage->result)));
    item.args = args->args + from;
    item.arg_count = (uint32_t)(args->count - from);
    export_rows_instant(rows, row, &item);
}

void export_show_damage(export_rows *rows, export_args *args,
                        const export_options *options)
{
    if (!ts_reader_damage_count(rows->reader)) return;
    ts_damage damage;
    size_t count;
    reached *const all = find_reached(rows, &count);
    for (size_t i = 0; ts_reader_damage(rows->reader, i, &damage); i++) {
        const int64_t time_ns = damage_time(all, count, damage.offset);
        if (!is_outside(options, time_ns, time_ns))
            show_damage(rows, args, &damage, time_ns);
    }
    export_resize(all, 0);
}
