/*
    groups.c - rows added up in groups, by one thread

    Groups are the leaves of a tree with a level for each raw number that they
    differ in. A row's group is found level by level; most rows find theirs in a
    small cache.
*/
#include "tools/query/pushdown/groups.h"

#ifdef TRACESMITH_SQLITE

enum { NEAR = 4096, GROUPS_MOST = 1 << 20 };

typedef struct push_near {
    uint64_t raw;
    uint32_t parent, child; // child 0: empty
} push_near;

/* ---- The columns -------------------------------------------------------- */

static const query_column *key_column(const query_push *p, uint32_t key)
{
    const uint32_t texts = p->texts.count;
    return &p->table->columns[key < texts ? p->texts.columns[key]
                                          : p->numbers.columns[key - texts]];
}

// Returns the level of a raw number, which is added.
static uint32_t level_of(push_groups *g, uint8_t raw)
{
    uint32_t i = 0;
    while (i < g->raw_count && g->raws[i] != raw)
        i++;
    if (i == g->raw_count) g->raws[g->raw_count++] = raw;
    return i;
}

bool push_groups_open(const query *q, push_groups *g)
{
    const query_push *const p = q->push;
    *g = (push_groups){ .push = p };
    if (q->file_count > 1) level_of(g, RAW_FILE);
    for (uint32_t i = 0; i < p->texts.count + p->numbers.count; i++)
        level_of(g, key_column(p, i)->raw);
    g->near = calloc(NEAR, sizeof *g->near);
    g->nodes = calloc(1, sizeof *g->nodes);
    g->node_count = 1;
    g->node_room = g->nodes != NULL;
    return g->near && g->nodes;
}

void push_groups_close(query *q, push_groups *g)
{
    for (uint32_t i = 0; i < g->test_count; i++)
        query_test_close(&g->tests[i]);
    query_rows_close(q, &g->rows);
    free(g->nodes);
    free(g->slots);
    free(g->cells);
    free(g->leaves);
    free(g->near);
    free(g->owners);
    free(g->numbers);
    free(g->holders);
    free(g->top);
    *g = (push_groups){ 0 };
}

/* ---- The tree ----------------------------------------------------------- */

static size_t hash(uint32_t parent, uint64_t raw)
{
    uint64_t h = (raw ^ (uint64_t)parent << 40) * UINT64_C(0x9E3779B97F4A7C15);
    return (size_t)(h ^ h >> 29);
}

static void put_slot(push_groups *g, uint32_t node)
{
    size_t i = hash(g->nodes[node].parent, g->nodes[node].raw);
    while (g->slots[i &= g->slot_room - 1])
        i++;
    g->slots[i] = node + 1;
}

// Keeps the hash table at most half full.
static bool grow_slots(push_groups *g)
{
    if (2 * ((size_t)g->node_count + 1) <= g->slot_room) return true;
    free(g->slots);
    g->slot_room = g->slot_room ? 2 * g->slot_room : 256;
    g->slots = calloc(g->slot_room, sizeof *g->slots);
    for (uint32_t i = 1; g->slots && i < g->node_count; i++)
        put_slot(g, i);
    return g->slots != NULL;
}

static bool grow_cells(push_groups *g)
{
    const size_t before = g->cell_room;
    const size_t need = (size_t)g->node_count * g->push->sum_count;
    if (!cli_grow(&g->cells, &g->cell_room, need, sizeof *g->cells))
        return false;
    if (g->cell_room > before) // else there may be none at all
        memset(g->cells + before, 0,
               (g->cell_room - before) * sizeof *g->cells);
    return true;
}

static bool add_leaf(push_groups *g, uint32_t node)
{
    if (!cli_grow(&g->leaves, &g->leaf_room, (size_t)g->leaf_count + 1,
                  sizeof *g->leaves))
        return false;
    g->leaves[g->leaf_count++] = node;
    return true;
}

// Adds a node. 0: failed.
static uint32_t add_node(push_groups *g, uint32_t parent, uint64_t raw)
{
    if (!grow_slots(g) ||
        !cli_grow(&g->nodes, &g->node_room, (size_t)g->node_count + 1,
                  sizeof *g->nodes)) {
        g->failed = true;
        return 0;
    }
    const uint32_t node = g->node_count++, depth = g->nodes[parent].depth + 1;
    g->nodes[node] = (push_node){ parent, depth, raw };
    put_slot(g, node);
    if (depth == g->raw_count && !add_leaf(g, node)) g->failed = true;
    g->many |= g->node_count > GROUPS_MOST;
    return node;
}

