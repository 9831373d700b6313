/*
    pickle.c - reading a pickle of Python as data
*/
#include "tools/import/torch/pickle.h"

enum {
    TEXT = 16 << 20,    // bytes of a text
    VALUES = 256 << 20, // of a container
    KEYS = 64,          // of a dictionary, beyond which none is looked for
    LINE = 4096,        // bytes of a number or text of protocol 0
    BLOCK = 16,         // bytes that an allocation takes besides its own
    ENTRY = 48          // bytes of a value in the memo
};

// Bytes that the values of a file may take, whatever its size, and for each of
// its bytes. Snapshots take 6 to 15.
enum { HELD = 64 << 20, HELD_EACH = 32 };

/* ---- Bytes -------------------------------------------------------------- */

static int next(pickle *p)
{
    if (p->at == p->size) {
        p->size = import_source_read(p->job->source, p->block, sizeof p->block);
        p->at = 0;
        import_progress(p->job);
    }
    if (p->at == p->size) {
        p->is_cut = true;
        return -1;
    }
    p->done++;
    return p->block[p->at++];
}

static uint64_t next_number(pickle *p, size_t size)
{
    uint64_t number = 0;
    for (size_t i = 0; i < size && !p->is_cut; i++)
        number |= (uint64_t)(next(p) & 0xFF) << 8 * i;
    return number;
}

static size_t next_line(pickle *p, char *line)
{
    size_t size = 0;
    for (int byte; (byte = next(p)) >= 0 && byte != '\n';)
        if (size < LINE - 1) line[size++] = (char)byte;
    line[size] = 0;
    return size;
}

/* ---- The stack ---------------------------------------------------------- */

static void push(pickle *p, pickle_type type, int64_t number)
{
    if (!cli_grow(&p->stack, &p->stack_room, p->depth + 1, sizeof *p->stack)) {
        p->out_of_memory = true;
        return;
    }
    p->stack[p->depth++] = (pickle_value){ type, number };
}

// Returns how many values there are that belong to the last mark.
static size_t above_mark(const pickle *p)
{
    const size_t mark = p->mark_count ? p->marks[p->mark_count - 1] : 0;
    return p->depth - mark;
}

static void push_mark(pickle *p)
{
    if (cli_grow(&p->marks, &p->mark_room, p->mark_count + 1, sizeof *p->marks))
        p->marks[p->mark_count++] = p->depth;
    else
        p->out_of_memory = true;
}

// Returns whether `count` values may be taken: they are there, and belong to
// the last mark.
static bool has(pickle *p, size_t count)
{
    if (above_mark(p) >= count) return true;
    p->refused = "takes values that are not there";
    return false;
}

static void pop_mark(pickle *p)
{
    if (p->mark_count)
        p->mark_count--;
    else
        p->refused = "ends what did not begin";
}

/* ---- Containers, texts -------------------------------------------------- */

// Counts bytes that values take until the end. An instruction of one byte can
// make a container.
static bool hold(pickle *p, size_t size)
{
    p->held += size;
    if (p->held <= HELD + p->done * HELD_EACH) return true;
    p->refused = "needs more memory than snapshots of its size do";
    return false;
}

// Most containers get all of their values at once: those have no spare room.
static bool make_room(pickle *p, pickle_box *box, size_t count)
{
    if (count <= box->room) return true;
    const size_t room = count > 2 * box->room ? count : 2 * box->room;
    if (count > VALUES) p->out_of_memory = true;
    if (count > VALUES ||
        !hold(p, (room - box->room) * sizeof *box->items + BLOCK))
        return false;
    pickle_value *const items = realloc(box->items, room * sizeof *items);
    p->out_of_memory |= !items;
    if (!items) return false;
    box->items = items;
    box->room = room;
    return true;
}

// Moves the last values of the stack into a container.
static void fill(pickle *p, pickle_box *box, size_t count)
{
    if (!make_room(p, box, box->count + count)) return;
    p->depth -= count;
    if (count)
        memcpy(box->items + box->count, p->stack + p->depth,
               count * sizeof *box->items);
    box->count += count;
}

static void make(pickle *p, pickle_type type, size_t count)
{
    if (!has(p, count) || !hold(p, sizeof *p->boxes)) return;
    if (!cli_grow(&p->boxes, &p->box_room, p->box_count + 1,
                  sizeof *p->boxes)) {
        p->out_of_memory = true;
        return;
    }
    pickle_box *const box = &p->boxes[p->box_count++];
    *box = (pickle_box){ .count = 0 };
    fill(p, box, count);
    push(p, type, (int64_t)p->box_count - 1);
}

static void make_of_marked(pickle *p, pickle_type type)
{
    const size_t count = above_mark(p);
    pop_mark(p);
    if (!p->refused) make(p, type, count);
}

// Adds the last values to the container below them.
static void add(pickle *p, pickle_type type, size_t count)
{
    if (p->refused || !has(p, count + 1)) return;
    const pickle_value v = p->stack[p->depth - count - 1];
    if (v.type != type || (type == PICKLE_DICT && count % 2))
        p->refused = "adds values to something else";
    else
        fill(p, &p->boxes[v.number], count);
}

