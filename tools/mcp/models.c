/*
    models.c - traces, and what was computed of them
*/
#include "tools/mcp/models.h"

static bool fail(ts_error *why, ts_result result, const char *path,
                 const char *text)
{
    why->result = result;
    snprintf(why->text, sizeof why->text, "%s: %s", path, text);
    return false;
}

bool mcp_text_add(void *user, const void *bytes, size_t size)
{
    mcp_text *const t = user;
    if (t->most && size > t->most - t->size) return false;
    if (size >= t->room - t->size) {
        const size_t room = 2 * (t->room + size) + 64;
        char *const more = realloc(t->text, room);
        if (!more) return false;
        t->text = more;
        t->room = room;
    }
    memcpy(t->text + t->size, bytes, size);
    t->size += size;
    t->text[t->size] = 0;
    return true;
}

/* ---- Traces -------------------------------------------------------------- */

static bool open_file(mcp_file *file, ts_error *why)
{
    const ts_reader_desc desc = { .path = file->path };
    file->verified = false;
    ts_result result = TS_ERR_IO;
    if (!stat(file->path, &file->seen))
        result = ts_reader_open(&file->reader, &desc);
    return result == TS_OK ||
           fail(why, result, file->path,
                result == TS_ERR_IO ? strerror(errno) : ts_result_text(result));
}

bool mcp_models_open(mcp_models *models, const cli_tool *tool,
                     const char *const *paths, size_t count)
{
    ts_error why;
    *models = (mcp_models){ .tool = tool };
    models->files = calloc(count, sizeof *models->files);
    if (!models->files) return cli_out_of_memory(tool);
    for (; models->file_count < count; models->file_count++) {
        mcp_file *const file = &models->files[models->file_count];
        file->path = paths[models->file_count];
        if (open_file(file, &why)) continue;
        cli_error(tool, NULL, "%s", why.text);
        return false;
    }
    return true;
}

static void close_set(mcp_set *set)
{
    ts_timeline_close(set->timeline);
    ts_replay_close(set->replay);
    ts_replay_close(set->model);
    ts_analysis_close(set->brief);
    ts_analysis_close(set->full);
    ts_sql_close(set->sql);
    *set = (mcp_set){ 0 };
}

static void forget_diff(mcp_models *models)
{
    mcp_json_close(&models->diff);
    free(models->diff_text);
    free(models->diff_key);
    models->diff_text = models->diff_key = NULL;
}

static void forget(mcp_models *models)
{
    for (size_t i = 0; i < MCP_SETS_KEPT; i++)
        close_set(&models->sets[i]);
    forget_diff(models);
}

void mcp_models_close(mcp_models *models)
{
    forget(models);
    for (uint32_t i = 0; i < models->file_count; i++)
        ts_reader_close(models->files[i].reader);
    free(models->files);
}

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino &&
           a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
           a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

bool mcp_models_refresh(mcp_models *models, ts_error *why)
{
    for (uint32_t i = 0; i < models->file_count; i++) {
        mcp_file *const file = &models->files[i];
        struct stat now;
        if (file->reader && !stat(file->path, &now) &&
            is_same(&now, &file->seen))
            continue;
        forget(models);
        ts_reader_close(file->reader);
        file->reader = NULL;
        if (!open_file(file, why)) return false;
    }
    return true;
}

/* ---- Sets ---------------------------------------------------------------- */

static bool is_of(const mcp_set *set, const uint32_t *files, uint32_t count)
{
    return set->count == count &&
           !memcmp(set->files, files, count * sizeof *files);
}

mcp_set *mcp_models_set(mcp_models *models, const uint32_t *files,
                        uint32_t count)
{
    mcp_set *oldest = models->sets;
    for (size_t i = 0; i < MCP_SETS_KEPT; i++) {
        mcp_set *const set = &models->sets[i];
        if (is_of(set, files, count)) {
            set->used = ++models->clock;
            return set;
        }
        if (set->used < oldest->used) oldest = set;
    }
    close_set(oldest);
    oldest->count = count;
    oldest->used = ++models->clock;
    for (uint32_t i = 0; i < count; i++) {
        mcp_file *const file = &models->files[files[i]];
        oldest->files[i] = files[i];
        oldest->paths[i] = file->path;
        // What is damaged is known before anything rests on it.
        if (!file->verified) ts_reader_verify(file->reader);
        file->verified = true;
    }
    return oldest;
}

