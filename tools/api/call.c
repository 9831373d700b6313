/*
    call.c - how a call of the library begins, writes and ends
*/
#ifndef _GNU_SOURCE
#define _GNU_SOURCE // fopencookie
#endif
#include "tools/api/call.h"

uint32_t ts_tools_version(void)
{
    return TS_TOOLS_VERSION;
}

static void set_error(ts_error *error, ts_result result, const char *text)
{
    if (!error) return;
    error->result = result;
    snprintf(error->text, sizeof error->text, "%s", text);
}

bool api_begin(api_call *call, const ts_observer *observer,
               const ts_selection *selection, ts_error *error)
{
    static const ts_observer nobody;
    static const ts_selection everything;
    *call = (api_call){ .error = error };
    call->context.observer = observer ? observer : &nobody;
    call->context.selection = selection ? selection : &everything;
    call->begun = cli_context_begin(&call->context);
    return call->begun;
}

ts_result api_end(api_call *call, bool ok)
{
    const cli_context *const c = &call->context;
    const ts_result result = ok               ? TS_OK
                             : !call->begun   ? TS_ERR_MEMORY
                             : c->result      ? c->result
                             : call->fallback ? call->fallback
                                              : TS_ERR_USAGE;
    set_error(call->error, result,
              ok         ? ""
              : *c->text ? c->text
                         : ts_result_text(result));
    if (call->begun) cli_context_end(&call->context);
    return result;
}

bool api_refuse(const cli_tool *tool, const char *why)
{
    return cli_fail(tool, TS_ERR_USAGE, NULL, "%s", why);
}

/* ---- Outputs ------------------------------------------------------------- */

static ssize_t write_some(void *cookie, const char *bytes, size_t size)
{
    api_output *const to = cookie;
    if (!to->failed)
        to->failed = !to->output->write(to->output->user, bytes, size);
    return to->failed ? 0 : (ssize_t)size; // 0: an error, as stdio has it
}

bool api_output_check(const cli_tool *tool, const ts_output *output,
                      cli_kind kind, const char *const *inputs, size_t count)
{
    const cli_output one = { "path", output->path, kind };
    if (!!output->path + !!output->stream + !!output->write != 1)
        return api_refuse(tool, "an output must be one of path, stream and "
                                "write");
    return !output->path || cli_outputs_check(tool, &one, 1, inputs, count);
}

bool api_output_open(api_output *to, api_call *call, const cli_tool *tool,
                     const ts_output *output)
{
    const cookie_io_functions_t functions = { .write = write_some };
    *to = (api_output){ .output = output };
    if (output->path) {
        if (!cli_out_open(&to->file, tool, output->path)) return false;
        to->stream = to->file.stream;
    } else if (output->stream) {
        to->stream = output->stream;
    } else {
        to->stream = fopencookie(to, "w", functions);
        if (!to->stream) return cli_out_of_memory(tool);
    }
    call->context.out = to->stream;
    call->context.columns = output->columns;
    return true;
}

bool api_output_close(api_output *to, api_call *call, const cli_tool *tool,
                      bool keep)
{
    call->context.out = NULL;
    if (to->output->path) return cli_out_close(&to->file, keep);
    if (to->output->stream) return keep;
    const bool closed = fclose(to->stream) == 0 && !to->failed;
    if (keep && !closed)
        return cli_fail(tool, TS_ERR_IO, NULL,
                        "the output cannot be written: its callback failed");
    return keep;
}

/* ---- Copies -------------------------------------------------------------- */

char *api_keep(api_texts *texts, const char *text)
{
    if (!text) return NULL;
    char *const copy = strdup(text);
    if (texts->count == texts->room) {
        const size_t room = texts->room ? 2 * texts->room : 16;
        char **const more = realloc(texts->items, room * sizeof *more);
        if (more) {
            texts->items = more;
            texts->room = room;
        }
    }
    if (!copy || texts->count == texts->room) {
        texts->failed = true;
        free(copy);
        return NULL;
    }
    return texts->items[texts->count++] = copy;
}

char **api_keep_all(api_texts *texts, const char *const *items, size_t count)
{
    char **const all = calloc(count + 1, sizeof *all);
    if (!all) texts->failed = true;
    for (size_t i = 0; all && i < count; i++)
        all[i] = api_keep(texts, items[i]);
    return all;
}

void api_texts_close(api_texts *texts)
{
    for (size_t i = 0; i < texts->count; i++)
        free(texts->items[i]);
    free(texts->items);
    *texts = (api_texts){ 0 };
}
