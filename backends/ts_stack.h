/*
    ts_stack.h - the call stack of the calling thread, as a number

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
    Vendor library: none.
    Checked with:   Debian 12, x86-64, gcc 12 and clang 14, November 2026;
                    aarch64 in qemu.

    WHAT IT DOES
        Follows the frames of the calling thread, keeps each stack once and
        gives its number: for the launches of every backend, and for zones and
        allocations that ask. Frames are addresses in modules; names are found
        when a trace is read (ts-symbolize).

        A frame is found by the unwind table of the code that it belongs to.
        What a table says of an address is kept, so that a frame costs a few
        nanoseconds. Where a table says that code keeps its frame pointer, that
        is followed, which takes half as long. stack/unwind_tables.h, which must
        lie beside this file, reads the tables. Where code has no table, as
        made at run time, its frame pointer is tried, which the kernel reads:
        one that is none ends the stack, not the program.

        Nothing here takes a lock, allocates or calls a loader's function that
        does, so it may be used wherever a launch can happen: in a signal
        handler, inside malloc, in a callback of dl_iterate_phdr, with 64
        threads at once. Before a table is believed, the module is asked
        whether it is still the one that was seen: one that was closed, with
        another in its place, is another module.

    WHAT IT DOES NOT DO
        It looks up no name. It knows no language's own frames (Python, Java).
        A table that computes where a frame lies, as in the jump tables that
        linkers make, ends the stack.

    USE
        #define TRACESMITH_UNWIND
        #define TRACESMITH_IMPLEMENTATION // in one C11 file of a program
        #include "tracesmith.h"
        #include "backends/ts_stack.h"

        static char buffer[4096];
        ts_stack_launches(16);            // from now on, at each launch
        TS_ZONE("step");
        TS_ZONE_STACK();                  // of this zone
        TS_ALLOC_STACK(buffer, sizeof buffer); // in place of TS_ALLOC

    CONTENTS                            search for "==== 2." to jump
        1. Options
        2. Stacks
        3. Zones and allocations
        4. Implementation               private
*/
#if (defined(TRACESMITH_UNWIND_IMPLEMENTATION) || \
     (defined(TRACESMITH_UNWIND) && defined(TRACESMITH_IMPLEMENTATION))) && \
    !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif
#ifndef TS_STACK_H
#define TS_STACK_H

#include "tracesmith.h"

/* ==== 1. Options ========================================================= */

/*
    TRACESMITH_UNWIND_IMPLEMENTATION  in one C11 or C++17 file: the functions
    TRACESMITH_UNWIND                 the same, beside TRACESMITH_IMPLEMENTATION
    TRACESMITH_UNWIND_OUTSIDE         stacks begin outside the module that
                                      this is compiled into: for a library in
                                      somebody else's program
    TRACESMITH_LIBUNWIND              libunwind finds the frames, in place of
                                      what is here; link with -lunwind

    Without the functions launches have no stacks. Other machines than x86-64
    and aarch64 with Linux have them by libunwind only; ts_stack_problem says
    so. libunwind takes locks and may allocate: then stacks must not be taken
    in signal handlers or within malloc.
*/

/* ==== 2. Stacks ========================================================== */

enum { TS_STACK_DEEPEST = 256 }; // frames kept of a stack, the innermost ones

/*
    The number of the calling thread's stack, made if it is a new one: the
    caller's frame is the innermost, without the first `skip`. At most `depth`
    frames are kept.

    Threads: any; signal handlers too. Takes 7 KiB of stack, 9 KiB where code
             lies in no module, and 11 KiB where a module is seen for the first
             time.
    Errors:  0 while nothing is recorded, for a depth of 0, without frames, and
             when nothing can be kept any more (counted).
*/
TS_API uint32_t ts_stack_here(uint32_t skip, uint32_t depth);

