/*
    vdev/untouched_pages.h - memory of devices that nobody has written

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.

    Memory of a device is the process's own, and a page that was never
    touched does not exist: it reads as zeros. /proc/self/pagemap says so
    without touching it. It is compared with memory of known state first;
    where it is wrong (no such file, an emulator with other addresses),
    nothing counts as untouched.
*/
#ifndef TS__VDEV_UNTOUCHED_PAGES_H
#define TS__VDEV_UNTOUCHED_PAGES_H

#include "machine.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

// Number of chunks queried by one call.
enum { TS__VD_BLANK_CHUNKS = 32 };

// Returns whether all pages of the bytes are neither present nor swapped out.
// Source: Linux, Documentation/admin-guide/mm/pagemap.rst
static bool ts__vd_pages_blank(const uint64_t *pages, uint64_t address,
                               uint64_t size, uint64_t page)
{
    const uint64_t last = (address + size - 1) / page;
    for (uint64_t i = address / page; i <= last; i++)
        if (*pages++ >> 62) return false;
    return true;
}

// Returns how many bytes from an address on, in whole chunks, have the same
// state, blank or not. At least one chunk; more with the same state may follow.
static uint64_t ts__vd_blank_from(int pagemap, uint64_t address, uint64_t size,
                                  bool *blank)
{
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    const uint64_t most = (uint64_t)TS__VD_BLANK_CHUNKS * TS_CAPTURE_CHUNK;
    uint64_t pages[TS__VD_BLANK_CHUNKS * TS_CAPTURE_CHUNK / 4096 + 1];
    uint64_t done = 0;
    *blank = false;
    while (done < size && (!done || *blank)) {
        const uint64_t at = address + done, first = at / page;
        const uint64_t part = size - done < most ? size - done : most;
        const uint64_t room = ((at + part - 1) / page - first + 1) * 8;
        if (room > sizeof pages ||
            pread(pagemap, pages, room, (off_t)(first * 8)) != (ssize_t)room)
            break;
        for (uint64_t chunk = 0, k; chunk < part; chunk += k) {
            k = part - chunk < TS_CAPTURE_CHUNK ? part - chunk
                                                : TS_CAPTURE_CHUNK;
            const uint64_t *const own = &pages[(at + chunk) / page - first];
            const bool is = ts__vd_pages_blank(own, at + chunk, k, page);
            if (!done) *blank = is;
            if (is != *blank) return done;
            done += k;
        }
    }
    if (!done) *blank = false; // unknown
    return done ? done : size;
}

// Tests whether pagemap is right about pages before and after they are written.
// Only every other page is tested, because neighbours may be mapped along with
// it.
static bool ts__vd_blank_try(int pagemap)
{
    enum { PAGES = 8 };
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    // 0x20: anonymous, see ts__vd_map
    void *const all = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | 0x20, -1, 0);
    bool right = all != MAP_FAILED, blank;
    for (uint64_t i = 0; right && i < PAGES; i++) {
        ts__vd_blank_from(pagemap, (uintptr_t)all + i * page, page, &blank);
        right = blank;
    }
    for (uint64_t i = 1; right && i < PAGES; i += 2) {
        ((volatile uint8_t *)all)[i * page] = 1;
        ts__vd_blank_from(pagemap, (uintptr_t)all + i * page, page, &blank);
        right = !blank;
    }
    if (all != MAP_FAILED) munmap(all, PAGES * page);
    return right;
}

// Returns how many bytes of device memory from an address on have the same
// state, in chunks from that address on. *blank: they were never written and
// are zero; otherwise they may hold anything.
static uint64_t ts__vd_blank(const ts_vdev *v, uint64_t address, uint64_t size,
                             bool *blank)
{
    static int reliable; // 1: pagemap is reliable, -1: it is not, 0: not tested
    const ts__vd_device *const d = ts__vd_owner(v, ts__vd_pointer(address));
    *blank = false;
    int now = __atomic_load_n(&reliable, __ATOMIC_RELAXED);
    if (!d || !d->mapped || now < 0) return size;
    const int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    if (pagemap >= 0 && !now) {
        now = ts__vd_blank_try(pagemap) ? 1 : -1;
        __atomic_store_n(&reliable, now, __ATOMIC_RELAXED);
    }
    const uint64_t alike =
        pagemap >= 0 && now > 0
            ? ts__vd_blank_from(pagemap, address, size, blank)
            : size;
    if (pagemap >= 0) close(pagemap);
    return alike;
}

#endif // TS__VDEV_UNTOUCHED_PAGES_H
