/*
    metadata_tables.c - tables of dictionaries, tracks, losses and the like
*/
#include "tools/query/columns.h"
#include "tools/common/symbolize/symbolize.h"

#ifdef TRACESMITH_SQLITE

static const ts_reader *reader_of(const query *q, uint32_t file)
{
    return q->files[file].trace.reader;
}

static query_cell option(uint64_t number)
{
    return number ? query_integer((int64_t)number) : query_null;
}

static query_cell name_of(const ts_reader *reader, uint32_t name)
{
    return query_text(ts_reader_name(reader, name));
}

/* ---- Dictionaries ------------------------------------------------------- */

static const query_column name_columns[] = {
    KEY("id", "number of the name in its file"),
    COLUMN("text", TEXT, "the recorded name; demangle(text) demangles it"),
};
static int64_t name_count(query *q, uint32_t file)
{
    return (int64_t)ts_reader_entry_count(reader_of(q, file), TS_CHUNK_NAMES);
}
static query_cell name_cell(query *q, uint32_t file, uint64_t row,
                            uint32_t column)
{
    const uint32_t id =
        ts_reader_entry(reader_of(q, file), TS_CHUNK_NAMES, row);
    if (!column) return query_integer(id);
    query_cell cell = { .type = CELL_TEXT };
    cell.text = ts_reader_name(reader_of(q, file), id);
    return cell;
}

static const query_column site_columns[] = {
    KEY("id", "number of the site in its file"),
    COLUMN("name", TEXT, "its name, else its function"),
    COLUMN("category", TEXT, "category, or NULL"),
    COLUMN("function", TEXT, "function, or NULL"),
    COLUMN("source", TEXT, "source file, or NULL"),
    COLUMN("line", INT, "line, or NULL"),
    COLUMN("colour", INT, "0xRRGGBB as a number, or NULL"),
};
static int64_t site_count(query *q, uint32_t file)
{
    return (int64_t)ts_reader_entry_count(reader_of(q, file), TS_CHUNK_SITES);
}
static query_cell site_cell(query *q, uint32_t file, uint64_t row,
                            uint32_t column)
{
    static const uint8_t shows[] = { SHOW_NUMBER,        SHOW_SITE_NAME,
                                     SHOW_SITE_CATEGORY, SHOW_SITE_FUNCTION,
                                     SHOW_SITE_SOURCE,   SHOW_SITE_LINE };
    const ts_reader *const reader = reader_of(q, file);
    const uint32_t id = ts_reader_entry(reader, TS_CHUNK_SITES, row);
    if (column < sizeof shows)
        return query_show_cell(q, file, shows[column], id);
    const ts_site_entry *const site = ts_reader_site(reader, id);
    return site ? option(site->color) : query_null;
}

static const query_column launch_columns[] = {
    KEY("id", "number of the launch in its file"),
    COLUMN("name", TEXT, "kernel"),
    COLUMN("grid_x", INT, "blocks in x"),
    COLUMN("grid_y", INT, "blocks in y"),
    COLUMN("grid_z", INT, "blocks in z"),
    COLUMN("block_x", INT, "threads of a block in x"),
    COLUMN("block_y", INT, "threads in y"),
    COLUMN("block_z", INT, "threads in z"),
    COLUMN("cluster_x", INT, "blocks of a cluster in x, 0: none"),
    COLUMN("cluster_y", INT, "blocks in y"),
    COLUMN("cluster_z", INT, "blocks in z"),
    COLUMN("registers", INT, "registers of a thread"),
    COLUMN("static_shared", INT, "bytes of shared memory, static"),
    COLUMN("dynamic_shared", INT, "bytes of shared memory, dynamic"),
    COLUMN("local", INT, "bytes of local memory of a thread"),
    COLUMN("name_id", INT, "name.id of the kernel"),
};
enum { LAUNCH_NAME_ID = sizeof launch_columns / sizeof *launch_columns - 1 };
static int64_t launch_count(query *q, uint32_t file)
{
    return (int64_t)ts_reader_entry_count(reader_of(q, file),
                                          TS_CHUNK_LAUNCHES);
}
static query_cell launch_cell(query *q, uint32_t file, uint64_t row,
                              uint32_t column)
{
    const ts_reader *const reader = reader_of(q, file);
    const uint32_t id = ts_reader_entry(reader, TS_CHUNK_LAUNCHES, row);
    const ts_launch_entry *const launch = ts_reader_launch(reader, id);
    if (!column || !launch) return query_integer(id);
    if (column == 1) return name_of(reader, launch->name);
    if (column == LAUNCH_NAME_ID) return query_integer(launch->name);
    return query_show_cell(q, file, SHOW_LAUNCH + column - 2, id);
}

