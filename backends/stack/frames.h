/*
    stack/frames.h - from one frame to its caller

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
*/
#ifndef TS__STACK_FRAMES_H
#define TS__STACK_FRAMES_H

#include "tracesmith.h"
#include "machine.h"
#include "modules.h"
#include "unwind_tables.h"

#include <signal.h>
#include <ucontext.h>

/* ==== 1. What is known of addresses ====================================== */

// A cache of rules: four slots per cache line. A writer claims a slot by
// setting its address to 1. A reader that sees the same address before and
// after reading the rule has the rule of that address.
enum { TS__STACK_LINES = 4096 };

typedef struct ts__stack_slot {
    uint64_t pc, rule;
} ts__stack_slot;

static ts__stack_slot ts__stack_slots[TS__STACK_LINES][4]
    __attribute__((aligned(64)));

static ts__stack_slot *ts__stack_line(uint64_t pc)
{
    const uint64_t line = sizeof *ts__stack_slots;
    const uint64_t at = (pc * line ^ pc / line) & (TS__STACK_LINES - 1) * line;
    return (ts__stack_slot *)((uintptr_t)ts__stack_slots + at);
}

static bool ts__stack_known(uint64_t pc, uint64_t *rule)
{
    ts__stack_slot *const line = ts__stack_line(pc);
    for (uint32_t i = 0; i < 4; i++) {
        // acquire, twice: pairs with the releases in ts__stack_keep
        if (__atomic_load_n(&line[i].pc, __ATOMIC_ACQUIRE) != pc) continue;
        *rule = __atomic_load_n(&line[i].rule, __ATOMIC_ACQUIRE);
        return TS__LOAD(&line[i].pc) == pc;
    }
    return false;
}

