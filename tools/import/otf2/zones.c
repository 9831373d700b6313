/*
    zones.c - regions of threads as zones and calls, of streams as kernels
*/
#include "tools/import/otf2/otf2.h"

#ifdef TRACESMITH_OTF2

enum {
    OPEN = 4096, // regions of a stream, copies that run
    TEXT = 1024, // bytes of an argument
};

/* ---- Arguments ----------------------------------------------------------- */

static uint32_t name_of(otf2 *o, ts_text name)
{
    return import_name(o->job, name.text, name.size);
}

// The start of a text, with whole characters of UTF-8.
static ts_text cut(ts_text text, size_t size)
{
    if (text.size <= size) return text;
    while (size && ((uint8_t)text.text[size] & 0xC0) == 0x80)
        size--;
    return (ts_text){ text.text, size };
}

// Any number of events may have the same text, which is written for each.
static void add_arg(otf2 *o, const otf2_arg *arg)
{
    const ts_text text = cut(arg->text, TEXT);
    const double real = (double)arg->value;
    ts_value_type type = arg->type;
    uint64_t value = arg->value;
    if (arg->is_unsigned && value > INT64_MAX) {
        type = TS_VALUE_DOUBLE;
        memcpy(&value, &real, sizeof value);
    }
    if (text.size < arg->text.size) import_flaw(o->job, "long_text");
    import_nested_arg(&o->zones, o->track, name_of(o, arg->name), type, value,
                      text.text, text.size);
}

void otf2_add_attributes(otf2 *o)
{
    for (size_t i = 0; i < o->arg_count; i++)
        add_arg(o, &o->args[i]);
    o->arg_count = 0;
}

void otf2_say(otf2 *o, const char *name, uint64_t value)
{
    const otf2_arg arg = { .name = { name, strlen(name) },
                           .type = TS_VALUE_INT,
                           .is_unsigned = true,
                           .value = value };
    if (!o->is_stream) add_arg(o, &arg);
}

static otf2_arg arg_of(otf2 *o, uint64_t type, uint64_t value)
{
    const otf2_row *const region =
        type == OTF2_TYPE_REGION ? otf2_find(o, OTF2_REGION, value) : NULL;
    otf2_arg arg = { .type = TS_VALUE_INT,
                     .is_unsigned = type == OTF2_TYPE_UINT64,
                     .value = value };
    if (type == OTF2_TYPE_FLOAT || type == OTF2_TYPE_DOUBLE)
        arg.type = TS_VALUE_DOUBLE;
    if (type != OTF2_TYPE_STRING && !region) return arg;
    arg.type = TS_VALUE_TEXT;
    arg.text = otf2_text(o, region ? region->v[1] : value);
    return arg;
}

void otf2_take_attribute(otf2 *o, const otf2_record *r)
{
    const otf2_row *const attribute = otf2_find(o, OTF2_ATTRIBUTE, r->v[0]);
    if (!attribute || o->arg_count == OTF2_ARGS) {
        import_flaw(o->job, attribute ? "many_attributes" : "unknown_name");
        return;
    }
    otf2_arg *const arg = &o->args[o->arg_count++];
    *arg = arg_of(o, r->v[1], r->v[2]);
    arg->name = otf2_text(o, attribute->v[1]);
}

// Of the zone in progress.
void otf2_take_parameter(otf2 *o, const otf2_record *r)
{
    const otf2_row *const parameter = otf2_find(o, OTF2_PARAMETER, r->v[0]);
    otf2_arg arg = arg_of(o, r->v[2], r->v[1]);
    if (!parameter) {
        import_bad(o->job, "unknown_name", IMPORT_NONE);
        return;
    }
    arg.name = otf2_text(o, parameter->v[1]);
    if (o->is_stream)
        import_unowned(o->job, "parameter of a stream", 21);
    else
        add_arg(o, &arg);
}