static const query_column module_columns[] = {
    KEY("id", "number of the module in its file"),
    COLUMN("path", TEXT, "file that it was loaded from"),
    COLUMN("address", INT, "load address"),
    COLUMN("size", INT, "bytes"),
};
static int64_t module_count(query *q, uint32_t file)
{
    return (int64_t)ts_reader_entry_count(reader_of(q, file), TS_CHUNK_MODULES);
}
static query_cell module_cell(query *q, uint32_t file, uint64_t row,
                              uint32_t column)
{
    const ts_reader *const reader = reader_of(q, file);
    const uint32_t id = ts_reader_entry(reader, TS_CHUNK_MODULES, row);
    const ts_module_entry *const module = ts_reader_module(reader, id);
    if (!column || !module) return query_integer(id);
    return column == 1   ? name_of(reader, module->path)
           : column == 2 ? query_integer((int64_t)module->address)
                         : query_integer((int64_t)module->size);
}

static const query_column stack_columns[] = {
    KEY("id", "number of the stack in its file"),
    COLUMN("frames", INT, "number of frames, see stack_frame"),
};
static int64_t stack_count(query *q, uint32_t file)
{
    return (int64_t)ts_reader_entry_count(reader_of(q, file), TS_CHUNK_STACKS);
}
static query_cell stack_cell(query *q, uint32_t file, uint64_t row,
                             uint32_t column)
{
    const ts_reader *const reader = reader_of(q, file);
    const uint32_t id = ts_reader_entry(reader, TS_CHUNK_STACKS, row);
    const ts_frame_entry *frames;
    return query_integer(column ? ts_reader_stack(reader, id, &frames) : id);
}

/*
    Frames of all stacks, by their number among all frames. Rows are mostly read
    in order, so the search starts at the last stack.
*/
static const query_column stack_frame_columns[] = {
    KEY("stack", "stack.id"),
    COLUMN("depth", INT, "0: innermost"),
    COLUMN("module", INT, "module.id, NULL: unknown"),
    COLUMN("offset", INT, "offset in the module; else the address"),
    COLUMN("path", TEXT, "name of the module"),
    COLUMN("function", TEXT, "innermost function at this address, or NULL"),
    COLUMN("source", TEXT, "its source file, or NULL"),
    COLUMN("line", INT, "its line, or NULL"),
    COLUMN("called", TEXT,
           "the function or one that it was inlined into, or "
           "NULL"),
};
static int64_t stack_frame_count(query *q, uint32_t file)
{
    int64_t count = 0;
    const int64_t stacks = stack_count(q, file);
    for (int64_t i = 0; i < stacks; i++)
        count += stack_cell(q, file, (uint64_t)i, 1).number;
    q->files[file].stack = 0;
    q->files[file].stack_row = 0;
    return count;
}
static query_cell function_cell(const ts_reader *reader,
                                const ts_frame_entry *frame, uint32_t column)
{
    symbolize_line line;
    const uint32_t last = symbolize_depth(reader, frame) - 1;
    if (!symbolize_place(reader, frame, column == 3 ? last : 0, &line))
        return query_null;
    if (column == 2) return option(line.line);
    const ts_text text = column == 1 ? line.file : line.function;
    return text.size ? query_text(text) : query_null;
}

