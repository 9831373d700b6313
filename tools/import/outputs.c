/*
    outputs.c - the files that ts-import writes, and their names
*/
#include "tools/import/outputs.h"
#include "tools/cli/context.h"
#include <ctype.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAME = 4096 };

/* ---- Temporary files ---------------------------------------------------- */

// The common pattern of the temporary names; for a tool's signal handler.
static char *volatile watched;
static volatile sig_atomic_t made;

// Makes a temporary name and returns its length. Without snprintf, which is not
// safe in signal handlers.
static size_t temporary_name(char *name, const char *pattern, size_t number)
{
    char digits[24];
    size_t count = 0, at = strlen(pattern);
    for (size_t rest = number; rest || !count; rest /= 10)
        digits[count++] = (char)('0' + rest % 10);
    memcpy(name, pattern, at);
    while (count)
        name[at++] = digits[--count];
    name[at] = 0;
    return at;
}

static void remove_all(const char *pattern, size_t count)
{
    char name[NAME + 32];
    while (count-- > 0) {
        const size_t size = temporary_name(name, pattern, count);
        unlink(name);
        memcpy(name + size, ".part", 6);
        unlink(name);
    }
}

static void interrupted(int number)
{
    if (watched) remove_all(watched, (size_t)made);
    cli_program_interrupted();
    import_source_interrupted();
    import_report_interrupted();
    raise(number); // the default action again: SA_RESETHAND
}

static void watch(char *pattern)
{
    struct sigaction action = { .sa_handler = interrupted,
                                .sa_flags = (int)SA_RESETHAND };
    const int signals[] = { SIGINT, SIGTERM, SIGHUP };
    struct sigaction before;
    if (!cli_is_tool) return;
    watched = pattern;
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        if (sigaction(signals[i], NULL, &before) == 0 &&
            before.sa_handler != SIG_IGN) // keep SIGHUP ignored under nohup
            sigaction(signals[i], &action, NULL);
}

// Makes a pattern that no other call of the process uses.
static bool name_temporaries(import_outputs *all)
{
    static _Atomic unsigned calls;
    all->pattern = malloc(NAME);
    all->next = malloc(NAME + 32);
    if (!all->pattern || !all->next) return cli_out_of_memory(all->tool);
    const int need =
        snprintf(all->pattern, NAME,
                 all->is_folder ? "%s/.ts-import-%ld-%u-" : "%s.%ld-%u-",
                 all->requested, (long)getpid(), calls++);
    if (need < 0 || need >= NAME - 32)
        return cli_fail(all->tool, TS_ERR_IO, all->requested,
                        "the name is too long");
    watch(all->pattern);
    return true;
}

bool import_outputs_open(import_outputs *all)
{
    struct stat st;
    const size_t size = strlen(all->requested);
    const bool is_there = !stat(all->requested, &st);
    all->is_folder = is_there ? S_ISDIR(st.st_mode)
                              : size && all->requested[size - 1] == '/';
    if (!all->is_folder &&
        !cli_replace_check(all->tool, all->requested, CLI_TRACE))
        return false;
    if (!is_there && all->is_folder && mkdir(all->requested, 0777))
        return cli_fail(all->tool, cli_errno_result(errno), all->requested,
                        "%s", strerror(errno));
    return name_temporaries(all);
}

static bool is_same(import_file a, import_file b)
{
    return a.device == b.device && a.number == b.number;
}

static bool has_file(const import_file *files, size_t count, import_file file)
{
    for (size_t i = count; i; i--)
        if (is_same(files[i - 1], file)) return true;
    return false;
}

static bool spare(import_outputs *all, import_file file)
{
    const size_t n = all->input_count;
    if (n && is_same(all->inputs[n - 1], file)) return true; // a member
    if (!cli_grow(&all->inputs, &all->input_room, n + 1, sizeof *all->inputs))
        return false;
    all->inputs[all->input_count++] = file;
    return true;
}

bool import_outputs_spare(import_outputs *all, const import_source *source)
{
    return spare(all, import_source_file(source));
}

bool import_outputs_take_part(import_outputs *all, import_file file)
{
    if (!spare(all, file) || !cli_grow(&all->parts, &all->part_room,
                                       all->part_count + 1, sizeof *all->parts))
        return false;
    all->parts[all->part_count++] = file;
    return true;
}

bool import_outputs_take_parts(import_outputs *all, const import_job *job)
{
    for (size_t i = 0; i < job->part_count; i++)
        if (!import_outputs_take_part(all, job->parts[i])) return false;
    return true;
}

bool import_outputs_is_part(const import_outputs *all,
                            const import_source *source)
{
    return has_file(all->parts, all->part_count, import_source_file(source));
}

const char *import_outputs_next(import_outputs *all)
{
    temporary_name(all->next, all->pattern, all->count);
    all->begun = all->count + 1;
    if (cli_is_tool) made = (sig_atomic_t)all->begun;
    return all->next;
}

bool import_outputs_add(import_outputs *all, import_job *job)
{
    struct stat st;
    import_output *const more =
        realloc(all->outputs, (all->count + 1) * sizeof *more);
    if (!more) return false;
    all->outputs = more;
    import_output *const o = &more[all->count];
    memset(o, 0, sizeof *o);
    o->job = job;
    o->temporary = strdup(import_outputs_next(all));
    o->from = strdup(import_source_name(job->source));
    o->base = strdup(import_source_base(job->source));
    if (o->temporary && !stat(o->temporary, &st))
        o->size = (uint64_t)st.st_size;
    all->count++;
    return true;
}

