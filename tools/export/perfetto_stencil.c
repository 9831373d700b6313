/*
    perfetto_stencil.c - frequent events without encoding each

    Zones are the bytes of their site. Kernels are copies of a lane's stencil.

    Most events of a large trace are kernels that differ in a few numbers. Their
    packets consist of constant pieces with numbers in between, and a form.
    Where the pieces stand is told to the packer, which need not search.
*/
#include "tools/export/perfetto.h"

/* ---- Numbers of a given width ------------------------------------------- */

enum { WIDTH_MAX = 8 };

// Returns the largest number that fits in `width` bytes.
static uint64_t most_of(uint32_t width)
{
    return (UINT64_C(1) << 7 * width) - 1;
}

// Writes 8 bytes, of which `width` are the number, which must fit.
static inline uint8_t *put_wide(uint8_t *to, uint64_t number, uint32_t width)
{
    const uint64_t high = UINT64_C(0x8080808080808080); // "more bytes follow"
    uint64_t x = number;
    x = (x & 0x0FFFFFFF) | (x & UINT64_C(0xFFFFFFF0000000)) << 4;
    x = (x & UINT64_C(0x00003FFF00003FFF)) | (x & UINT64_C(0x0FFFC0000FFFC000))
                                                 << 2;
    x = (x & UINT64_C(0x007F007F007F007F)) | (x & UINT64_C(0x3F803F803F803F80))
                                                 << 1;
    x |= high & ((UINT64_C(1) << 8 * (width - 1)) - 1);
    memcpy(to, &x, 8);
    return to + width;
}

static inline uint8_t *put_piece(uint8_t *to, const struct stencil_piece *piece)
{
    memcpy(to, piece->bytes, sizeof piece->bytes);
    return to + piece->size;
}

// Writes a size in exactly two bytes.
static void put_size(uint8_t *to, size_t size)
{
    to[0] = (uint8_t)(size | 0x80);
    to[1] = (uint8_t)(size >> 7);
}

/* ---- Making it ---------------------------------------------------------- */

static void piece_add(struct stencil_piece *piece, uint32_t byte)
{
    piece->bytes[piece->size++] = (uint8_t)byte;
}

static void piece_add_sequence(struct stencil_piece *piece, uint32_t id)
{
    piece_add(piece, PACKET_SEQUENCE << 3);
    piece->size =
        (uint8_t)(proto_put(piece->bytes + piece->size, id) - piece->bytes);
}

static bool widen(uint8_t *width, uint64_t number)
{
    const size_t size = proto_size(number);
    if (size > WIDTH_MAX) return false;
    if (*width < size) *width = (uint8_t)size;
    return true;
}

// Returns whether all arguments are numbers whose names the lane has defined.
static bool args_suit(const sequence *s, const export_item *item)
{
    if (item->arg_count > STENCIL_ARGS) return false;
    for (uint32_t i = 0; i < item->arg_count; i++) {
        const export_arg *const arg = &item->args[i];
        if (!arg->known || arg->repeat || arg->type > EXPORT_UINT ||
            !(s->arg_names >> arg->known & 1))
            return false;
    }
    return true;
}

static bool widen_all(stencil *st, const export_item *item, uint64_t passed)
{
    if (!widen(&st->time, passed)) return false;
    for (uint32_t i = 0; i < item->arg_count; i++)
        if (!widen(&st->widths[item->args[i].known], item->args[i].u.uint))
            return false;
    return true;
}

static void add_arg(stencil *st, struct stencil_piece *piece, uint32_t i,
                    const export_arg *arg)
{
    const uint8_t width = st->widths[arg->known];
    piece_add(piece, EVENT_ARG << 3 | PROTO_BYTES);
    piece_add(piece, 3u + width);
    piece_add(piece, ARG_NAME_ID << 3);
    piece_add(piece, arg->known);
    piece_add(piece, arg->type == EXPORT_INT ? ARG_INT << 3 : ARG_UINT << 3);
    st->args[i] = (struct stencil_arg){ .most = most_of(width),
                                        .name = arg->known,
                                        .type = (uint8_t)arg->type,
                                        .width = width };
}

static bool stencil_make(sequence *s, const export_item *item, uint64_t passed)
{
    stencil *const st = &s->stencil;
    st->size = 0; // no stencil until it is complete
    if (!args_suit(s, item) || !widen_all(st, item, passed)) return false;
    st->arg_count = item->arg_count;
    st->has_arrow = item->arrows.target != 0;
    memset(st->pieces, 0, sizeof st->pieces);
    struct stencil_piece *piece = st->pieces;
    piece_add(piece, PACKET << 3 | PROTO_BYTES);
    piece->size += 2; // the packet's size
    piece_add(piece, PACKET_TIME << 3);
    st->size = piece->size + st->time;
    piece++;
    piece_add_sequence(piece, s->id);
    piece_add(piece, PACKET_EVENT << 3 | PROTO_BYTES);
    st->event_at = (uint8_t)(st->size + piece->size);
    piece->size += 2; // the event's size
    piece_add(piece, EVENT_TYPE << 3);
    piece_add(piece, BEGIN);
    for (uint32_t i = 0; i < item->arg_count; i++, piece++) {
        add_arg(st, piece, i, &item->args[i]);
        st->size += piece->size + st->args[i].width;
    }
    if (st->has_arrow) {
        piece->size =
            (uint8_t)(proto_put(piece->bytes + piece->size,
                                EVENT_LAST_FLOW << 3 | PROTO_FIXED64) -
                      piece->bytes);
        st->size += 8;
    }
    st->size += piece->size;
    return true;
}

