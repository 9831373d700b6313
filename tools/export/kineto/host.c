/*
    host.c - rows of threads: zones, calls, instants, counters, memory
*/
#include "tools/export/kineto/kineto.h"
#include "tools/cli/processes.h"
#include <math.h>
#include <stdio.h>

static ts_text name_of(const torch_export *k, uint64_t id)
{
    return ts_reader_name(k->reader, (uint32_t)id);
}

static ts_text site_category(const torch_export *k, uint32_t site)
{
    const ts_site_entry *const entry = ts_reader_site(k->reader, site);
    return name_of(k, entry ? entry->category : 0);
}

/* ---- Zones --------------------------------------------------------------- */

// A category that means a zone to readers; others could mean anything, such as
// "kernel", and become annotations.
static ts_text zone_category(ts_text own)
{
    static const char *const known[] = {
        "cpu_op",   "operator", "user_annotation", "gpu_user_annotation",
        "overhead", "Trace",    "python_function", "cpu_instant_event",
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (cli_is_text(own, known[i])) return own;
    return export_text("user_annotation");
}

void torch_take_zone(torch_export *k, const ts_event *event)
{
    const size_t room = k->zone_room;
    k->zones =
        export_grow(k->zones, &k->zone_room, k->zone_count, sizeof *k->zones);
    for (size_t i = room; i < k->zone_room; i++)
        k->zones[i].args = (export_buffer){ 0 };
    torch_zone *const z = &k->zones[k->zone_count++];
    z->event = *event;
    z->site = (uint32_t)ts_event_value(event, TS_COLUMN_SITE);
    z->tick = event->columns->start_ticks[event->row];
    z->is_open = event->kind == TS_EVENT_ZONE_OPEN;
    z->external = 0;
    z->args.size = 0;
    k->group_ns = event->start_ns;
    k->group_track = event->track;
}

static torch_zone *find_zone(torch_export *k, const ts_event *event)
{
    enum { SEARCH = 256 };
    const uint64_t site = ts_event_value(event, TS_COLUMN_SITE);
    const uint64_t tick = event->columns->start_ticks[event->row];
    const size_t stop = k->zone_count > SEARCH ? k->zone_count - SEARCH : 0;
    for (size_t i = k->zone_count; i-- > stop;)
        if (k->zones[i].site == site && k->zones[i].tick == tick)
            return &k->zones[i];
    return NULL;
}

void torch_take_zone_arg(torch_export *k, const ts_event *event)
{
    torch_zone *const z = find_zone(k, event);
    const uint64_t type = ts_event_value(event, TS_COLUMN_TYPE);
    if (!z || !type) { // a stack, or its zone is missing
        torch_left_out(k, event);
        return;
    }
    const ts_text own = name_of(k, ts_event_value(event, TS_COLUMN_NAME));
    const ts_text name =
        own.size ? own : export_text(type == TS_VALUE_TEXT ? "text" : "value");
    const uint64_t bits = ts_event_value(event, TS_COLUMN_VALUE);
    if (type == TS_VALUE_INT && cli_is_text(name, "External id"))
        z->external = bits + 1;
    if (k->options->no_args) return;
    if (z->args.size) export_put(&z->args, ",", 1);
    export_json_string(&z->args, name);
    export_put(&z->args, ":", 1);
    torch_value(&z->args, (ts_value_type)type, bits,
                type == TS_VALUE_TEXT ? ts_event_text(event)
                                      : (ts_text){ "", 0 });
}

static torch_thread *thread_of(torch_export *k, uint32_t track)
{
    uint64_t *const index = export_map_at(&k->thread_of, track);
    if (!*index) {
        k->threads = export_grow(k->threads, &k->thread_room, k->thread_count,
                                 sizeof *k->threads);
        k->threads[k->thread_count++] = (torch_thread){ 0 };
        *index = k->thread_count;
    }
    return &k->threads[*index - 1];
}

static void leave_ended(torch_thread *t, int64_t now_ns)
{
    while (t->count && t->outer[t->count - 1].end_ns <= now_ns)
        t->count--;
}

static void enter_operator(torch_export *k, const torch_zone *z)
{
    torch_thread *const t = thread_of(k, z->event.track);
    leave_ended(t, z->event.start_ns);
    t->outer = export_grow(t->outer, &t->room, t->count, sizeof *t->outer);
    t->outer[t->count++] =
        (struct torch_outer){ export_end_ns(&z->event), z->external };
}

static void put_zone(torch_export *k, const torch_zone *z)
{
    const ts_text name = ts_reader_site_name(k->reader, z->site);
    torch_begin(k, "X", zone_category(site_category(k, z->site)), name,
                z->event.track, z->event.start_ns);
    torch_duration(k, z->event.duration_ns);
    if (z->args.size || z->is_open) torch_put(k, ",\"args\":{");
    export_put(&k->block, z->args.data, z->args.size);
    if (z->is_open)
        torch_put(k, z->args.size ? ",\"unfinished\":true"
                                  : "\"unfinished\":true");
    if (z->args.size || z->is_open) torch_put(k, "}");
    torch_end(k);
    k->counts->slices++;
    if (z->external) enter_operator(k, z);
}

void torch_flush_zones(torch_export *k)
{
    for (size_t i = 0; i < k->zone_count; i++)
        put_zone(k, &k->zones[i]);
    k->zone_count = 0;
}

/* ---- Calls --------------------------------------------------------------- */

// "cuLaunchKernel" is a driver's, "cudaLaunchKernel" a runtime's; those of
// other vendors have one category.
static const char *call_category(ts_text name)
{
    return name.size > 2 && name.text[0] == 'c' && name.text[1] == 'u' &&
                   name.text[2] >= 'A' && name.text[2] <= 'Z'
               ? "cuda_driver"
               : "cuda_runtime";
}

void torch_take_call(torch_export *k, const ts_event *event)
{
    const ts_text name = ts_event_label(k->reader, event);
    const uint64_t correlation = ts_event_value(event, TS_COLUMN_CORRELATION);
    torch_flush_zones(k);
    torch_thread *const t = thread_of(k, event->track);
    leave_ended(t, event->start_ns);
    const uint64_t external = t->count ? t->outer[t->count - 1].external : 0;
    bool filled = false;
    torch_begin(k, "X", export_text(call_category(name)), name, event->track,
                event->start_ns);
    torch_duration(k, event->duration_ns);
    torch_put(k, ",\"args\":{");
    if (external) torch_key_uint(k, &filled, "External id", external - 1);
    if (correlation) torch_key_uint(k, &filled, "correlation", correlation);
    torch_put(k, "}");
    torch_end(k);
    k->counts->slices++;
    if (!correlation || !export_map_find(&k->launched, correlation)) return;
    if (external) *export_map_at(&k->external, correlation) = external;
    torch_arrow(k, "s", event->track, event->start_ns, correlation);
}

/* ---- Points -------------------------------------------------------------- */

void torch_take_point(torch_export *k, const ts_event *event)
{
    const uint32_t site = (uint32_t)ts_event_value(event, TS_COLUMN_SITE);
    const bool is_message = event->kind == TS_EVENT_MESSAGE;
    const ts_text category = event->kind == TS_EVENT_MARK
                                 ? site_category(k, site)
                                 : export_text(ts_event_name(event->kind));
    torch_begin(k, "i", category,
                is_message ? ts_event_text(event)
                           : ts_reader_site_name(k->reader, site),
                event->track, event->start_ns);
    torch_put(k, ",\"s\":\"t\"");
    torch_end(k);
    k->counts->instants++;
}

void torch_take_flow(torch_export *k, const ts_event *event)
{
    static const char *const phases[] = { "s", "t", "f" };
    const uint64_t phase = ts_event_value(event, TS_COLUMN_PHASE);
    if (phase < TS_PHASE_START || phase > TS_PHASE_END) {
        torch_left_out(k, event);
        return;
    }
    const ts_text name = export_text("flow");
    torch_begin(k, phases[phase - TS_PHASE_START], name, name, event->track,
                event->start_ns);
    torch_put(k, ",\"id\":");
    export_json_uint(&k->block, ts_event_value(event, TS_COLUMN_ID));
    if (phase == TS_PHASE_END) torch_put(k, ",\"bp\":\"e\"");
    torch_end(k);
    k->counts->arrows += phase != TS_PHASE_START;
}

void torch_take_span(torch_export *k, const ts_event *event)
{
    const uint64_t phase = ts_event_value(event, TS_COLUMN_PHASE);
    const uint32_t site = (uint32_t)ts_event_value(event, TS_COLUMN_SITE);
    const bool starts = phase == TS_PHASE_START;
    if (!starts && phase != TS_PHASE_END) {
        torch_left_out(k, event);
        return;
    }
    torch_begin(k, starts ? "b" : "e", export_text("span"),
                starts ? ts_reader_site_name(k->reader, site) : export_text(""),
                event->track, event->start_ns);
    torch_put(k, ",\"id\":");
    export_json_uint(&k->block, ts_event_value(event, TS_COLUMN_ID));
    torch_end(k);
    k->counts->slices += starts;
}

/* ---- Counters ------------------------------------------------------------ */

static const char *const total_names[] = { "Total Allocated",
                                           "Total Reserved" };

// Totals of an allocator were values of its "[memory]" rows.
static bool keep_total(torch_export *k, const ts_event *event, ts_text name,
                       uint64_t bits)
{
    const int which = cli_is_text(name, total_names[0])   ? 0
                      : cli_is_text(name, total_names[1]) ? 1
                                                          : -1;
    if (which < 0) return false;
    k->totals = export_grow(k->totals, &k->total_room, k->total_count,
                            sizeof *k->totals);
    k->totals[k->total_count++] =
        (torch_total){ event->track, (int64_t)bits, which, false };
    k->memory_ns = event->start_ns;
    return true;
}

static void put_sample(torch_export *k, uint32_t track, ts_text name,
                       int64_t time_ns, ts_value_type type, uint64_t bits)
{
    torch_begin(k, "C", (ts_text){ "", 0 }, name, track, time_ns);
    torch_put(k, ",\"args\":{\"value\":");
    torch_value(&k->block, type, bits, (ts_text){ "", 0 });
    torch_put(k, "}");
    torch_end(k);
    k->counts->samples++;
}

void torch_take_counter(torch_export *k, const ts_event *event)
{
    const ts_value_type type =
        (ts_value_type)ts_event_value(event, TS_COLUMN_TYPE);
    const uint64_t bits = ts_event_value(event, TS_COLUMN_VALUE);
    ts_track track;
    double real;
    memcpy(&real, &bits, sizeof real);
    if (!ts_reader_track(k->reader, event->track, &track) ||
        (type == TS_VALUE_DOUBLE && !isfinite(real)))
        torch_left_out(k, event);
    else if (type != TS_VALUE_INT || !keep_total(k, event, track.name, bits))
        put_sample(k, event->track, track.name, event->start_ns, type, bits);
}

/* ---- Memory -------------------------------------------------------------- */

// Device types of c10, by the names that the importer gives to pools.
static void find_device(torch_memory *m, ts_text pool)
{
    static const char *const names[] = { "cpu",    "cuda",  "mkldnn", "opengl",
                                         "opencl", "ideep", "hip" };
    char text[64];
    long long type = 0, device = -1;
    const size_t size =
        pool.size < sizeof text - 1 ? pool.size : sizeof text - 1;
    memcpy(text, pool.text, size);
    text[size] = 0;
    const size_t word = strcspn(text, ":");
    for (size_t i = 1; i < sizeof names / sizeof *names; i++) {
        if (strlen(names[i]) != word || memcmp(names[i], text, word) != 0)
            continue;
        type = (long long)i;
        if (sscanf(text + word, ":%lld", &device) != 1) device = 0;
    }
    sscanf(text, "type %lld:%lld", &type, &device);
    m->type = type;
    m->device = device;
}

// A release has no size of its own: it is that of the block.
static int64_t block_bytes(torch_export *k, const ts_event *event)
{
    const uint64_t space = cli_track_process(k->reader, event->track);
    uint64_t key = ts_event_value(event, TS_COLUMN_ADDRESS) ^
                   (space << 32 | ts_event_value(event, TS_COLUMN_POOL)) *
                       UINT64_C(0x9E3779B97F4A7C15); // 2^64 / golden ratio
    if (key == EXPORT_NO_KEY) key = 0;
    if (event->kind == TS_EVENT_ALLOC) {
        const uint64_t size = ts_event_value(event, TS_COLUMN_SIZE);
        *export_map_at(&k->live, key) = size;
        return size > INT64_MAX ? INT64_MAX : (int64_t)size;
    }
    const uint64_t *const size = export_map_find(&k->live, key);
    const int64_t bytes =
        !size || !*size || *size > INT64_MAX ? -1 : -(int64_t)*size;
    export_map_remove(&k->live, key);
    return bytes;
}

void torch_take_memory(torch_export *k, const ts_event *event)
{
    k->memory = export_grow(k->memory, &k->memory_room, k->memory_count,
                            sizeof *k->memory);
    torch_memory *const m = &k->memory[k->memory_count++];
    *m = (torch_memory){ .track = event->track,
                         .category = (uint32_t)ts_event_value(
                             event, TS_COLUMN_CATEGORY),
                         .address = ts_event_value(event, TS_COLUMN_ADDRESS),
                         .bytes = block_bytes(k, event) };
    find_device(m, name_of(k, ts_event_value(event, TS_COLUMN_POOL)));
    k->memory_ns = event->start_ns;
}

static bool is_total_of(const torch_export *k, const torch_total *t,
                        const torch_memory *m)
{
    ts_track device;
    const bool on_device = torch_above(k, t->track, TS_TRACK_DEVICE, &device);
    const bool wants_device = m->type > 0 && m->device >= 0;
    return on_device == wants_device &&
           (!on_device || (int64_t)device.number == m->device);
}

// Rows and samples of one moment belong together in their order.
static void give_total(torch_export *k, torch_total *t)
{
    for (size_t i = 0; i < k->memory_count && !t->taken; i++) {
        torch_memory *const m = &k->memory[i];
        if (m->has[t->which] || !is_total_of(k, t, m)) continue;
        m->has[t->which] = t->taken = true;
        m->totals[t->which] = t->value;
    }
    if (!t->taken)
        put_sample(k, t->track, export_text(total_names[t->which]),
                   k->memory_ns, TS_VALUE_INT, (uint64_t)t->value);
}

static void put_memory(torch_export *k, const torch_memory *m)
{
    const ts_text own = name_of(k, m->category);
    torch_begin(k, "i", own.size ? own : export_text("cpu_instant_event"),
                export_text("[memory]"), m->track, k->memory_ns);
    torch_put(k, ",\"s\":\"t\",\"args\":{\"Addr\":");
    export_json_uint(&k->block, m->address);
    torch_put(k, ",\"Bytes\":");
    export_json_int(&k->block, m->bytes);
    torch_put(k, ",\"Device Type\":");
    export_json_int(&k->block, m->type);
    torch_put(k, ",\"Device Id\":");
    export_json_int(&k->block, m->device);
    for (int i = 0; i < 2; i++) {
        bool filled = true;
        if (!m->has[i]) continue;
        torch_key(k, &filled, total_names[i]);
        export_json_int(&k->block, m->totals[i]);
    }
    torch_put(k, "}");
    torch_end(k);
    k->counts->instants++;
}

void torch_flush_memory(torch_export *k)
{
    for (size_t i = 0; i < k->total_count; i++)
        give_total(k, &k->totals[i]);
    for (size_t i = 0; i < k->memory_count; i++)
        put_memory(k, &k->memory[i]);
    k->total_count = k->memory_count = 0;
}