/* ---- Names -------------------------------------------------------------- */

// Returns the rank in a file name such as "worker3_step_12.pt.trace.json".
static int64_t rank_in(const char *name)
{
    static const char *const words[] = { "rank", "worker" };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const char *at = strstr(name, words[i]);
        if (!at) continue;
        at += strlen(words[i]);
        at += *at == '-' || *at == '_' || *at == '=';
        if (isdigit((unsigned char)*at)) return strtoll(at, NULL, 10);
    }
    return IMPORT_NONE;
}

static int64_t rank_of(const import_output *o)
{
    return o->job->rank != IMPORT_NONE ? o->job->rank : rank_in(o->base);
}

// Returns whether the outputs have distinct ranks.
static bool ranks_differ(const import_outputs *all)
{
    for (size_t i = 0; i < all->count; i++) {
        if (rank_of(&all->outputs[i]) == IMPORT_NONE) return false;
        for (size_t k = 0; k < i; k++)
            if (rank_of(&all->outputs[i]) == rank_of(&all->outputs[k]))
                return false;
    }
    return true;
}

// Replaces characters of an archive's name that are unsafe in file names or
// terminals.
static void keep_harmless(char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text <= ' ' || (unsigned char)*text >= 0x7F ||
            strchr("/\\\"'`$&;|<>*?%!#~()[]{}", *text))
            *text = '_';
}

// Makes the label "rank3", or the source's name up to the first dot and a
// number.
static void label(const import_outputs *all, size_t i, bool by_rank, char *text,
                  size_t size)
{
    const import_output *const o = &all->outputs[i];
    if (by_rank) {
        snprintf(text, size, "rank%lld", (long long)rank_of(o));
        return;
    }
    snprintf(text, size, "%zu-%.*s", i, (int)strcspn(o->base, "."), o->base);
    keep_harmless(text);
}

// Returns the name of an output: `requested` with %r replaced, or with the
// label before its suffix, or a file in the folder.
static char *name_of(const import_outputs *all, size_t i, bool by_rank)
{
    char text[300], name[NAME + 600];
    const char *const w = all->requested, *const mark = strstr(w, "%r");
    const char *const dot = strrchr(w, '.'), *const slash = strrchr(w, '/');
    const bool suffixed = dot && (!slash || dot > slash + 1) && dot != w;
    const int head = (int)(suffixed ? (size_t)(dot - w) : strlen(w));
    label(all, i, by_rank, text, sizeof text);
    const char *const short_label = by_rank ? text + 4 : text;
    if (mark)
        snprintf(name, sizeof name, "%.*s%s%s", (int)(mark - w), w, short_label,
                 mark + 2);
    else if (all->is_folder)
        snprintf(name, sizeof name, "%s%s%s.sbt", w,
                 w[strlen(w) - 1] == '/' ? "" : "/", text);
    else if (all->count == 1)
        snprintf(name, sizeof name, "%s", w);
    else
        snprintf(name, sizeof name, "%.*s-%s%s", head, w, text,
                 suffixed ? dot : ".sbt");
    return strdup(name);
}

static bool is_input(const import_outputs *all, const char *path)
{
    struct stat st;
    if (stat(path, &st)) return false;
    const import_file file = { (uint64_t)st.st_dev, (uint64_t)st.st_ino };
    return has_file(all->inputs, all->input_count, file);
}

static bool is_free(const import_outputs *all, const char *path)
{
    if (is_input(all, path)) {
        return cli_fail(all->tool, TS_ERR_IO, path,
                        "it is an input and cannot be replaced");
    }
    return cli_replace_check(all->tool, path, CLI_TRACE);
}

bool import_outputs_name(import_outputs *all)
{
    const bool by_rank = ranks_differ(all);
    bool ok = true;
    for (size_t i = 0; i < all->count; i++) {
        import_output *const o = &all->outputs[i];
        o->path = name_of(all, i, by_rank);
        ok = o->path && o->temporary && o->from && o->base &&
             is_free(all, o->path) && ok;
    }
    for (size_t i = 0; ok && i < all->count; i++) {
        import_output *const o = &all->outputs[i];
        ok = rename(o->temporary, o->path) == 0;
        if (!ok)
            cli_fail(all->tool, cli_errno_result(errno), o->path, "%s",
                     strerror(errno));
    }
    return ok;
}

void import_outputs_release(import_outputs *all)
{
    if (cli_is_tool) watched = NULL;
    if (all->pattern) remove_all(all->pattern, all->begun);
    all->begun = 0;
}

void import_outputs_close(import_outputs *all)
{
    import_outputs_release(all);
    for (size_t i = 0; i < all->count; i++) {
        import_output *const o = &all->outputs[i];
        import_job_close(o->job);
        free(o->temporary);
        free(o->path);
        free(o->from);
        free(o->base);
    }
    free(all->outputs);
    free(all->inputs);
    free(all->parts);
    free(all->pattern);
    free(all->next);
}