static void add_marked(pickle *p, pickle_type type)
{
    const size_t count = above_mark(p);
    pop_mark(p);
    add(p, type, count);
}

static void keep_text(pickle *p, const char *bytes, size_t size)
{
    if (!hold(p, size + 1 + BLOCK + sizeof *p->texts)) return;
    char *const text = malloc(size + 1);
    if (!text || !cli_grow(&p->texts, &p->text_room, p->text_count + 1,
                           sizeof *p->texts)) {
        free(text);
        p->out_of_memory = true;
        return;
    }
    if (size) memcpy(text, bytes, size);
    p->texts[p->text_count++] = (ts_text){ text, size };
    push(p, PICKLE_TEXT, (int64_t)p->text_count - 1);
}

static void read_text(pickle *p, uint64_t size)
{
    if (size > TEXT) {
        p->refused = "has a text of more than 16 MiB";
        return;
    }
    char *text = NULL;
    size_t room = 0;
    for (size_t i = 0; i < size && !p->is_cut; i++) {
        if (!cli_grow(&text, &room, i + 1, 1)) {
            p->out_of_memory = true;
            break;
        }
        text[i] = (char)next(p);
    }
    if (!p->is_cut && !p->out_of_memory) keep_text(p, text, (size_t)size);
    free(text);
}

/* ---- Numbers ------------------------------------------------------------ */

// A number of more than eight bytes is none of a snapshot.
static void read_long(pickle *p, uint64_t size)
{
    uint64_t number = 0;
    uint8_t last = 0;
    for (uint64_t i = 0; i < size && !p->is_cut; i++) {
        last = (uint8_t)next(p);
        if (i < 8) number |= (uint64_t)last << 8 * i;
    }
    const size_t bits = size < 8 ? (size_t)size * 8 : 64;
    if (last >= 0x80 && bits < 64) number |= UINT64_MAX << bits;
    const bool fits = size <= 8 || (size == 9 && !last);
    push(p, fits ? PICKLE_INT : PICKLE_NONE, fits ? (int64_t)number : 0);
}

static void read_decimal(pickle *p)
{
    char line[LINE], *end;
    next_line(p, line);
    errno = 0;
    const int64_t number = strtoll(line, &end, 10);
    const bool is_number = end > line && !errno && (!*end || !strcmp(end, "L"));
    push(p, is_number ? PICKLE_INT : PICKLE_NONE, is_number ? number : 0);
}

/* ---- The memo ----------------------------------------------------------- */

static void remember(pickle *p, uint64_t number)
{
    if (!has(p, 1)) return;
    int64_t *const at = import_map_put(&p->memo_of, (int64_t)number, NULL);
    if (!at || !cli_grow(&p->memo, &p->memo_room, p->memo_count + 1,
                         sizeof *p->memo)) {
        p->out_of_memory = true;
        return;
    }
    if (!*at && !hold(p, ENTRY)) return;
    if (!*at) *at = (int64_t)++p->memo_count;
    p->memo[*at - 1] = p->stack[p->depth - 1];
    p->memo_next++;
}

static void recall(pickle *p, uint64_t number)
{
    const int64_t *const at = import_map_get(&p->memo_of, (int64_t)number);
    if (at)
        push(p, p->memo[*at - 1].type, p->memo[*at - 1].number);
    else
        p->refused = "refers to a value that is not there";
}

static uint64_t decimal(pickle *p)
{
    char line[LINE];
    next_line(p, line);
    return strtoull(line, NULL, 10);
}

/* ---- Instructions ------------------------------------------------------- */

static bool read_number(pickle *p, int code)
{
    switch (code) {
    case 'J':
        push(p, PICKLE_INT, (int32_t)(uint32_t)next_number(p, 4));
        return true;
    case 'K': push(p, PICKLE_INT, (int64_t)next_number(p, 1)); return true;
    case 'M': push(p, PICKLE_INT, (int64_t)next_number(p, 2)); return true;
    case 'I':
    case 'L': read_decimal(p); return true;
    case 0x8A: read_long(p, next_number(p, 1)); return true;
    case 0x8B: read_long(p, next_number(p, 4)); return true;
    case 'G': // floating-point numbers have no part in a snapshot
        next_number(p, 8);
        push(p, PICKLE_NONE, 0);
        return true;
    case 'F':
        decimal(p);
        push(p, PICKLE_NONE, 0);
        return true;
    case 'N':
    case 0x88:
    case 0x89: push(p, PICKLE_NONE, 0); return true;
    default: return false;
    }
}

static bool read_string(pickle *p, int code)
{
    char line[LINE];
    switch (code) {
    case 0x8C:
    case 'U':
    case 'C': read_text(p, next_number(p, 1)); return true;
    case 'X':
    case 'T':
    case 'B': read_text(p, next_number(p, 4)); return true;
    case 0x8D:
    case 0x8E:
    case 0x96: read_text(p, next_number(p, 8)); return true;
    case 'V':
    case 'S': keep_text(p, line, next_line(p, line)); return true;
    default: return false;
    }
}