static bool need_analysis(mcp_set *set, ts_analysis **analysis,
                          const char *only, ts_error *why)
{
    const ts_analysis_desc desc = { .paths = set->paths,
                                    .path_count = set->count,
                                    .only = only };
    return *analysis || ts_analysis_open(analysis, &desc, why) == TS_OK;
}

bool mcp_need_brief(mcp_set *set, ts_error *why)
{
    return need_analysis(set, &set->brief, "summary", why);
}

bool mcp_need_full(mcp_set *set, ts_error *why)
{
    return need_analysis(set, &set->full, NULL, why);
}

static bool open_replay(const mcp_models *models, const mcp_set *set,
                        ts_replay **replay, ts_error *why)
{
    ts_reader *readers[MCP_FILES_MOST];
    if (*replay) return true;
    for (uint32_t i = 0; i < set->count; i++)
        readers[i] = models->files[set->files[i]].reader;
    const ts_replay_desc desc = { .more = readers + 1,
                                  .more_count = set->count - 1 };
    const ts_result result = ts_replay_open(replay, readers[0], &desc);
    return result == TS_OK ||
           fail(why, result, set->paths[0],
                result == TS_ERR_NOT_FOUND
                    ? "the trace has no operation of a device; ask `query` "
                      "about the zones and calls of the host"
                    : ts_result_text(result));
}

bool mcp_need_timeline(mcp_models *models, mcp_set *set, ts_error *why)
{
    if (set->timeline) return true;
    if (!open_replay(models, set, &set->replay, why)) return false;
    ts_result result = ts_replay_run(set->replay, NULL);
    if (result == TS_OK)
        result = ts_timeline_open(&set->timeline, set->replay, NULL);
    return result == TS_OK ||
           fail(why, result, set->paths[0], ts_result_text(result));
}

bool mcp_need_model(mcp_models *models, mcp_set *set, ts_error *why)
{
    return open_replay(models, set, &set->model, why);
}

bool mcp_need_sql(mcp_set *set, ts_error *why)
{
    const ts_sql_desc desc = { .paths = set->paths, .path_count = set->count };
    return set->sql || ts_sql_open(&set->sql, &desc, why) == TS_OK;
}

/* ---- Comparisons --------------------------------------------------------- */

// Which traces a comparison is of: "1,2/3,4".
static char *key_of(const mcp_set *before, const mcp_set *after)
{
    const mcp_set *const sides[] = { before, after };
    char *key = NULL;
    size_t size;
    FILE *const out = open_memstream(&key, &size);
    if (!out) return NULL;
    for (int side = 0; side < 2; side++) {
        for (uint32_t i = 0; i < sides[side]->count; i++)
            fprintf(out, "%" PRIu32 ",", sides[side]->files[i]);
        putc('/', out);
    }
    fclose(out);
    return key;
}

static bool write_diff(const mcp_set *before, const mcp_set *after,
                       mcp_text *text, ts_error *why)
{
    const ts_diff_desc desc = { .a_paths = before->paths,
                                .a_count = before->count,
                                .b_paths = after->paths,
                                .b_count = after->count };
    const ts_output output = { .write = mcp_text_add, .user = text };
    ts_diff *diff;
    if (ts_diff_open(&diff, &desc, why) != TS_OK) return false;
    const ts_result result = ts_diff_write(diff, TS_REPORT_JSON, &output, why);
    ts_diff_close(diff);
    return result == TS_OK;
}

const mcp_value *mcp_need_diff(mcp_models *models, const mcp_set *before,
                               const mcp_set *after, ts_error *why)
{
    mcp_text text = { 0 };
    char *const key = key_of(before, after);
    if (key && models->diff_key && !strcmp(models->diff_key, key)) {
        free(key);
        return models->diff.root;
    }
    forget_diff(models);
    models->diff_key = key;
    const bool written = key && write_diff(before, after, &text, why);
    models->diff_text = text.text;
    if (written && mcp_json_read(&models->diff, text.text, text.size))
        return models->diff.root;
    if (written || !key)
        fail(why, TS_ERR_UNSUPPORTED, before->paths[0],
             key ? models->diff.why : ts_result_text(TS_ERR_MEMORY));
    forget_diff(models);
    return NULL;
}
