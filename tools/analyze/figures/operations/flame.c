/*
    flame.c - weighted trees of paths for flame graphs
*/
#include "tools/analyze/figures/operations/flame.h"

/* ---- Sums --------------------------------------------------------------- */

static int64_t own_of(const path_tree *p, uint32_t node)
{
    return p->nodes[node].own_ns > 0 ? p->nodes[node].own_ns : 0;
}

static int compare_names(const path_tree *p, uint32_t a, uint32_t b)
{
    const ts_text x = p->names[p->nodes[a].name],
                  y = p->names[p->nodes[b].name];
    const size_t size = x.size < y.size ? x.size : y.size;
    const int order = memcmp(x.text, y.text, size);
    return order ? order : (x.size > y.size) - (x.size < y.size);
}

typedef struct ranked { // a child to be sorted
    const flame_tree *tree;
    uint32_t node;
} ranked;

static int by_weight(const void *left, const void *right)
{
    const ranked *const a = left, *const b = right;
    const int64_t x = a->tree->totals[a->node], y = a->tree->totals[b->node];
    if (x != y) return x > y ? -1 : 1;
    return compare_names(a->tree->paths, a->node, b->node);
}

// Turns counts into offsets, then places and sorts the children.
static bool put_children(flame_tree *t)
{
    const path_tree *const p = t->paths;
    uint32_t most = 0, sum = 0;
    for (uint32_t n = 1; n < p->node_count; n++)
        t->offsets[p->nodes[n].parent]++;
    for (uint32_t n = 0; n <= p->node_count; n++) {
        const uint32_t count = n < p->node_count ? t->offsets[n] : 0;
        if (count > most) most = count;
        t->offsets[n] = sum;
        sum += count;
    }
    ranked *const order = malloc(((size_t)most + 1) * sizeof *order);
    uint32_t *const next = malloc(((size_t)p->node_count + 1) * sizeof *next);
    if (order && next) {
        memcpy(next, t->offsets, p->node_count * sizeof *next);
        for (uint32_t n = 1; n < p->node_count; n++)
            t->children[next[p->nodes[n].parent]++] = n;
        for (uint32_t n = 0; n < p->node_count; n++) {
            uint32_t *const own = t->children + t->offsets[n];
            const uint32_t count = t->offsets[n + 1] - t->offsets[n];
            for (uint32_t i = 0; i < count; i++)
                order[i] = (ranked){ t, own[i] };
            qsort(order, count, sizeof *order, by_weight);
            for (uint32_t i = 0; i < count; i++)
                own[i] = order[i].node;
        }
    }
    const bool ok = order && next;
    free(order);
    free(next);
    return ok;
}

bool flame_open(flame_tree *t, const path_tree *p)
{
    const size_t count = (size_t)p->node_count + 1;
    *t = (flame_tree){ .paths = p };
    t->totals = calloc(count, sizeof *t->totals);
    t->children = calloc(count, sizeof *t->children);
    t->offsets = calloc(count, sizeof *t->offsets);
    t->below = calloc(count, sizeof *t->below);
    if (!t->totals || !t->children || !t->offsets || !t->below) return false;
    for (uint32_t n = p->node_count; n-- > 0;) { // parents have lower numbers
        t->totals[n] += own_of(p, n);
        if (!n) break;
        t->totals[p->nodes[n].parent] += t->totals[n];
        t->below[p->nodes[n].parent] += t->below[n] + (own_of(p, n) > 0);
    }
    return put_children(t);
}

void flame_close(flame_tree *t)
{
    free(t->totals);
    free(t->children);
    free(t->offsets);
    free(t->below);
    *t = (flame_tree){ 0 };
}

/* ---- Cutting ------------------------------------------------------------ */

typedef struct cutting {
    const flame_tree *tree;
    flame_node *nodes;
    size_t count, room;
    int64_t least;
    uint32_t depth;
} cutting;

static bool put(cutting *c, const flame_node *node)
{
    if (!cli_grow(&c->nodes, &c->room, c->count + 1, sizeof *c->nodes))
        return false;
    c->nodes[c->count++] = *node;
    return true;
}