static query_cell stack_frame_cell(query *q, uint32_t file, uint64_t row,
                                   uint32_t column)
{
    query_file *const f = &q->files[file];
    const ts_reader *const reader = f->trace.reader;
    const ts_frame_entry *frames;
    if (row < f->stack_row) f->stack = f->stack_row = 0;
    for (;;) {
        const uint32_t id = ts_reader_entry(reader, TS_CHUNK_STACKS, f->stack);
        const uint32_t count = ts_reader_stack(reader, id, &frames);
        if (!id) return query_null;
        if (row - f->stack_row >= count) {
            f->stack_row += count;
            f->stack++;
            continue;
        }
        const uint64_t depth = row - f->stack_row;
        const ts_frame_entry *const frame = &frames[depth];
        const ts_module_entry *const module =
            ts_reader_module(reader, frame->module);
        switch (column) {
        case 0: return query_integer(id);
        case 1: return query_integer((int64_t)depth);
        case 2: return option(frame->module);
        case 3: return query_integer((int64_t)frame->offset);
        case 4: return module ? name_of(reader, module->path) : query_null;
        default: return function_cell(reader, frame, column - 5);
        }
    }
}

/* ---- Tracks ------------------------------------------------------------- */

static const query_column track_columns[] = {
    KEY("id", "number of the track in its file"),
    COLUMN("type", TEXT, "process, thread, device, context, stream, counter"),
    COLUMN("name", TEXT, "its name, else type and number"),
    COLUMN("number", INT, "process or thread identifier, vendor's number"),
    COLUMN("parent", INT, "track.id of the parent track, or NULL"),
    COLUMN("unit", TEXT, "counters: unit, or NULL"),
    COLUMN("process", INT, "process identifier of its process, or NULL"),
    COLUMN("device", INT, "number of the device, or NULL"),
    COLUMN("context", INT, "number of the context, or NULL"),
    COLUMN("flags", INT,
           "streams: 1 non-blocking, 2 legacy default, 4 out of order; "
           "counters: 1 rate, 2 never falls"),
};
static int64_t track_count(query *q, uint32_t file)
{
    return (int64_t)q->files[file].track_count;
}
static query_cell track_cell(query *q, uint32_t file, uint64_t row,
                             uint32_t column)
{
    const query_track *const t = &q->files[file].tracks[row];
    const int64_t numbers[] = { t->process, t->device, t->context };
    switch (column) {
    case 0: return query_integer(t->id);
    case 1: return query_string(cli_track_type(t->type));
    case 2: return query_text(t->name);
    case 3: return query_integer((int64_t)t->number);
    case 4: return option(t->parent);
    case 5: return query_text(t->unit);
    case 9: return query_integer((int64_t)t->flags);
    default:
        return numbers[column - 6] < 0 ? query_null
                                       : query_integer(numbers[column - 6]);
    }
}

/* ---- The file ----------------------------------------------------------- */

static const query_column info_columns[] = {
    COLUMN("path", TEXT, "path of the trace, as given"),
    COLUMN("process", INT, "identifier of the recorded process"),
    COLUMN("start_realtime_ns", INT, "Unix time of time 0, ns"),
    COLUMN("first_ns", INT, "begin of the first event"),
    COLUMN("last_ns", INT, "end of the last event"),
    COLUMN("events", INT,
           "number of events of all kinds, including damaged "
           "chunks"),
    COLUMN("lost", INT, "number of lost records, see loss"),
    COLUMN("damaged", INT, "number of damaged places found so far, see damage"),
    COLUMN("finished", INT, "1: the recording was stopped properly"),
    COLUMN("clock_estimated", INT, "1: times are estimates"),
    COLUMN("file_bytes", INT, "size of the file"),
};
static int64_t info_count(query *q, uint32_t file)
{
    (void)q;
    (void)file;
    return 1;
}
static query_cell info_cell(query *q, uint32_t file, uint64_t row,
                            uint32_t column)
{
    (void)row;
    const ts_info *const info = q->files[file].trace.info;
    const int64_t values[] = {
        0,
        info->process,
        (int64_t)info->start_realtime_ns,
        info->first_ns,
        info->last_ns,
        (int64_t)cli_event_count(info),
        (int64_t)info->lost,
        (int64_t)ts_reader_damage_count(reader_of(q, file)),
        info->finished,
        info->clock_estimated,
        (int64_t)info->file_bytes,
    };
    return column ? query_integer(values[column])
                  : query_string(q->files[file].path);
}

