// Stacks of the calling thread: frames are the return addresses that the
// functions themselves know, however they are called.
#define _GNU_SOURCE
#define TRACESMITH_UNWIND_IMPLEMENTATION
#include "tests/record/record_fixture.h"
#include "tests/backends/vdev/vdev_fixture.h"

#include "backends/ts_stack.h"

#include <alloca.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>

#ifdef __clang__
#define NEVER_INLINE __attribute__((noinline))
#else
#define NEVER_INLINE __attribute__((noinline, noclone))
#endif
#define RETURNS_TO() \
    ((uint64_t)(uintptr_t)__builtin_extract_return_addr( \
        __builtin_return_address(0)))
// Keeps a call from being the last thing that a function does.
#define NOT_LAST() __asm__ volatile("" ::: "memory")

// The return addresses that functions know, innermost last, and those found.
static __thread uint64_t known[512], found[256];
static __thread uint32_t known_count, found_count;

static void know(uint64_t returns_to)
{
    known[known_count++] = returns_to - 1;
}

static NEVER_INLINE void look(void)
{
    know(RETURNS_TO());
    found_count = ts_stack_addresses(found, 256, 1);
    NOT_LAST();
}

// The frames found begin with those that are known; 0: any.
static void expect_known(void)
{
    assert_in_range(found_count, known_count, 256);
    for (uint32_t i = 0; i < known_count; i++)
        if (known[known_count - 1 - i] &&
            found[i] != known[known_count - 1 - i])
            fail_msg("frame %u is %" PRIx64 ", not %" PRIx64, i, found[i],
                     known[known_count - 1 - i]);
    known_count = 0;
}

static NEVER_INLINE void deep(uint32_t depth)
{
    know(RETURNS_TO());
    if (depth)
        deep(depth - 1);
    else
        look();
    NOT_LAST();
}

// A frame that only its frame pointer finds.
static NEVER_INLINE void with_alloca(volatile size_t size)
{
    know(RETURNS_TO());
    volatile char *const bytes = alloca(size);
    bytes[0] = 1;
    deep(1);
    NOT_LAST();
}

// One that the compiler aligns: its table computes where it lies.
static NEVER_INLINE void aligned(volatile size_t size)
{
    know(RETURNS_TO());
    volatile _Alignas(128) char array[256];
    array[size] = 1;
    volatile char *const bytes = alloca(size);
    bytes[0] = array[size];
    deep(1);
    NOT_LAST();
}

#ifndef __clang__
__attribute__((optimize("no-omit-frame-pointer")))
#endif
static NEVER_INLINE void
with_pointer(uint32_t depth)
{
    know(RETURNS_TO());
    if (depth)
        with_pointer(depth - 1);
    else
        look();
    NOT_LAST();
}

// The rule that was kept for the place that `look` returned to.
static uint32_t kind_of_place(uint32_t frame)
{
    uint64_t rule = 0;
    assert_true(ts__stack_known(found[frame], &rule));
    return rule & 7;
}

// What the processor may go ahead in is what tables prove.
UNIT_TEST(frame_pointers_are_followed_where_tables_say_so)
{
    with_alloca(100);
    expect_known();
    // look, two of deep, with_alloca
    assert_int_equal(kind_of_place(2), TS__RULE_FRAME);
#if defined(__x86_64__) && !defined(__clang__)
    with_pointer(3);
    assert_int_equal(kind_of_place(0), TS__RULE_FRAME);
    expect_known();
#endif
}

#ifdef __x86_64__
// Calls its argument with nonsense in the register of frame pointers.
void spoils_pointer(void (*call)(void));
__asm__(".text\n.type spoils_pointer, @function\n"
        "spoils_pointer:\n.cfi_startproc\n"
        "push %rbp\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %rbp, 0\n"
        "mov $8, %ebp\n"
        "call *%rdi\n"
        "pop %rbp\n.cfi_adjust_cfa_offset -8\n.cfi_restore %rbp\n"
        "ret\n.cfi_endproc\n.size spoils_pointer, . - spoils_pointer");