/*
    The same frames as addresses, recorded or not: of the instruction in which
    each was, of the last byte of the call for those that called. Returns how
    many, at most `room`.
*/
TS_API uint32_t ts_stack_addresses(uint64_t *addresses, uint32_t room,
                                   uint32_t skip);

// From now on ts_gpu_origin_here, with which backends say who launched what,
// takes stacks of so many frames; 0: none. Threads: any.
TS_API void ts_stack_launches(uint32_t depth);

// Why there are no stacks, one clause for people; NULL: there are.
TS_API const char *ts_stack_problem(void);

/* ==== 3. Zones and allocations =========================================== */

/*
    TS_ZONE_STACK()       the innermost zone has this stack, 32 frames of it
    TS_ALLOC_STACK(ptr, size[, pool[, category]])  as TS_ALLOC, with the stack

    Off, they evaluate nothing and check the types of their arguments.
*/
#define TS_ZONE_STACK() \
    TS__IF_ON(ts_zone_stack(ts_stack_here(0, 32)), ((void)0))
#define TS_ALLOC_STACK(ptr, ...) \
    TS__IF_ON(TS__ALLOC_STACK(ptr, __VA_ARGS__, 0, 0, 0), \
              (TS__SKIP(ptr), TS__SKIP_NAME(__VA_ARGS__)))
#define TS__ALLOC_STACK(ptr, size, pool, category, ...) \
    do { \
        static uint32_t ts__pool = 0, ts__category = 0; \
        if (TS__LOAD(&ts__here.gate)) \
            ts_alloc_stack(ptr, size, ts__name_once(&ts__pool, pool), \
                           ts__name_once(&ts__category, category), \
                           ts_stack_here(0, 32)); \
    } while (0)

#ifdef TRACESMITH_DISABLE
#define ts_stack_here(skip, depth) \
    TS__GONE(uint32_t, ts_stack_here(skip, depth))
#define ts_stack_addresses(addresses, room, skip) \
    TS__GONE(uint32_t, ts_stack_addresses(addresses, room, skip))
#define ts_stack_launches(depth) TS__GONE_VOID(ts_stack_launches(depth))
#define ts_stack_problem() \
    (TS__GONE_VOID(ts_stack_problem()), "the program is built without them")
#endif

#endif // TS_STACK_H

/* ==== 4. Implementation ================================================== */

#if (defined(TRACESMITH_UNWIND_IMPLEMENTATION) || \
     (defined(TRACESMITH_UNWIND) && defined(TRACESMITH_IMPLEMENTATION))) && \
    !defined(TRACESMITH_DISABLE) && !defined(TS__STACK_IMPLEMENTED)
#define TS__STACK_IMPLEMENTED

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__)) && \
    defined(__LP64__) && !defined(TRACESMITH_LIBUNWIND)
#define TS__STACK_MACHINE
#endif

// Frames of other functions are read as they lie: what sanitizers put between
// variables is part of them.
#ifdef __clang__
#define TS__STACK_PLAIN \
    __attribute__((no_sanitize("address", "thread", "undefined", "memory")))
#else
#define TS__STACK_PLAIN \
    __attribute__((no_sanitize_address, no_sanitize_thread, \
                   no_sanitize_undefined))
#endif

#if defined(TS__STACK_MACHINE) || defined(TRACESMITH_LIBUNWIND)

/* ---- 4.1 Modules -------------------------------------------------------- */

/*
    Modules are added and never changed or removed. Two threads may add one
    twice, which costs a place and nothing else: its number is the same.
*/
enum { TS__STACK_MODULES = 2048 };

typedef struct ts__stack_module {
    uint64_t start, end;  // where it is mapped
    const void *map;      // its link_map, or what takes its place
    const uint8_t *table; // PT_GNU_EH_FRAME, NULL: none
    const uint8_t *build; // its build-id if that is in its first page ...
    uint64_t build_begin; // ... and the first bytes of it
    uint32_t number;      // ts_module_define's
    uint32_t ready;       // 1: all of the above may be read
    uint32_t stays;       // it can never be unloaded
} ts__stack_module;