static uint32_t find_node(push_groups *g, uint32_t parent, uint64_t raw)
{
    size_t i = hash(parent, raw);
    for (; g->slot_room && g->slots[i &= g->slot_room - 1]; i++) {
        const push_node *const n = &g->nodes[g->slots[i] - 1];
        if (n->raw == raw && n->parent == parent) return g->slots[i] - 1;
    }
    return add_node(g, parent, raw);
}

static inline uint32_t child(push_groups *g, uint32_t parent, uint64_t raw)
{
    push_near *const near = &g->near[(raw ^ parent * 40503u) % NEAR];
    if (near->child && near->raw == raw && near->parent == parent)
        return near->child;
    const uint32_t node = g->failed || g->many ? 0 : find_node(g, parent, raw);
    *near = (push_near){ raw, parent, node };
    return node;
}

// Finds the node of each picked row. Returns the one of all rows, or sets
// *many: then it is g->owners that has them.
static uint32_t find_owners(push_groups *g, bool *many)
{
    const query_rows *const rows = &g->rows;
    uint32_t node = 0;
    *many = false;
    for (uint32_t level = 0; level < g->raw_count; level++) {
        const uint32_t raw = g->raws[level];
        const uint64_t *const values = rows->values[raw];
        const uint64_t constant = rows->constant[raw];
        if (!values && !*many) {
            node = child(g, node, constant);
            continue;
        }
        for (uint32_t i = 0; i < rows->count; i++) {
            const uint32_t row = rows->order ? rows->order[i] : i;
            g->owners[i] = child(g, *many ? g->owners[i] : node,
                                 values ? values[row] : constant);
        }
        *many = true;
    }
    return node;
}

/* ---- Adding ------------------------------------------------------------- */

// The numbers of a column that are not NULL, and their nodes; holders NULL: all
// are of `node`.
typedef struct batch {
    const int64_t *numbers;
    const uint32_t *holders;
    uint32_t count, node;
} batch;

static batch batch_of(push_groups *g, const query_column *column, uint32_t node,
                      bool many)
{
    const query_rows *const rows = &g->rows;
    const uint64_t *const values = rows->values[column->raw];
    batch b = { .numbers = g->numbers, .node = node };
    b.holders = many ? g->owners : NULL;
    b.count = rows->count;
    if (column->show == SHOW_NUMBER && values && !rows->order) {
        b.numbers = (const int64_t *)values;
        return b;
    }
    b.count = 0;
    for (uint32_t i = 0; i < rows->count; i++) {
        const uint32_t row = rows->order ? rows->order[i] : i;
        int64_t number;
        const bool is = query_show_number(
            column->show, query_raw(rows, column->raw, row), &number);
        g->numbers[b.count] = number;
        if (many) g->holders[b.count] = g->owners[i];
        b.count += is;
    }
    if (many) b.holders = g->holders;
    return b;
}

// Adds up absolute values: high and low halves apart, which cannot overflow.
static double size_of(const batch *b)
{
    uint64_t low = 0, high = 0;
    for (uint32_t i = 0; i < b->count; i++) {
        const uint64_t sign = 0 - (uint64_t)(b->numbers[i] < 0);
        const uint64_t size = ((uint64_t)b->numbers[i] ^ sign) - sign;
        low += (uint32_t)size;
        high += size >> 32;
    }
    return (double)high * 4294967296.0 + (double)low;
}

static void add_one(push_cell *cell, push_what what, int64_t number)
{
    const bool first = !cell->count++;
    if (what == PUSH_MIN && (first || number < cell->value))
        cell->value = number;
    if (what == PUSH_MAX && (first || number > cell->value))
        cell->value = number;
}

static void add_totals(push_cell *cells, uint32_t stride, const batch *b)
{
    for (uint32_t i = 0; i < b->count; i++) {
        push_cell *const cell = &cells[(size_t)b->holders[i] * stride];
        cell->value =
            (int64_t)((uint64_t)cell->value + (uint64_t)b->numbers[i]);
        cell->count++;
    }
}

static void add_total(push_cell *cell, const batch *b)
{
    uint64_t sum = (uint64_t)cell->value;
    for (uint32_t i = 0; i < b->count; i++)
        sum += (uint64_t)b->numbers[i];
    cell->value = (int64_t)sum;
    cell->count += b->count;
}

