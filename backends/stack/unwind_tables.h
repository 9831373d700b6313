/*
    stack/unwind_tables.h - reads unwind tables

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.

    Finds what the unwind table of a module (.eh_frame, by its sorted
    .eh_frame_hdr) says of an address, and packs it into 64 bits: where the
    caller's frame, its frame pointer and its return address lie.

    Of expressions only those are evaluated that compilers write for aligned
    frames. Tables are those of modules that the program runs: they are
    trusted, but not beyond the ends of the module.
*/
#ifndef TS__STACK_UNWIND_TABLES_H
#define TS__STACK_UNWIND_TABLES_H

#include "machine.h"
#include "modules.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
    The rule for one address from the table of its module, in 64 bits:

        kind 3 | CFA 18 | frame pointer 16 | return address 16 | module 11

    The canonical frame address (CFA) is the value of the stack pointer after
    the return. Offsets are in units of 8 bytes. The frame pointer and the
    return address were saved that far below the CFA (0: they were not saved).
    Source: DWARF 5, 6.4; Linux Standard Base, "Exception Frames".
*/
enum {
    TS__RULE_UNKNOWN = 0,
    TS__RULE_SP = 1, // CFA = stack pointer + offset
    TS__RULE_FP = 2, // CFA = frame pointer + offset
    // CFA = the word `offset` below the frame pointer, where the caller's frame
    // pointer is saved as well.
    TS__RULE_DEREF = 3,
    TS__RULE_SIGNAL = 4, // the kernel called a signal handler from here
    TS__RULE_END = 5,    // the frame has no caller
    TS__RULE_NONE = 6,   // no table: only the frame pointer can be used
    // As FP; the frame pointer points to the caller's saved frame pointer,
    // followed by the return address.
    TS__RULE_FRAME = 7
};

static uint64_t ts__rule(uint32_t kind, uint64_t cfa, uint64_t fp, uint64_t ra,
                         uint32_t module)
{
    if (cfa >> 18 || fp >> 16 || ra >> 16) kind = TS__RULE_UNKNOWN;
    if (kind == TS__RULE_UNKNOWN) cfa = fp = ra = 0;
    return kind | cfa << 3 | fp << 21 | ra << 37 | (uint64_t)module << 53;
}

#if defined(__x86_64__)
enum { TS__REG_FP = 6, TS__REG_SP = 7, TS__REG_RA = 16 };
#else
enum { TS__REG_FP = 29, TS__REG_SP = 31, TS__REG_RA = 30 };
#endif

typedef enum ts__cfi_kind {
    TS__CFI_SAME = 0, // the register keeps its value
    TS__CFI_CFA,      // saved at CFA + offset
    TS__CFI_DEREF,    // saved at frame pointer + offset
    TS__CFI_UNDEFINED,
    TS__CFI_OTHER
} ts__cfi_kind;

typedef struct ts__cfi_place { // where a register of the caller is saved
    ts__cfi_kind kind;
    int64_t offset;
} ts__cfi_place;

typedef struct ts__cfi_row {
    uint32_t cfa_register; // UINT32_MAX: computed by an expression
    bool cfa_deref;        // CFA = the word at frame pointer + offset
    int64_t cfa_offset;
    ts__cfi_place fp, ra;
} ts__cfi_row;

typedef struct ts__cfi {
    const uint8_t *p, *end;
    bool bad;
    uint64_t code_align;
    int64_t data_align;
    uint8_t encoding; // of addresses
    bool augmented, signal;
    const uint8_t *initial, *initial_end; // instructions of the CIE
} ts__cfi;

static TS__STACK_PLAIN uint64_t ts__cfi_get(ts__cfi *c, uint32_t size)
{
    uint64_t value = 0;
    if ((uint64_t)(c->end - c->p) < size) {
        c->bad = true;
        c->p = c->end;
        return 0;
    }
    for (uint32_t i = 0; i < size; i++)
        value |= (uint64_t)*c->p++ << 8 * i;
    return value;
}

