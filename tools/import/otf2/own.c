/*
    own.c - what ts-export says of operations and calls, in attributes

    They have the names of columns of an event.
*/
#include "tools/import/otf2/otf2.h"

#ifdef TRACESMITH_OTF2

static uint32_t name_of(otf2 *o, const otf2_arg *arg)
{
    return arg->text.size ? import_name(o->job, arg->text.text, arg->text.size)
                          : 0;
}

static bool take_launch(otf2 *o, otf2_open *open, const otf2_arg *arg)
{
    static const char *const names[] = {
        "grid_x",    "grid_y",    "grid_z",        "block_x",
        "block_y",   "block_z",   "cluster_x",     "cluster_y",
        "cluster_z", "registers", "static_shared", "dynamic_shared",
        "local"
    };
    ts_launch_entry *const l = &open->launch;
    uint32_t *const numbers[] = {
        &l->grid[0],    &l->grid[1],   &l->grid[2],       &l->block[0],
        &l->block[1],   &l->block[2],  &l->cluster[0],    &l->cluster[1],
        &l->cluster[2], &l->registers, &l->static_shared, &l->dynamic_shared,
        &l->local
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!cli_is_text(arg->name, names[i])) continue;
        *numbers[i] = (uint32_t)arg->value;
        return true;
    }
    if (!cli_is_text(arg->name, "kernel")) return false;
    l->name = name_of(o, arg);
    return true;
}

static ts_column column_of(ts_text name)
{
    for (uint32_t i = 1; i < TS_COLUMN_LIMIT; i++)
        if (cli_is_text(name, ts_column_name(i))) return (ts_column)i;
    return 0;
}

static void take_column(otf2 *o, otf2_open *open, const otf2_arg *arg)
{
    import_operation *const to = &open->operation;
    const uint64_t value = arg->value;
    const int64_t before = open->start_ns - (int64_t)(value - 1);
    switch ((int)column_of(arg->name)) {
    case TS_COLUMN_CORRELATION: to->correlation = value; break;
    case TS_COLUMN_RESULT: open->result = value; break;
    case TS_COLUMN_QUEUED: to->queued_ns = before; break;
    case TS_COLUMN_SUBMITTED: to->submitted_ns = before; break;
    case TS_COLUMN_THREAD: to->thread = otf2_location_track(o, value); break;
    case TS_COLUMN_SITE: to->site = otf2_site(o, value); break;
    case TS_COLUMN_ID:
    case TS_COLUMN_GRAPH_NODE:
    case TS_COLUMN_VALUE: to->id = value; break;
    case TS_COLUMN_GRAPH: to->graph = (uint32_t)value; break;
    case TS_COLUMN_TYPE:
        to->type = (uint8_t)value;
        open->facts.type = (uint32_t)value;
        break;
    case TS_COLUMN_SIZE: to->size = open->facts.size = value; break;
    case TS_COLUMN_SOURCE: to->source = value; break;
    case TS_COLUMN_ADDRESS: to->address = value; break;
    case TS_COLUMN_MEMORY: to->memory = (uint8_t)value; break;
    case TS_COLUMN_NAME: to->name = open->facts.name = name_of(o, arg); break;
    case TS_COLUMN_POOL: to->pool = name_of(o, arg); break;
    case TS_COLUMN_RECORD: to->record = value; break;
    case TS_COLUMN_COMMUNICATOR: open->facts.communicator = value; break;
    case TS_COLUMN_SEQUENCE: open->facts.sequence = value; break;
    case TS_COLUMN_RANKS: open->facts.ranks = (uint32_t)value; break;
    case TS_COLUMN_PEER:
        open->facts.peer = (uint32_t)value;
        if (to->kind == TS_EVENT_MEMCPY)
            to->peer = import_device(o->job, (int64_t)(value - 1));
        break;
    default: import_unowned(o->job, "attribute", 9);
    }
}

// The first attribute of an operation is its kind.
void otf2_take_columns(otf2 *o, otf2_open *open)
{
    for (size_t i = 0; i < o->arg_count; i++) {
        const otf2_arg *const arg = &o->args[i];
        const bool is_kind = cli_is_text(arg->name, "kind");
        if (is_kind && arg->value >= TS_EVENT_GPU_FIRST &&
            arg->value < TS_EVENT_LIMIT)
            open->operation.kind = (uint8_t)arg->value;
        else if (!is_kind && !take_launch(o, open, arg))
            take_column(o, open, arg);
    }
    o->arg_count = 0;
}

#else
typedef int otf2_own_needs_otf2; // a file of C has a declaration
#endif