static void add_extremes(push_cell *cells, uint32_t stride, push_what what,
                         const batch *b)
{
    for (uint32_t i = 0; i < b->count; i++)
        add_one(&cells[b->holders ? (size_t)b->holders[i] * stride : 0], what,
                b->numbers[i]);
}

static void count_rows(push_groups *g, push_cell *cells, uint32_t stride,
                       uint32_t node, bool many)
{
    if (!many) cells[(size_t)node * stride].count += g->rows.count;
    for (uint32_t i = 0; many && i < g->rows.count; i++)
        cells[(size_t)g->owners[i] * stride].count++;
}

static void add_sum(push_groups *g, uint32_t sum, uint32_t node, bool many)
{
    const uint32_t stride = g->push->sum_count;
    const push_what what = g->push->sums[sum].what;
    push_cell *const cells = g->cells + sum;
    if (what == PUSH_ROWS) {
        count_rows(g, cells, stride, node, many);
        return;
    }
    const query_column *const column =
        &g->push->table->columns[g->push->sums[sum].column];
    if (what == PUSH_COUNT && column->show == SHOW_NUMBER) {
        count_rows(g, cells, stride, node, many);
        return;
    }
    const batch b = batch_of(g, column, node, many);
    push_cell *const own = b.holders ? cells : cells + (size_t)node * stride;
    if (what == PUSH_MIN || what == PUSH_MAX || what == PUSH_COUNT) {
        add_extremes(own, stride, what, &b);
        return;
    }
    g->sizes[sum] += size_of(&b);
    if (b.holders)
        add_totals(own, stride, &b);
    else
        add_total(own, &b);
}

static bool room_for_rows(push_groups *g)
{
    const uint32_t need = g->rows.total;
    if (need <= g->row_room) return true;
    free(g->owners);
    free(g->numbers);
    free(g->holders);
    g->owners = malloc(need * sizeof *g->owners);
    g->numbers = malloc(need * sizeof *g->numbers);
    g->holders = malloc(need * sizeof *g->holders);
    g->row_room = need;
    return g->owners && g->numbers && g->holders;
}

void push_groups_add(push_groups *g)
{
    bool many;
    if (!g->rows.count) return;
    if (!room_for_rows(g)) g->failed = true;
    if (g->failed) return;
    const uint32_t node = find_owners(g, &many);
    if (!g->failed && !g->raw_count && !g->leaf_count && !add_leaf(g, 0))
        g->failed = true;
    if (!g->failed && !grow_cells(g)) g->failed = true;
    if (g->failed || g->many) return;
    for (uint32_t i = 0; i < g->push->sum_count; i++)
        add_sum(g, i, node, many);
}

/* ---- Results ------------------------------------------------------------ */

uint32_t push_groups_count(const push_groups *g)
{
    return g->leaf_count;
}

query_cell push_groups_key(const query *q, const push_groups *g, uint32_t group,
                           uint32_t key)
{
    const query_column *const column = key_column(g->push, key);
    const push_node *node = &g->nodes[g->leaves[group]];
    uint64_t raw = 0, file = 0;
    for (uint32_t level = g->raw_count; level--;) {
        if (g->raws[level] == column->raw) raw = node->raw;
        if (g->raws[level] == RAW_FILE) file = node->raw;
        node = &g->nodes[node->parent];
    }
    return query_show_cell(q, (uint32_t)file, column->show, raw);
}

query_cell push_groups_sum(const push_groups *g, uint32_t group, uint32_t sum)
{
    const push_cell *const cell =
        &g->cells[(size_t)g->leaves[group] * g->push->sum_count + sum];
    const push_what what = g->push->sums[sum].what;
    if (what == PUSH_ROWS || what == PUSH_COUNT)
        return query_integer((int64_t)cell->count);
    return cell->count ? query_integer(cell->value) : query_null;
}

// How often a row may count: once for each row of the joined tables.
static double times(query *q)
{
    double all = 1;
    for (uint32_t i = 0; i < q->push->join_count; i++) {
        const int64_t rows = q->push->joins[i]->count(q, 0);
        all *= rows > 1 ? (double)rows : 1;
    }
    return all;
}

bool push_groups_exact(query *q, const push_groups *groups, uint32_t count)
{
    const double more = times(q);
    for (uint32_t s = 0; s < q->push->sum_count; s++) {
        const bool real = q->push->sums[s].what == PUSH_EXACT;
        double size = 0;
        for (uint32_t i = 0; i < count; i++)
            size += groups[i].sizes[s];
        if (size * more > (real ? 9.0e15 : 9.2e18)) return false;
    }
    return true;
}

#endif