// Adds the children of node `at` of the list, and a node for those omitted.
static bool put_below(cutting *c, uint32_t at, uint32_t node, uint32_t depth)
{
    const flame_tree *const t = c->tree;
    flame_node rest = { .parent = at, .node = CLI_NONE };
    for (uint32_t i = t->offsets[node]; i < t->offsets[node + 1]; i++) {
        const uint32_t child = t->children[i];
        const int64_t total = t->totals[child];
        if (!total) continue;
        if (depth <= c->depth && total >= c->least) {
            const flame_node kept = { at, child, 0, own_of(t->paths, child) };
            if (!put(c, &kept)) return false;
            continue;
        }
        rest.own += total;
        rest.count += t->below[child] + (own_of(t->paths, child) > 0);
    }
    return !rest.own || put(c, &rest);
}

// Returns the end of the single chain from the root down to the first branch or
// weight.
static uint32_t shared_chain(const flame_tree *t, uint32_t *length)
{
    uint32_t node = PATHS_ROOT;
    for (*length = 0;; ++*length) {
        const uint32_t first = t->offsets[node];
        const bool one = first < t->offsets[node + 1] &&
                         t->totals[t->children[first]] == t->totals[node];
        if (!one || own_of(t->paths, t->children[first])) return node;
        node = t->children[first];
    }
}

bool flame_cut(const flame_tree *t, int64_t least, uint32_t depth,
               flame_node **nodes, size_t *count)
{
    enum { SHARED_MOST = 8 };
    cutting c = { .tree = t,
                  .least = least > 0 ? t->totals[PATHS_ROOT] / least : 0,
                  .depth = depth };
    uint32_t length;
    const uint32_t start = shared_chain(t, &length);
    bool ok = true;
    if (length > SHARED_MOST) {
        const flame_node top = { CLI_NONE, start, length - 1, 0 };
        ok = put(&c, &top);
    } else {
        ok = put_below(&c, CLI_NONE, PATHS_ROOT, 1);
    }
    // The list is also the queue of a breadth-first walk: children are
    // appended.
    uint32_t level = 1;
    for (size_t i = 0, end = c.count; ok && i < c.count; i++) {
        if (i == end) {
            end = c.count;
            level++;
        }
        if (c.nodes[i].node != CLI_NONE)
            ok = put_below(&c, (uint32_t)i, c.nodes[i].node, level + 1);
    }
    *nodes = c.nodes;
    *count = c.count;
    return ok;
}

/* ---- Folded ------------------------------------------------------------- */

// Writes a name without the characters that the format reserves.
static void put_name(FILE *out, ts_text name)
{
    for (size_t i = 0; i < name.size; i++) {
        const unsigned char byte = (unsigned char)name.text[i];
        putc(byte < ' ' || byte == 127 ? ' ' : byte == ';' ? ',' : byte, out);
    }
    if (!name.size) putc('?', out);
}

static void put_path(const path_tree *p, uint32_t node, FILE *out)
{
    uint32_t names[PATHS_DEPTH_MOST + 2], count = 0;
    for (uint32_t n = node; n != PATHS_ROOT; n = p->nodes[n].parent)
        names[count++] = p->nodes[n].name;
    while (count--) {
        put_name(out, p->names[names[count]]);
        if (count) putc(';', out);
    }
    fprintf(out, " %" PRId64 "\n", own_of(p, node));
}

void flame_folded(const flame_tree *t, FILE *out)
{
    // Depth-first walk: go up where a node has no child left to visit.
    const path_tree *const p = t->paths;
    uint32_t visited[PATHS_DEPTH_MOST + 2] = { 0 }, depth = 0;
    uint32_t node = PATHS_ROOT;
    for (;;) {
        const uint32_t next = t->offsets[node] + visited[depth];
        if (next < t->offsets[node + 1]) {
            visited[depth++]++;
            node = t->children[next];
            visited[depth] = 0;
            if (own_of(p, node)) put_path(p, node, out);
        } else {
            if (node == PATHS_ROOT) return;
            node = p->nodes[node].parent;
            depth--;
        }
    }
}
