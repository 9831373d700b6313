/*
    gpu/patch.h - puts functions of ours between a program and a library

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.

    Loaded files call functions of other files through tables of addresses.
    The addresses of a library's functions are replaced there by those of
    ours, which persist until the process ends.

    Not seen: what is linked statically; files that are loaded later, until
    it runs again; functions that are looked up by name (but the functions
    that look up can be replaced); calls that go to another function of that
    name, in a second copy of the library or in a library in front of it.
*/
#ifndef TS__GPU_PATCH_H
#define TS__GPU_PATCH_H

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

typedef struct ts__patch {
    const char *name; // NULL: not replaced
    void (*own)(void);
} ts__patch;

enum { TS__PATCH_SPARE = 5 };

typedef struct ts__patch_set {
    // Prefix of all names, after an optional "__"; other names are skipped
    // quickly.
    const char *prefix;
    const ts__patch *patches;
    // The replaced functions; NULL: replaces any function of the name.
    void *const *real;
    uint32_t count;
    // Addresses in files whose own calls are not replaced; may be NULL.
    const void *spare[TS__PATCH_SPARE];
} ts__patch_set;

typedef struct ts__patch_walk { // a walk through all loaded files
    const ts__patch_set *set;
    uint64_t loaded; // number of files loaded so far, see ts__patch_loaded
} ts__patch_walk;

typedef struct ts__patch_file { // one loaded file
    const ts__patch_set *set;
    const char *strings;
    const ElfW(Sym) * symbols;
    const ElfW(Rela) * tables[2];
    size_t sizes[2];
    uintptr_t base, first, end;
    // The part that is read-only after relocation (RELRO).
    uintptr_t fixed, fixed_end;
} ts__patch_file;

#ifdef __aarch64__
enum {
    TS__PATCH_DATA = R_AARCH64_GLOB_DAT,
    TS__PATCH_JUMP = R_AARCH64_JUMP_SLOT
};
#else
enum {
    TS__PATCH_DATA = R_X86_64_GLOB_DAT,
    TS__PATCH_JUMP = R_X86_64_JUMP_SLOT
};
#endif

// Returns whether an entry must not be replaced. It may lead to another copy of
// the library with functions of the same names, or to another tool's
// replacement. An entry that is not bound yet leads into the file itself and
// may be replaced.
static inline bool ts__patch_is_retained(const ts__patch_file *file,
                                         uintptr_t now, const void *real)
{
    return real && now != (uintptr_t)real &&
           (now < file->first || now >= file->end);
}

static inline void ts__patch_put(const ts__patch_file *file, uintptr_t at,
                                 const void *own, const void *real)
{
    const uintptr_t page = at & ~(uintptr_t)(sysconf(_SC_PAGESIZE) - 1);
    const size_t size = at + sizeof own - page;
    const bool fixed = at >= file->fixed && at < file->fixed_end;
    const uintptr_t now = __atomic_load_n((uintptr_t *)at, __ATOMIC_RELAXED);
    if (now == (uintptr_t)own || ts__patch_is_retained(file, now, real)) return;
    if (fixed && mprotect((void *)page, size, PROT_READ | PROT_WRITE) != 0)
        return;
    // release: another thread may call through the entry at this moment
    __atomic_store_n((uintptr_t *)at, (uintptr_t)own, __ATOMIC_RELEASE);
    if (fixed) mprotect((void *)page, size, PROT_READ);
}

static inline void ts__patch_relocation(const ts__patch_file *file,
                                        const ElfW(Rela) * rela)
{
    const ts__patch_set *const set = file->set;
    const uint32_t type = ELF64_R_TYPE(rela->r_info);
    if (type != TS__PATCH_DATA && type != TS__PATCH_JUMP) return;
    const ElfW(Sym) *const symbol = &file->symbols[ELF64_R_SYM(rela->r_info)];
    const char *const name = file->strings + symbol->st_name;
    const char *const bare = name + (strncmp(name, "__", 2) ? 0 : 2);
    if (symbol->st_shndx != SHN_UNDEF ||
        strncmp(bare, set->prefix, strlen(set->prefix)) != 0)
        return;
    for (uint32_t i = 0; i < set->count; i++) {
        if (!set->patches[i].name || strcmp(name, set->patches[i].name) != 0)
            continue;
        const void *own;
        memcpy(&own, &set->patches[i].own, sizeof own);
        ts__patch_put(file, file->base + rela->r_offset, own,
                      set->real ? set->real[i] : NULL);
    }
}

// Addresses in the dynamic section are already relocated in most files, but not
// in all.
static inline const char *ts__patch_at(const ts__patch_file *file,
                                       ElfW(Addr) address)
{
    return (const char *)(address < file->base ? file->base + address
                                               : address);
}

static inline void ts__patch_dynamic(ts__patch_file *file,
                                     const ElfW(Dyn) * entry)
{
    for (; entry->d_tag != DT_NULL; entry++)
        switch (entry->d_tag) {
        case DT_STRTAB:
            file->strings = ts__patch_at(file, entry->d_un.d_ptr);
            break;
        case DT_SYMTAB:
            file->symbols = (const ElfW(Sym) *)(const void *)ts__patch_at(
                file, entry->d_un.d_ptr);
            break;
        case DT_RELA:
            file->tables[0] = (const ElfW(Rela) *)(const void *)ts__patch_at(
                file, entry->d_un.d_ptr);
            break;
        case DT_JMPREL:
            file->tables[1] = (const ElfW(Rela) *)(const void *)ts__patch_at(
                file, entry->d_un.d_ptr);
            break;
        case DT_RELASZ: file->sizes[0] = entry->d_un.d_val; break;
        case DT_PLTRELSZ: file->sizes[1] = entry->d_un.d_val; break;
        default: break;
        }
}

