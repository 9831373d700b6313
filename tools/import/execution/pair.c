/*
    pair.c - which profile an execution trace is joined with

    A profile is read ahead as text: its rank is in "distributedInfo", else in
    the name of its file; its processes are the pids of the rows that have a
    "Record function id" other than 0.
*/
#define _GNU_SOURCE // memmem
#include "tools/import/execution/execution.h"

#include <ctype.h>
#include <stdlib.h>

enum {
    PIECE = 1 << 16,
    AHEAD = 1 << 12, // bytes of the text that are looked at after a word
    PROFILES = 65536
};

typedef struct execution_profile {
    char *name; // of the source
    int64_t rank;
    bool *has; // by execution trace: it has rows of its process
} execution_profile;

/* ---- Ranks -------------------------------------------------------------- */

static int64_t digits(const char *text, const char *end)
{
    int64_t number = 0;
    const char *at = text;
    for (; at < end && isdigit((unsigned char)*at) && at - text < 9; at++)
        number = number * 10 + (*at - '0');
    return at == text ? IMPORT_NONE : number;
}

int64_t execution_rank(const char *name)
{
    const char *const end = name + strlen(name);
    for (const char *at = name; end - at > 4; at++) {
        if (strncasecmp(at, "rank", 4)) continue;
        const char *const number = at + 4 + (strchr("_-.", at[4]) != NULL);
        const int64_t rank = digits(number, end);
        if (rank != IMPORT_NONE) return rank;
    }
    if (end - name < 5 || strcmp(end - 3, ".et")) return IMPORT_NONE;
    const char *at = end - 3;
    while (at > name && isdigit((unsigned char)at[-1]))
        at--;
    return at > name && at[-1] == '.' ? digits(at, end) : IMPORT_NONE;
}

/* ---- Reading ahead ------------------------------------------------------ */

typedef struct scan {
    import_executions *all;
    execution_profile *profile;
    int64_t process; // of the last row; IMPORT_NONE: none so far
    bool waits;      // a row's id came before its pid
} scan;

// Returns the number after a key: `"pid": 7` or `"pid": "7"`.
static int64_t number_after(const char *at, const char *end)
{
    while (at < end && strchr(" \t\r\n:\"", *at) && *at)
        at++;
    int64_t number = 0;
    size_t size = 0;
    for (; at + size < end && isdigit((unsigned char)at[size]); size++)
        if (size < 18) number = number * 10 + (at[size] - '0');
    return size && size < 19 ? number : IMPORT_NONE;
}

static void take_process(scan *s)
{
    for (size_t i = 0; i < s->all->count; i++)
        if (s->all->files[i].process == s->process) s->profile->has[i] = true;
}

// Takes the key at a quote; `end` is behind it and its value.
static void take_key(scan *s, const char *at, const char *end)
{
    static const char pid[] = "\"pid\"", id[] = "\"Record function id\"",
                      job[] = "\"distributedInfo\"", rank[] = "\"rank\"";
    const size_t size = (size_t)(end - at);
    if (size > sizeof pid && !memcmp(at, pid, sizeof pid - 1)) {
        const int64_t process = number_after(at + sizeof pid - 1, end);
        if (process == IMPORT_NONE) return;
        s->process = process;
        if (s->waits) take_process(s);
        s->waits = false;
    } else if (size > sizeof id && !memcmp(at, id, sizeof id - 1)) {
        if (number_after(at + sizeof id - 1, end) <= 0) return;
        s->waits = s->process == IMPORT_NONE;
        take_process(s);
    } else if (size > sizeof job && !memcmp(at, job, sizeof job - 1)) {
        const char *const found = memmem(at, size, rank, sizeof rank - 1);
        const char *const close = memchr(at, '}', size);
        if (!found || (close && close < found && !memchr(at, '[', size)))
            return;
        const int64_t number = number_after(found + sizeof rank - 1, end);
        if (number != IMPORT_NONE) s->profile->rank = number;
    }
}

static void scan_text(scan *s, const char *text, size_t from, size_t to,
                      size_t size)
{
    for (const char *at = text + from;
         (at = memchr(at, '"', (size_t)(text + to - at))) != NULL; at++) {
        const size_t ahead = (size_t)(text + size - at);
        take_key(s, at, at + (ahead > AHEAD ? AHEAD : ahead));
    }
}

