// Paths of modules in stacks.
#define _GNU_SOURCE
#define TRACESMITH_UNWIND_IMPLEMENTATION
#include "tests/record/record_fixture.h"

#include "backends/ts_stack.h"

// The loader was given a relative path; the kernel knows the absolute one, in a
// list in which the library has one line of many.
UNIT_TEST(a_library_by_a_relative_path_has_a_whole_one)
{
    char before[4096], path[4096];
    if (system("cc --version >/dev/null 2>&1") != 0) skip();
    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(0, chdir(rt_make_folder()));
    const int built = system("echo 'int near(void) { return 1; }' | "
                             "cc -shared -fPIC -xc - -o near.so");
    void *const lib = dlopen("./near.so", RTLD_NOW);
    assert_int_equal(0, chdir(before));
    assert_int_equal(0, built);
    if (!lib) skip(); // made by a compiler for another machine
    ts__stack_object object;
    const uint64_t at = (uint64_t)(uintptr_t)dlsym(lib, "near");
    assert_true(ts__stack_find(at, &object));
    ts__stack_path(&object, path, sizeof path);
    const char *const name = strstr(path, "/near.so");
    assert_int_equal('/', path[0]);
    assert_non_null(name);
    assert_string_equal("/near.so", name);
    dlclose(lib);
}

// Wherever its line lies in that list, which is read in parts.
UNIT_TEST(every_mapped_file_has_its_path)
{
    static char lines[1000][4096];
    size_t count = 0, files = 0;
    FILE *const maps = fopen("/proc/self/maps", "r");
    assert_non_null(maps);
    while (count < 1000 && fgets(lines[count], sizeof *lines, maps))
        count++;
    fclose(maps);
    for (size_t i = 0; i < count; i++) {
        const char *const named = strchr(lines[i], '/');
        char path[4096];
        lines[i][strcspn(lines[i], "\n")] = 0;
        ts__stack_mapped_path(strtoull(lines[i], NULL, 16), path, sizeof path);
        assert_string_equal(named ? named : "", path);
        files += named != NULL;
    }
    assert_true(files > 8);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
