/*
    folded.c - folded stacks: a line for each stack, "main;work;leaf 12"

    Functions from the outermost on, separated by semicolons, then a space and
    the weight. Nothing says what the weight is, nor when the samples were
    taken: they get neither a name nor a unit, and time 0. Of a difference of
    two profiles, whose lines have two weights, the second profile is taken.
*/
#include "tools/import/profile/profile.h"

// Of a line that is no stack; functions may begin like that.
static bool is_remark(const char *line, size_t size)
{
    return *line == '#' || (size > 1 && !memcmp(line, "//", 2));
}

// Finds the weight at the end of a line; *stack receives the size of the rest.
static bool read_line(const char *line, size_t size, size_t *stack,
                      profile_weight *weight)
{
    size_t at = size;
    while (at && line[at - 1] != ' ')
        at--;
    if (at < 2 || !profile_weight_read(weight, line + at, size - at))
        return false;
    *stack = at - 1;
    return true;
}

// Cuts the first of two weights off a stack.
static bool cut_weight(const char *line, size_t *stack)
{
    profile_weight first;
    return read_line(line, *stack, stack, &first);
}

typedef struct survey { // of the first lines
    size_t stacks, differences, wrong;
    bool deep;      // a stack has two functions
    bool is_binary; // a line has a zero byte
} survey;

static void look_at(survey *s, const char *line, size_t size)
{
    profile_weight weight;
    size_t stack;
    if (memchr(line, 0, size)) s->is_binary = true;
    if (read_line(line, size, &stack, &weight)) {
        s->stacks++;
        if (memchr(line, ';', stack)) s->deep = true;
        s->differences += cut_weight(line, &stack);
    } else if (size && !is_remark(line, size)) {
        s->wrong++;
    }
}

static survey look(import_source *source)
{
    survey s = { 0 };
    size_t size;
    const char *line = (const char *)import_source_head(source, &size);
    const char *const end = line + size;
    while (line < end && s.stacks + s.wrong < 100 && !s.is_binary) {
        const char *next = memchr(line, '\n', (size_t)(end - line));
        if (!next && s.stacks) break; // it may be cut
        if (!next) next = end;
        size_t length = (size_t)(next - line);
        if (length && line[length - 1] == '\r') length--;
        look_at(&s, line, length);
        line = next + 1;
    }
    return s;
}

// Whether most of the first lines are stacks, one of them of two functions.
static bool recognise(import_source *source)
{
    const survey s = look(source);
    return !s.is_binary && s.deep && 3 * s.wrong <= s.stacks;
}

static void push_functions(profile *p, const char *text, size_t size)
{
    const char *const end = text + size;
    while (text <= end) {
        const char *next = memchr(text, ';', (size_t)(end - text));
        if (!next) next = end;
        const profile_function function = {
            .name = profile_name(p, text, (size_t)(next - text))
        };
        const ts_frame_entry frame = profile_frame(p, &function);
        profile_push(p, &frame);
        text = next + 1;
    }
}

static void take_line(profile *p, uint32_t thread, const profile_lines *l,
                      bool is_difference)
{
    profile_weight weight = { 0 };
    size_t stack;
    const bool good = read_line(l->line, l->size, &stack, &weight);
    if (!l->size || (!good && is_remark(l->line, l->size))) return;
    p->job->rows++;
    if (l->cut || !good) {
        import_bad(p->job, l->cut ? "long_line" : "broken_row", IMPORT_NONE);
        return;
    }
    if (is_difference && cut_weight(l->line, &stack))
        import_flaw(p->job, "first_weight_dropped");
    push_functions(p, l->line, stack);
    profile_sample(p, thread, 0, &weight, profile_stack(p, true));
}

static bool import(import_job *job)
{
    profile p = profile_open(job);
    profile_lines l;
    const survey s = look(job->source);
    const bool is_difference = s.stacks && s.differences == s.stacks;
    if (!profile_lines_open(&l, job->source)) p.no_memory = true;
    const char *const name = import_source_base(job->source);
    const uint32_t thread = import_thread(job, IMPORT_NONE, 1);
    import_track_name(job, thread, name, strlen(name));
    while (!p.no_memory && profile_lines_next(&l)) {
        take_line(&p, thread, &l, is_difference);
        import_progress(job);
    }
    profile_lines_close(&l);
    return profile_close(&p);
}

const import_format import_folded = {
    .name = "folded",
    .title = "folded stacks (flame graph tools)",
    .recognise = recognise,
    .import = import,
};