static bool read_container(pickle *p, int code)
{
    switch (code) {
    case ']':
    case ')':
    case 0x8F: make(p, PICKLE_LIST, 0); return true;
    case '}': make(p, PICKLE_DICT, 0); return true;
    case 0x85: make(p, PICKLE_LIST, 1); return true;
    case 0x86: make(p, PICKLE_LIST, 2); return true;
    case 0x87: make(p, PICKLE_LIST, 3); return true;
    case 't':
    case 'l':
    case 0x91: make_of_marked(p, PICKLE_LIST); return true;
    case 'd':
        if (above_mark(p) % 2) p->refused = "makes a dictionary of odd parts";
        make_of_marked(p, PICKLE_DICT);
        return true;
    case 'a': add(p, PICKLE_LIST, 1); return true;
    case 's': add(p, PICKLE_DICT, 2); return true;
    case 'e':
    case 0x90: add_marked(p, PICKLE_LIST); return true;
    case 'u': add_marked(p, PICKLE_DICT); return true;
    default: return false;
    }
}

static bool use_memo(pickle *p, int code)
{
    switch (code) {
    case 'q': remember(p, next_number(p, 1)); return true;
    case 'r': remember(p, next_number(p, 4)); return true;
    case 'p': remember(p, decimal(p)); return true;
    case 0x94: remember(p, p->memo_next); return true;
    case 'h': recall(p, next_number(p, 1)); return true;
    case 'j': recall(p, next_number(p, 4)); return true;
    case 'g': recall(p, decimal(p)); return true;
    default: return false;
    }
}

// Carries out an instruction of no value; false: it is not one of these.
static bool arrange(pickle *p, int code)
{
    switch (code) {
    case 0x80: next_number(p, 1); return true; // the protocol
    case 0x95: next_number(p, 8); return true; // the size of a part
    case '(': push_mark(p); return true;
    case '0': p->depth -= has(p, 1); return true;
    case '1':
        p->depth -= above_mark(p);
        pop_mark(p);
        return true;
    case '2':
        if (has(p, 1))
            push(p, p->stack[p->depth - 1].type, p->stack[p->depth - 1].number);
        return true;
    default: return false;
    }
}

// Runs up to the end; false where it fails.
static bool run(pickle *p)
{
    for (;;) {
        const int code = next(p);
        if (code < 0) return false;
        if (code == '.') return p->depth > 0;
        if (!arrange(p, code) && !read_number(p, code) &&
            !read_string(p, code) && !read_container(p, code) &&
            !use_memo(p, code))
            p->refused = "names or calls something of Python";
        if (p->refused || p->out_of_memory || p->is_cut) return false;
    }
}

pickle *pickle_open(import_job *job, pickle_value *value)
{
    pickle *const p = calloc(1, sizeof *p);
    if (!p) {
        import_out_of_memory(job);
        return NULL;
    }
    p->job = job;
    if (run(p)) {
        *value = p->stack[p->depth - 1];
        return p;
    }
    if (p->out_of_memory)
        import_out_of_memory(job);
    else if (p->refused && !p->is_cut)
        import_fail(job,
                    "the pickle %s at byte %" PRIu64
                    "; only plain data is read, and nothing is executed",
                    p->refused, p->done - 1);
    else
        import_fail(job, "the pickle is truncated");
    pickle_close(p);
    return NULL;
}

void pickle_close(pickle *p)
{
    if (!p) return;
    for (size_t i = 0; i < p->box_count; i++)
        free(p->boxes[i].items);
    for (size_t i = 0; i < p->text_count; i++)
        free((void *)(uintptr_t)p->texts[i].text);
    free(p->boxes);
    free(p->texts);
    free(p->stack);
    free(p->marks);
    free(p->memo);
    cli_map_close(&p->memo_of);
    free(p);
}

/* ---- Values ------------------------------------------------------------- */

ts_text pickle_text(const pickle *p, pickle_value v)
{
    return v.type == PICKLE_TEXT ? p->texts[v.number] : (ts_text){ "", 0 };
}

pickle_value pickle_get(const pickle *p, pickle_value dict, const char *key)
{
    const size_t size = strlen(key);
    if (dict.type != PICKLE_DICT) return (pickle_value){ PICKLE_NONE, 0 };
    const pickle_box *const box = &p->boxes[dict.number];
    for (size_t i = 0; i + 1 < box->count && i < 2 * KEYS; i += 2) {
        const ts_text name = pickle_text(p, box->items[i]);
        if (name.size == size && !memcmp(name.text, key, size))
            return box->items[i + 1];
    }
    return (pickle_value){ PICKLE_NONE, 0 };
}

size_t pickle_count(const pickle *p, pickle_value list)
{
    return list.type == PICKLE_LIST ? p->boxes[list.number].count : 0;
}

pickle_value pickle_at(const pickle *p, pickle_value list, size_t index)
{
    return p->boxes[list.number].items[index];
}

int64_t pickle_int(const pickle *p, pickle_value dict, const char *key,
                   int64_t other)
{
    const pickle_value v = pickle_get(p, dict, key);
    return v.type == PICKLE_INT ? v.number : other;
}