// From 1: 0 is no module.
static ts__stack_module ts__stack_modules[TS__STACK_MODULES];
static uint32_t ts__stack_module_count;

typedef struct ts__stack_object { // what the loader says of an address
    uint64_t start, end, bias;    // bias: of the addresses in the file
    const void *map;              // tells it from others
    const char *name;
    const uint8_t *table;
} ts__stack_object;

#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 35) && !defined(TS__STACK_OLD)
// Takes no lock. Source: glibc manual, "Dynamic Linker Introspection".
static bool ts__stack_find(uint64_t pc, ts__stack_object *object)
{
    struct dl_find_object found;
    if (_dl_find_object((void *)(uintptr_t)pc, &found) != 0) return false;
    object->start = (uint64_t)(uintptr_t)found.dlfo_map_start;
    object->end = (uint64_t)(uintptr_t)found.dlfo_map_end;
    object->bias = found.dlfo_link_map->l_addr;
    object->map = found.dlfo_link_map;
    object->name = found.dlfo_link_map->l_name;
    object->table = (const uint8_t *)found.dlfo_eh_frame;
    return true;
}
#else
// Older C libraries: under the loader's lock, which a thread may take twice
// and beside which nothing is held here. It costs a microsecond.
typedef struct ts__stack_wanted {
    uint64_t pc;
    ts__stack_object *object;
} ts__stack_wanted;

static int ts__stack_match(struct dl_phdr_info *info, size_t size, void *user)
{
    const ts__stack_wanted *const wanted = (const ts__stack_wanted *)user;
    ts__stack_object *const o = wanted->object;
    (void)size;
    memset(o, 0, sizeof *o);
    o->bias = info->dlpi_addr;
    o->map = info->dlpi_name;
    o->name = info->dlpi_name;
    o->start = UINT64_MAX;
    for (uint32_t i = 0; i < info->dlpi_phnum; i++) {
        const uint64_t at = o->bias + info->dlpi_phdr[i].p_vaddr;
        if (info->dlpi_phdr[i].p_type == PT_GNU_EH_FRAME)
            o->table = (const uint8_t *)(uintptr_t)at;
        if (info->dlpi_phdr[i].p_type != PT_LOAD) continue;
        const uint64_t end = at + info->dlpi_phdr[i].p_memsz;
        if (at < o->start) o->start = at & ~UINT64_C(4095);
        if (end > o->end) o->end = end;
    }
    return wanted->pc >= o->start && wanted->pc < o->end;
}

static bool ts__stack_find(uint64_t pc, ts__stack_object *object)
{
    ts__stack_wanted wanted = { pc, object };
    return dl_iterate_phdr(ts__stack_match, &wanted) != 0;
}
#endif

// The build-id of an ELF file as it is mapped, its size; 0: none.
static TS__STACK_PLAIN size_t ts__stack_build_id(const ts__stack_object *o,
                                                 const uint8_t **id)
{
    const ElfW(Ehdr) *const elf = (const ElfW(Ehdr) *)(uintptr_t)o->start;
    if (memcmp(elf->e_ident, ELFMAG, SELFMAG) != 0 ||
        elf->e_phentsize != sizeof(ElfW(Phdr)) ||
        elf->e_phoff + elf->e_phnum * sizeof(ElfW(Phdr)) > 4096)
        return 0;
    const ElfW(Phdr) *const heads =
        (const ElfW(Phdr) *)(uintptr_t)(o->start + elf->e_phoff);
    for (uint32_t i = 0; i < elf->e_phnum; i++) {
        if (heads[i].p_type != PT_NOTE) continue;
        const uint64_t at = o->bias + heads[i].p_vaddr;
        const uint64_t size = heads[i].p_memsz;
        if (at < o->start || at > o->end || size > o->end - at) continue;
        for (uint64_t p = 0; p + sizeof(ElfW(Nhdr)) <= size;) {
            ElfW(Nhdr) note;
            memcpy(&note, (const void *)(uintptr_t)(at + p), sizeof note);
            const uint64_t name = p + sizeof note;
            const uint64_t body = name + ((note.n_namesz + 3u) & ~3u);
            const uint64_t next = body + ((note.n_descsz + 3u) & ~3u);
            if (body < name || next < body || next > size) break;
            *id = (const uint8_t *)(uintptr_t)(at + body);
            if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
                !memcmp((const void *)(uintptr_t)(at + name), "GNU", 4))
                return note.n_descsz;
            p = next;
        }
    }
    return 0;
}

