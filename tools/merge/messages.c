/*
    messages.c - reports the result of a merge
*/
#include "tools/merge/merge.h"

static cli_text how_text(const merge_file *file)
{
    switch (file->how) {
    case MERGE_FIRST: return cli_format("the time axis");
    case MERGE_GIVEN:
        return cli_format(file->given ? "--offset"
                                      : "--offset for its machine");
    case MERGE_CLOCK: return cli_format("clock of the machine, exact");
    case MERGE_COLLECTIVES:
        return cli_format("%s collectives, residual %s",
                          cli_count(file->matched).s,
                          cli_time(file->residual_ns).s);
    case MERGE_DATE: return cli_format("time of day, as accurate as it is set");
    default: return cli_format("nothing");
    }
}

static uint64_t event_count(const merge_job *job)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < job->file_count; i++)
        count += job->files[i].counts.kept;
    return count;
}

static uint32_t part_count(const merge_job *job)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < job->file_count; i++)
        count += job->files[i].parts;
    return count;
}

static int widest(const merge_job *job)
{
    size_t width = 4;
    for (uint32_t i = 0; i < job->file_count; i++)
        if (strlen(job->files[i].path) > width)
            width = strlen(job->files[i].path);
    return width > 40 ? 40 : (int)width;
}

// Shortens a long path at its beginning, because its end is more specific.
static void put_path(const char *path, int width)
{
    const size_t size = strlen(path);
    size_t skip = size > (size_t)width ? size - (size_t)width : 0;
    while (skip < size && (path[skip] & 0xC0) == 0x80)
        skip++; // do not cut within a UTF-8 character
    cli_put_padded(cli_stdout(), path + skip, size - skip, (uint32_t)width);
}

void merge_text(const merge_job *job)
{
    const int width = widest(job);
    cli_put_text(cli_stdout(), job->out, strlen(job->out));
    cli_print(": %s, %s, %s\n\n",
              cli_counted(job->file_count, "trace", "traces").s,
              cli_counted(part_count(job), "process", "processes").s,
              cli_counted(event_count(job), "event", "events").s);
    cli_print("  %-*s  %12s  %14s  aligned by\n", width, "file", "events",
              "offset");
    for (uint32_t i = 0; i < job->file_count; i++) {
        const merge_file *const file = &job->files[i];
        fputs("  ", cli_stdout());
        put_path(file->path, width);
        cli_print("  %12s  %14s  %s\n", cli_count(file->counts.kept).s,
                  cli_format("%s%s", file->offset_ns > 0 ? "+" : "",
                             cli_time(file->offset_ns).s)
                      .s,
                  how_text(file).s);
    }
}

static void put_file(cli_json *json, const merge_file *file)
{
    cli_json_open(json, NULL, '{');
    cli_json_string(json, "file", file->path);
    cli_json_uint(json, "events", file->counts.kept);
    cli_json_uint(json, "processes", file->parts);
    cli_json_int(json, "offset_ns", file->offset_ns);
    cli_json_string(json, "found_by", merge_how_name(file->how));
    cli_json_uint(json, "matched_collectives", file->matched);
    cli_json_int(json, "residual_ns", file->residual_ns);
    cli_json_close(json, '}');
}

void merge_json(const merge_job *job)
{
    cli_json json = { .out = cli_stdout(), .lines = 2 };
    cli_json_open(&json, NULL, '{');
    cli_json_string(&json, "output", job->out);
    cli_json_uint(&json, "events", event_count(job));
    cli_json_uint(&json, "processes", part_count(job));
    cli_json_uint(&json, "undefined", job->undefined);
    cli_json_open(&json, "files", '[');
    for (uint32_t i = 0; i < job->file_count; i++)
        put_file(&json, &job->files[i]);
    cli_json_close(&json, ']');
    cli_json_close(&json, '}');
}