static uint64_t ts__cfi_uleb(ts__cfi *c)
{
    uint64_t value = 0;
    for (uint32_t shift = 0;; shift += 7) {
        const uint64_t byte = ts__cfi_get(c, 1);
        if (shift < 64) value |= (byte & 127) << shift;
        if (!(byte & 128)) return value;
    }
}

static int64_t ts__cfi_sleb(ts__cfi *c)
{
    uint64_t value = 0;
    for (uint32_t shift = 0;;) {
        const uint64_t byte = ts__cfi_get(c, 1);
        if (shift < 64) value |= (byte & 127) << shift;
        shift += 7;
        if (byte & 128) continue;
        if (shift < 64 && byte & 64) value |= ~UINT64_C(0) << shift;
        return (int64_t)value;
    }
}

// Reads an address in one of the encodings that compilers use. `base`: for
// data-relative addresses.
static uint64_t ts__cfi_address(ts__cfi *c, uint8_t encoding, uint64_t base)
{
    const uint64_t here = (uint64_t)(uintptr_t)c->p;
    uint64_t value = 0;
    switch (encoding & 15) {
    case 0x0:
    case 0x4:
    case 0xc: value = ts__cfi_get(c, 8); break;
    case 0x3: value = ts__cfi_get(c, 4); break;
    case 0xb:
        value = (uint64_t)(int64_t)(int32_t)(uint32_t)ts__cfi_get(c, 4);
        break;
    default: c->bad = true;
    }
    if ((encoding & 0x70) == 0x10)
        value += here;
    else if ((encoding & 0x70) == 0x30)
        value += base;
    else if (encoding & 0xf0)
        c->bad = true;
    return value;
}

// Reads the length of an entry and sets the cursor's end.
static void ts__cfi_enter(ts__cfi *c, uint64_t limit)
{
    c->end = (const uint8_t *)(uintptr_t)limit;
    const uint64_t size = ts__cfi_get(c, 4);
    if (size == 0xffffffff || size > (uint64_t)(c->end - c->p))
        c->bad = true;
    else
        c->end = c->p + size;
}

// Reads the common information entry (CIE) of an entry.
static void ts__cfi_cie(ts__cfi *c, const uint8_t *at, uint64_t limit)
{
    ts__cfi e;
    memset(&e, 0, sizeof e);
    e.p = at;
    ts__cfi_enter(&e, limit);
    if (ts__cfi_get(&e, 4) != 0) e.bad = true;
    const uint64_t version = ts__cfi_get(&e, 1);
    if (version != 1 && version != 3) e.bad = true;
    const uint8_t *const letters = e.p;
    while (ts__cfi_get(&e, 1) && !e.bad) {}
    c->code_align = ts__cfi_uleb(&e);
    c->data_align = ts__cfi_sleb(&e);
    const uint64_t ra = version == 1 ? ts__cfi_get(&e, 1) : ts__cfi_uleb(&e);
    if (ra != TS__REG_RA) e.bad = true;
    const uint8_t *instructions = e.p;
    if (!e.bad && *letters == 'z') {
        c->augmented = true;
        const uint64_t size = ts__cfi_uleb(&e);
        if (size > (uint64_t)(e.end - e.p)) e.bad = true;
        instructions = e.p + (e.bad ? 0 : size);
        for (const uint8_t *l = letters + 1; *l && !e.bad; l++) {
            if (*l == 'R')
                c->encoding = (uint8_t)ts__cfi_get(&e, 1);
            else if (*l == 'P')
                ts__cfi_address(&e, (uint8_t)ts__cfi_get(&e, 1) & 0x0f, 0);
            else if (*l == 'L')
                ts__cfi_get(&e, 1);
            else if (*l == 'S')
                c->signal = true;
            else if (*l != 'B') // 'B': signing key
                e.bad = true;
        }
    } else if (!e.bad && *letters) {
        e.bad = true;
    }
    c->initial = instructions;
    c->initial_end = e.end;
    if (e.bad) c->bad = true;
}