// Keeps a frame pointer, with a word between what it saved.
void parts_words(void (*call)(void));
__asm__(".text\n.type parts_words, @function\n"
        "parts_words:\n.cfi_startproc\n"
        "push %rdi\n.cfi_adjust_cfa_offset 8\n"
        "push %rbp\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %rbp, 0\n"
        "mov %rsp, %rbp\n.cfi_def_cfa_register %rbp\n"
        "sub $8, %rsp\n"
        "call *%rdi\n"
        "leave\n.cfi_def_cfa %rsp, 16\n.cfi_restore %rbp\n"
        "pop %rdi\n.cfi_adjust_cfa_offset -8\n"
        "ret\n.cfi_endproc\n.size parts_words, . - parts_words");

// As functions of C++ have: before the encoding of addresses comes another one.
void has_language_data(void (*call)(void));
__asm__(".text\n.type has_language_data, @function\n"
        "has_language_data:\n.cfi_startproc\n"
        ".cfi_lsda 0x1c, language_data\n" // 64 bits, others have 32
        "push %rbp\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %rbp, 0\n"
        "mov $8, %ebp\n"
        "call *%rdi\n"
        "pop %rbp\n.cfi_adjust_cfa_offset -8\n.cfi_restore %rbp\n"
        "ret\n.cfi_endproc\n"
        ".size has_language_data, . - has_language_data\n"
        ".section .rodata\nlanguage_data: .byte 0\n.text");

// As where a thread begins: what its frame pointer leads to is no caller.
void has_no_caller(void (*call)(void));
__asm__(".text\n.type has_no_caller, @function\n"
        "has_no_caller:\n.cfi_startproc\n.cfi_undefined %rip\n"
        "push %rbp\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %rbp, 0\n"
        "mov %rsp, %rbp\n.cfi_def_cfa_register %rbp\n"
        "call *%rdi\n"
        "pop %rbp\n.cfi_def_cfa %rsp, 8\n.cfi_restore %rbp\n"
        "ret\n.cfi_endproc\n.size has_no_caller, . - has_no_caller");

static NEVER_INLINE void called(void)
{
    know(RETURNS_TO());
    with_pointer(1);
    NOT_LAST();
}

static NEVER_INLINE void calls(void (*through)(void (*)(void)))
{
    know(RETURNS_TO());
    known[known_count++] = 0; // only `through` could say
    through(called);
    NOT_LAST();
}

UNIT_TEST(frame_pointers_without_proof_are_not_believed)
{
    void (*const ways[])(void (*)(void)) = { spoils_pointer, parts_words,
                                             has_language_data };
    for (int i = 0; i < 3; i++) {
        calls(ways[i]);
        expect_known();
    }
}

UNIT_TEST(a_stack_ends_where_nothing_called)
{
    has_no_caller(called);
    assert_int_equal(found_count, known_count);
    expect_known();
}
#endif

UNIT_TEST(every_frame_is_where_its_function_returns_to)
{
    assert_null(ts_stack_problem());
    deep(0);
    expect_known();
    deep(40);
    expect_known();
    with_alloca(100);
    expect_known();
    aligned(100);
    expect_known();
    with_pointer(30);
    expect_known();
}

static int compare(const void *a, const void *b)
{
    if (!found_count) deep(2);
    return 0;
}

// The C library has no frame pointers.
UNIT_TEST(frames_of_other_modules_are_found)
{
    void *theirs[256];
    int items[8] = { 0 };
    known_count = found_count = 0;
    qsort(items, 8, sizeof *items, compare);
    assert_in_range(found_count, 8, 40);
    known_count = 0;
    found_count = ts_stack_addresses(found, 256, 0);
    // Sanitizers put a function of their own in front of it.
    const uint32_t count = (uint32_t)backtrace(theirs, 256);
    assert_in_range(count, found_count - 1, found_count + 1);
    const uint32_t same = (count < found_count ? count : found_count) - 1;
    for (uint32_t i = 1; i < same; i++)
        assert_int_equal((uint64_t)(uintptr_t)theirs[count - i],
                         found[found_count - i] + 1);
}

typedef int unwinder(void **addresses, int room);

UNIT_TEST(libunwind_finds_the_same)
{
    void *theirs[256], *const lib = dlopen("libunwind.so.8", RTLD_LAZY);
    unwinder *unwind;
    void *const symbol = lib ? dlsym(lib, "unw_backtrace") : NULL;
    if (!symbol) {
        print_message("there is no libunwind\n");
        skip();
    }
    memcpy(&unwind, &symbol, sizeof unwind);
    found_count = ts_stack_addresses(found, 256, 0);
    const int count = unwind(theirs, 256);
    assert_int_equal(count, found_count);
    for (int i = 1; i < count; i++)
        assert_int_equal((uint64_t)(uintptr_t)theirs[i], found[i] + 1);
    dlclose(lib);
}