static void end_make(stencil *st, uint32_t id)
{
    struct stencil_piece *const head = &st->end[0], *const rest = &st->end[1];
    head->size = rest->size = 0;
    piece_add_sequence(rest, id);
    piece_add(rest, PACKET_EVENT << 3 | PROTO_BYTES);
    piece_add(rest, 2);
    piece_add(rest, EVENT_TYPE << 3);
    piece_add(rest, FINISH);
    piece_add(head, PACKET << 3 | PROTO_BYTES);
    piece_add(head, 1u + st->duration + rest->size);
    piece_add(head, PACKET_TIME << 3);
}

/* ---- Using it ----------------------------------------------------------- */

static bool stencil_fits(const stencil *st, const export_item *item,
                         uint64_t passed)
{
    if (!st->size || item->arg_count != st->arg_count ||
        st->has_arrow != (item->arrows.target != 0) ||
        passed > most_of(st->time))
        return false;
    for (uint32_t i = 0; i < st->arg_count; i++) {
        const export_arg *const arg = &item->args[i];
        const struct stencil_arg *const own = &st->args[i];
        if (arg->known != own->name || arg->type != own->type || arg->repeat ||
            arg->u.uint > own->most)
            return false;
    }
    return true;
}

// Writes the packet up to the form.
static uint8_t *put_head(uint8_t *to, const stencil *st,
                         const export_item *item, uint64_t passed)
{
    to = put_piece(to, &st->pieces[0]);
    to = put_wide(to, passed, st->time);
    for (uint32_t i = 0; i < st->arg_count; i++) {
        to = put_piece(to, &st->pieces[i + 1]);
        to = put_wide(to, item->args[i].u.uint, st->args[i].width);
    }
    to = put_piece(to, &st->pieces[st->arg_count + 1]);
    if (!st->has_arrow) return to;
    const uint64_t arrow =
        export_launch_number(item->arrows.target, item->arrows.arrow);
    memcpy(to, &arrow, 8);
    return to + 8;
}

bool perfetto_stencil_slice(perfetto *p, sequence *s, const export_item *item)
{
    const export_arrows *const arrows = &item->arrows;
    stencil *const st = &s->stencil;
    if (!item->name_shared || !s->begun || item->stack || arrows->fan_out ||
        arrows->phase || arrows->is_late)
        return false;
    const uint32_t number = item->shared->id * 2 + 1;
    const uint64_t passed = (uint64_t)item->start_ns - (uint64_t)s->last_ns;
    if (!perfetto_bit_set_has(&s->forms, number)) return false;
    if (!stencil_fits(st, item, passed) && !stencil_make(s, item, passed))
        return false;
    const shared_form *const form = &p->forms[number];
    const size_t size = st->size + form->bytes.size;
    if (size > most_of(2)) return false; // the names are very long
    uint8_t *const begin =
        export_room(&s->packets, size + sizeof st->pieces[0].bytes);
    uint8_t *const to = put_head(begin, st, item, passed);
    put_size(begin + 1, size - 3);
    put_size(begin + st->event_at, size - st->event_at - 2u);
    memcpy(to, form->bytes.data, form->bytes.size);
    s->packets.size += size;
    s->last_ns = item->start_ns;
    perfetto_packet_added(p, s);
    return true;
}

bool perfetto_stencil_end(perfetto *p, sequence *s, int64_t time_ns)
{
    stencil *const st = &s->stencil;
    const uint64_t passed = (uint64_t)time_ns - (uint64_t)s->last_ns;
    if (!st->duration || passed > most_of(st->duration)) {
        if (!widen(&st->duration, passed)) return false;
        end_make(st, s->id);
    }
    uint8_t *const begin = export_room(&s->packets, sizeof st->end);
    uint8_t *to = put_piece(begin, &st->end[0]);
    to = put_wide(to, passed, st->duration);
    to = put_piece(to, &st->end[1]);
    s->packets.size += (size_t)(to - begin);
    s->last_ns = time_ns;
    perfetto_packet_added(p, s);
    return true;
}

/* ---- Zones -------------------------------------------------------------- */

// event: SHORT_EVENT bytes, of which `size` are a TrackEvent of another type.
static inline void put_short(perfetto *p, sequence *s, int64_t time_ns,
                             const uint8_t *event, size_t size, uint32_t type)
{
    const uint64_t passed = (uint64_t)time_ns - (uint64_t)s->last_ns;
    uint8_t *const begin = export_room(&s->packets, 64), *to = begin + 2;
    *to++ = PACKET_TIME << 3;
    to = proto_put(to, passed);
    memcpy(to, s->head, sizeof s->head);
    to += s->head_size;
    *to++ = (uint8_t)size;
    memcpy(to, event, SHORT_EVENT);
    to[1] = (uint8_t)type;
    to += size;
    begin[0] = PACKET << 3 | PROTO_BYTES;
    begin[1] = (uint8_t)(to - begin - 2);
    s->packets.size += (size_t)(to - begin);
    s->last_ns = time_ns;
    perfetto_packet_added(p, s);
}

bool perfetto_short_event(perfetto *p, sequence *s, const export_item *item,
                          uint32_t type)
{
    const export_arrows *const arrows = &item->arrows;
    if (!item->site || !s->begun || item->name.size || item->category.size ||
        item->arg_count || item->shared || item->stack || item->is_log ||
        arrows->fan_out || arrows->target || arrows->phase)
        return false;
    const uint64_t *const index = export_map_find(&s->sites, item->site);
    const known_site *const site = index ? &s->known[*index - 1] : NULL;
    if (!site || !site->size) return false;
    put_short(p, s, item->start_ns, site->event, site->size, type);
    return true;
}

void perfetto_short_end(perfetto *p, sequence *s, int64_t time_ns)
{
    static const uint8_t event[SHORT_EVENT] = { EVENT_TYPE << 3 };
    put_short(p, s, time_ns, event, 2, FINISH);
}
