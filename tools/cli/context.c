/*
    context.c - messages, results and progress of a tool or a call
*/
#include "tools/cli/context.h"
#include <stdarg.h>

bool cli_is_tool;

/* ---- The context --------------------------------------------------------- */

static _Thread_local cli_context *current;

cli_context *cli_context_now(void)
{
    return current;
}

bool cli_context_begin(cli_context *context)
{
    context->message = open_memstream(&context->bytes, &context->size);
    if (!context->message) return false;
    context->outer = current;
    current = context;
    return true;
}

void cli_context_end(cli_context *context)
{
    current = context->outer;
    fclose(context->message);
    free(context->bytes);
    free(context->places);
}

FILE *cli_stdout(void)
{
    return current ? current->out : stdout;
}

void cli_print(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vfprintf(cli_stdout(), format, args);
    va_end(args);
}

/* ---- Messages ------------------------------------------------------------ */

FILE *cli_error_begin(const cli_tool *tool, const char *file)
{
    FILE *const out = current ? current->message : stderr;
    if (current)
        rewind(out);
    else
        fprintf(out, "%s: ", tool->name);
    if (file) cli_put_path(out, file);
    if (file) fputs(": ", out);
    return out;
}

// Stores the error text, or appends to it.
static void keep(cli_context *c, const char *text, bool add)
{
    const size_t used = add ? strlen(c->text) : 0;
    snprintf(c->text + used, sizeof c->text - used, "%s%s", used ? "\n" : "",
             text);
    size_t size = strlen(c->text);
    if (size + 1 < sizeof c->text) return;
    while (size && ((unsigned char)c->text[size - 1] & 0xC0) == 0x80)
        size--; // cut at the start of a character
    c->text[size ? size - 1 : 0] = 0;
}

static const char *finish(cli_context *c)
{
    putc(0, c->message); // ends it: a longer message left text after it
    fflush(c->message);
    if (c->observer->message) c->observer->message(c->observer->user, c->bytes);
    return c->bytes;
}

void cli_error_end(void)
{
    cli_context *const c = current;
    if (!c) {
        putc('\n', stderr);
        return;
    }
    const char *const text = finish(c);
    if (c->result == TS_OK) keep(c, text, false);
}

bool cli_fail_end(ts_result result)
{
    cli_context *const c = current;
    if (!c) {
        putc('\n', stderr);
        return false;
    }
    const bool first = c->result == TS_OK;
    const char *const text = finish(c);
    if (first) keep(c, text, false);
    if (first) c->result = result;
    return false;
}

void cli_hint_end(void)
{
    cli_context *const c = current;
    if (c)
        keep(c, finish(c), true);
    else
        putc('\n', stderr);
}

static void put(FILE *out, const char *format, va_list args)
{
    char message[2048];
    vsnprintf(message, sizeof message, format, args);
    cli_put_text(out, message, strlen(message));
}

void cli_error(const cli_tool *tool, const char *file, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    put(cli_error_begin(tool, file), format, args);
    va_end(args);
    cli_error_end();
}

bool cli_fail(const cli_tool *tool, ts_result result, const char *file,
              const char *format, ...)
{
    va_list args;
    va_start(args, format);
    put(cli_error_begin(tool, file), format, args);
    va_end(args);
    return cli_fail_end(result);
}

void cli_hint(const cli_tool *tool, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    put(cli_error_begin(tool, NULL), format, args);
    va_end(args);
    cli_hint_end();
}

bool cli_out_of_memory(const cli_tool *tool)
{
    return cli_fail(tool, TS_ERR_MEMORY, NULL, "out of memory");
}

ts_result cli_errno_result(int number)
{
    return number == ENOMEM                       ? TS_ERR_MEMORY
           : number == ENOSPC || number == EDQUOT ? TS_ERR_DISK_FULL
                                                  : TS_ERR_IO;
}

/* ---- What tools give to calls -------------------------------------------- */

static void show_message(void *user, const char *text)
{
    const cli_reporter *const r = user;
    fprintf(stderr, "%s: %s\n", r->tool->name, text);
}

static void show_progress(void *user, const char *what, uint64_t done,
                          uint64_t total)
{
    cli_reporter *const r = user;
    if (!what) {
        cli_progress_erase(&r->progress);
        return;
    }
    r->progress.what = what;
    cli_progress_draw(&r->progress, done, total);
}

ts_observer cli_observer(cli_reporter *reporter)
{
    return (ts_observer){ .user = reporter,
                          .message = show_message,
                          .progress = show_progress };
}

const ts_output *cli_tool_output(void)
{
    static ts_output out;
    out.stream = stdout;
    out.columns = cli_has_width() ? cli_width() : 0;
    return &out;
}

int64_t cli_row_count(uint64_t given)
{
    return !given ? -1 : given > INT64_MAX ? INT64_MAX : (int64_t)given;
}
