/*
    blocks.c - feeds a JSON file to yajl and recovers from errors

    yajl parses the file block by block. After an error, the row around it is
    repaired if the error is one that profilers are known to make (invalid
    escapes, control characters, NaN and inf); otherwise the row is left out and
    counted. Parsing resumes at the next position that looks like a row.

        block: | parsed | row that is open ...         | read, not parsed |
               0        row_at                         at              size
*/
#include "tools/import/kineto/kineto.h"
#ifdef TRACESMITH_YAJL
#include "tools/import/kineto/parser.h"

/* ---- Repair ------------------------------------------------------------- */

// Parses a repaired row again, with a parser that is used for it alone.
static bool parse_mended(kineto_parser *p, const uint8_t *row, size_t size)
{
    uint8_t *const copy = malloc(2 * size + 8);
    bool done = false;
    if (copy && kineto_parser_start_in_events(p)) {
        const size_t mended = kineto_mend(row, size, copy);
        p->is_done = false;
        done = yajl_parse(p->yajl, copy, mended) == yajl_status_ok &&
               p->is_done && p->place == IN_EVENTS;
    }
    free(copy);
    return done;
}

/* ---- Blocks ------------------------------------------------------------- */

// Discards the bytes before `from` and reads more. Returns how far the rest
// moved to the front; SIZE_MAX at the end of the file.
static size_t read_more(kineto_parser *p, size_t from)
{
    memmove(p->block, p->block + from, p->size - from);
    p->size -= from;
    p->at = p->at > from ? p->at - from : 0;
    p->row_at -= p->row_at > from ? from : p->row_at;
    const size_t got = import_source_read(p->source, p->block + p->size, PIECE);
    p->size += got;
    kineto_flow_reached(p->flow, import_source_done(p->source),
                        import_source_total(p->source));
    return got ? from : SIZE_MAX;
}

// Returns the first byte to keep: the start of the open row if there is room,
// else `at`.
static size_t first_kept(kineto_parser *p, size_t at)
{
    if (!p->row_open || p->row_lost) return at;
    p->row_lost = p->size - p->row_at > BLOCK - PIECE;
    return p->row_lost ? at : p->row_at;
}

// Moves *at to the position that the finder finds; false at the end of the
// file.
static bool seek(kineto_parser *p, size_t *at, kineto_finder *find)
{
    for (;;) {
        const size_t found = find(p->block, *at, p->size);
        if (found < p->size) {
            *at = found;
            return true;
        }
        // The match may begin in the last bytes.
        const size_t tail =
            p->size > *at + KINETO_LOOK ? p->size - KINETO_LOOK : *at;
        const size_t moved = read_more(p, first_kept(p, tail));
        if (moved == SIZE_MAX) {
            *at = p->size;
            return false;
        }
        *at = tail - moved;
    }
}

/*
    Recovers from an error of yajl: repairs or drops the open row and resumes at
    the next one. False at the end of the file.
*/
static bool recover_row(kineto_parser *p, size_t at)
{
    const bool was_open = p->row_open;
    const bool found = seek(p, &at, kineto_find_row);
    const bool mended = was_open && !p->row_lost &&
                        parse_mended(p, p->block + p->row_at, at - p->row_at);
    if (mended)
        kineto_note(p->flow, KINETO_FLAW, "mended_row");
    else if (was_open)
        kineto_note(p->flow, KINETO_BAD,
                    found ? "broken_row" : "truncated_row");
    else
        kineto_note(p->flow, KINETO_FLAW, "broken_list");
    p->rows += was_open && !mended;
    p->is_cut |= !found;
    p->at = at;
    return found && kineto_parser_start_in_events(p);
}

// Accepts a comma before the bracket that ends the events: writers that put one
// behind every row leave it. Resumes at the bracket.
static bool accept_comma(kineto_parser *p, size_t at)
{
    if (p->place != IN_EVENTS || p->row_open || at <= p->at || at > p->size ||
        p->block[at - 1] != ']')
        return false;
    p->at = at - 1;
    return true;
}

static bool recover(kineto_parser *p)
{
    const bool in_events = p->place == IN_EVENTS || p->row_open;
    const size_t consumed = yajl_get_bytes_consumed(p->yajl);
    size_t at = p->at + (consumed ? consumed : 1);
    if (accept_comma(p, at)) return kineto_parser_start_in_events(p);
    if (p->row_open && !p->row_lost) at = p->row_at + 1;
    if (at > p->size) at = p->size;
    if (in_events) return recover_row(p, at);
    kineto_note(p->flow, KINETO_BAD, "broken_metadata");
    if (p->events_seen) return false;
    const bool found = seek(p, &at, kineto_find_events);
    p->is_cut |= !found;
    p->at = at;
    return found && kineto_parser_start_in_events(p);
}

// Skips whitespace between rows. Much of it would otherwise reach SILENT, the
// limit for bytes without a value, which detects a text that never ends.
static void skip_blanks(kineto_parser *p)
{
    while (p->place == IN_EVENTS && !p->row_open && p->at < p->size &&
           strchr(" \t\r\n", p->block[p->at]) && p->block[p->at])
        p->at++;
}

// Parses the next piece; false at the end.
static bool parse_piece(kineto_parser *p)
{
    skip_blanks(p);
    const size_t size = p->size - p->at;
    p->fed += size;
    const yajl_status status = yajl_parse(p->yajl, p->block + p->at, size);
    if (p->place == AT_END) return false;
    if (status != yajl_status_ok || p->fed - p->last_fed > SILENT)
        return recover(p);
    p->at = p->size;
    if (read_more(p, first_kept(p, p->at)) != SIZE_MAX) return true;
    // Profilers that crash leave the array of events open, which is allowed.
    p->is_cut |= !p->is_array || p->place != IN_EVENTS;
    if (p->row_open) {
        kineto_note(p->flow, KINETO_BAD, "truncated_row");
        p->rows++;
    }
    return false;
}

static void parse(void *user, kineto_flow *flow)
{
    kineto_parser *const p = user;
    p->flow = flow;
    p->row = kineto_flow_row(flow);
    p->text = kineto_flow_text(flow);
    if (read_more(p, 0) == SIZE_MAX) return;
    // Skip the byte order mark of UTF-8.
    if (p->size > 3 && !memcmp(p->block, "\xEF\xBB\xBF", 3)) p->at = 3;
    while (parse_piece(p))
        ;
}

bool kineto_parse(kineto *k)
{
    kineto_parser *const p = calloc(1, sizeof *p);
    bool ok = p != NULL;
    if (p) {
        p->source = k->job->source;
        p->block = malloc(BLOCK + 1);
        ok = p->block && kineto_parser_start(p) && kineto_flow_run(k, parse, p);
        k->job->rows += p->rows;
        k->job->is_cut |= p->is_cut;
        if (p->yajl) yajl_free(p->yajl);
        free(p->block);
    }
    free(p);
    return ok ? ok : import_out_of_memory(k->job);
}

#else

bool kineto_parse(kineto *k)
{
    return import_fail(k->job, "this ts-import was built without yajl");
}

#endif
