/*
    csv.c - reading CSV, a row at a time
*/
#include "tools/import/csv.h"

enum { ROW = 1 << 20 }; // bytes of a row; the rest is dropped

void import_csv_open(import_csv *c, import_source *source)
{
    c->source = source;
    c->count = c->at = c->size = c->byte_count = c->room = 0;
    c->is_cut = c->out_of_memory = false;
    c->bytes = NULL;
}

// Returns the next byte; -1 at the end.
static int next(import_csv *c)
{
    if (c->at == c->size) {
        c->size = import_source_read(c->source, c->block, sizeof c->block);
        c->at = 0;
        if (!c->size) return -1;
    }
    return c->block[c->at++];
}

static void add(import_csv *c, int byte)
{
    if (c->byte_count == ROW) return;
    if (!cli_grow(&c->bytes, &c->room, c->byte_count + 1, 1)) {
        c->out_of_memory = true;
        return;
    }
    c->bytes[c->byte_count++] = (char)byte;
}

// Reads a cell; returns the byte behind it: a comma, a newline or -1.
static int read_cell(import_csv *c)
{
    bool is_quoted = false;
    for (;;) {
        int byte = next(c);
        if (byte == '"') {
            if (!is_quoted) {
                is_quoted = true;
                continue;
            }
            byte = next(c);
            if (byte == '"') {
                add(c, byte);
                continue;
            }
            is_quoted = false;
        }
        if (byte < 0) {
            c->is_cut |= is_quoted;
            return byte;
        }
        if (!is_quoted && (byte == ',' || byte == '\n')) return byte;
        if (is_quoted || byte != '\r') add(c, byte);
    }
}

bool import_csv_next(import_csv *c)
{
    size_t ends[IMPORT_CELLS];
    int byte = '\n';
    do {
        c->count = c->byte_count = 0;
        do {
            byte = read_cell(c);
            if (c->count < IMPORT_CELLS) ends[c->count++] = c->byte_count;
        } while (byte == ',' && !c->out_of_memory);
    } while (byte == '\n' && c->count == 1 && !c->byte_count);
    for (size_t i = 0, from = 0; i < c->count; from = ends[i++])
        c->cells[i] =
            (ts_text){ c->bytes ? c->bytes + from : "", ends[i] - from };
    return !c->out_of_memory && (byte >= 0 || c->count > 1 || c->byte_count);
}

bool import_csv_close(import_csv *c)
{
    free(c->bytes);
    c->bytes = NULL;
    return !c->out_of_memory;
}