static ts__cfi_place *ts__cfi_register(ts__cfi_row *row, uint64_t number)
{
    return number == TS__REG_FP   ? &row->fp
           : number == TS__REG_RA ? &row->ra
                                  : NULL;
}

static void ts__cfi_save(ts__cfi_row *row, uint64_t number, int64_t offset)
{
    ts__cfi_place *const place = ts__cfi_register(row, number);
    if (!place) return;
    place->kind = TS__CFI_CFA;
    place->offset = offset;
}

static void ts__cfi_lose(ts__cfi_row *row, uint64_t number, bool undefined)
{
    ts__cfi_place *const place = ts__cfi_register(row, number);
    if (place) place->kind = undefined ? TS__CFI_UNDEFINED : TS__CFI_OTHER;
}

// Reads an expression "frame pointer + offset", followed by a dereference if
// `deref`. Compilers use only these, for frames that they aligned.
static bool ts__cfi_expression(ts__cfi *c, bool deref, int64_t *offset)
{
    ts__cfi e = *c;
    const uint64_t size = ts__cfi_uleb(c);
    if (size > (uint64_t)(c->end - c->p)) {
        c->bad = true;
        return false;
    }
    e.p = c->p;
    e.end = c->p += size;
    if (ts__cfi_get(&e, 1) != 0x70 + TS__REG_FP) return false; // DW_OP_breg
    *offset = ts__cfi_sleb(&e);
    if (deref && ts__cfi_get(&e, 1) != 0x06) return false; // DW_OP_deref
    return !e.bad && e.p == e.end;
}