static const query_column metadata_columns[] = {
    COLUMN("track", INT, "track.id that it describes; NULL: the recording"),
    COLUMN("key", TEXT, "key: host, command, vendor, ..."),
    { "value", QUERY_ANY, 0, 0, false, "integer, real or text" },
};
static int64_t metadata_count(query *q, uint32_t file)
{
    return (int64_t)ts_reader_metadata_count(reader_of(q, file));
}
static query_cell metadata_cell(query *q, uint32_t file, uint64_t row,
                                uint32_t column)
{
    ts_metadata m;
    if (!ts_reader_metadata_at(reader_of(q, file), row, &m)) return query_null;
    if (column == 0) return option(m.track);
    if (column == 1) return query_text(m.key);
    if (m.type == TS_VALUE_DOUBLE)
        return (query_cell){ .type = CELL_REAL, .real = m.real };
    return m.type == TS_VALUE_INT ? query_integer(m.number)
                                  : query_text(m.text);
}

static const query_column loss_columns[] = {
    COLUMN("track", INT,
           "track.id of the lost records; NULL: none in "
           "particular"),
    COLUMN("cause", TEXT, "ring_full, disk_full, backend, ..."),
    COLUMN("detail", TEXT, "reason given by the backend, or NULL"),
    COLUMN("count", INT, "number of records; stalls: number of stalls"),
    COLUMN("first_ns", INT, "start"),
    COLUMN("last_ns", INT, "end"),
    COLUMN("stall", INT, "1: nothing was lost, the program waited"),
    COLUMN("stall_ns", INT, "stalls: total duration"),
};
static int64_t loss_count(query *q, uint32_t file)
{
    return (int64_t)ts_reader_loss_count(reader_of(q, file));
}
static query_cell loss_cell(query *q, uint32_t file, uint64_t row,
                            uint32_t column)
{
    ts_loss_row l;
    if (!ts_reader_loss(reader_of(q, file), row, &l)) return query_null;
    switch (column) {
    case 0: return option(l.track);
    case 1: return query_string(ts_loss_name(l.cause));
    case 2: return name_of(reader_of(q, file), l.detail);
    case 3: return query_integer((int64_t)l.count);
    case 4: return query_integer(l.first_ns);
    case 5: return query_integer(l.last_ns);
    case 6: return query_integer(l.cause >= TS_LOSS_STALL_FIRST);
    default: return query_integer((int64_t)l.stall_ns);
    }
}

static const query_column damage_columns[] = {
    COLUMN("offset", INT, "offset in the file"),
    COLUMN("size", INT, "skipped bytes"),
    COLUMN("text", TEXT, "description of the damage"),
};
static int64_t damage_count(query *q, uint32_t file)
{
    return (int64_t)ts_reader_damage_count(reader_of(q, file));
}
static query_cell damage_cell(query *q, uint32_t file, uint64_t row,
                              uint32_t column)
{
    ts_damage damage;
    if (!ts_reader_damage(reader_of(q, file), row, &damage)) return query_null;
    return column == 0   ? query_integer((int64_t)damage.offset)
           : column == 1 ? query_integer((int64_t)damage.size)
                         : query_string(damage.text);
}

