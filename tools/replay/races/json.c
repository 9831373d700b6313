/*
    json.c - races and explored orders as JSON
*/
#include "tools/replay/races/races.h"
#include "tools/common/symbolize/symbolize.h"

static void put_name(cli_json *json, const races_job *job, const char *key,
                     uint32_t file, uint32_t id)
{
    ts_track track;
    cli_text made;
    if (!id) return;
    if (!ts_reader_track(replay_reader(job->replay, file), id, &track)) {
        cli_json_null(json, key);
        return;
    }
    const ts_text name = cli_track_name(&track, &made);
    cli_json_text(json, key, name.text, name.size);
}

// Writes the functions of a frame, innermost first; none if not symbolised.
static void put_functions(cli_json *json, const ts_reader *reader,
                          const ts_frame_entry *frame)
{
    symbolize_line line;
    if (!symbolize_place(reader, frame, 0, &line)) return;
    cli_json_open(json, "functions", '[');
    for (uint32_t i = 0; symbolize_place(reader, frame, i, &line); i++) {
        cli_json_open(json, NULL, '{');
        cli_json_text(json, "name", line.function.text, line.function.size);
        cli_json_text(json, "file", line.file.text, line.file.size);
        cli_json_uint(json, "line", line.line);
        cli_json_close(json, '}');
    }
    cli_json_close(json, ']');
}

static void put_stack(cli_json *json, const ts_reader *reader, uint32_t stack)
{
    const ts_frame_entry *frames;
    const uint32_t count = ts_reader_stack(reader, stack, &frames);
    cli_json_open(json, "stack", '[');
    for (uint32_t i = 0; i < count; i++) {
        const ts_module_entry *const module =
            ts_reader_module(reader, frames[i].module);
        const ts_text path = ts_reader_name(reader, module ? module->path : 0);
        cli_json_open(json, NULL, '{');
        cli_json_text(json, "module", path.text, path.size);
        cli_json_uint(json, "offset", frames[i].offset);
        put_functions(json, reader, &frames[i]);
        cli_json_close(json, '}');
    }
    cli_json_close(json, ']');
}

static void put_side(cli_json *json, const races_job *job, const char *key,
                     const ts_race_side *side)
{
    const ts_reader *const reader = replay_reader(job->replay, side->file);
    const ts_text label = ts_race_side_label(job->races, side);
    const ts_text zone = ts_reader_site_name(reader, side->site);
    cli_json_open(json, key, '{');
    cli_json_string(json, "kind", ts_event_name((uint32_t)side->kind));
    cli_json_text(json, "label", label.text, label.size);
    cli_json_uint(json, "file", side->file);
    if (side->operation != TS_NODE_NONE)
        cli_json_uint(json, "operation", side->operation);
    cli_json_uint(json, "track", side->track);
    put_name(json, job, "track_name", side->file, side->track);
    put_name(json, job, "thread_name", side->file, side->thread);
    if (zone.size) cli_json_text(json, "zone", zone.text, zone.size);
    put_stack(json, reader, side->stack);
    cli_json_int(json, "start_ns", side->start_ns);
    cli_json_int(json, "end_ns", side->end_ns);
    cli_json_uint(json, "address", side->address);
    cli_json_uint(json, "size", side->size);
    cli_json_bool(json, "reads", side->mode & TS_ACCESS_READ);
    cli_json_bool(json, "writes", side->mode & TS_ACCESS_WRITE);
    cli_json_bool(json, "coarse", side->mode & TS_ACCESS_COARSE);
    cli_json_close(json, '}');
}

static void put_race(cli_json *json, const races_job *job, const ts_race *race)
{
    cli_json_open(json, NULL, '{');
    cli_json_string(json, "kind", ts_race_name(race->kind));
    cli_json_string(json, "fix", ts_race_fix_name(race->fix));
    cli_json_uint(json, "instances", race->instances);
    cli_json_uint(json, "address", race->address);
    cli_json_uint(json, "size", race->size);
    cli_json_bool(json, "coarse", race->coarse);
    put_side(json, job, "first", &race->first);
    put_side(json, job, "second", &race->second);
    cli_json_close(json, '}');
}

static void put_coverage(cli_json *json, const ts_races_stats *s)
{
    cli_json_uint(json, "operations", s->operations);
    cli_json_uint(json, "known", s->known);
    cli_json_uint(json, "coarse", s->coarse);
    cli_json_uint(json, "unplaced", s->unplaced);
    cli_json_uint(json, "host", s->host);
    cli_json_uint(json, "ranges", s->ranges);
    cli_json_uint(json, "bad_ranges", s->bad_ranges);
    cli_json_uint(json, "lost_accesses", s->lost_accesses);
    cli_json_uint(json, "unknown_frees", s->unknown_frees);
    cli_json_uint(json, "unknown_order", s->unknown_order);
    cli_json_uint(json, "circle", s->cycle);
    cli_json_uint(json, "capped", s->capped);
}

static void put_exploration(cli_json *json, const races_job *job)
{
    const ts_exploration *const e = &job->exploration;
    cli_json_open(json, "exploration", '{');
    cli_json_uint(json, "asked", job->options.orders);
    cli_json_uint(json, "orders", e->orders);
    cli_json_uint(json, "distinct", e->distinct);
    cli_json_uint(json, "steps", e->operations);
    cli_json_uint(json, "first_seed", job->options.seed);
    cli_json_bool(json, "differs", e->differs);
    cli_json_uint(json, "vdev_orders", job->vdev_orders);
    cli_json_bool(json, "vdev_differs", job->vdev_differs);
    if (e->differs) {
        cli_json_uint(json, "seed", e->seed);
        if (e->size) { // else only a value that the host read differs
            cli_json_uint(json, "address", e->address);
            cli_json_uint(json, "size", e->size);
        }
        put_side(json, job, "first", &e->first);
        put_side(json, job, "second", &e->second);
    }
    cli_json_close(json, '}');
}

void races_json(const races_job *job)
{
    const ts_races_stats *const s = ts_races_result(job->races);
    cli_json json = { .out = stdout, .lines = 3 };
    ts_race race;
    cli_json_open(&json, NULL, '{');
    cli_json_string(&json, "file", job->replay->path);
    put_coverage(&json, s);
    if (job->options.races) {
        cli_json_uint(&json, "instances", s->instances);
        cli_json_uint(&json, "race_count", s->races);
        cli_json_open(&json, "races", '[');
        for (size_t i = 0; ts_races_at(job->races, i, &race); i++)
            put_race(&json, job, &race);
        cli_json_close(&json, ']');
    }
    if (job->options.explore) put_exploration(&json, job);
    cli_json_close(&json, '}');
}
