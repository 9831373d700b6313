/*
    folded.c - folded stacks: a line for each stack of the main type, with the
    sum of its weights
*/
#include "tools/export/profile/profile.h"
#include "tools/export/json.h"
#include <stdlib.h>

typedef struct line {
    size_t at, size; // of the text
    double sum;
    int64_t whole; // the same, while all weights are whole numbers
    bool is_double;
} line;

typedef struct folded {
    const ts_reader *reader;
    export_buffer text; // of all stacks
    line *lines;
    size_t count, room;
    export_map stacks; // to line + 1
} folded;

// Separators of the format cannot be a part of a name.
static void take_frame(void *user, const ts_frame_entry *frame, uint32_t at)
{
    folded *const f = user;
    const size_t from = f->text.size;
    export_put(&f->text, ";", 1);
    export_put_frame(&f->text, f->reader, frame, at);
    for (size_t i = from + 1; i < f->text.size; i++) {
        uint8_t *const c = &f->text.data[i];
        if (*c == ';') *c = ',';
        if (*c < ' ') *c = ' ';
    }
}

static line *line_of(folded *f, uint32_t stack)
{
    uint64_t *const known = export_map_at(&f->stacks, stack);
    if (*known) return &f->lines[*known - 1];
    f->lines = export_grow(f->lines, &f->room, f->count, sizeof *f->lines);
    line *const made = &f->lines[f->count++];
    *known = f->count;
    *made = (line){ .at = f->text.size };
    profile_frames(f->reader, stack, true, take_frame, f);
    if (f->text.size == made->at) {
        export_put(&f->text, ";", 1);
        export_put(&f->text, "(no stack)", 10);
    }
    made->at++; // the first semicolon
    made->size = f->text.size - made->at;
    return made;
}

static void add(line *l, const line *more)
{
    l->sum += more->sum;
    l->is_double |= more->is_double ||
                    __builtin_add_overflow(l->whole, more->whole, &l->whole);
}

static const uint8_t *texts; // of qsort's lines

static int by_text(const void *left, const void *right)
{
    const line *const a = left, *const b = right;
    const size_t size = a->size < b->size ? a->size : b->size;
    const int order = memcmp(texts + a->at, texts + b->at, size);
    return order ? order : (a->size > b->size) - (a->size < b->size);
}

static void put_lines(folded *f, export_out *out)
{
    export_buffer block = { 0 };
    texts = f->text.data;
    if (f->count) qsort(f->lines, f->count, sizeof *f->lines, by_text);
    for (size_t i = 0; i < f->count;) {
        line sum = f->lines[i++];
        for (; i < f->count && !by_text(&sum, &f->lines[i]); i++)
            add(&sum, &f->lines[i]);
        export_put(&block, f->text.data + sum.at, sum.size);
        export_put(&block, " ", 1);
        if (sum.is_double)
            export_json_double(&block, sum.sum);
        else
            export_json_int(&block, sum.whole);
        export_put(&block, "\n", 1);
        if (block.size >= EXPORT_BLOCK_BYTES) export_out_block(out, &block);
    }
    export_out_block(out, &block);
    export_resize(block.data, 0);
}

static ts_result walk(ts_reader *reader, export_out *out,
                      const export_options *options, export_counts *counts)
{
    profile_rows rows;
    folded f = { .reader = reader };
    const ts_result result = profile_rows_read(&rows, reader, options, counts);
    const size_t type = profile_rows_main(&rows);
    for (size_t i = 0; i < rows.count; i++) {
        const profile_row *const row = &rows.rows[i];
        if (row->type != type) {
            counts->left_out[TS_EVENT_SAMPLE]++;
            continue;
        }
        const line one = { .sum = profile_weight_of(row),
                           .whole = row->is_double ? 0 : (int64_t)row->bits,
                           .is_double = row->is_double };
        add(line_of(&f, row->stack), &one);
        counts->stack_samples++;
    }
    put_lines(&f, out);
    export_map_free(&f.stacks);
    export_resize(f.lines, 0);
    export_resize(f.text.data, 0);
    profile_rows_free(&rows);
    return result;
}

static const char *const suffixes[] = { ".folded", ".collapsed", NULL };

const export_format export_folded = {
    .name = "folded",
    .kind = CLI_FOLDED,
    .suffixes = suffixes,
    .of_samples = true,
    .walk = walk,
};
