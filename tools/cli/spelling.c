/*
    spelling.c - suggestions for mistyped words
*/
#include "tools/cli/cli.h"

enum { LONGEST = 40 };

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

// Edit distance: letters to insert, delete, change or swap with the next one.
// Source: Damerau 1964, restricted to one edit of each letter.
static size_t distance(const char *a, size_t a_size, const char *b,
                       size_t b_size)
{
    size_t rows[3][LONGEST + 1];
    for (size_t k = 0; k <= b_size; k++)
        rows[0][k] = k;
    for (size_t i = 1; i <= a_size; i++) {
        size_t *const now = rows[i % 3];
        const size_t *const last = rows[(i + 2) % 3];
        const size_t *const before = rows[(i + 1) % 3];
        now[0] = i;
        for (size_t k = 1; k <= b_size; k++) {
            const bool same = a[i - 1] == b[k - 1];
            now[k] = least(least(now[k - 1], last[k]) + 1, last[k - 1] + !same);
            if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1])
                now[k] = least(now[k], before[k - 2] + 1);
        }
    }
    return rows[a_size % 3][b_size];
}

void cli_near_try(cli_near *near, const char *name, size_t size)
{
    const size_t typed = strlen(near->word);
    if (typed > LONGEST || size > LONGEST || !typed) return;
    // At most a third of the letters may differ; the start of a long name
    // always matches.
    const size_t most = (typed > size ? typed : size) / 3;
    size_t far = distance(near->word, typed, name, size);
    if (typed > 3 && typed < size && !memcmp(near->word, name, typed)) far = 1;
    if (far > most || (near->name && far >= near->far)) return;
    near->name = name;
    near->size = size;
    near->far = far;
}
