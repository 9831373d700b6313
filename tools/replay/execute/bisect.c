/*
    bisect.c - writes the operations that reproduce a divergence as a trace
*/
#include "tools/common/rewrite/rewrite.h"
#include "tools/replay/execute/execute.h"

/* ---- Narrowing ----------------------------------------------------------- */

// Executes a part alone. *first: the row of it that diverged first.
static bool try_part(const execute_job *job, size_t from, size_t to, bool chain,
                     size_t *first)
{
    execute_job part = *job;
    const size_t size = job->count * sizeof *job->rows;
    part.rows = malloc(size + 1);
    if (!part.rows) return cli_out_of_memory(job->replay->tool);
    memcpy(part.rows, job->rows, size);
    const bool ok = execute_rows(&part, from, to, chain);
    *first = part.first;
    free(part.rows);
    return ok;
}

/*
    Finds by bisection the shortest chain that ends with `last` and in which
    `last` diverges. Assumes that longer chains diverge if a shorter one does.
*/
static bool shorten(const execute_job *job, size_t last, size_t *from)
{
    size_t low = 0,
           high = last; // from low on it diverges, from high on it does not
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        size_t first;
        if (!try_part(job, middle, last + 1, true, &first)) return false;
        if (first == last)
            low = middle;
        else
            high = middle;
    }
    *from = low;
    return true;
}

// Finds the range of rows that reproduces the divergence.
static bool narrow(const execute_job *job, size_t *from, size_t *to)
{
    size_t first = job->first;
    *from = *to = job->first;
    if (!job->options->chain) return true;
    if (!try_part(job, 0, job->first + 1, false, &first)) return false;
    if (first < job->count) {
        *from = *to = first;
        return true;
    }
    return shorten(job, *to, from);
}

/* ---- Writing ------------------------------------------------------------- */

typedef struct place_list { // sorted positions of operations in the file
    uint32_t *rows;
    size_t count;
} place_list;

static int by_number(const void *a, const void *b)
{
    const uint32_t *const x = a, *const y = b;
    return *x < *y ? -1 : *x > *y;
}

static bool find_places(const execute_job *job, size_t from, size_t to,
                        place_list *list)
{
    ts_operation op;
    list->count = 0;
    list->rows = calloc(to - from + 1, sizeof *list->rows);
    if (!list->rows) return false;
    for (size_t i = from; i <= to; i++)
        if (ts_replay_operation(job->replay->replay, job->rows[i].operation,
                                &op))
            list->rows[list->count++] = op.row;
    qsort(list->rows, list->count, sizeof *list->rows, by_number);
    return true;
}

static bool is_of_device(void *user, const ts_chunk_info *info)
{
    (void)user;
    return info->header.event >= TS_EVENT_GPU_FIRST;
}

static bool choose(void *user, copy_batch *batch)
{
    const place_list *const list = user;
    for (uint32_t i = 0; i < batch->count; i++) {
        const uint32_t row = batch->gpu_row + i;
        batch->keep[i] = bsearch(&row, list->rows, list->count, sizeof row,
                                 by_number) != NULL;
    }
    return true;
}

static ts_result write_places(const execute_job *job, place_list *list)
{
    const ts_writer_desc desc = { .path = job->options->output };
    const copy_hooks hooks = { .takes = is_of_device,
                               .edit = choose,
                               .user = list };
    copy c = { .reader = job->reader, .path = job->replay->path };
    ts_result result = ts_writer_open(&c.writer, &desc);
    if (result != TS_OK) return result;
    result = TS_ERR_MEMORY;
    if (copy_begin(&c) && copy_captures_find(&c)) {
        copy_tracks(&c);
        result = copy_events(&c, &hooks, NULL, NULL);
        if (result == TS_OK) result = copy_captures_write(&c, false);
    }
    copy_note_text(c.writer, 0, "bisect.of", job->replay->path);
    copy_end(&c);
    if (result == TS_OK) return ts_writer_close(c.writer);
    ts_writer_abandon(c.writer);
    return result;
}

static bool write_rows(const execute_job *job, size_t from, size_t to)
{
    place_list list;
    const ts_result result = find_places(job, from, to, &list)
                                 ? write_places(job, &list)
                                 : TS_ERR_MEMORY;
    free(list.rows);
    if (result != TS_OK)
        cli_error(job->replay->tool, job->options->output, "%s",
                  ts_result_text(result));
    return result == TS_OK;
}

bool execute_bisect(execute_job *job)
{
    size_t from, to;
    FILE *const out = job->options->json ? stderr : stdout;
    if (job->first >= job->count) {
        fprintf(out, "no operation diverges: --bisect has nothing to find\n");
        return true;
    }
    if (!narrow(job, &from, &to) || !write_rows(job, from, to)) return false;
    if (from == to) {
        fprintf(out, "found: operation %" PRIu32 ", ", job->rows[to].operation);
        execute_put_row(out, job, &job->rows[to]);
    } else {
        fprintf(out,
                "no single operation diverges from its recorded inputs; the "
                "divergence needs %s operations, from %" PRIu32 " to %" PRIu32,
                cli_count(to - from + 1).s, job->rows[from].operation,
                job->rows[to].operation);
    }
    fputs("\n    written to ", out);
    cli_put_text(out, job->options->output, strlen(job->options->output));
    fputs(from == to ? "; reproduce it with --execute --trust\n"
                     : "; reproduce it with --execute --chain --trust\n",
          out);
    return true;
}
