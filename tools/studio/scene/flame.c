/*
    flame.c - where the time of an area went, as a tree: boxes in boxes, or
    operations by the zone or the stack that launched them
*/
#include "tools/studio/scene/survey.h"

typedef struct text_entry {
    char *text;
    size_t size;
    uint8_t hue;
} text_entry;

typedef struct flame {
    survey *q;
    scene_flame_node *nodes;
    size_t node_count, node_room;
    bool full;
    uint32_t others;  // of what lies in no node of a full tree: node + 1
    cli_map children; // parent and text to node
    text_entry *texts;
    size_t text_count, text_room;
    cli_map text_index; // by hash
    cli_map of_label;   // label to text
    cli_map launchers;  // site or stack to node, and whether that is all
    bool failed;
} flame;

/* ---- Texts and nodes ----------------------------------------------------- */

static bool is_text(const text_entry *entry, ts_text text)
{
    return entry->size == text.size &&
           !memcmp(entry->text, text.text, text.size);
}

// Appends a copy of a text; CLI_NONE without memory.
static uint32_t text_new(flame *f, ts_text text, uint8_t hue)
{
    char *const copy = malloc(text.size + 1);
    if (!copy || !cli_grow(&f->texts, &f->text_room, f->text_count + 1,
                           sizeof *f->texts)) {
        free(copy);
        f->failed = true;
        return CLI_NONE;
    }
    memcpy(copy, text.text, text.size);
    f->texts[f->text_count] = (text_entry){ copy, text.size, hue };
    return (uint32_t)f->text_count++;
}

// The number of a text; CLI_NONE without memory, or if it is new to a full
// tree, as no node can have it.
static uint32_t text_of(flame *f, ts_text text, uint8_t hue)
{
    uint64_t hash = cli_hash(text.text, text.size);
    uint32_t at = cli_map_row(&f->text_index, hash);
    while (at != CLI_NONE && !is_text(&f->texts[at], text))
        at = cli_map_row(&f->text_index, ++hash);
    if (at != CLI_NONE || f->full) return at;
    at = text_new(f, text, hue);
    if (at != CLI_NONE && !cli_map_set(&f->text_index, hash, at))
        f->failed = true;
    return at;
}

static uint32_t text_of_label(flame *f, uint32_t label)
{
    const uint32_t known = cli_map_row(&f->of_label, label);
    if (known != CLI_NONE) return known;
    const scene_label *const l = scene_label_at(f->q->s, label);
    const uint32_t text = l ? text_of(f, l->text, l->hue) : CLI_NONE;
    if (text != CLI_NONE && !cli_map_set(&f->of_label, label, text))
        f->failed = true;
    return text;
}

static uint32_t node_new(flame *f, uint32_t parent, uint32_t text)
{
    if (!cli_grow(&f->nodes, &f->node_room, f->node_count + 1,
                  sizeof *f->nodes)) {
        f->failed = true;
        return parent;
    }
    f->nodes[f->node_count] =
        (scene_flame_node){ .parent = parent, .id = text };
    return (uint32_t)f->node_count++;
}

// What lies in a node of a full tree is part of it; what lies in none is part
// of one more.
static uint32_t in_full_tree(flame *f, uint32_t parent)
{
    static const char name[] = "others";
    if (parent != CLI_NONE || !f->full) return parent;
    if (!f->others) {
        const uint32_t text =
            text_new(f, (ts_text){ name, sizeof name - 1 }, 0);
        if (text == CLI_NONE) return CLI_NONE;
        f->others = node_new(f, CLI_NONE, text) + 1;
    }
    return f->others - 1;
}

// The child of a node with a text, which is added; the node itself if the tree
// is full.
static uint32_t child(flame *f, uint32_t parent, uint32_t text)
{
    if (text == CLI_NONE) return in_full_tree(f, parent);
    const uint64_t key = (uint64_t)(parent + 1) << 32 | text;
    const uint32_t known = cli_map_row(&f->children, key);
    if (known != CLI_NONE) return known;
    if (f->node_count >= SCENE_MOST_FLAME) {
        f->full = true;
        return in_full_tree(f, parent);
    }
    if (!cli_map_set(&f->children, key, f->node_count)) {
        f->failed = true;
        return parent;
    }
    return node_new(f, parent, text);
}

