/*
    collectives.c - whether collectives are on the same communicators

    Every run numbers its communicators anew. Two communicators correspond if
    they share the most matched operations; a matched collective on another
    communicator is a difference.
*/
#include "tools/replay/verify/verify.h"

typedef struct
    communicator_pair { // number of matched operations of two communicators
    uint32_t a, b;
    uint64_t count;
} communicator_pair;

typedef struct communicator_pairs {
    communicator_pair *list;
    size_t count;
} communicator_pairs;

static bool are_on_some(const verify_report *r, uint32_t op)
{
    const verify_op *const a = &r->side[0].ops[op];
    return a->communicator && a->partner != VERIFY_NONE &&
           r->side[1].ops[a->partner].communicator;
}

static int by_pair(const void *left, const void *right)
{
    const communicator_pair *const x = left, *const y = right;
    if (x->a != y->a) return x->a < y->a ? -1 : 1;
    return (x->b > y->b) - (x->b < y->b);
}

// Order: most matched operations first, then order of the file.
static int by_count(const void *left, const void *right)
{
    const communicator_pair *const x = left, *const y = right;
    if (x->count != y->count) return x->count > y->count ? -1 : 1;
    return by_pair(left, right);
}

static bool collect(const verify_report *r, communicator_pairs *m)
{
    const verify_side *const a = &r->side[0], *const b = &r->side[1];
    m->list = malloc((a->op_count + 1) * sizeof *m->list);
    if (!m->list) return false;
    for (uint32_t i = 0; i < a->op_count; i++) {
        if (!are_on_some(r, i)) continue;
        const communicator_pair one = { a->ops[i].communicator,
                                        b->ops[a->ops[i].partner].communicator,
                                        1 };
        m->list[m->count++] = one;
    }
    qsort(m->list, m->count, sizeof *m->list, by_pair);
    size_t kept = 0;
    for (size_t i = 1; i < m->count; i++) {
        if (by_pair(&m->list[kept], &m->list[i]))
            m->list[++kept] = m->list[i];
        else
            m->list[kept].count++;
    }
    m->count = m->count ? kept + 1 : 0;
    qsort(m->list, m->count, sizeof *m->list, by_count);
    return true;
}

static uint32_t most(const verify_side *side)
{
    uint32_t number = 0;
    for (uint32_t i = 0; i < side->op_count; i++)
        if (side->ops[i].communicator > number)
            number = side->ops[i].communicator;
    return number;
}

// Gives communicators of B the numbers of those of A; others get new numbers.
static bool rename_those_of_b(verify_report *r, const communicator_pairs *m)
{
    verify_side *const side = &r->side[1];
    const uint32_t a = most(&r->side[0]), b = most(side);
    bool *const used = calloc((size_t)a + 1, sizeof *used);
    uint32_t *const names = calloc((size_t)b + 1, sizeof *names);
    const bool ok = used && names;
    uint32_t next = a;
    for (size_t i = 0; ok && i < m->count; i++) {
        const communicator_pair *const one = &m->list[i];
        if (used[one->a] || names[one->b]) continue;
        used[one->a] = true;
        names[one->b] = one->a;
    }
    for (uint32_t i = 1; ok && i <= b; i++)
        if (!names[i]) names[i] = ++next;
    for (uint32_t i = 0; ok && i < side->op_count; i++)
        side->ops[i].communicator = names[side->ops[i].communicator];
    free(used);
    free(names);
    return ok;
}

bool verify_communicators(verify_report *r)
{
    communicator_pairs m = { 0 };
    const bool ok = collect(r, &m) && rename_those_of_b(r, &m);
    free(m.list);
    return ok;
}

bool verify_joins_others(const verify_report *r, uint32_t op)
{
    const verify_op *const a = &r->side[0].ops[op];
    return are_on_some(r, op) &&
           a->communicator != r->side[1].ops[a->partner].communicator;
}
