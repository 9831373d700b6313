/*
    kernels.c - kernels by name, by launch configuration, by zone
*/
#include "tools/analyze/figures/operations/kernels.h"

/*
    The key of a launch holds its number and the device. A collective without a
    launch uses the number of its name with NAME_BIT. COLLECTIVE_BIT marks
    collectives.
*/
#define NAME_BIT       (UINT64_C(1) << 32)
#define COLLECTIVE_BIT (UINT64_C(1) << 33)

static uint32_t device_of(const ts_reader *reader, uint32_t id)
{
    ts_track track;
    for (int depth = 0; depth < 8 && ts_reader_track(reader, id, &track);
         depth++) {
        if (track.type == TS_TRACK_DEVICE) return id;
        id = track.parent;
    }
    return 0;
}

// Finds the devices of all tracks, once: a chunk may be of a thousand in turn.
static bool load_devices(kernels *k)
{
    ts_track track;
    for (uint32_t f = 0; f < k->job->file_count; f++) {
        const ts_reader *const reader = analyze_reader(k->job, f);
        for (size_t i = 0; ts_reader_track_at(reader, i, &track); i++)
            if (!cli_map_set(&k->devices, (uint64_t)f << 32 | track.id,
                             device_of(reader, track.id)))
                return false;
    }
    return true;
}

static uint32_t event_device(const kernels *k, const stats_event *e)
{
    const uint64_t *const device =
        cli_map_find(&k->devices, (uint64_t)e->file << 32 | stats_track(e));
    return device ? (uint32_t)*device : 0;
}

static bool keys(const stats_event *e, stats_key *key, void *user)
{
    const kernels *const k = user;
    uint64_t launch = stats_value(e, TS_COLUMN_LAUNCH);
    if (e->columns->kind == TS_EVENT_COLLECTIVE) {
        if (!launch) launch = NAME_BIT | stats_value(e, TS_COLUMN_NAME);
        launch |= COLLECTIVE_BIT;
    }
    key[KERNELS_LAUNCH] = (stats_key){ { launch, event_device(k, e) } };
    if (k->scan.map_count > KERNELS_ZONE)
        key[KERNELS_ZONE] =
            (stats_key){ { stats_value(e, TS_COLUMN_SITE), 0 } };
    if (k->scan.map_count > KERNELS_STACK) {
        const uint64_t row = k->first[e->file][e->columns->chunk] + e->row;
        key[KERNELS_STACK] =
            (stats_key){ { k->stack_of[e->file] ? k->stack_of[e->file][row] : 0,
                           0 } };
    }
    return true;
}

/* ---- Texts --------------------------------------------------------------- */

const ts_launch_entry *kernels_launch(const kernels *k, const stats_group *g)
{
    if (g->key[0] & NAME_BIT || !(uint32_t)g->key[0]) return NULL;
    return ts_reader_launch(analyze_reader(k->job, g->file),
                            (uint32_t)g->key[0]);
}

bool kernels_collective(const stats_group *g)
{
    return g->key[0] & COLLECTIVE_BIT;
}

uint32_t kernels_device(const stats_group *g)
{
    return (uint32_t)g->key[1];
}

static ts_text name_of(const stats_group *g, void *user)
{
    kernels *const k = user;
    const ts_launch_entry *const launch = kernels_launch(k, g);
    const ts_reader *const reader = analyze_reader(k->job, g->file);
    ts_text name = { "", 0 };
    if (launch) name = ts_reader_name(reader, launch->name);
    if (g->key[0] & NAME_BIT)
        name = ts_reader_name(reader, (uint32_t)g->key[0]);
    if (name.size) return analyze_name(k->job, name);
    return analyze_format(k->job, "launch %" PRIu32, (uint32_t)g->key[0]);
}

// Returns the configuration as text. Configurations with equal texts are one;
// devices differ by their limits, not their number.
static ts_text config_of(const stats_group *g, void *user)
{
    kernels *const k = user;
    const ts_launch_entry *const l = kernels_launch(k, g);
    const ts_text name = name_of(g, user);
    const ts_reader *const reader = analyze_reader(k->job, g->file);
    ts_metadata model = { .text = { "", 0 } };
    ts_reader_metadata(reader, kernels_device(g), "name", &model);
    if (!l) return name;
    return analyze_format(
        k->job, "%.*s\n%u,%u,%u %u,%u,%u %u,%u,%u %u %u %u %u %.*s",
        (int)name.size, name.text, l->grid[0], l->grid[1], l->grid[2],
        l->block[0], l->block[1], l->block[2], l->cluster[0], l->cluster[1],
        l->cluster[2], l->registers, l->static_shared, l->dynamic_shared,
        l->local, (int)model.text.size, model.text.text);
}

