// Several shared objects in one session, and plugins that come and go.
// The program under test is compiled here; without a compiler this is skipped.
#define _GNU_SOURCE
#include "tests/record/record_fixture.h"

static const char plugin_source[] =
    "#include \"tracesmith.h\"\n"
    "#include <pthread.h>\n"
    "#define TEXT2(x) #x\n"
    "#define TEXT(x) TEXT2(x)\n"
    "static void *in_thread(void *user)\n"
    "{\n"
    "    TS_ZONE(\"thread of \" TEXT(PLUGIN));\n"
    "    return user;\n"
    "}\n"
    "__attribute__((visibility(\"default\"))) void run(int count);\n"
    "void run(int count)\n"
    "{\n"
    "    for (int i = 0; i < count; i++) {\n"
    "        TS_ZONE(\"zone of \" TEXT(PLUGIN), \"category of \" "
    "TEXT(PLUGIN));\n"
    "        TS_COUNTER(\"counter of \" TEXT(PLUGIN), i);\n"
    "    }\n"
    "    TS_MARK(\"mark of \" TEXT(PLUGIN));\n"
    "    pthread_t thread;\n"
    "    if (!pthread_create(&thread, 0, in_thread, 0))\n"
    "        pthread_join(thread, 0);\n"
    "}\n";

// Arguments: the two plugins, the two traces.
static const char host_source[] =
    "#include \"tracesmith.h\"\n"
    "#include <dlfcn.h>\n"
    "#include <string.h>\n"
    "#include <sys/mman.h>\n"
    "typedef void (*runner)(int);\n"
    "static runner find(void *plugin)\n"
    "{\n"
    "    void *const symbol = dlsym(plugin, \"run\");\n"
    "    runner run;\n"
    "    memcpy(&run, &symbol, sizeof run);\n"
    "    return run;\n"
    "}\n"
    "static void *load(const char *path, int count)\n"
    "{\n"
    "    void *const plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);\n"
    "    if (plugin) find(plugin)(count);\n"
    "    return plugin;\n"
    "}\n"
    "int main(int argc, char **argv)\n"
    "{\n"
    "    ts_session_desc desc = { .path = argv[3] };\n"
    "    if (argc != 5 || ts_session_start(&desc)) return 10;\n"
    "    void *one = load(argv[1], 100), *two = load(argv[2], 50);\n"
    "    if (!one || !two) return 11;\n"
    "    { TS_ZONE(\"zone of the host\"); }\n"
    "    dlclose(one);\n"
    "    for (int i = 0; i < 100; i++)\n" // takes the place of the plugin
    "        if (mmap(0, 65536, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, "
    "0) == MAP_FAILED) return 12;\n"
    "    if (ts_session_flush()) return 13;\n"
    "    find(two)(50);\n"
    "    if (!(one = load(argv[1], 100))) return 14;\n"
    "    dlclose(one);\n"
    "    if (ts_session_stop()) return 15;\n"
    "    desc.path = argv[4];\n"
    "    if (ts_session_start(&desc)) return 16;\n"
    "    find(two)(7);\n"
    "    if (!(one = load(argv[1], 3))) return 17;\n"
    "    dlclose(one);\n"
    "    dlclose(two);\n"
    "    return ts_session_stop() ? 18 : 0;\n"
    "}\n";