static NEVER_INLINE uint32_t numbered(uint32_t skip, uint32_t depth)
{
    const uint32_t stack = ts_stack_here(skip, depth);
    NOT_LAST();
    return stack;
}

UNIT_TEST(a_stack_is_kept_once_and_read_back)
{
    uint32_t stacks[3];
    const char *const path = rt_path("kept.sbt");
    const ts_session_desc desc = { .path = path };
    assert_int_equal(0, numbered(0, 10)); // nothing is recorded
    ok(ts_session_start(&desc));
    for (volatile int i = 0; i < 3; i++) // one call, not three
        stacks[i] = numbered(0, 10);
    assert_int_not_equal(0, stacks[0]);
    assert_int_equal(stacks[0], stacks[1]);
    assert_int_equal(stacks[0], stacks[2]);
    const uint32_t outer = numbered(1, 1);
    assert_int_not_equal(outer, stacks[0]);
    assert_int_equal(0, numbered(0, 0));
    assert_int_equal(0, numbered(1000, 10));
    errno = 77;
    numbered(0, 1000);
    assert_int_equal(77, errno);
    {
        TS_ZONE("with a stack");
        TS_ZONE_STACK();
    }
    char byte;
    TS_ALLOC_STACK(&byte, 100, "pool");
    ok(ts_session_stop());
    rt_trace trace = rt_read(path);
    const ts_frame_entry *frames, *one;
    const uint32_t count = ts_reader_stack(trace.reader, stacks[0], &frames);
    assert_in_range(count, 3, 10);
    assert_int_equal(1, ts_reader_stack(trace.reader, outer, &one));
    // A frame lies in the module that the loader knows.
    Dl_info info;
    assert_true(dladdr((void *)(uintptr_t)&numbered, &info));
    const ts_module_entry *const module =
        ts_reader_module(trace.reader, frames[0].module);
    assert_non_null(module);
    assert_int_equal((uint64_t)(uintptr_t)info.dli_fbase, module->address);
    const uint64_t at = module->address + frames[0].offset;
    assert_in_range(at, (uint64_t)(uintptr_t)&numbered,
                    (uint64_t)(uintptr_t)&numbered + 100);
    char self[512];
    const ssize_t size = readlink("/proc/self/exe", self, sizeof self);
    const ts_text file = ts_reader_name(trace.reader, module->path);
    assert_int_equal(size, file.size);
    assert_memory_equal(self, file.text, file.size);
    assert_int_equal(20,
                     ts_reader_build_id(trace.reader, frames[0].module).size);
    // What zones and allocations asked for.
    const rt_row *const arg = rt_only(&trace, TS_EVENT_ZONE_ARG, NULL);
    assert_int_equal(
        frames[1].module,
        (ts_reader_stack(trace.reader, (uint32_t)arg->values[TS_COLUMN_STACK],
                         &one),
         one[0].module));
    const rt_row *const alloc = rt_only(&trace, TS_EVENT_ALLOC, NULL);
    assert_true(ts_reader_stack(trace.reader,
                                (uint32_t)alloc->values[TS_COLUMN_STACK],
                                &one) > 1);
    assert_int_equal(100, alloc->values[TS_COLUMN_SIZE]);
    rt_close(&trace);
}

static void nothing(const void *args, const ts_vdev_block *block)
{
}