static const query_column chunk_columns[] = {
    KEY("id", "number of the chunk in its file"),
    COLUMN("offset", INT, "offset in the file"),
    COLUMN("kind", TEXT, "names, sites, ..., events, blob"),
    COLUMN("event", TEXT, "kind of its events, or NULL"),
    COLUMN("track", INT, "track.id of its events; NULL: several, none"),
    COLUMN("count", INT, "rows or entries"),
    COLUMN("first_ns", INT, "events: start of the first"),
    COLUMN("last_ns", INT, "events: end of the last"),
    COLUMN("stored_size", INT, "bytes in the file, without header"),
    COLUMN("raw_size", INT, "bytes when decompressed"),
};
static int64_t chunk_count(query *q, uint32_t file)
{
    return (int64_t)ts_reader_chunk_count(reader_of(q, file));
}
static const char *chunk_kind(uint32_t kind)
{
    static const char *const names[] = { "unknown", "names",    "sites",
                                         "tracks",  "launches", "modules",
                                         "stacks",  "clock",    "metadata",
                                         "loss" };
    return kind < sizeof names / sizeof *names ? names[kind]
           : kind == TS_CHUNK_EVENTS           ? "events"
           : kind == TS_CHUNK_BLOB             ? "blob"
           : kind == TS_CHUNK_PICTURES         ? "pictures"
           : kind == TS_CHUNK_TOP              ? "top"
                                               : "unknown";
}
static query_cell chunk_cell(query *q, uint32_t file, uint64_t row,
                             uint32_t column)
{
    ts_chunk_info info;
    if (!ts_reader_chunk(reader_of(q, file), row, &info)) return query_null;
    const ts_chunk_header *const h = &info.header;
    const bool events = h->kind == TS_CHUNK_EVENTS;
    switch (column) {
    case 0: return query_integer((int64_t)row);
    case 1: return query_integer((int64_t)info.offset);
    case 2: return query_string(chunk_kind(h->kind));
    case 3: return events ? query_string(ts_event_name(h->event)) : query_null;
    case 4: return h->track == TS_TRACK_MIXED ? query_null : option(h->track);
    case 5: return query_integer(h->count);
    case 6: return events ? query_integer(info.first_ns) : query_null;
    case 7: return events ? query_integer(info.last_ns) : query_null;
    case 8: return query_integer(h->stored_size);
    default: return query_integer(h->raw_size);
    }
}

static const query_column stats_columns[] = {
    COLUMN("chunks", INT, "chunks of events that were decoded"),
    COLUMN("rows", INT, "rows in them"),
    COLUMN("damaged", INT, "chunks that could not be decoded"),
    COLUMN("sorts", INT, "times that rows were copied and sorted"),
    COLUMN("indexes", INT, "indexes made for joins"),
};
static query_cell stats_cell(query *q, uint32_t file, uint64_t row,
                             uint32_t column)
{
    (void)file;
    (void)row;
    const query_counts *const l = &q->last;
    const uint64_t values[] = { l->chunks, l->rows, l->damaged, l->sorts,
                                l->indexes };
    return query_integer((int64_t)values[column]);
}

/* ---- Names as Nsight Systems numbers them ------------------------------- */

/*
    StringIds.id is 3 * name.id for the name itself, + 1 for the demangled name,
    + 2 for the name without parameters: the three names in Nsight's table of
    kernels.
*/
static const query_column strings_columns[] = {
    KEY("id", "number of the text"),
    COLUMN("value", TEXT, "the text"),
};
static int64_t strings_count(query *q, uint32_t file)
{
    return 3 * name_count(q, file);
}
static query_cell strings_cell(query *q, uint32_t file, uint64_t row,
                               uint32_t column)
{
    const query_cell id = name_cell(q, file, row / 3, 0);
    if (!column) return query_integer(3 * id.number + (int64_t)(row % 3));
    query_cell text = name_cell(q, file, row / 3, 1);
    if (row % 3) text.text = query_demangled(q, text.text, row % 3 == 2);
    return text;
}

const query_table query_small_tables[] = {
    TABLE("track", track, false, "threads, devices, streams, counters, ..."),
    TABLE("site", site, false, "places in the source code"),
    TABLE("name", name, false, "names"),
    TABLE("launch", launch, false, "kernels with their configurations"),
    TABLE("stack", stack, false, "call stacks"),
    TABLE("stack_frame", stack_frame, false, "frames of call stacks"),
    TABLE("module", module, false, "loaded programs and libraries"),
    TABLE("info", info, false, "one row about each trace"),
    TABLE("metadata", metadata, false,
          "metadata of the recording and of devices"),
    TABLE("loss", loss, false, "losses and stalls"),
    TABLE("damage", damage, false, "damaged places of the file found so far"),
    TABLE("chunk", chunk, false, "chunks of the file"),
    { .name = "query_stats",
      .about = "cost of the previous statement",
      .columns = stats_columns,
      .column_count = sizeof stats_columns / sizeof *stats_columns,
      .joint = true,
      .count = info_count,
      .cell = stats_cell },
    TABLE("StringIds", strings, false,
          "names, by the numbers used in these views"),
    { 0 },
};

#endif
