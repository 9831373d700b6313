/*
    layout.c - Chakra execution traces: estimates times of nodes

    Most files have the duration and the dependencies of a node, but no start
    time. Then a node begins when its dependencies have ended and its thread or
    stream is free. Among ready nodes, the one that was ready first begins
    first, then the one with the smaller id. Recorded start times are kept.
*/
#include "tools/import/chakra/chakra.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

// The latest end of a node; adding a duration does not overflow.
#define END_NS (INT64_C(1) << 60)

typedef struct ready {
    int64_t time_ns;
    uint64_t id;
    uint32_t node;
} ready;

typedef struct layout {
    chakra *c;
    uint32_t *waits; // of each node: number of dependencies that have not ended
    uint32_t *first,
        *next;         // by node: list of its dependents, as indexes of deps
    uint32_t *owner;   // by dependency: the node that depends
    int64_t *ready_ns; // of each node: latest end of its dependencies
    bool *done;
    uint32_t *seen, *low, *path, *stack; // see find_cycles
    ready *heap;
    size_t heap_size;
    cli_map free_ns; // by thread or stream: when it is free
} layout;

/* ---- A heap of what is ready -------------------------------------------- */

static bool before(const ready *a, const ready *b)
{
    if (a->time_ns != b->time_ns) return a->time_ns < b->time_ns;
    return a->id != b->id ? a->id < b->id : a->node < b->node;
}

static void push(layout *l, uint32_t node)
{
    const ready item = { l->ready_ns[node], l->c->nodes[node].id, node };
    size_t i = l->heap_size++;
    for (; i && before(&item, &l->heap[(i - 1) / 2]); i = (i - 1) / 2)
        l->heap[i] = l->heap[(i - 1) / 2];
    l->heap[i] = item;
}

static uint32_t pop(layout *l)
{
    const uint32_t node = l->heap[0].node;
    const ready last = l->heap[--l->heap_size];
    size_t i = 0;
    for (size_t child; (child = 2 * i + 1) < l->heap_size; i = child) {
        if (child + 1 < l->heap_size &&
            before(&l->heap[child + 1], &l->heap[child]))
            child++;
        if (before(&last, &l->heap[child])) break;
        l->heap[i] = l->heap[child];
    }
    l->heap[i] = last;
    return node;
}

/* ---- Dependencies ------------------------------------------------------- */

// Finds the node of each dependency; some refer to nodes that the file lacks.
static bool resolve(chakra *c)
{
    cli_map index = { 0 };
    bool fits = true;
    for (size_t i = 0; i < c->count && fits; i++) {
        bool fresh;
        int64_t *const at =
            import_map_put(&index, (int64_t)c->nodes[i].id, &fresh);
        fits = at != NULL;
        if (at && fresh) *at = (int64_t)i;
        if (at && !fresh) import_flaw(c->job, "duplicate_id");
    }
    for (size_t i = 0; i < c->dep_count && fits; i++) {
        const int64_t *const at =
            import_map_get(&index, (int64_t)c->deps[i].id);
        if (at) c->deps[i].node = (uint32_t)*at;
        if (!at) import_flaw(c->job, "unknown_dependency");
    }
    cli_map_close(&index);
    return fits;
}

// Lists the dependents of each node and counts its dependencies.
static void link_nodes(layout *l)
{
    chakra *const c = l->c;
    for (size_t i = 0; i < c->count; i++)
        l->first[i] = UINT32_MAX;
    for (size_t i = c->count; i-- > 0;) {
        const chakra_node *const node = &c->nodes[i];
        for (uint32_t k = 0; k < node->dep_count; k++) {
            const uint32_t d = node->first_dep + k;
            const uint32_t on = c->deps[d].node;
            l->owner[d] = (uint32_t)i;
            if (on == UINT32_MAX) continue;
            l->next[d] = l->first[on];
            l->first[on] = d;
            l->waits[i]++;
        }
    }
}

/*
    Finds strongly connected components: nodes that depend on each other in a
    cycle get the same low[]. Source: Tarjan, Depth-first search and linear
    graph algorithms. Not recursive: `path` is the path to the current node,
    first[] iterates over its dependents.
*/
static void find_cycles(layout *l)
{
    const uint32_t count = (uint32_t)l->c->count;
    uint32_t seen = 0, depth = 0, held = 0;
    for (uint32_t root = 0; root < count; root++) {
        if (l->seen[root]) continue;
        for (l->path[depth++] = root; depth;) {
            const uint32_t node = l->path[depth - 1];
            if (!l->seen[node]) {
                l->seen[node] = l->low[node] = ++seen;
                l->stack[held++] = node;
            }
            const uint32_t d = l->first[node];
            const uint32_t to = d == UINT32_MAX ? node : l->owner[d];
            if (d != UINT32_MAX && !l->seen[to]) {
                l->path[depth++] = to;
                continue; // then visit this edge again
            }
            if (d != UINT32_MAX) {
                if (!l->done[to] && l->low[to] < l->low[node])
                    l->low[node] = l->low[to];
                l->first[node] = l->next[d];
                continue;
            }
            depth--;
            if (l->low[node] != l->seen[node]) continue;
            for (uint32_t top = UINT32_MAX; top != node;) {
                top = l->stack[--held];
                l->low[top] = l->seen[node];
                l->done[top] = true;
            }
        }
    }
    memset(l->done, 0, count);
}