/*
    The file that is mapped at an address, by the kernel, whose word holds also
    where the loader was given a path that depended on the folder of then.
*/
static void ts__stack_mapped_path(uint64_t address, char *path, size_t room)
{
    char text[512];
    const int file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    uint64_t low = 0;
    size_t size = 0, column = 0;
    bool found = false, in_path = false, done = false;
    *path = 0;
    for (ssize_t got;
         file >= 0 && !done && (got = read(file, text, sizeof text)) > 0;)
        for (ssize_t i = 0; i < got && !done; i++) {
            const char c = text[i];
            if (c == '\n') {
                done = found; // more of the file was read than its line
                if (done) break;
                low = column = size = 0;
                in_path = false;
                continue;
            }
            // "low-high ...": the low end is all that is asked for.
            if (!column++) low = 0;
            if (column <= 16 && !in_path && !found) {
                const char *const digits = "0123456789abcdef";
                const char *const digit = strchr(digits, c);
                if (digit && c)
                    low = low << 4 | (uint64_t)(digit - digits);
                else if (c == '-')
                    found = low == address, column = 17;
            }
            if (c == '/') in_path = true;
            if (found && in_path && size + 1 < room) path[size++] = c;
        }
    path[size] = 0;
    if (file >= 0) close(file);
    if (!found) *path = 0;
}

static void ts__stack_path(const ts__stack_object *o, char *path, size_t room)
{
    const char *const name = o->name;
    ssize_t size = 0;
    if (name && name[0] == '/') {
        snprintf(path, room, "%s", name);
        return;
    }
    if (!name || !*name) { // the program itself
        size = readlink("/proc/self/exe", path, room - 1);
        path[size > 0 ? size : 0] = 0;
        if (size > 0) return;
    }
    if (name && strncmp(name, "linux-", 6) == 0) {
        snprintf(path, room, "[vdso]");
        return;
    }
    ts__stack_mapped_path(o->start, path, room);
    if (!*path) snprintf(path, room, "%s", name ? name : "");
}

// By the kernel, which says where nothing is. Not inlined: it is rare.
static __attribute__((noinline)) bool ts__stack_ask(uint64_t address,
                                                    void *words, size_t size)
{
    const struct iovec to = { words, size };
    const struct iovec from = { (void *)(uintptr_t)address, size };
    const int error = errno;
    const ssize_t got = process_vm_readv(getpid(), &to, 1, &from, 1, 0);
    errno = error;
    return got == (ssize_t)size;
}

/*
    Its first page is there if a frame of this thread is in it, as then nobody
    unloads it. guessed: whether one is, is not known; the kernel reads.
*/
static bool ts__stack_same(const ts__stack_module *m, const ts__stack_object *o,
                           bool guessed)
{
    uint64_t begin = 0;
    if (m->start != o->start || m->end != o->end || m->map != o->map ||
        m->table != o->table)
        return false;
    if (m->build && guessed)
        return ts__stack_ask((uint64_t)(uintptr_t)m->build, &begin,
                             sizeof begin) &&
               begin == m->build_begin;
    if (m->build) memcpy(&begin, m->build, sizeof begin);
    return begin == m->build_begin;
}

