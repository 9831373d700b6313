/*
    text.c - frames as text, for tools that print them
*/
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "tools/common/symbolize/symbolize.h"
#include "tools/cli/context.h"
#include <pthread.h>

bool symbolize_off;

bool symbolize_is_off(void)
{
    const cli_context *const c = cli_context_now();
    return c ? c->no_symbols : symbolize_off;
}

// Names of each reader, created when its first frame is printed. The mutex
// protects the list; an element belongs to the thread that uses its reader.
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct known {
    const ts_reader *reader;
    symbolize *names; // NULL: no memory
} * known;
static size_t known_count, known_room;

// Called when a reader is closed: another may get its address.
static void forget(const ts_reader *reader)
{
    symbolize *names = NULL;
    pthread_mutex_lock(&mutex);
    for (size_t i = 0; i < known_count; i++) {
        if (known[i].reader != reader) continue;
        names = known[i].names;
        known[i] = known[--known_count];
        break;
    }
    pthread_mutex_unlock(&mutex);
    symbolize_close(names);
}

// Finds the names of a reader; false if they are not created yet.
static bool find(const ts_reader *reader, symbolize **names)
{
    bool found = false;
    pthread_mutex_lock(&mutex);
    for (size_t i = 0; !found && i < known_count; i++) {
        found = known[i].reader == reader;
        if (found) *names = known[i].names;
    }
    pthread_mutex_unlock(&mutex);
    return found;
}

// Adds the names of a reader. False: no memory.
static bool add(const ts_reader *reader, symbolize *names)
{
    pthread_mutex_lock(&mutex);
    const bool ok =
        cli_grow(&known, &known_room, known_count + 1, sizeof *known);
    if (ok) known[known_count++] = (struct known){ reader, names };
    pthread_mutex_unlock(&mutex);
    return ok;
}

static symbolize *names_of(const ts_reader *reader)
{
    symbolize *names = NULL;
    if (find(reader, &names)) return names;
    cli_trace_closing = forget;
    names = symbolize_open(reader, NULL);
    if (names && symbolize_all(names) && add(reader, names)) return names;
    symbolize_close(names);
    add(reader, NULL);
    return NULL;
}

uint32_t symbolize_depth(const ts_reader *reader, const ts_frame_entry *frame)
{
    const symbolize_line *lines;
    symbolize *const names = names_of(reader);
    const uint32_t count = names ? symbolize_frame(names, frame, &lines) : 0;
    return count ? count : 1;
}

// Returns "libx.so+0x1f20" in a buffer that the next 8 calls do not reuse.
static ts_text plain(const ts_reader *reader, const ts_frame_entry *frame)
{
    static _Thread_local char texts[8][512];
    static _Thread_local size_t next;
    char *const text = texts[next++ % 8];
    const ts_module_entry *const module =
        frame->module ? ts_reader_module(reader, frame->module) : NULL;
    const ts_text path = ts_reader_name(reader, module ? module->path : 0);
    size_t from = path.size; // start of the file's base name
    while (from && path.text[from - 1] != '/')
        from--;
    size_t size = path.size - from;
    if (size > 400) size = 400;
    memcpy(text, path.text + from, size);
    const int used = snprintf(text + size, 64, "%s0x%" PRIx64, size ? "+" : "",
                              frame->offset);
    return (ts_text){ text, size + (used > 0 ? (size_t)used : 0) };
}

bool symbolize_place(const ts_reader *reader, const ts_frame_entry *frame,
                     uint32_t at, symbolize_line *line)
{
    const symbolize_line *lines;
    symbolize *const names = names_of(reader);
    const uint32_t count = names ? symbolize_frame(names, frame, &lines) : 0;
    *line = (symbolize_line){ { "", 0 }, { "", 0 }, 0 };
    if (at < count) *line = lines[at];
    return at < count;
}

ts_text symbolize_text(const ts_reader *reader, const ts_frame_entry *frame,
                       uint32_t at)
{
    symbolize_line line;
    return symbolize_place(reader, frame, at, &line) && line.function.size
               ? line.function
               : plain(reader, frame);
}