void otf2_take_collective(otf2 *o, const otf2_record *r)
{
    static const char *const operations[] = { "barrier",
                                              "bcast",
                                              "gather",
                                              "gatherv",
                                              "scatter",
                                              "scatterv",
                                              "allgather",
                                              "allgatherv",
                                              "alltoall",
                                              "alltoallv",
                                              "alltoallw",
                                              "allreduce",
                                              "reduce",
                                              "reduce_scatter",
                                              "scan",
                                              "exscan",
                                              "reduce_scatter_block",
                                              "create_handle",
                                              "destroy_handle",
                                              "allocate",
                                              "deallocate",
                                              "create_handle_and_allocate",
                                              "destroy_handle_and_deallocate" };
    const size_t count = sizeof operations / sizeof *operations;
    const char *const operation =
        r->v[0] < count ? operations[r->v[0]] : "unknown";
    const otf2_row *const comm = otf2_find(o, OTF2_COMM, r->v[1]);
    const ts_text name = comm ? otf2_text(o, comm->v[2]) : (ts_text){ "", 0 };
    otf2_arg arg = { .type = TS_VALUE_TEXT,
                     .text = { operation, strlen(operation) } };
    if (o->is_stream) {
        import_unowned(o->job, "collective of a stream", 22);
        return;
    }
    arg.name = (ts_text){ "collective", 10 };
    add_arg(o, &arg);
    arg.text = name;
    arg.name = (ts_text){ "communicator", 12 };
    if (name.size) add_arg(o, &arg);
    if (r->v[2] < OTF2_COLLECTIVE_ROOT_THIS_GROUP) otf2_say(o, "root", r->v[2]);
    otf2_say(o, "bytes_sent", r->v[3]);
    otf2_say(o, "bytes_received", r->v[4]);
    otf2_add_attributes(o);
}

/* ---- Threads ------------------------------------------------------------- */

static ts_text paradigm_of(const otf2 *o, const otf2_row *region)
{
    const otf2_row *const paradigm = otf2_find(o, OTF2_PARADIGM, region->v[3]);
    return paradigm ? otf2_text(o, paradigm->v[1]) : (ts_text){ "", 0 };
}

static uint32_t site_of(otf2 *o, const otf2_row *region)
{
    const uint64_t *const known = cli_map_find(&o->sites, region->v[0]);
    if (known) return (uint32_t)*known;
    const ts_text category =
        o->is_own ? otf2_text(o, region->v[7]) : paradigm_of(o, region);
    const ts_text function =
        otf2_text(o, o->is_own ? region->v[6] : UINT64_MAX);
    const ts_text file = otf2_text(o, region->v[4]);
    ts_site_entry site = { .line = (uint32_t)region->v[5] };
    site.name = name_of(o, otf2_text(o, region->v[1]));
    if (category.size) site.category = name_of(o, category);
    if (function.size) site.function = name_of(o, function);
    if (file.size) site.file = name_of(o, file);
    const uint32_t number = ts_writer_site(o->job->writer, &site);
    o->no_memory |= !cli_map_set(&o->sites, region->v[0], number);
    return number;
}

uint32_t otf2_site(otf2 *o, uint64_t id)
{
    const otf2_row *const region = otf2_find(o, OTF2_REGION, id);
    return region ? site_of(o, region) : 0;
}

// A function of an interface to devices, which the tracer wrapped.
static bool is_call(const otf2_row *region)
{
    return region->v[2] == OTF2_REGION_ROLE_WRAPPER &&
           (region->v[3] == OTF2_PARADIGM_CUDA ||
            region->v[3] == OTF2_PARADIGM_HIP ||
            region->v[3] == OTF2_PARADIGM_OPENCL);
}

static void put_call(otf2 *o, const otf2_row *region, const otf2_open *open,
                     int64_t end_ns)
{
    import_api_call(o->job, o->track, open->start_ns, end_ns - open->start_ns,
                    name_of(o, otf2_text(o, region->v[1])),
                    open->operation.correlation, open->result);
}

/* ---- Streams ------------------------------------------------------------- */

// As ts-export wrote it.
static void put_own(otf2 *o, const otf2_row *region, otf2_open *open,
                    int64_t end_ns)
{
    import_operation *const operation = &open->operation;
    operation->track = o->track;
    operation->start_ns = open->start_ns;
    operation->duration_ns = end_ns - open->start_ns;
    if (operation->kind == TS_EVENT_KERNEL)
        open->launch.name = name_of(o, otf2_text(o, region->v[1]));
    if (open->launch.name || open->launch.grid[0])
        operation->launch = import_launch(o->job, &open->launch);
    if (operation->kind == TS_EVENT_COLLECTIVE)
        import_gpu_collective(o->job, operation, &open->facts);
    else
        import_gpu(o->job, operation);
}

static void put_operation(otf2 *o, const otf2_row *region, int64_t start_ns,
                          int64_t end_ns)
{
    const ts_text name = otf2_text(o, region->v[1]);
    import_operation operation = { .kind = TS_EVENT_KERNEL,
                                   .track = o->track,
                                   .start_ns = start_ns,
                                   .duration_ns = end_ns - start_ns };
    if (region->v[2] == OTF2_REGION_ROLE_ARTIFICIAL) {
        import_unowned(o->job, "artificial region", 17);
    } else if (region->v[2] == OTF2_REGION_ROLE_DATA_TRANSFER) {
        operation.kind = TS_EVENT_MEMCPY;
        import_gpu(o->job, &operation);
    } else {
        const ts_launch_entry launch = { .name = name_of(o, name) };
        operation.launch = import_launch(o->job, &launch);
        import_kernel(o->job, &operation, name.text, name.size);
    }
}