UNIT_TEST(launches_have_the_stack_of_their_thread)
{
    const char *const path = rt_path("launches.sbt");
    const ts_session_desc session = { .path = path };
    const ts_vdev_desc none = { 0 };
    vt_open(none);
    const ts_vdev_kernel kernel = vt_kernel("nothing", nothing, 0, 0);
    const ts_vdev_launch_desc launch = { .grid = { 1 }, .block = { 1 } };
    ok(ts_session_start(&session));
    ok(ts_vdev_launch(vdev, 0, kernel, &launch));
    ts_stack_launches(3);
    ok(ts_vdev_launch(vdev, 0, kernel, &launch));
    ts_stack_launches(0);
    ok(ts_vdev_launch(vdev, 0, kernel, &launch));
    vt_finish();
    ok(ts_session_stop());
    ok(ts_vdev_close(vdev));
    rt_trace trace = rt_read(path);
    const ts_frame_entry *frames;
    for (size_t i = 0; i < 3; i++) {
        const rt_row *const row = rt_nth(&trace, TS_EVENT_KERNEL, NULL, i);
        const uint32_t stack = (uint32_t)row->values[TS_COLUMN_STACK];
        assert_int_equal(i == 1 ? 3 : 0,
                         ts_reader_stack(trace.reader, stack, &frames));
    }
    rt_close(&trace);
}

/* ---- Code without a table ------------------------------------------------ */

typedef void caller(void (*function)(void), const uint64_t *words);
typedef enum pointer { POINTER_FRAME, POINTER_NONE, POINTER_WORDS } pointer;

// push fp; fp = sp (or 0, or words); call function; pop fp; return
static caller *make_code(pointer what)
{
#if defined(__x86_64__)
    static const uint8_t with[] = { 0x55, 0x48, 0x89, 0xe5,
                                    0xff, 0xd7, 0x5d, 0xc3 };
    static const uint8_t without[] = { 0x55, 0x48, 0x31, 0xed,
                                       0xff, 0xd7, 0x5d, 0xc3 };
    static const uint8_t words[] = { 0x55, 0x48, 0x89, 0xf5,
                                     0xff, 0xd7, 0x5d, 0xc3 };
#else
    // stp x29, x30, [sp, -16]!; mov x29, sp | xzr | x1; blr x0; ldp; ret
    static const uint32_t with[] = { 0xa9bf7bfd, 0x910003fd, 0xd63f0000,
                                     0xa8c17bfd, 0xd65f03c0 };
    static const uint32_t without[] = { 0xa9bf7bfd, 0xaa1f03fd, 0xd63f0000,
                                        0xa8c17bfd, 0xd65f03c0 };
    static const uint32_t words[] = { 0xa9bf7bfd, 0xaa0103fd, 0xd63f0000,
                                      0xa8c17bfd, 0xd65f03c0 };
#endif
    const void *const codes[] = { with, without, words };
    const void *const code = codes[what];
    const size_t size = sizeof with;
    void *const at = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    caller *made;
    assert_ptr_not_equal(MAP_FAILED, at);
    memcpy(at, code, size);
    assert_int_equal(0, mprotect(at, 4096, PROT_READ | PROT_EXEC));
    __builtin___clear_cache((char *)at, (char *)at + size);
    memcpy(&made, &at, sizeof made);
    return made;
}

static NEVER_INLINE void call_made(caller *made)
{
    know(RETURNS_TO());
    made(look, NULL);
    NOT_LAST();
}

static void need_reading(void)
{
    uint64_t word = 1, copy = 0;
    const struct iovec from = { &word, sizeof word },
                       to = { &copy, sizeof copy };
    if (process_vm_readv(getpid(), &to, 1, &from, 1, 0) == sizeof word) return;
    print_message("the kernel reads no memory here\n"); // an emulator
    skip();
}

UNIT_TEST(code_made_at_run_time_is_passed_by_its_frame_pointer)
{
    need_reading();
    caller *made = make_code(POINTER_FRAME);
    known_count = 0;
    call_made(made);
    const uint64_t at = (uint64_t)(uintptr_t)made;
    assert_in_range(found[0], at, at + 16);
    // Above it: whoever called the code, then what call_made knows.
    assert_in_range(found_count, 4, 256);
    assert_int_equal(found[2], known[0]);
    made = make_code(POINTER_NONE);
    call_made(made);
    assert_int_equal(1, found_count); // no frame pointer: nobody knows
    known_count = 0;
}

static uint32_t found_of_thread;
static uint64_t in_moving; // an address whose frame hangs on the frame pointer

static NEVER_INLINE void note_return(volatile char *room)
{
    in_moving = RETURNS_TO();
    room[0] = 1;
}

static NEVER_INLINE void moving(size_t size)
{
    note_return((volatile char *)alloca(size));
    NOT_LAST();
}

enum { STACK = 1 << 20, NOTHING = 64 << 20 };