// Executes instructions up to the address `to`.
static void ts__cfi_run(ts__cfi *c, ts__cfi_row *row, const ts__cfi_row *first,
                        uint64_t from, uint64_t to)
{
    enum { KEPT = 4 };
    ts__cfi_row kept[KEPT];
    uint32_t depth = 0;
    while (c->p < c->end && !c->bad) {
        const uint8_t op = (uint8_t)ts__cfi_get(c, 1);
        uint64_t number = op & 63;
        int64_t offset = 0;
        ts__cfi_place *place;
        switch (op >> 6 ? op & 0xc0 : op) {
        case 0x40: from += number * c->code_align; break;
        case 0x80: // offset
            offset = (int64_t)ts__cfi_uleb(c) * c->data_align;
            ts__cfi_save(row, number, offset);
            break;
        case 0x06:
            number = ts__cfi_uleb(c); // restore_extended
            /* fall through */
        case 0xc0: // restore
            place = ts__cfi_register(row, number);
            if (place && first)
                *place = number == TS__REG_FP ? first->fp : first->ra;
            break;
        case 0x00: break;
        case 0x01: from = ts__cfi_address(c, c->encoding, 0); break;
        case 0x02: from += ts__cfi_get(c, 1) * c->code_align; break;
        case 0x03: from += ts__cfi_get(c, 2) * c->code_align; break;
        case 0x04: from += ts__cfi_get(c, 4) * c->code_align; break;
        case 0x05: // offset_extended
            number = ts__cfi_uleb(c);
            offset = (int64_t)ts__cfi_uleb(c) * c->data_align;
            ts__cfi_save(row, number, offset);
            break;
        case 0x07: ts__cfi_lose(row, ts__cfi_uleb(c), true); break;
        case 0x08: // same_value
            place = ts__cfi_register(row, ts__cfi_uleb(c));
            if (place) place->kind = TS__CFI_SAME;
            break;
        case 0x09: // register
            ts__cfi_lose(row, ts__cfi_uleb(c), false);
            ts__cfi_uleb(c);
            break;
        case 0x0a: // remember_state
            if (depth == KEPT)
                c->bad = true;
            else
                kept[depth++] = *row;
            break;
        case 0x0b: // restore_state
            if (!depth)
                c->bad = true;
            else
                *row = kept[--depth];
            break;
        case 0x0c: // def_cfa
            row->cfa_register = (uint32_t)ts__cfi_uleb(c);
            row->cfa_offset = (int64_t)ts__cfi_uleb(c);
            row->cfa_deref = false;
            break;
        case 0x0d: // def_cfa_register
            row->cfa_register = (uint32_t)ts__cfi_uleb(c);
            row->cfa_deref = false;
            break;
        case 0x0e: row->cfa_offset = (int64_t)ts__cfi_uleb(c); break;
        case 0x0f: // def_cfa_expression
            row->cfa_deref = ts__cfi_expression(c, true, &row->cfa_offset);
            row->cfa_register = UINT32_MAX;
            break;
        case 0x10: // expression
        case 0x16: // val_expression
            place = ts__cfi_register(row, ts__cfi_uleb(c));
            if (ts__cfi_expression(c, false, &offset) && op == 0x10) {
                if (place) place->kind = TS__CFI_DEREF, place->offset = offset;
            } else if (place) {
                place->kind = TS__CFI_OTHER;
            }
            break;
        case 0x11: // offset_extended_sf
            number = ts__cfi_uleb(c);
            ts__cfi_save(row, number, ts__cfi_sleb(c) * c->data_align);
            break;
        case 0x12: // def_cfa_sf
            row->cfa_register = (uint32_t)ts__cfi_uleb(c);
            row->cfa_offset = ts__cfi_sleb(c) * c->data_align;
            row->cfa_deref = false;
            break;
        case 0x13: row->cfa_offset = ts__cfi_sleb(c) * c->data_align; break;
        case 0x14: // val_offset
        case 0x15: // val_offset_sf
            ts__cfi_lose(row, ts__cfi_uleb(c), false);
            ts__cfi_uleb(c);
            break;
        case 0x2d: break; // aarch64: return addresses are signed
        case 0x2e: ts__cfi_uleb(c); break;
        default: c->bad = true;
        }
        // An instruction that advances the address may have passed ours.
        if (from > to) return;
    }
}

// Finds the entry (FDE) of an address in the sorted table of PT_GNU_EH_FRAME.
static TS__STACK_PLAIN const uint8_t *ts__cfi_search(const ts__stack_object *o,
                                                     uint64_t pc)
{
    ts__cfi c;
    memset(&c, 0, sizeof c);
    const uint64_t base = (uint64_t)(uintptr_t)o->table;
    c.p = o->table;
    c.end = (const uint8_t *)(uintptr_t)o->end;
    if (!c.p || ts__cfi_get(&c, 1) != 1) return NULL;
    const uint8_t frame_encoding = (uint8_t)ts__cfi_get(&c, 1);
    const uint8_t count_encoding = (uint8_t)ts__cfi_get(&c, 1);
    // Only pairs of 32-bit offsets; linkers produce no other tables.
    if (ts__cfi_get(&c, 1) != 0x3b) return NULL;
    ts__cfi_address(&c, frame_encoding, base);
    const uint64_t count = ts__cfi_address(&c, count_encoding, base);
    if (c.bad || count > (uint64_t)(c.end - c.p) / 8) return NULL;
    const uint8_t *const rows = c.p;
    uint64_t low = 0, high = count;
    int32_t row[2] = { 0, 0 };
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        memcpy(row, rows + 8 * middle, sizeof row);
        if (base + (uint64_t)(int64_t)row[0] <= pc)
            low = middle + 1;
        else
            high = middle;
    }
    if (!low) return NULL;
    memcpy(row, rows + 8 * (low - 1), sizeof row);
    const uint64_t at = base + (uint64_t)(int64_t)row[1];
    if (at < o->start || at >= o->end) return NULL;
    return (const uint8_t *)(uintptr_t)at;
}