// Whether a module is still what it was when it was added.
static inline bool ts__stack_alive(uint32_t index, bool guessed)
{
    const ts__stack_module *const m = &ts__stack_modules[index];
    ts__stack_object object;
    return m->stays || (ts__stack_find(m->start, &object) &&
                        ts__stack_same(m, &object, guessed));
}

// The module's place, made if it is new; 0: there is no room.
static uint32_t ts__stack_module_get(const ts__stack_object *o)
{
    char path[4096];
    uint32_t count = __atomic_load_n(&ts__stack_module_count, __ATOMIC_RELAXED);
    if (count > TS__STACK_MODULES - 1) count = TS__STACK_MODULES - 1;
    for (uint32_t i = 1; i <= count; i++)
        // acquire: pairs with the release below
        if (__atomic_load_n(&ts__stack_modules[i].ready, __ATOMIC_ACQUIRE) &&
            ts__stack_same(&ts__stack_modules[i], o, false))
            return i;
    if (count >= TS__STACK_MODULES - 1) return 0;
    const int error = errno;
    const uint8_t *id = NULL;
    ts__stack_path(o, path, sizeof path);
    const size_t id_size = ts__stack_build_id(o, &id);
    errno = error;
    const uint32_t number =
        ts_module_define(path, o->start, o->end - o->start, id, id_size);
    if (!number) return 0; // asked within the recorder: no place is lost
    const uint32_t index =
        __atomic_add_fetch(&ts__stack_module_count, 1, __ATOMIC_RELAXED);
    if (index >= TS__STACK_MODULES) return 0;
    ts__stack_module *const m = &ts__stack_modules[index];
    m->start = o->start;
    m->end = o->end;
    m->map = o->map;
    m->table = o->table;
    m->number = number;
    // The program itself and the C library.
    m->stays = !o->name || !*o->name ||
               (uint64_t)(uintptr_t)&_r_debug - o->start < o->end - o->start ||
               (uint64_t)(uintptr_t)&stdout - o->start < o->end - o->start;
    if (id_size >= 8 && (uint64_t)(uintptr_t)id - o->start < 4096 - 8) {
        m->build = id;
        memcpy(&m->build_begin, id, sizeof m->build_begin);
    }
    __atomic_store_n(&m->ready, 1, __ATOMIC_RELEASE);
    return index;
}

#endif

#ifdef TS__STACK_MACHINE

/* ---- 4.2 Unwind tables -------------------------------------------------- */

#include "stack/unwind_tables.h"

/* ---- 4.3 What is known of addresses ------------------------------------- */

/*
    Four slots to a line of the cache. A slot is claimed by its address being
    set to 1; a reader that sees the same address before and after the rule
    has the rule of that address.
*/
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
    uint32_t to = (uint32_t)(pc >> 4) & 3; // when all are taken
    for (uint32_t i = 4; i-- > 0;)
        if (!TS__LOAD(&line[i].pc)) to = i;
    for (uint32_t i = 0; i < 4; i++)
        if (TS__LOAD(&line[i].pc) == pc) to = i;
    uint64_t old = TS__LOAD(&line[to].pc);
    // Whoever else writes here, a handler that interrupts this too, lets be.
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
    if (!ts__stack_find(pc, &object)) return TS__RULE_NONE; // and not kept:
    // a module may be mapped there later
    const uint32_t module = ts__stack_module_get(&object);
    const uint64_t rule = ts__cfi_learn(&object, pc, module);
    if (module) ts__stack_keep(pc, rule);
    return rule;
}

/* ---- 4.4 Frames --------------------------------------------------------- */

typedef struct ts__stack_walk {
    uint64_t pc, sp, fp, lr;
    bool exact;         // pc is where it was, not where it returns to
    bool guessed;       // a frame pointer was believed: the kernel reads
    uint32_t last;      // one of the modules below
    uint64_t seen;      // modules found alive on this walk: bits ...
    uint16_t index[64]; // ... and which
} ts__stack_walk;

// What is known of the frame's address, its module being there.
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

