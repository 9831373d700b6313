/*
    merge.c - ts_merge: merges traces into one
*/
#include "tools/api/call.h"
#include "tools/merge/merge.h"

static const cli_tool tool = { .name = "ts-merge" };

struct ts_merge {
    api_texts texts;
    char **paths;
    merge_job job;
};

static bool merge(ts_merge *m, api_call *call, const ts_merge_desc *desc)
{
    cli_list offsets = { .count = desc->offset_count };
    if (!desc->path_count || desc->path_count > UINT32_MAX)
        return api_refuse(&tool, "traces to read are required");
    if (!desc->output)
        return api_refuse(&tool, "an output is required: -o FILE");
    if (desc->offset_count > CLI_LIST_MOST)
        return api_refuse(&tool, "at most 64 offsets are allowed");
    for (size_t i = 0; i < desc->offset_count; i++)
        offsets.items[i] = desc->offsets[i];
    m->paths = api_keep_all(&m->texts, desc->paths, desc->path_count);
    m->job = (merge_job){ .tool = &tool,
                          .out = api_keep(&m->texts, desc->output),
                          .shared_flows = desc->shared_flows };
    if (m->texts.failed) return cli_out_of_memory(&tool);
    call->fallback = TS_ERR_STATE;
    if (!merge_open(&m->job, m->paths, (uint32_t)desc->path_count))
        return false;
    call->fallback = TS_ERR_USAGE;
    if (!merge_offsets(&m->job, &offsets)) return false;
    if (!cli_joined_check(&tool, m->job.out, "merge.files")) {
        call->context.result = TS_ERR_USAGE; // perhaps it is an input
        return false;
    }
    call->fallback = TS_ERR_STATE;
    return merge_place(&m->job) && merge_write(&m->job);
}

ts_result ts_merge_files(ts_merge **merged, const ts_merge_desc *desc,
                         ts_error *error)
{
    api_call call;
    *merged = NULL;
    bool ok = api_begin(&call, &desc->observer, NULL, error);
    ts_merge *const m = ok ? calloc(1, sizeof *m) : NULL;
    if (ok && !m) ok = cli_out_of_memory(&tool);
    ok = ok && merge(m, &call, desc);
    const ts_result result = api_end(&call, ok);
    if (ok)
        *merged = m;
    else
        ts_merge_close(m);
    return result;
}

bool ts_merge_file_at(const ts_merge *merged, size_t index, ts_merge_file *file)
{
    if (!merged || index >= merged->job.file_count) return false;
    const merge_file *const f = &merged->job.files[index];
    *file = (ts_merge_file){ .path = f->path,
                             .events = f->counts.kept,
                             .processes = f->parts,
                             .offset_ns = f->offset_ns,
                             .found_by = merge_how_name(f->how),
                             .given = f->given,
                             .matched = f->matched,
                             .residual_ns = f->residual_ns };
    return true;
}

static bool put(const ts_merge *m, api_call *call, ts_report_format format,
                const ts_output *output)
{
    api_output to;
    if ((unsigned)format > TS_REPORT_JSON)
        return api_refuse(&tool, "a merge must be text or JSON");
    if (!api_output_check(&tool, output,
                          format == TS_REPORT_JSON ? CLI_JSON : CLI_ANY,
                          (const char *const *)m->paths, m->job.file_count) ||
        !api_output_open(&to, call, &tool, output))
        return false;
    (format == TS_REPORT_JSON ? merge_json : merge_text)(&m->job);
    return api_output_close(&to, call, &tool, true);
}

ts_result ts_merge_write(const ts_merge *merged, ts_report_format format,
                         const ts_output *output, ts_error *error)
{
    api_call call;
    const bool ok = api_begin(&call, NULL, NULL, error) &&
                    put(merged, &call, format, output);
    return api_end(&call, ok);
}

uint64_t ts_merge_undefined(const ts_merge *merged)
{
    return merged ? merged->job.undefined : 0;
}

void ts_merge_close(ts_merge *merged)
{
    if (!merged) return;
    merge_close(&merged->job);
    free(merged->paths);
    api_texts_close(&merged->texts);
    free(merged);
}