static void ts__stack_keep(uint64_t pc, uint64_t rule)
{
    ts__stack_slot *const line = ts__stack_line(pc);
    uint32_t to = (uint32_t)(pc >> 4) & 3; // replaced if all are taken
    for (uint32_t i = 4; i-- > 0;)
        if (!TS__LOAD(&line[i].pc)) to = i;
    for (uint32_t i = 0; i < 4; i++)
        if (TS__LOAD(&line[i].pc) == pc) to = i;
    uint64_t old = TS__LOAD(&line[to].pc);
    // Other writers, such as a signal handler that interrupts this one, skip
    // the slot.
    if (old == 1 ||
        !__atomic_compare_exchange_n(&line[to].pc, &old, 1, false,
                                     __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        return;
    __atomic_store_n(&line[to].rule, rule, __ATOMIC_RELEASE);
    __atomic_store_n(&line[to].pc, pc, __ATOMIC_RELEASE);
}

static __attribute__((noinline)) uint64_t ts__stack_learn(uint64_t pc)
{
    ts__stack_object object;
    // Not cached, because a module may be mapped there later.
    if (!ts__stack_find(pc, &object)) return TS__RULE_NONE;
    // a module may be mapped there later
    const uint32_t module = ts__stack_module_get(&object);
    const uint64_t rule = ts__cfi_learn(&object, pc, module);
    if (module) ts__stack_keep(pc, rule);
    return rule;
}

/* ==== 2. Frames ========================================================== */

typedef struct ts__stack_walk {
    uint64_t pc, sp, fp, lr;
    bool exact; // pc is the instruction itself, not a return address
    // A frame pointer was used without a table, so memory is read through the
    // kernel.
    bool guessed;
    uint32_t last;      // index of the last module found
    uint64_t seen;      // modules found alive during this walk: bits ...
    uint16_t index[64]; // ... and their indices
} ts__stack_walk;

// Returns the rule of the frame's address; checks that its module is still
// loaded.
static inline uint64_t ts__stack_rule(ts__stack_walk *w, uint64_t pc)
{
    uint64_t rule;
    if (TS__UNLIKELY(!ts__stack_known(pc, &rule))) return ts__stack_learn(pc);
    const uint32_t module = (uint32_t)(rule >> 53), bit = module & 63;
    if (TS__LIKELY(module == w->last)) return rule;
    if (w->seen >> bit & 1 && w->index[bit] == module) return rule;
    if (TS__UNLIKELY(!ts__stack_alive(module, w->guessed)))
        return ts__stack_learn(pc);
    w->seen |= UINT64_C(1) << bit;
    w->index[bit] = (uint16_t)module;
    w->last = module;
    return rule;
}

// Reads a word. Addresses computed from tables are valid as long as the
// registers are right, which is uncertain after a guess; then the kernel checks
// the access.
static TS__STACK_PLAIN inline bool
ts__stack_read(const ts__stack_walk *w, uint64_t address, uint64_t *word)
{
    if (TS__UNLIKELY(w->guessed))
        return ts__stack_probe(address, word, sizeof *word);
    *word = *(const volatile uint64_t *)(uintptr_t)address;
    return true;
}

// Moves to the caller's frame by the frame pointer alone.
static __attribute__((noinline)) bool ts__stack_guess(ts__stack_walk *w)
{
    uint64_t words[2] = { 0, 0 };
    if (w->fp & 7 || w->fp < w->sp || w->fp - w->sp > 1u << 20) return false;
    if (!ts__stack_probe(w->fp, words, sizeof words)) return false;
    w->guessed = true;
    w->sp = w->fp + 16;
    w->fp = words[0];
    w->pc = words[1];
    w->exact = false;
    return w->pc > 4096;
}

// Restores the registers that a signal handler interrupted.
static TS__STACK_PLAIN bool ts__stack_interrupted(ts__stack_walk *w)
{
    if (w->guessed) return false; // the signal frame may not be there
#if defined(__x86_64__)
    const ucontext_t *const u = (const ucontext_t *)(uintptr_t)w->sp;
    w->pc = (uint64_t)u->uc_mcontext.gregs[REG_RIP];
    w->sp = (uint64_t)u->uc_mcontext.gregs[REG_RSP];
    w->fp = (uint64_t)u->uc_mcontext.gregs[REG_RBP];
#else
    const ucontext_t *const u =
        (const ucontext_t *)(uintptr_t)(w->sp + sizeof(siginfo_t));
    w->pc = u->uc_mcontext.pc;
    w->sp = u->uc_mcontext.sp;
    w->fp = u->uc_mcontext.regs[29];
    w->lr = u->uc_mcontext.regs[30];
#endif
    w->exact = true;
    return w->pc > 4096;
}

// Removes the pointer authentication code from a return address.
static uint64_t ts__stack_strip(uint64_t pc)
{
#if defined(__aarch64__)
    return pc & ((UINT64_C(1) << 48) - 1);
#else
    return pc;
#endif
}

// The same for code whose tables say that it keeps frame pointers. The next
// frame depends only on the previous one, not on its rule, so the processor can
// read ahead while rules are looked up.
static TS__STACK_PLAIN inline bool ts__stack_follow(ts__stack_walk *w,
                                                    uint64_t rule)
{
    const volatile uint64_t *const frame =
        (const volatile uint64_t *)(uintptr_t)w->fp;
#if defined(__x86_64__)
    const uint64_t cfa = w->fp + 16; // the only CFA that this kind of rule has
    (void)rule;
#else
    const uint64_t cfa = w->fp + (rule & 0x3FFFF << 3);
#endif
    if (cfa & 7 || cfa - w->sp - 8 > UINT64_C(1) << 26) return false;
    w->fp = frame[0];
    w->pc = ts__stack_strip(frame[1]);
    w->sp = cfa;
    w->exact = false;
    return w->pc > 4096;
}

// Moves to the caller's frame. Returns false if there is none.
static TS__STACK_PLAIN inline bool ts__stack_up(ts__stack_walk *w,
                                                uint64_t rule)
{
    const uint32_t kind = rule & 7;
    const uint64_t fp_at = rule >> 18 & 0xFFFF << 3;
    const uint64_t ra_at = rule >> 34 & 0xFFFF << 3;
    uint64_t cfa = rule & 0x3FFFF << 3, fp_from = 0; // in bytes
    if (TS__LIKELY(kind == TS__RULE_SP))
        cfa += w->sp;
    else if (kind == TS__RULE_FP || kind == TS__RULE_FRAME)
        cfa += w->fp;
    else if (kind == TS__RULE_DEREF) {
        if (w->fp < w->sp || !ts__stack_read(w, w->fp - cfa, &cfa))
            return false;
    } else if (kind == TS__RULE_NONE)
        return ts__stack_guess(w);
    else
        return kind == TS__RULE_SIGNAL && ts__stack_interrupted(w);
    // A frame is above those of the functions that it called.
    if (cfa <= w->sp && !(cfa == w->sp && w->exact)) return false;
    if (cfa & 7 || cfa - w->sp > UINT64_C(1) << 26) return false;
    w->pc = w->lr; // interrupted before the return address was saved
    if (ra_at ? !ts__stack_read(w, cfa - ra_at, &w->pc) : !w->exact)
        return false;
    w->pc = ts__stack_strip(w->pc);
    if (kind == TS__RULE_DEREF)
        fp_from = w->fp;
    else if (fp_at)
        fp_from = cfa - fp_at;
    if (fp_from && !ts__stack_read(w, fp_from, &w->fp)) return false;
    w->sp = cfa;
    w->exact = false;
    return w->pc > 4096;
}

#ifdef TRACESMITH_UNWIND_OUTSIDE
#define TS__STACK_OUTSIDE true
#else
#define TS__STACK_OUTSIDE false
#endif

// Stores the frames above the walk's position without the first `skip`. The
// frame at the position is never included, nor, with `outside`, its callers in
// the same module. The entries hold indices into ts__stack_modules and
// addresses.
static TS__STACK_PLAIN uint32_t ts__stack_frames(ts__stack_walk *w,
                                                 ts_frame_entry *frames,
                                                 uint32_t skip, uint32_t depth,
                                                 bool outside)
{
    uint32_t count = 0;
    uint64_t rule = ts__stack_rule(w, w->pc);
    const uint64_t own = rule >> 53;
    while (count < depth &&
           (TS__LIKELY((rule & 7) == TS__RULE_FRAME) && TS__LIKELY(!w->guessed)
                ? ts__stack_follow(w, rule)
                : ts__stack_up(w, rule))) {
        const uint64_t at = w->exact ? w->pc : w->pc - 1;
        rule = ts__stack_rule(w, at);
        if (skip && skip--) continue;
        if (TS__UNLIKELY(outside) && rule >> 53 == own) continue;
        outside = false;
        frames[count].module = (uint32_t)(rule >> 53);
        frames[count].unused = 0;
        frames[count++].offset = at;
    }
    return count;
}

#if defined(__x86_64__)
#define TS__STACK_BEGIN(w) \
    ts__stack_walk w; \
    __asm__ volatile("leaq 0(%%rip), %0\n\tmovq %%rsp, %1\n\tmovq %%rbp, %2" \
                     : "=r"(w.pc), "=r"(w.sp), "=r"(w.fp)); \
    w.lr = w.seen = w.last = 0; \
    w.exact = true; \
    w.guessed = false
#else
#define TS__STACK_BEGIN(w) \
    ts__stack_walk w; \
    __asm__ volatile("adr %0, .\n\tmov %1, sp\n\tmov %2, x29" \
                     : "=r"(w.pc), "=r"(w.sp), "=r"(w.fp)); \
    w.lr = w.seen = w.last = 0; \
    w.exact = true; \
    w.guessed = false
#endif

#endif // TS__STACK_FRAMES_H