void otf2_take_copy(otf2 *o, const otf2_record *r, int64_t time_ns)
{
    const otf2_row *const window = otf2_find(o, OTF2_WINDOW, r->v[1]);
    uint64_t remote;
    if (!o->is_stream) {
        const char *const name = r->v[0] ? "RmaGet" : "RmaPut";
        import_unowned(o->job, name, strlen(name));
        return;
    }
    if (o->copy_count == OPEN ||
        !cli_grow(&o->copies, &o->copy_room, o->copy_count + 1,
                  sizeof *o->copies)) {
        import_bad(o->job, "too_much_begun", time_ns);
        return;
    }
    import_operation operation = { .kind = TS_EVENT_MEMCPY,
                                   .track = o->track,
                                   .start_ns = time_ns,
                                   .size = r->v[3] };
    if (window && otf2_rank(o, window->v[1], r->v[2], &remote))
        operation.type = otf2_is_stream(o, remote) ? 3 : r->v[0] ? 1 : 2;
    o->copies[o->copy_count++] = (otf2_copy){ r->v[1], r->v[4], operation };
}

// Ends the first copy with this window and number that has not ended.
void otf2_take_copied(otf2 *o, const otf2_record *r, int64_t time_ns)
{
    size_t i = 0;
    while (i < o->copy_count &&
           (o->copies[i].window != r->v[0] || o->copies[i].id != r->v[1]))
        i++;
    if (!o->is_stream) {
        import_unowned(o->job, "RmaOpComplete", 13);
    } else if (i == o->copy_count) {
        import_bad(o->job, "end_without_begin", time_ns);
    } else {
        import_operation *const operation = &o->copies[i].operation;
        operation->duration_ns = time_ns - operation->start_ns;
        if (operation->duration_ns < 0)
            import_bad(o->job, "reversed_time", time_ns);
        else
            import_gpu(o->job, operation);
        o->copy_count--;
        memmove(o->copies + i, o->copies + i + 1,
                (o->copy_count - i) * sizeof *o->copies);
    }
}

/* ---- Regions ------------------------------------------------------------- */

static bool push(otf2 *o, uint64_t region, int64_t time_ns)
{
    if (o->open_count == OPEN ||
        !cli_grow(&o->open, &o->open_room, o->open_count + 1,
                  sizeof *o->open)) {
        import_bad(o->job, "too_much_begun", time_ns);
        return false;
    }
    o->open[o->open_count++] =
        (otf2_open){ .region = region, .start_ns = time_ns };
    return true;
}

// Returns what an end belongs to; NULL: nothing. Valid until the next push.
static otf2_open *pop(otf2 *o, const otf2_row *region, int64_t time_ns)
{
    size_t at = o->open_count;
    while (at && o->open[at - 1].region != region->v[0])
        at--;
    if (!at) {
        import_bad(o->job, "end_without_begin", time_ns);
        return NULL;
    }
    for (size_t i = at; i < o->open_count; i++)
        import_bad(o->job, "begin_without_end", o->open[i].start_ns);
    o->open_count = at - 1;
    if (time_ns >= o->open[at - 1].start_ns) return &o->open[at - 1];
    import_bad(o->job, "reversed_time", time_ns);
    return NULL;
}

void otf2_take_enter(otf2 *o, uint64_t id, int64_t time_ns)
{
    const otf2_row *const region = otf2_find(o, OTF2_REGION, id);
    o->entered = o->order;
    if (!region) {
        import_bad(o->job, "unknown_region", time_ns);
    } else if (o->is_stream || is_call(region)) {
        if (push(o, id, time_ns) && o->is_own)
            otf2_take_columns(o, &o->open[o->open_count - 1]);
    } else {
        import_nested_begin(&o->zones, o->track, time_ns, site_of(o, region),
                            NULL, 0);
        otf2_add_attributes(o);
    }
}

void otf2_take_leave(otf2 *o, uint64_t id, int64_t time_ns)
{
    const otf2_row *const region = otf2_find(o, OTF2_REGION, id);
    otf2_open *open;
    if (!region) {
        import_bad(o->job, "unknown_region", time_ns);
    } else if (o->is_stream) {
        open = pop(o, region, time_ns);
        if (open && open->operation.kind)
            put_own(o, region, open, time_ns);
        else if (open)
            put_operation(o, region, open->start_ns, time_ns);
    } else if (is_call(region)) {
        open = pop(o, region, time_ns);
        if (open) put_call(o, region, open, time_ns);
    } else {
        otf2_add_attributes(o);
        import_nested_end(&o->zones, o->track, time_ns, site_of(o, region));
    }
}

#else
typedef int otf2_zones_need_otf2; // a file of C has a declaration
#endif