static inline int ts__patch_file_take(struct dl_phdr_info *info, size_t size,
                                      void *user)
{
    (void)size;
    const ts__patch_walk *const walk = (const ts__patch_walk *)user;
    const ts__patch_set *const set = walk->set;
    ts__patch_file file;
    const ElfW(Dyn) *dynamic = NULL;
    if (info->dlpi_adds != walk->loaded) return 1; // see ts__patch_files
    memset(&file, 0, sizeof file);
    file.set = set;
    file.base = info->dlpi_addr;
    file.first = UINTPTR_MAX;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *const p = &info->dlpi_phdr[i];
        const uintptr_t at = info->dlpi_addr + p->p_vaddr;
        if (p->p_type == PT_DYNAMIC) dynamic = (const ElfW(Dyn) *)at;
        if (p->p_type == PT_GNU_RELRO) {
            // The rest of the last page keeps its protection, because data may
            // follow.
            const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
            file.fixed = at & ~(page - 1);
            file.fixed_end = (at + p->p_memsz) & ~(page - 1);
        }
        if (p->p_type == PT_LOAD && at < file.first) file.first = at;
        if (p->p_type == PT_LOAD && at + p->p_memsz > file.end)
            file.end = at + p->p_memsz;
        // The library's own calls are not the program's.
        for (int k = 0; p->p_type == PT_LOAD && k < TS__PATCH_SPARE; k++)
            if ((uintptr_t)set->spare[k] - at < p->p_memsz) return 0;
    }
    // The vDSO has no relocations and may not be writable.
    if (!dynamic || !info->dlpi_name || strstr(info->dlpi_name, "linux-vdso"))
        return 0;
    ts__patch_dynamic(&file, dynamic);
    for (int t = 0; t < 2 && file.strings && file.symbols; t++)
        for (size_t i = 0; i < file.sizes[t] / sizeof(ElfW(Rela)); i++)
            ts__patch_relocation(&file, &file.tables[t][i]);
    return 0;
}

// Walking through the loaded files takes locks of the loader, and fork() copies
// a held lock to the child, where nobody releases it. So a fork waits until a
// walk ends, and a walk until a fork ends. Both wait for one second at most,
// because another thread in between may wait for one of them.
static pthread_mutex_t ts__patch_lock = PTHREAD_MUTEX_INITIALIZER;
static __thread bool ts__patch_forks; // this thread forks and holds the lock

static inline bool ts__patch_take(void)
{
    const struct timespec pause = { 0, 100000 };
    for (int i = 0; i < 10000; i++) {
        if (pthread_mutex_trylock(&ts__patch_lock) == 0) return true;
        nanosleep(&pause, NULL);
    }
    return false;
}

static void ts__patch_fork_prepare(void)
{
    const int error = errno;
    ts__patch_forks = ts__patch_take();
    errno = error;
}

static void ts__patch_fork_parent(void)
{
    if (ts__patch_forks) pthread_mutex_unlock(&ts__patch_lock);
}

static void ts__patch_fork_child(void)
{
    // The thread that held it does not exist in the child.
    pthread_mutex_init(&ts__patch_lock, NULL);
}

static void ts__patch_once(void)
{
    pthread_atfork(ts__patch_fork_prepare, ts__patch_fork_parent,
                   ts__patch_fork_child);
}

static inline int ts__patch_walk_files(int (*take)(struct dl_phdr_info *,
                                                   size_t, void *),
                                       void *user)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, ts__patch_once);
    const bool locked = ts__patch_take();
    const int result = dl_iterate_phdr(take, user);
    if (locked) pthread_mutex_unlock(&ts__patch_lock);
    return result;
}

static inline int ts__patch_count_take(struct dl_phdr_info *info, size_t size,
                                       void *user)
{
    (void)size;
    *(uint64_t *)user = (uint64_t)info->dlpi_adds;
    return 1;
}

// Returns the number of files loaded so far, which grows with each load.
static inline uint64_t ts__patch_loaded(void)
{
    uint64_t count = 0;
    ts__patch_walk_files(ts__patch_count_take, &count);
    return count;
}

/*
    Replaces the functions in all files that are loaded now. A file is in the
    loader's list before its addresses are relocated. If we wrote then, the
    loader would overwrite our address, or we would write to a page that is
    already read-only, which ends the process. But the loader holds its lock
    until it has relocated the file, and dladdr takes the same lock. Files added
    later are detected by the count of loads; none is added during a walk.
*/
static inline void ts__patch_files(const ts__patch_set *set)
{
    enum { TRIES = 100 };
    static const char here = 0;
    bool done = false;
    for (int i = 0; i < TRIES && !done; i++) {
        ts__patch_walk walk = { set, ts__patch_loaded() };
        Dl_info about;
        dladdr(&here, &about);
        done = ts__patch_walk_files(ts__patch_file_take, &walk) == 0;
    }
}

#endif // TS__GPU_PATCH_H