static void add(flame *f, uint32_t node, int64_t ns)
{
    if (node == CLI_NONE) return;
    f->nodes[node].count++;
    scene_add_ns(&f->nodes[node].total_ns, ns);
}

/* ---- Boxes in boxes ------------------------------------------------------ */

// The node of a track; CLI_NONE without memory.
static uint32_t node_of_track(flame *f, survey_track *t)
{
    if (!t->noted)
        t->node = child(f, CLI_NONE,
                        text_of(f, scene_track_name(f->q->s, t->track), 0));
    t->noted = true;
    return t->node;
}

// The time of a track is that of its outermost boxes.
static void take_outermost(flame *f, survey_track *t, survey_lane *l)
{
    const uint32_t track = node_of_track(f, t);
    const uint32_t node =
        track == CLI_NONE ? track : child(f, track, text_of_label(f, l->label));
    add(f, track, survey_ns(l));
    if (node == track) return; // a full tree, which has the time
    add(f, node, survey_ns(l));
    l->node = node;
}

// What sticks out of the box around it is not counted there. In a full tree
// that has the time already.
static void take_inside(flame *f, const survey_lane *around, survey_lane *l)
{
    if (around->node == CLI_NONE) return;
    const uint32_t node = child(f, around->node, text_of_label(f, l->label));
    const int64_t ns = survey_overlap(around, l);
    if (node == around->node) return;
    l->to_ns = l->from_ns + ns;
    add(f, node, ns);
    l->node = node;
}

/* ---- Operations by what launched them ------------------------------------ */

// Goes to the child of a node with a text. False if there is none in a full
// tree: then the time is that of the node.
static bool descend(flame *f, uint32_t *node, ts_text text)
{
    const uint32_t parent = *node;
    *node = child(f, parent, text_of(f, text, 0));
    return *node != parent;
}

static bool add_frame(flame *f, uint32_t *node, const ts_frame_entry *frame)
{
    const ts_reader *const reader = f->q->s->reader;
    const ts_line_entry *lines;
    char text[256];
    uint32_t i = ts_reader_symbol(reader, frame, &lines);
    if (i) {
        while (i && descend(f, node,
                            scene_readable(
                                f->q->s,
                                ts_reader_name(reader, lines[i - 1].function))))
            i--;
        return !i;
    }
    const ts_module_entry *const module =
        ts_reader_module(reader, frame->module);
    const ts_text path = ts_reader_name(reader, module ? module->path : 0);
    const int size = snprintf(text, sizeof text, "%.*s+0x%" PRIx64,
                              (int)(path.size < 200 ? path.size : 200),
                              path.text, frame->offset);
    return descend(f, node, (ts_text){ text, (size_t)size });
}

// Frames are recorded from the inside out.
static bool add_stack(flame *f, uint32_t *node, uint32_t id)
{
    static const char none[] = "no stack is recorded";
    const ts_frame_entry *frames;
    uint32_t left = ts_reader_stack(f->q->s->reader, id, &frames);
    if (!left) return descend(f, node, (ts_text){ none, sizeof none - 1 });
    if (left > 64) left = 64;
    while (left && add_frame(f, node, &frames[left - 1]))
        left--;
    return !left;
}

static bool add_zone(flame *f, uint32_t *node, uint32_t id)
{
    static const char none[] = "in no zone";
    scene *const s = f->q->s;
    return descend(f, node,
                   id ? scene_readable(s, ts_reader_site_name(s->reader, id))
                      : (ts_text){ none, sizeof none - 1 });
}

