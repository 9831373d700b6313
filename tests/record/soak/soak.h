/*
    soak.h - what the programs of `make soak` share: rounds, and a seed by which
             a round that failed is run again
*/
#ifndef SOAK_H
#define SOAK_H

#include "tests/record/process/storm.h"

static int rounds;
static uint64_t seed;

static uint64_t next(uint64_t limit)
{
    seed = storm_mix(seed);
    return (seed >> 20) % limit;
}

// Reads the arguments [rounds [seed]] and prints the seed. False, with the
// usage on stderr, if they are wrong.
static bool soak_begin(const char *name, int usual, int argc, char **argv)
{
    rounds = argc > 1 ? atoi(argv[1]) : usual;
    seed = argc > 2 ? strtoull(argv[2], NULL, 10) : (uint64_t)time(NULL);
    if (rounds < 1) {
        fprintf(stderr, "usage: %s [rounds [seed]]\n", name);
        return false;
    }
    printf("%s: seed %" PRIu64 "\n", name, seed);
    return true;
}

#endif // SOAK_H
