/*
    rows.c - GPU operations of the selected ranks and steps, by row

    For ts-replay, which handles the rest of a selection itself: operations that
    are not selected are not removed, but keep their recorded times.
*/
#include "tools/common/select/resolve.h"

struct select_rows {
    uint32_t file_count;
    int64_t *begin_ns; // for each file
    struct {
        uint8_t *bits; // bit set by ts_operation.row
        uint64_t count;
    } files[];
};

static bool mark(uint8_t **bits, uint64_t *count, cut_choice *choice,
                 const ts_columns *columns, uint32_t rows)
{
    uint8_t *const more = realloc(*bits, (size_t)(*count + rows) / 8 + 1);
    if (!more) return false;
    memset(more + (*count + 7) / 8, 0,
           (size_t)(*count + rows) / 8 + 1 - (size_t)(*count + 7) / 8);
    *bits = more;
    for (uint32_t i = 0; i < columns->count && i < rows; i++) {
        const cut_row row = {
            columns, i, columns->tracks ? columns->tracks[i] : columns->track,
            columns->start_ns[i], columns->start_ns[i] + columns->duration_ns[i]
        };
        const uint64_t at = *count + i;
        if (cut_is_selected(choice, &row))
            more[at / 8] |= (uint8_t)(1 << at % 8);
        else
            cut_note_earlier(choice, &row);
    }
    *count += rows;
    return true;
}

// Rows of damaged chunks are counted but never selected.
static bool mark_all(uint8_t **bits, uint64_t *count, cut_choice *choice)
{
    ts_columns columns = { 0 };
    ts_chunk_info info;
    bool ok = true;
    for (size_t i = 0; ok && ts_reader_chunk(choice->reader, i, &info); i++) {
        const ts_chunk_header *const h = &info.header;
        if (h->kind != TS_CHUNK_EVENTS || h->event < TS_EVENT_GPU_FIRST ||
            h->event >= TS_EVENT_LIMIT)
            continue;
        const ts_result result = ts_reader_decode(choice->reader, i, &columns);
        if (result != TS_OK) columns.count = 0;
        ok = result != TS_ERR_MEMORY &&
             mark(bits, count, choice, &columns, h->count);
    }
    ts_columns_close(choice->reader, &columns);
    return ok;
}

static bool take_file(select_rows *rows, uint32_t f, const cli_tool *tool,
                      replay_file *file)
{
    cut_choice choice = { 0 };
    cut_job job = { .tool = tool,
                    .path = file->path,
                    .trace = &file->trace,
                    .other_files = rows->file_count > 1,
                    .options = { .deps = CUT_DEPS_NONE } };
    const ts_selection *const s = select_now();
    bool ok = (!s->rank || cut_ranks(&job, s->rank)) &&
              (!s->step || select_steps(&job, s->step));
    if (ok) {
        ok = cut_choice_open(&choice, file->trace.reader, &job.options) &&
             mark_all(&rows->files[f].bits, &rows->files[f].count, &choice);
        if (!ok) cli_out_of_memory(tool);
        if (choice.begin_ns != INT64_MIN) rows->begin_ns[f] = choice.begin_ns;
        cut_choice_close(&choice);
    }
    free((void *)(uintptr_t)job.options.processes);
    return ok;
}

bool select_rows_open(select_rows **to, const replay_job *job)
{
    *to = NULL;
    if (!select_now()->rank && !select_now()->step) return true;
    select_rows *const rows =
        calloc(1, sizeof *rows + job->file_count * sizeof *rows->files);
    if (!rows) return cli_out_of_memory(job->tool);
    *to = rows;
    rows->begin_ns = calloc(job->file_count, sizeof *rows->begin_ns);
    if (!rows->begin_ns) return cli_out_of_memory(job->tool);
    rows->file_count = job->file_count;
    for (uint32_t f = 0; f < job->file_count; f++)
        rows->begin_ns[f] = INT64_MAX;
    for (uint32_t f = 0; f < job->file_count; f++)
        if (!take_file(rows, f, job->tool, &job->files[f])) return false;
    return true;
}

const int64_t *select_rows_begin(const select_rows *rows)
{
    return rows ? rows->begin_ns : NULL;
}

bool select_rows_have(const select_rows *rows, uint32_t file, uint64_t row)
{
    return !rows || (file < rows->file_count && row < rows->files[file].count &&
                     rows->files[file].bits[row / 8] >> (row % 8) & 1);
}

void select_rows_close(select_rows *rows)
{
    for (uint32_t f = 0; rows && f < rows->file_count; f++)
        free(rows->files[f].bits);
    if (rows) free(rows->begin_ns);
    free(rows);
}