static bool is_before(const chakra *c, uint32_t a, uint32_t b)
{
    return c->nodes[a].id != c->nodes[b].id ? c->nodes[a].id < c->nodes[b].id
                                            : a < b;
}

// Breaks cycles: within one, only dependencies on smaller ids are kept.
static void break_cycles(layout *l)
{
    chakra *const c = l->c;
    find_cycles(l);
    for (size_t d = 0; d < c->dep_count; d++) {
        const uint32_t on = c->deps[d].node, to = l->owner[d];
        if (on == UINT32_MAX || l->low[on] != l->low[to] ||
            is_before(c, on, to))
            continue;
        c->deps[d].node = UINT32_MAX;
        import_flaw(c->job, "dependency_circle");
    }
    memset(l->waits, 0, c->count * sizeof *l->waits);
    link_nodes(l);
}

/* ---- Times -------------------------------------------------------------- */

static int64_t *place_of(layout *l, const chakra_node *node)
{
    const int64_t on = !node->on_host                ? chakra_stream(node)
                       : node->thread == IMPORT_NONE ? 0
                                                     : node->thread;
    const int64_t parts[] = { on, node->on_host,
                              node->on_host ? node->process : node->context,
                              node->on_host ? 0 : node->device };
    const uint64_t place = XXH3_64bits(parts, sizeof parts);
    return import_map_put(&l->free_ns, (int64_t)place, NULL);
}

static void place(layout *l, uint32_t index)
{
    chakra_node *const node = &l->c->nodes[index];
    int64_t *const free_ns = place_of(l, node);
    l->c->out_of_memory |= !free_ns;
    if (!free_ns) return;
    if (node->start_ns == IMPORT_NONE) {
        node->start_ns =
            l->ready_ns[index] > *free_ns ? l->ready_ns[index] : *free_ns;
        node->estimated = true;
    }
    const int64_t reported_ns = node->start_ns + node->duration_ns;
    const int64_t end_ns = reported_ns < END_NS ? reported_ns : END_NS;
    if (end_ns > *free_ns) *free_ns = end_ns;
    for (uint32_t d = l->first[index]; d != UINT32_MAX; d = l->next[d]) {
        const uint32_t to = l->owner[d];
        if (end_ns > l->ready_ns[to]) l->ready_ns[to] = end_ns;
        if (!--l->waits[to]) push(l, to);
    }
}

static void run(layout *l)
{
    for (uint32_t i = 0; i < l->c->count; i++)
        if (!l->waits[i]) push(l, i);
    while (l->heap_size && !l->c->out_of_memory)
        place(l, pop(l));
}

// Sets the launcher of each operation: the host node among its dependencies
// that ended last.
static void find_launchers(chakra *c)
{
    for (size_t i = 0; i < c->count; i++) {
        chakra_node *const node = &c->nodes[i];
        node->launcher = (uint32_t)i;
        for (uint32_t k = 0; k < node->dep_count && !node->on_host; k++) {
            const uint32_t on = c->deps[node->first_dep + k].node;
            if (on == UINT32_MAX || !c->nodes[on].on_host) continue;
            const chakra_node *const call = &c->nodes[on];
            const int64_t end_ns = call->start_ns + call->duration_ns;
            if (end_ns > node->start_ns ||
                (node->launcher != i && end_ns <= node->queued_ns))
                continue;
            node->launcher = on;
            node->queued_ns = end_ns;
        }
    }
}

bool chakra_layout(chakra *c)
{
    const size_t count = c->count + 1, deps = c->dep_count + 1;
    layout l = { .c = c };
    l.waits = calloc(count, sizeof *l.waits);
    l.first = calloc(count, sizeof *l.first);
    l.next = calloc(deps, sizeof *l.next);
    l.owner = calloc(deps, sizeof *l.owner);
    l.ready_ns = calloc(count, sizeof *l.ready_ns);
    l.done = calloc(count, sizeof *l.done);
    l.seen = calloc(count, sizeof *l.seen);
    l.low = calloc(count, sizeof *l.low);
    l.path = calloc(count, sizeof *l.path);
    l.stack = calloc(count, sizeof *l.stack);
    l.heap = calloc(count, sizeof *l.heap);
    bool fits = l.waits && l.first && l.next && l.owner && l.ready_ns &&
                l.done && l.seen && l.low && l.path && l.stack && l.heap &&
                resolve(c);
    if (fits) {
        link_nodes(&l);
        break_cycles(&l);
        run(&l);
        find_launchers(c);
    }
    free(l.waits);
    free(l.first);
    free(l.next);
    free(l.owner);
    free(l.ready_ns);
    free(l.done);
    free(l.seen);
    free(l.low);
    free(l.path);
    free(l.stack);
    free(l.heap);
    cli_map_close(&l.free_ns);
    return fits && !c->out_of_memory;
}