void import_executions_scan(import_executions *all, const cli_tool *tool,
                            import_source *source)
{
    if (all->profile_count == PROFILES) return;
    if (!cli_grow(&all->profiles, &all->profile_room, all->profile_count + 1,
                  sizeof *all->profiles)) {
        cli_out_of_memory(tool);
        return;
    }
    execution_profile *const p = &all->profiles[all->profile_count++];
    *p = (execution_profile){ strdup(import_source_name(source)),
                              execution_rank(import_source_base(source)),
                              calloc(all->count + 1, sizeof *p->has) };
    char *const text = malloc(PIECE);
    scan s = { .all = all, .profile = p, .process = IMPORT_NONE };
    size_t size = 0, got;
    while (p->name && p->has && text &&
           (got = import_source_read(source, text + size, PIECE - size)) > 0) {
        size += got;
        if (size < PIECE) continue;
        scan_text(&s, text, 0, size - AHEAD, size);
        memmove(text, text + size - AHEAD, AHEAD);
        size = AHEAD;
    }
    if (p->name && p->has && text)
        scan_text(&s, text, 0, size, size);
    else
        cli_out_of_memory(tool);
    free(text);
}

void execution_profiles_close(import_executions *all)
{
    for (size_t i = 0; i < all->profile_count; i++) {
        free(all->profiles[i].name);
        free(all->profiles[i].has);
    }
    free(all->profiles);
}

/* ---- Choosing ----------------------------------------------------------- */

static bool differ(int64_t a, int64_t b)
{
    return a != b && a != IMPORT_NONE && b != IMPORT_NONE;
}

// Returns how many profiles may be an execution trace's; *one is the last. With
// `exactly` only those that are known to be of its rank.
static size_t possible(const import_executions *all, size_t index, bool exactly,
                       const execution_profile **one)
{
    const int64_t rank = all->files[index].rank;
    size_t count = 0;
    for (size_t i = 0; i < all->profile_count; i++) {
        const execution_profile *const p = &all->profiles[i];
        if (!p->has || !p->name || !p->has[index] || differ(rank, p->rank))
            continue;
        if (exactly && (rank == IMPORT_NONE || rank != p->rank)) continue;
        *one = p;
        count++;
    }
    return count;
}

static bool refuse(execution_file *file, const cli_tool *tool, const char *why)
{
    file->is_refused = true;
    return cli_fail(tool, TS_ERR_USAGE, file->from,
                    "%s process %" PRId64 ", and no rank tells which; it is "
                    "not used: name the ranks (rank0.json rank0_et.json), or "
                    "import each profile with its own",
                    why, file->process);
}

// Returns whether another execution trace has the same process and profile.
static bool is_double(const import_executions *all, size_t index)
{
    const execution_file *const file = &all->files[index];
    for (size_t i = 0; i < all->count; i++) {
        const execution_file *const other = &all->files[i];
        if (i != index && other->count && other->process == file->process &&
            other->profile && !strcmp(other->profile, file->profile))
            return true;
    }
    return false;
}

bool import_executions_pair(import_executions *all, const cli_tool *tool,
                            bool others)
{
    bool ok = true;
    for (size_t i = 0; i < all->count; i++) {
        execution_file *const file = &all->files[i];
        const execution_profile *one = NULL;
        size_t count = possible(all, i, false, &one);
        if (count > 1) {
            const size_t exact = possible(all, i, true, &one);
            if (exact) count = exact;
        }
        if (!file->count || (!count && others)) continue;
        if (count > 1) ok = refuse(file, tool, "several profiles have its");
        if (count > 1) continue;
        file->profile = strdup(one ? one->name : "");
        if (!file->profile) return cli_out_of_memory(tool);
    }
    for (size_t i = 0; i < all->count; i++)
        if (all->files[i].profile && *all->files[i].profile &&
            is_double(all, i))
            ok = refuse(&all->files[i], tool,
                        "another execution trace has the profile of its");
    return ok;
}

static bool was_scanned(const import_executions *all, const char *name)
{
    for (size_t i = 0; i < all->profile_count; i++)
        if (all->profiles[i].name && !strcmp(all->profiles[i].name, name))
            return true;
    return false;
}

bool execution_is_for(execution_file *file, const import_job *job)
{
    const char *const name = import_source_name(job->source);
    if (file->is_refused) return false;
    if (file->profile && !strcmp(file->profile, name)) return true;
    const int64_t rank = job->rank != IMPORT_NONE
                             ? job->rank
                             : execution_rank(import_source_base(job->source));
    if (differ(file->rank, rank)) return false;
    if (file->profile) {
        file->is_claimed =
            *file->profile && !was_scanned(job->executions, name);
        return false;
    }
    file->profile = strdup(name);
    return file->profile != NULL;
}
