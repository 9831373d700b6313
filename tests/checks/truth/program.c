/*
    program.c - programs whose truth is known: a trace, and what is so

        program SEED MOOD FOLDER

    Makes a random program of threads, streams, events, copies, graphs and
    collectives on up to three ranks, runs it on a machine of its own in virtual
    time, and writes a trace of each rank (FOLDER/rank0.sbt, ...), the truth
    about it (FOLDER/truth.json): when devices worked, what each idle gap waited
    for, and how long the program takes with something changed, found by
    changing the program and running it again; and the options of ts-replay for
    these changes (FOLDER/what-ifs). Nothing of what ts-analyze and ts-replay
    use is in here but the writer of traces.
*/
#include "tests/checks/truth/report.h"

static FILE *create(const char *folder, const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return fopen(path, "w");
}

static const mood *mood_of(const char *name)
{
    for (int i = 0; i < MOODS; i++)
        if (!strcmp(name, moods[i].name)) return &moods[i];
    return NULL;
}

static bool put_options(const char *folder)
{
    FILE *const to = create(folder, "what-ifs");
    if (!to) return false;
    for (size_t i = 0; i < COUNT_OF(what_ifs); i++)
        if (is_possible(&what_ifs[i]))
            fprintf(to, "--what-if\n%s\n", what_ifs[i].text);
    return fclose(to) == 0;
}

int main(int argc, char **argv)
{
    const mood *const m = argc == 4 ? mood_of(argv[2]) : NULL;
    if (!m) {
        fprintf(stderr, "usage: program SEED MOOD FOLDER\n");
        return 2;
    }
    state = strtoull(argv[1], NULL, 10) * MOODS + (uint64_t)(m - moods);
    make(m);
    list_steps();
    run(&as_it_is);
    find_window();
    find_losses();
    whole = false;
    for (int r = 0; r < RANKS; r++)
        if (is_present(r) && !put_rank(argv[3], r)) return 1;
    out = create(argv[3], "truth.json");
    if (!out) return 1;
    report(m);
    return fclose(out) == 0 && put_options(argv[3]) ? 0 : 1;
}