// Tables say where to read as long as registers are what they ought to be,
// which after a guess nobody knows.
static TS__STACK_PLAIN inline bool
ts__stack_read(const ts__stack_walk *w, uint64_t address, uint64_t *word)
{
    if (TS__UNLIKELY(w->guessed))
        return ts__stack_ask(address, word, sizeof *word);
    *word = *(const volatile uint64_t *)(uintptr_t)address;
    return true;
}

// The words of the frame that a frame pointer says.
static __attribute__((noinline)) bool ts__stack_guess(ts__stack_walk *w)
{
    uint64_t words[2] = { 0, 0 };
    if (w->fp & 7 || w->fp < w->sp || w->fp - w->sp > 1u << 20) return false;
    if (!ts__stack_ask(w->fp, words, sizeof words)) return false;
    w->guessed = true;
    w->sp = w->fp + 16;
    w->fp = words[0];
    w->pc = words[1];
    w->exact = false;
    return w->pc > 4096;
}

// The registers that a signal handler interrupted.
static TS__STACK_PLAIN bool ts__stack_interrupted(ts__stack_walk *w)
{
    if (w->guessed) return false; // whether it lies there nobody knows
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

// An address as it returns, without what signs it.
static uint64_t ts__stack_strip(uint64_t pc)
{
#if defined(__aarch64__)
    return pc & ((UINT64_C(1) << 48) - 1);
#else
    return pc;
#endif
}

/*
    The same for code that keeps frame pointers, by its tables' word. Where the
    next frame lies hangs on the frame before alone, not on what its table says:
    a processor goes ahead from frame to frame while it looks tables up.
*/
static TS__STACK_PLAIN inline bool ts__stack_follow(ts__stack_walk *w,
                                                    uint64_t rule)
{
    const volatile uint64_t *const frame =
        (const volatile uint64_t *)(uintptr_t)w->fp;
#if defined(__x86_64__)
    const uint64_t cfa = w->fp + 16; // the only such rule there is
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

// To the frame of the caller; false: there is none.
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
    // A frame lies above those that it called.
    if (cfa <= w->sp && !(cfa == w->sp && w->exact)) return false;
    if (cfa & 7 || cfa - w->sp > UINT64_C(1) << 26) return false;
    w->pc = w->lr; // interrupted before it was saved
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

// The frames above the one at which the walk stands, without the first
// `skip`; that one itself is never among them, nor, if only those `outside`
// are wanted, are its callers in the same module. Modules are places in
// ts__stack_modules, and offsets addresses.
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

/* ---- 4.5 A known chain -------------------------------------------------- */

/*
    Tables may be missing (-fno-asynchronous-unwind-tables, stripped programs)
    or of a kind that is not read here. So the first stack that anybody wants
    is that of two functions here, whose return addresses they know themselves.
*/
static uint32_t ts__stack_state; // 0: not tried, 1: works, 2: does not

static __attribute__((noinline)) bool ts__stack_try(const void *outer)
{
    ts_frame_entry frames[2];
    TS__STACK_BEGIN(w);
    const uint32_t count = ts__stack_frames(&w, frames, 0, 2, false);
    const void *const inner = __builtin_return_address(0);
    return count == 2 && frames[0].offset + 1 == (uint64_t)(uintptr_t)inner &&
           frames[1].offset + 1 == (uint64_t)(uintptr_t)outer;
}

static __attribute__((noinline)) bool ts__stack_test(void)
{
    const bool good = ts__stack_try(__builtin_return_address(0));
    TS__STORE(&ts__stack_state, good ? 1u : 2u);
    return good;
}

static inline bool ts__stack_works(void)
{
    const uint32_t state = TS__LOAD(&ts__stack_state);
    return TS__LIKELY(state == 1) || (!state && ts__stack_test());
}

/* ---- 4.6 Numbers -------------------------------------------------------- */

static TS__STACK_PLAIN uint32_t ts__stack_number(ts__stack_walk *w,
                                                 uint32_t skip, uint32_t depth)
{
    ts_frame_entry frames[TS_STACK_DEEPEST];
    if (depth > TS_STACK_DEEPEST) depth = TS_STACK_DEEPEST;
    if (!depth || !TS__LOAD(&ts__here.gate) || !ts__stack_works()) return 0;
    const uint32_t count =
        ts__stack_frames(w, frames, skip, depth, TS__STACK_OUTSIDE);
    uint32_t words[TS__STACK_WORDS], at = 0, place = 0, number = 0;
    uint64_t start = 0, wide = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (TS__UNLIKELY(frames[i].module != place)) {
            place = frames[i].module;
            start = ts__stack_modules[place].start;
            if (ts__stack_modules[place].number != number) {
                number = ts__stack_modules[place].number;
                words[at++] = TS__STACK_WHERE(number, 0);
            }
            wide |= number >> 14;
        }
        const uint64_t offset = frames[i].offset - start;
        wide |= offset >> 31;
        words[at++] = (uint32_t)offset;
    }
    if (TS__LIKELY(!wide)) return ts__stack_get(words, at);
    for (uint32_t i = 0; i < count; i++) {
        const ts__stack_module *const m = &ts__stack_modules[frames[i].module];
        frames[i].offset -= m->start;
        frames[i].module = m->number;
    }
    return ts_stack_define(frames, count);
}

__attribute__((noinline)) uint32_t ts_stack_here(uint32_t skip, uint32_t depth)
{
    TS__STACK_BEGIN(w);
    return ts__stack_number(&w, skip, depth);
}

__attribute__((noinline)) uint32_t
ts_stack_addresses(uint64_t *addresses, uint32_t room, uint32_t skip)
{
    ts_frame_entry frames[TS_STACK_DEEPEST];
    TS__STACK_BEGIN(w);
    if (room > TS_STACK_DEEPEST) room = TS_STACK_DEEPEST;
    if (!ts__stack_works()) return 0;
    const uint32_t count =
        ts__stack_frames(&w, frames, skip, room, TS__STACK_OUTSIDE);
    for (uint32_t i = 0; i < count; i++)
        addresses[i] = frames[i].offset;
    return count;
}

static uint32_t ts__stack_depth; // of launches

// Called by ts_gpu_origin_here, whose frame says nothing.
static __attribute__((noinline)) uint32_t ts__stack_of_launch(void)
{
    TS__STACK_BEGIN(w);
    return ts__stack_number(&w, 1, TS__LOAD(&ts__stack_depth));
}

void ts_stack_launches(uint32_t depth)
{
    TS__STORE(&ts__stack_depth, depth);
    if (depth) ts__stack_works(); // not at the first launch
    ts_gpu_origin_stacks(depth ? ts__stack_of_launch : NULL);
}

const char *ts_stack_problem(void)
{
    return ts__stack_works() ? NULL
                             : "the program is built without unwind tables, "
                               "or of a kind that cannot be read";
}

#elif defined(TRACESMITH_LIBUNWIND)

/* ---- 4.7 Other machines ------------------------------------------------- */

#define UNW_LOCAL_ONLY
#include <libunwind.h>

// The frames above the one that asked for its context.
static uint32_t ts__stack_steps(unw_context_t *here, uint64_t *addresses,
                                uint32_t skip, uint32_t room)
{
    unw_cursor_t at;
    unw_word_t pc = 0;
    uint32_t count = 0;
    if (unw_init_local(&at, here) != 0) return 0;
    while (count < room) {
        const bool exact = unw_is_signal_frame(&at) > 0;
        if (unw_step(&at) <= 0 || unw_get_reg(&at, UNW_REG_IP, &pc) != 0 || !pc)
            break;
        if (skip && skip--) continue;
        addresses[count++] = exact ? pc : pc - 1;
    }
    return count;
}

// How many of the first frames lie in the module that this is compiled into,
// if those are not wanted.
static uint32_t ts__stack_inside(const uint64_t *addresses, uint32_t count)
{
    uint32_t i = 0;
#ifdef TRACESMITH_UNWIND_OUTSIDE
    ts__stack_object own;
    if (!ts__stack_find((uint64_t)(uintptr_t)ts__stack_inside, &own)) return 0;
    while (i < count && addresses[i] >= own.start && addresses[i] < own.end)
        i++;
#else
    (void)addresses;
    (void)count;
#endif
    return i;
}

static uint32_t ts__stack_number(unw_context_t *here, uint32_t skip,
                                 uint32_t depth)
{
    uint64_t addresses[TS_STACK_DEEPEST];
    ts_frame_entry frames[TS_STACK_DEEPEST];
    if (depth > TS_STACK_DEEPEST) depth = TS_STACK_DEEPEST;
    if (!depth || !TS__LOAD(&ts__here.gate)) return 0;
    const uint32_t all =
        ts__stack_steps(here, addresses, skip, TS_STACK_DEEPEST);
    const uint32_t first = ts__stack_inside(addresses, all);
    const uint32_t count = all - first < depth ? all - first : depth;
    memset(frames, 0, sizeof frames);
    for (uint32_t i = 0; i < count; i++) {
        ts__stack_object object;
        const uint64_t at = addresses[first + i];
        const uint32_t module =
            ts__stack_find(at, &object) ? ts__stack_module_get(&object) : 0;
        frames[i].module = ts__stack_modules[module].number;
        frames[i].offset = at - ts__stack_modules[module].start;
    }
    return count ? ts_stack_define(frames, count) : 0;
}

__attribute__((noinline)) uint32_t ts_stack_here(uint32_t skip, uint32_t depth)
{
    unw_context_t here;
    (void)unw_getcontext(&here);
    return ts__stack_number(&here, skip, depth);
}

__attribute__((noinline)) uint32_t
ts_stack_addresses(uint64_t *addresses, uint32_t room, uint32_t skip)
{
    unw_context_t here;
    (void)unw_getcontext(&here);
    if (room > TS_STACK_DEEPEST) room = TS_STACK_DEEPEST;
    const uint32_t count = ts__stack_steps(&here, addresses, skip, room);
    const uint32_t first = ts__stack_inside(addresses, count);
    memmove(addresses, addresses + first, (count - first) * sizeof *addresses);
    return count - first;
}

static uint32_t ts__stack_depth; // of launches

// Called by ts_gpu_origin_here, whose frame says nothing.
static __attribute__((noinline)) uint32_t ts__stack_of_launch(void)
{
    unw_context_t here;
    (void)unw_getcontext(&here);
    return ts__stack_number(&here, 1, TS__LOAD(&ts__stack_depth));
}

void ts_stack_launches(uint32_t depth)
{
    TS__STORE(&ts__stack_depth, depth);
    ts_gpu_origin_stacks(depth ? ts__stack_of_launch : NULL);
}

const char *ts_stack_problem(void)
{
    uint64_t any[2];
    return ts_stack_addresses(any, 2, 0)
               ? NULL
               : "libunwind finds no frames in this program";
}

#else  // TS__STACK_MACHINE

uint32_t ts_stack_here(uint32_t skip, uint32_t depth)
{
    (void)skip;
    (void)depth;
    return 0;
}

uint32_t ts_stack_addresses(uint64_t *addresses, uint32_t room, uint32_t skip)
{
    (void)addresses;
    (void)room;
    (void)skip;
    return 0;
}

void ts_stack_launches(uint32_t depth)
{
    (void)depth;
}

const char *ts_stack_problem(void)
{
    return "stacks are known on x86-64 and aarch64 with Linux only, elsewhere "
           "by libunwind (TRACESMITH_LIBUNWIND)";
}
#endif // TS__STACK_MACHINE

#endif // implementation
