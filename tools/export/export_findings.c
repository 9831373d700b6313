/*
    export_findings.c - what a trace lost, and where it is damaged
*/
#include "tools/export/export_findings.h"
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
    export_add_uint(args, "count", loss->count);
    export_add_uint(args, "cause", loss->cause);
    export_add_name(args, "detail", loss->detail);
    if (loss->stall_ns) export_add_uint(args, "stall_ns", loss->stall_ns);
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

// Losses are facts about the whole trace: a range does not hide them.
void export_show_losses(export_rows *rows, export_args *args)
{
    const size_t count = ts_reader_loss_count(rows->reader);
    ts_loss_row *const losses =
        export_resize(NULL, (count + 1) * sizeof *losses);
    for (size_t i = 0; i < count; i++)
        ts_reader_loss(rows->reader, i, &losses[i]);
    qsort(losses, count, sizeof *losses, by_start);
    for (size_t i = 0; i < count; i++)
        show_loss(rows, args, &losses[i]);
    export_resize(losses, 0);
}

// Damage has a place in the file; when that was is known from the chunks
// before it.
static int64_t damage_time(const export_rows *rows, uint64_t offset)
{
    int64_t time_ns = ts_reader_info(rows->reader)->first_ns;
    const size_t count = ts_reader_chunk_count(rows->reader);
    for (size_t i = 0; i < count; i++) {
        ts_chunk_info chunk;
        if (!ts_reader_chunk(rows->reader, i, &chunk) || chunk.offset >= offset)
            break;
        if (chunk.header.kind == TS_CHUNK_EVENTS && chunk.last_ns > time_ns)
            time_ns = chunk.last_ns;
    }
    return time_ns;
}

void export_show_damage(export_rows *rows, export_args *args)
{
    ts_damage damage;
    for (size_t i = 0; ts_reader_damage(rows->reader, i, &damage); i++) {
        export_row *const row = export_rows_damage(rows);
        const int64_t time_ns = damage_time(rows, damage.offset);
        export_item item = { .category = export_text("damage"),
                             .name = export_text("damage") };
        item.start_ns = item.end_ns =
            time_ns > row->last_ns ? time_ns : row->last_ns;
        row->last_ns = item.start_ns;
        const size_t from = args->count;
        export_add_uint(args, "offset", damage.offset);
        export_add_uint(args, "bytes", damage.size);
        export_add_text(args, "what",
                        export_text(damage.text ? damage.text : ""));
        export_add_text(args, "result",
                        export_text(ts_result_text(damage.result)));
        item.args = args->args + from;
        item.arg_count = (uint32_t)(args->count - from);
        export_rows_instant(rows, row, &item);
    }
}
