/*
    profile.c - functions, stacks and samples of profiles to the trace
*/
#include "tools/import/profile/profile.h"
#include <errno.h>

profile profile_open(import_job *job)
{
    return (profile){ .job = job };
}

bool profile_close(profile *p)
{
    free(p->functions);
    free(p->frames);
    cli_index_close(&p->index);
    cli_map_close(&p->modules);
    return !p->no_memory || import_out_of_memory(p->job);
}

/* ---- Functions ----------------------------------------------------------- */

uint32_t profile_name(profile *p, const char *text, size_t size)
{
    return size ? import_name(p->job, text, size)
                : import_name(p->job, "[unknown]", 9);
}

uint32_t profile_module(profile *p, uint32_t name)
{
    static const uint8_t of_no_file[1] = { 0 };
    const uint32_t known = cli_map_row(&p->modules, name);
    if (known != CLI_NONE) return known;
    ts_module_entry module = { .path = name };
    if (!name) module.path = import_name(p->job, "profile", 7);
    const uint32_t made = ts_writer_module(p->job->writer, &module, of_no_file,
                                           sizeof of_no_file);
    if (!cli_map_set(&p->modules, name, made)) p->no_memory = true;
    return made;
}

static uint64_t hash_of(const profile_function *f)
{
    return cli_hash_join((uint64_t)f->module << 32 | f->name,
                         (uint64_t)f->file << 32 | f->line);
}

// Returns the number of a function, from 1; 0: no memory.
static uint32_t number_of(profile *p, const profile_function *f, bool *fresh)
{
    const uint64_t hash = hash_of(f);
    uint32_t row;
    for (size_t at = 0;
         (row = cli_index_next(&p->index, hash, &at)) != CLI_NONE;)
        if (!memcmp(&p->functions[row], f, sizeof *f)) return row + 1;
    if (!cli_grow(&p->functions, &p->function_room, p->function_count + 1,
                  sizeof *p->functions) ||
        !cli_index_add(&p->index, hash, (uint32_t)p->function_count)) {
        p->no_memory = true;
        return 0;
    }
    *fresh = true;
    p->functions[p->function_count++] = *f;
    return (uint32_t)p->function_count;
}

ts_frame_entry profile_frame(profile *p, const profile_function *function)
{
    bool fresh = false;
    const ts_frame_entry frame = { .module =
                                       profile_module(p, function->module),
                                   .offset = number_of(p, function, &fresh) };
    const ts_line_entry line = { .function = function->name,
                                 .file = function->file,
                                 .line = function->line };
    if (fresh) ts_writer_symbol(p->job->writer, &frame, &line, 1);
    return frame;
}

/* ---- Stacks -------------------------------------------------------------- */

void profile_push(profile *p, const ts_frame_entry *frame)
{
    if (!cli_grow(&p->frames, &p->frame_room, p->frame_count + 1,
                  sizeof *p->frames))
        p->no_memory = true;
    else
        p->frames[p->frame_count++] = *frame;
}

uint32_t profile_stack(profile *p, bool outermost_first)
{
    size_t count = p->frame_count;
    p->frame_count = 0;
    for (size_t i = 0; outermost_first && i < count / 2; i++) {
        const ts_frame_entry frame = p->frames[i];
        p->frames[i] = p->frames[count - 1 - i];
        p->frames[count - 1 - i] = frame;
    }
    if (count > PROFILE_FRAMES_MOST) {
        import_flaw(p->job, "deep_stack");
        count = PROFILE_FRAMES_MOST;
    }
    return count ? ts_writer_stack(p->job->writer, p->frames, (uint32_t)count)
                 : 0;
}

/* ---- Samples ------------------------------------------------------------- */

void profile_sample(profile *p, uint32_t thread, int64_t time_ns,
                    const profile_weight *weight, uint32_t stack)
{
    const ts_writer_value values[] = {
        { TS_COLUMN_NAME, weight->name }, { TS_COLUMN_UNIT, weight->unit },
        { TS_COLUMN_TYPE, weight->type }, { TS_COLUMN_VALUE, weight->value },
        { TS_COLUMN_STACK, stack },
    };
    import_event(p->job, TS_EVENT_SAMPLE, thread, time_ns, 0, values, 5);
}

bool profile_weight_read(profile_weight *weight, const char *text, size_t size)
{
    char number[64], *end;
    if (!size || size >= sizeof number) return false;
    memcpy(number, text, size);
    number[size] = 0;
    if (!strchr("-0123456789", *number)) return false;
    errno = 0;
    const int64_t whole = strtoll(number, &end, 10);
    if (!*end && !errno) {
        weight->type = TS_VALUE_INT;
        weight->value = (uint64_t)whole;
        return true;
    }
    const double real = strtod(number, &end);
    if (*end || !(real > -1e300 && real < 1e300)) return false;
    weight->type = TS_VALUE_DOUBLE;
    memcpy(&weight->value, &real, sizeof real);
    return true;
}