static ts_text zone_of(const stats_group *g, void *user)
{
    kernels *const k = user;
    const ts_text name = ts_reader_site_name(analyze_reader(k->job, g->file),
                                             (uint32_t)g->key[0]);
    if (!g->key[0]) return (ts_text){ "(no zone)", 9 };
    if (name.size) return analyze_name(k->job, name);
    return analyze_format(k->job, "site %" PRIu64, g->key[0]);
}

static ts_text stack_of(const stats_group *g, void *user)
{
    kernels *const k = user;
    if (!g->key[0]) return (ts_text){ "(no stack)", 10 };
    return analyze_stack(k->job, g->file, (uint32_t)g->key[0], 8);
}

/* ---- Stacks -------------------------------------------------------------- */

static bool has_stacks(const kernels *k, uint32_t file)
{
    ts_reader *const reader = analyze_reader(k->job, file);
    ts_chunk_info info;
    for (size_t i = 0; ts_reader_chunk(reader, i, &info); i++)
        if (info.header.kind == TS_CHUNK_STACKS) return true;
    return false;
}

static bool load_stacks(kernels *k)
{
    const uint32_t files = k->job->file_count;
    k->stack_of = calloc(files, sizeof *k->stack_of);
    k->first = calloc(files, sizeof *k->first);
    if (!k->stack_of || !k->first) return false;
    for (uint32_t i = 0; i < files; i++) {
        size_t count;
        ts_reader *const reader = analyze_reader(k->job, i);
        k->first[i] =
            calloc(ts_reader_chunk_count(reader) + 1, sizeof **k->first);
        if (!k->first[i]) return false;
        cli_operation_rows(reader, k->first[i]);
        if (!has_stacks(k, i)) continue;
        k->stack_of[i] = analyze_stacks(k->job, i, &count);
        if (k->stack_of[i]) k->has_stacks = true;
    }
    return true;
}

/* ---- The whole computation ----------------------------------------------- */

static bool make_rows(kernels *k)
{
    if (!stats_rows_open(&k->names, &k->maps[KERNELS_LAUNCH], name_of, k))
        return false;
    if (k->scan.map_count == 1) return true;
    return stats_rows_quantiles(&k->names, k->job, &k->scan, KERNELS_LAUNCH,
                                &k->maps[KERNELS_LAUNCH]) &&
           stats_rows_open(&k->configs, &k->maps[KERNELS_LAUNCH], config_of,
                           k) &&
           stats_rows_open(&k->zones, &k->maps[KERNELS_ZONE], zone_of, k) &&
           (!k->has_stacks ||
            stats_rows_open(&k->stacks, &k->maps[KERNELS_STACK], stack_of, k));
}

bool kernels_open(kernels *k, analyze_job *job, bool all)
{
    *k = (kernels){ .job = job };
    k->scan = (stats_scan){ .kinds = TS_FILTER(KERNEL) | TS_FILTER(COLLECTIVE),
                            .map_count = all ? KERNELS_MAPS : 1,
                            .keys = keys,
                            .user = k };
    if (!load_devices(k) || (all && !load_stacks(k))) return false;
    if (all && !k->has_stacks) k->scan.map_count = KERNELS_STACK;
    return stats_run_all(job, &k->scan, k->maps) && make_rows(k);
}

void kernels_close(kernels *k)
{
    for (size_t i = 0; i < KERNELS_MAPS; i++)
        stats_close(&k->maps[i]);
    stats_rows_close(&k->names);
    stats_rows_close(&k->configs);
    stats_rows_close(&k->zones);
    stats_rows_close(&k->stacks);
    cli_map_close(&k->devices);
    for (uint32_t i = 0; k->first && i < k->job->file_count; i++)
        free(k->first[i]);
    free(k->first);
    free((void *)k->stack_of);
}