static void write_text(const char *path, const char *text)
{
    FILE *const file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

__attribute__((format(printf, 1, 2))) static int shell(const char *format, ...)
{
    char command[4000];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(command, sizeof command, format, arguments);
    va_end(arguments);
    return system(command);
}

static const char *compiler(void)
{
    const char *const named = getenv("CC");
    const char *const name = named && named[0] ? named : "cc";
    if (access("tracesmith.h", R_OK) ||
        shell("command -v %s >/dev/null 2>&1", name)) {
        print_message("no compiler, or not run from the project's root\n");
        skip();
    }
    return name;
}

// How a program is linked, and which part defines the implementation.
typedef struct build {
    const char *host, *plugin; // flags
    bool core;                 // a shared object of its own has it
} build;

static void compile_and_run(const build *b)
{
    const char *const cc = compiler();
    const char *const dir = rt_make_folder();
    write_text(rt_path("plugin.c"), plugin_source);
    write_text(rt_path("host.c"), host_source);
    write_text(rt_path("core.c"), "#include \"tracesmith.h\"\n");
    char library[600] = "";
    const char *const flags =
        "-std=gnu11 -O0 -g -Wall -Wextra -Werror -I. -pthread "
        "-fvisibility=hidden";
    if (b->core) {
        assert_int_equal(shell("%s %s -shared -fPIC "
                               "-DTRACESMITH_IMPLEMENTATION %s/core.c "
                               "-o %s/libcore.so",
                               cc, flags, dir, dir),
                         0);
        snprintf(library, sizeof library, "%s/libcore.so -Wl,-rpath,%s", dir,
                 dir);
    }
    for (int i = 1; i <= 2; i++)
        assert_int_equal(shell("%s %s -shared -fPIC %s -DPLUGIN=%s "
                               "%s/plugin.c -o %s/%s.so %s",
                               cc, flags, b->plugin, i == 1 ? "one" : "two",
                               dir, dir, i == 1 ? "one" : "two", library),
                         0);
    assert_int_equal(shell("%s %s %s %s/host.c -o %s/host %s -ldl", cc, flags,
                           b->host, dir, dir, library),
                     0);
    const int status = shell("%s/host %s/one.so %s/two.so %s/a.sbt %s/b.sbt",
                             dir, dir, dir, dir, dir);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void assert_category(const rt_trace *trace, const rt_row *row,
                            const char *text)
{
    const ts_site_entry *const site =
        ts_reader_site(trace->reader, (uint32_t)row->values[TS_COLUMN_SITE]);
    assert_non_null(site);
    rt_assert_text(ts_reader_name(trace->reader, site->category), text);
}

static void assert_traces(void)
{
    rt_trace trace = rt_read(rt_path("a.sbt"));
    assert_int_equal(rt_rows(&trace, TS_EVENT_ZONE, "zone of one"), 200);
    assert_int_equal(rt_rows(&trace, TS_EVENT_ZONE, "zone of two"), 100);
    assert_int_equal(rt_rows(&trace, TS_EVENT_ZONE, "thread of one"), 2);
    assert_int_equal(rt_rows(&trace, TS_EVENT_ZONE, "thread of two"), 2);
    rt_only(&trace, TS_EVENT_ZONE, "zone of the host");
    assert_int_equal(rt_rows(&trace, TS_EVENT_COUNTER, "counter of one"), 200);
    assert_int_equal(rt_rows(&trace, TS_EVENT_COUNTER, "counter of two"), 100);
    assert_int_equal(rt_rows(&trace, TS_EVENT_MARK, "mark of one"), 2);
    assert_category(&trace, rt_nth(&trace, TS_EVENT_ZONE, "zone of one", 0),
                    "category of one");
    assert_category(&trace, rt_nth(&trace, TS_EVENT_ZONE, "zone of one", 199),
                    "category of one");
    assert_int_equal(trace.info->lost, 0);
    rt_close(&trace);
    trace = rt_read(rt_path("b.sbt"));
    assert_int_equal(rt_rows(&trace, TS_EVENT_ZONE, "zone of one"), 3);
    assert_int_equal(rt_rows(&trace, TS_EVENT_ZONE, "zone of two"), 7);
    assert_int_equal(rt_rows(&trace, TS_EVENT_COUNTER, "counter of two"), 7);
    assert_int_equal(trace.info->lost, 0);
    rt_close(&trace);
}

UNIT_TEST(one_object_implements_and_all_use_it)
{
    const build b = { "", "", true };
    compile_and_run(&b);
    assert_traces();
}

UNIT_TEST(the_program_implements_for_its_plugins)
{
    const build b = { "-rdynamic -DTRACESMITH_IMPLEMENTATION", "", false };
    compile_and_run(&b);
    assert_traces();
}

// Each part has an implementation; the dynamic linker makes them one.
UNIT_TEST(implementations_in_every_object_share_one_session)
{
    const build b = { "-rdynamic -DTRACESMITH_IMPLEMENTATION",
                      "-DTRACESMITH_IMPLEMENTATION", false };
    compile_and_run(&b);
    assert_traces();
}

int main(void)
{
    return unit_run(NULL, NULL);
}