// The node of the zone or the stack that launched an operation; if the tree has
// only an outer part of it, *whole becomes false.
static uint32_t launcher_of(flame *f, uint32_t id, bool *whole)
{
    const uint64_t *const known = cli_map_find(&f->launchers, id);
    if (known) {
        *whole = *known >> 32;
        return (uint32_t)*known;
    }
    uint32_t node = CLI_NONE;
    *whole = f->q->what == SCENE_FLAME_STACKS ? add_stack(f, &node, id)
                                              : add_zone(f, &node, id);
    if (!cli_map_set(&f->launchers, id, (uint64_t)*whole << 32 | node))
        f->failed = true;
    return node;
}

static void take_launched(flame *f, const survey_lane *l,
                          const scene_item *item)
{
    bool whole;
    uint32_t node = launcher_of(f, item->flags, &whole);
    if (whole) {
        const uint32_t leaf = child(f, node, text_of_label(f, item->label));
        if (leaf != node) add(f, leaf, survey_ns(l));
    }
    for (; node != CLI_NONE; node = f->nodes[node].parent)
        add(f, node, survey_ns(l));
}

/* ---- The survey ---------------------------------------------------------- */

static bool flame_open(survey *q)
{
    flame *const f = q->result = calloc(1, sizeof *f);
    if (!f) return false;
    f->q = q;
    if (q->what == SCENE_FLAME_ZONES) q->gathering.into_flags = TS_COLUMN_SITE;
    if (q->what == SCENE_FLAME_STACKS)
        q->gathering.into_flags = TS_COLUMN_STACK;
    return true;
}

static void flame_close(survey *q)
{
    flame *const f = q->result;
    if (!f) return;
    for (size_t i = 0; i < f->text_count; i++)
        free(f->texts[i].text);
    free(f->texts);
    free(f->nodes);
    cli_map_close(&f->children);
    cli_map_close(&f->text_index);
    cli_map_close(&f->of_label);
    cli_map_close(&f->launchers);
    free(f);
}

// Calls lie in zones, where there are zones.
static bool flame_wants(const survey *q, const scene_row *row)
{
    if (q->what != SCENE_FLAME_BOXES) return row->type == SCENE_WORK;
    return row->type == SCENE_ZONES || row->type == SCENE_WORK ||
           (row->type == SCENE_CALLS &&
            scene_row_known(q->s, SCENE_ZONES, row->track, 0) == CLI_NONE);
}

static bool flame_take(survey *q, survey_track *t, uint32_t lane,
                       const scene_item *item)
{
    flame *const f = q->result;
    survey_lane *const l = &t->lanes[lane];
    if (q->what != SCENE_FLAME_BOXES)
        take_launched(f, l, item);
    else if (t->type == SCENE_ZONES && lane)
        take_inside(f, l - 1, l);
    else
        take_outermost(f, t, l);
    return !f->failed;
}

const survey_kind survey_flame = { flame_open, flame_wants, flame_take,
                                   flame_close };

ts_result scene_flame_open(scene *s, scene_flame *tree, scene_flame_by by,
                           const uint32_t *rows, size_t row_count,
                           int64_t from_ns, int64_t to_ns)
{
    *tree = (scene_flame){ 0 };
    const survey_question question = { .slot = SURVEY_FLAME,
                                       .kind = &survey_flame,
                                       .what = (uint32_t)by,
                                       .rows = rows,
                                       .row_count = row_count,
                                       .from_ns = from_ns,
                                       .to_ns = to_ns };
    const survey *const q = scene_survey(s, &question, &tree->share);
    if (!q) return TS_ERR_MEMORY;
    const flame *const f = q->result;
    tree->nodes = malloc((f->node_count + 1) * sizeof *tree->nodes);
    if (!tree->nodes) return TS_ERR_MEMORY;
    tree->count = f->node_count;
    tree->full = f->full;
    for (size_t i = 0; i < f->node_count; i++) {
        scene_flame_node *const n = &tree->nodes[i];
        *n = f->nodes[i];
        n->text = (ts_text){ f->texts[n->id].text, f->texts[n->id].size };
        n->hue = f->texts[n->id].hue;
    }
    return TS_OK;
}

void scene_flame_close(scene_flame *tree)
{
    free(tree->nodes);
    *tree = (scene_flame){ 0 };
}