static void *look_with_words(void *unused)
{
    uint64_t words[2] = { 0, in_moving };
    words[0] = ((uint64_t)(uintptr_t)words & ~UINT64_C(15)) + NOTHING / 2;
    make_code(POINTER_WORDS)(look, words);
    found_of_thread = found_count;
    return unused;
}

// It holds something else: a pointer to words of which one is an address in
// the program. Where they lead is nothing at all.
UNIT_TEST(a_frame_pointer_that_is_none_ends_the_stack_not_the_program)
{
    need_reading();
    pthread_t thread;
    pthread_attr_t attributes;
    void *const place = mmap(NULL, STACK + NOTHING, PROT_NONE,
                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(MAP_FAILED, place);
    assert_int_equal(0, mprotect(place, STACK, PROT_READ | PROT_WRITE));
    static volatile size_t some = 40; // compilers would know a number
    moving(some);
    assert_int_equal(TS__RULE_FRAME, ts__stack_learn(in_moving - 1) & 7);
    pthread_attr_init(&attributes);
    assert_int_equal(0, pthread_attr_setstack(&attributes, place, STACK));
    assert_int_equal(
        0, pthread_create(&thread, &attributes, look_with_words, NULL));
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
    munmap(place, STACK + NOTHING);
    assert_int_equal(2, found_of_thread);
    known_count = 0;
}

/* ---- Modules that come and go -------------------------------------------- */

static void *load(const char *folder, const char *name)
{
    char path[600];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    void *const lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!lib) { // made by a compiler for another machine
        print_message("%s\n", dlerror());
        skip();
    }
    return lib;
}

static void build(const char *folder, const char *name, const char *code)
{
    char command[1600];
    snprintf(command, sizeof command,
             "cd %s && echo '%s' | cc -O1 -shared -fPIC -Wl,--build-id -xc - "
             "-o %s",
             folder, code, name);
    assert_int_equal(0, system(command));
}

static NEVER_INLINE void through(void *lib)
{
    caller *call;
    void *const symbol = dlsym(lib, "call_it");
    assert_non_null(symbol);
    memcpy(&call, &symbol, sizeof call);
    know(RETURNS_TO());
    call(look, NULL);
    NOT_LAST();
}

// Two files of one size whose frames differ: what is known of the first one
// must not be believed of the second, which takes its place.
UNIT_TEST(a_module_in_the_place_of_another_is_another)
{
    if (system("cc --version >/dev/null 2>&1") != 0) skip();
    const char *const folder = rt_make_folder();
#define PLUGIN(bytes) \
    "void call_it(void (*f)(void)) { volatile char a[" bytes "]; a[0] = 1; " \
    "f(); a[1] = a[0]; }"
    build(folder, "one.so", PLUGIN("24"));
    build(folder, "two.so", PLUGIN("88"));
    const char *const path = rt_path("plugins.sbt");
    const ts_session_desc desc = { .path = path };
    dlclose(load(folder, "one.so"));
    ok(ts_session_start(&desc));
    uint64_t place[2] = { 0, 0 };
    for (int i = 0; i < 6; i++) {
        void *const lib = load(folder, i % 2 ? "two.so" : "one.so");
        struct link_map *map;
        assert_int_equal(0, dlinfo(lib, RTLD_DI_LINKMAP, &map));
        if (!place[i % 2]) place[i % 2] = map->l_addr;
        known_count = 0;
        through(lib);
        assert_in_range(found_count, 4, 256);
        assert_in_range(found[0], map->l_addr, map->l_addr + 65536);
        assert_int_equal(found[2], known[0]);
        dlclose(lib);
    }
    known_count = 0;
    ok(ts_session_stop());
    rt_trace trace = rt_read(path);
    size_t plugins = 0;
    const size_t count = ts_reader_entry_count(trace.reader, TS_CHUNK_MODULES);
    for (size_t i = 0; i < count; i++) {
        const ts_module_entry *const module = ts_reader_module(
            trace.reader, ts_reader_entry(trace.reader, TS_CHUNK_MODULES, i));
        const ts_text name = ts_reader_name(trace.reader, module->path);
        plugins += strstr(name.text, "/one.so") != NULL ||
                   strstr(name.text, "/two.so") != NULL;
    }
    assert_in_range(plugins, 2, 6);
    rt_close(&trace);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