static uint64_t ts__cfi_rule(const ts__cfi *c, const ts__cfi_row *row,
                             uint32_t module)
{
    uint32_t kind = TS__RULE_UNKNOWN;
    int64_t cfa = row->cfa_offset, fp = 0, ra = 0;
    if (c->signal) return ts__rule(TS__RULE_SIGNAL, 0, 0, 0, module);
    if (row->ra.kind == TS__CFI_UNDEFINED)
        return ts__rule(TS__RULE_END, 0, 0, 0, module);
    if (row->cfa_deref)
        kind = TS__RULE_DEREF, cfa = -cfa;
    else if (row->cfa_register == TS__REG_SP)
        kind = TS__RULE_SP;
    else if (row->cfa_register == TS__REG_FP)
        kind = TS__RULE_FP;
    if (row->ra.kind == TS__CFI_CFA)
        ra = -row->ra.offset;
    else if (row->ra.kind != TS__CFI_SAME)
        kind = TS__RULE_UNKNOWN;
    if (row->fp.kind == TS__CFI_CFA) fp = -row->fp.offset;
    if (row->fp.kind == TS__CFI_OTHER) kind = TS__RULE_UNKNOWN;
    // Either both are dereferenced (an aligned frame) or neither.
    const bool deref = row->fp.kind == TS__CFI_DEREF && !row->fp.offset;
    if (deref != (kind == TS__RULE_DEREF)) kind = TS__RULE_UNKNOWN;
    if ((cfa | fp | ra) & 7 || cfa < 0 || fp < 0 || ra < 0)
        kind = TS__RULE_UNKNOWN;
    if (kind == TS__RULE_FP && fp == cfa && ra == cfa - 8 &&
        (cfa == 16 || TS__REG_FP == 29))
        kind = TS__RULE_FRAME;
    return ts__rule(kind, (uint64_t)cfa / 8, (uint64_t)fp / 8, (uint64_t)ra / 8,
                    module);
}

// Returns the rule of an address from the table of its module.
static uint64_t ts__cfi_learn(const ts__stack_object *o, uint64_t pc,
                              uint32_t module)
{
    const uint64_t none = ts__rule(TS__RULE_NONE, 0, 0, 0, module);
    const uint64_t unknown = ts__rule(TS__RULE_UNKNOWN, 0, 0, 0, module);
    ts__cfi c;
    memset(&c, 0, sizeof c);
    c.p = ts__cfi_search(o, pc);
    if (!c.p) return none;
    ts__cfi_enter(&c, o->end);
    const uint64_t id_at = (uint64_t)(uintptr_t)c.p;
    const uint64_t back = ts__cfi_get(&c, 4);
    if (c.bad || back > id_at - o->start) return unknown;
    ts__cfi_cie(&c, (const uint8_t *)(uintptr_t)(id_at - back), o->end);
    const uint64_t from = ts__cfi_address(&c, c.encoding, 0);
    const uint64_t size = ts__cfi_address(&c, c.encoding & 0x0f, 0);
    if (c.bad) return unknown;
    if (pc - from >= size) return none;
    if (c.augmented) {
        const uint64_t skip = ts__cfi_uleb(&c);
        if (skip > (uint64_t)(c.end - c.p)) return unknown;
        c.p += skip;
    }
    ts__cfi_row first, row;
    memset(&first, 0, sizeof first);
    ts__cfi common = c;
    common.p = c.initial;
    common.end = c.initial_end;
    ts__cfi_run(&common, &first, NULL, 0, UINT64_MAX);
    row = first;
    ts__cfi_run(&c, &row, &first, from, pc);
    return common.bad || c.bad ? unknown : ts__cfi_rule(&c, &row, module);
}

#endif // TS__STACK_UNWIND_TABLES_H
