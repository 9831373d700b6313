# TraceSmith. `make help` lists the targets. The knobs are PREFIX, DESTDIR,
# CFLAGS (LIB_CFLAGS are more for the library), LDFLAGS and OUT; new files are
# picked up by their names.
PREFIX = /usr/local
DESTDIR =
CFLAGS = -O2 -g
LDFLAGS =
OUT = build

WARNINGS = -Wall -Wextra -Wpedantic -Wconversion -Wshadow
COMPILE = $(CC) -std=c11 $(WARNINGS) -I. $(HAVE) -pthread -MMD -MP $(CFLAGS)
COMPILE_CXX = $(CXX) -std=c++17 $(WARNINGS) -I. $(HAVE) -pthread -MMD -MP \
    $(CFLAGS)
LIB = $(OUT)/libtracesmith.a
LIB_PARTS = $(patsubst %,$(OUT)/TRACESMITH_%.o, \
    IMPLEMENTATION REPLAY_IMPLEMENTATION)
LIBS = -Wl,--as-needed $(HAVE_LIBS) -lm -ldl
VERSION = $(shell awk '/define TS_VERSION_(MAJOR|MINOR|PATCH) / \
    { v = v s $$3; s = "." } END { print v }' tracesmith.h)

# xxHash is needed, the others are not: what is there is found by compiling.
probe = $(shell echo '\#include <$(1)>' | $(CC) $(CFLAGS) -E -xc - \
    >/dev/null 2>&1 && echo yes)
ifeq ($(filter help clean format format-check,$(or $(MAKECMDGOALS),all)),)
HAVE_XXHASH := $(call probe,xxhash.h)
HAVE_ZSTD := $(call probe,zstd.h)
HAVE_ZLIB := $(call probe,zlib.h)
HAVE_YAJL := $(call probe,yajl/yajl_parse.h)
HAVE_SQLITE := $(call probe,sqlite3.h)
HAVE_EDIT := $(call probe,editline/readline.h)
HAVE_DW := $(call probe,elfutils/libdwelf.h)
HAVE = $(if $(HAVE_ZSTD),-DTRACESMITH_ZSTD) \
    $(if $(HAVE_ZLIB),-DTRACESMITH_ZLIB) $(if $(HAVE_YAJL),-DTRACESMITH_YAJL) \
    $(if $(HAVE_SQLITE),-DTRACESMITH_SQLITE) \
    $(if $(HAVE_EDIT),-DTRACESMITH_EDIT) $(if $(HAVE_DW),-DTRACESMITH_DW)
HAVE_LIBS = $(if $(HAVE_ZSTD),-lzstd) $(if $(HAVE_ZLIB),-lz) \
    $(if $(HAVE_YAJL),-lyajl) $(if $(HAVE_SQLITE),-lsqlite3) \
    $(if $(HAVE_EDIT),-ledit) $(if $(HAVE_DW),-ldw -lelf)
endif

TOOLS = $(patsubst tools/%.c,$(OUT)/%,$(wildcard tools/ts-*.c))
MODULES = $(patsubst %.c,$(OUT)/%.o,$(wildcard tools/*/*.c))
MODULE_LIB = $(if $(MODULES),$(OUT)/libts-tools.a)
EXAMPLES = $(patsubst %.c,$(OUT)/%,$(wildcard examples/*.c))
TESTS = $(patsubst %.c,$(OUT)/%,$(wildcard tests/test_*.c)) \
    $(patsubst %.cpp,$(OUT)/%,$(wildcard tests/test_*.cpp))
BENCHES = $(patsubst %.c,$(OUT)/%,$(wildcard bench/*.c))
# Examples with an implementation of their own show that it needs no library.
ALONE := $(patsubst %.c,$(OUT)/%,$(shell grep -l \
    'define TRACESMITH_IMPLEMENTATION' examples/*.c 2>/dev/null))
# Tests that look into a module of the tools.
WITH_MODULES := $(patsubst %.c,$(OUT)/%,$(shell grep -l '^\#include "tools/' \
    tests/*.c 2>/dev/null))
# What stands in for vendors' libraries, loaded by tests.
DOUBLES = $(patsubst %.c,$(OUT)/%.so,$(wildcard tests/doubles/lib*.c \
    tests/doubles/*/lib*.c))
C_FILES = $(wildcard *.h backends/*.[ch] tools/*.[ch] tools/*/*.[ch] \
    examples/*.[ch] tests/*.[ch] tests/*/*.[ch] tests/*/*/*.[ch] \
    bench/*.[ch])

INJECT = $(OUT)/libtracesmith-inject.so
all: $(LIB) $(OUT)/libtracesmith.so $(INJECT) $(TOOLS) ## libraries and tools
examples: $(EXAMPLES) ## every program of examples/
tests: $(TESTS) ## every test program, not run
benches: $(BENCHES) ## every benchmark, not run

demo: ## record an example, show it, export it, replay it
	@tests/deps.sh build
	@echo 'Building ...' && $(MAKE) -s --no-print-directory all examples
	$(OUT)/examples/pipeline
	$(OUT)/ts-view trace.sbt
	$(OUT)/ts-export trace.sbt -o trace.perfetto-trace
	$(OUT)/ts-replay trace.sbt --stream 2

check: ## everything; the last line is `N passed, N failed`
	@tests/deps.sh check
	@tests/run.sh
check-san: ## the tests under ASan + UBSan, TSan and valgrind
	@tests/run.sh asan tsan valgrind
check-disabled: ## TRACESMITH_DISABLE leaves no instruction
	@tests/run.sh disabled
check-cxx: ## the headers as C and C++, each alone, with every compiler
	@tests/run.sh cxx
fuzz: ## half a minute of libFuzzer
	@tests/run.sh fuzz
soak: all ## kill -9 a thousand times, storms, a full disk (half an hour)
	tests/soak/run.sh
bench: all benches ## one row per budget of the design; JSON=1 for JSON
	bench/run.sh $(if $(JSON),--json)
accuracy: all ## replay ../shared/data: how close models come to it
	bench/accuracy.sh
amalgamate: ## the two headers from their sections in src/
	src/amalgamate.sh src/record >tracesmith.h
	src/amalgamate.sh src/replay >tracesmith_replay.h
format: ## lay out every C file
	clang-format-14 -i $(C_FILES)
format-check: ## complain where `make format` would change something
	clang-format-14 --dry-run -Werror $(C_FILES)
ci: ## what the hosted checks run, on a bare machine too
	.ci/run

$(OUT)/TRACESMITH_%.o: override CFLAGS += $(LIB_CFLAGS)
$(OUT)/TRACESMITH_%.o: tools/ts_lib.c
	@mkdir -p $(@D)
	$(if $(HAVE_XXHASH),,@echo 'xxhash.h is missing: install libxxhash-dev \
	    (or whatever your system calls it).' >&2; exit 1)
	$(if $(HAVE_ZSTD),,@echo 'Without zstd.h (libzstd-dev) traces cannot be \
	    compressed, nor compressed ones be read.')
	$(COMPILE) -DTRACESMITH_$* -fPIC -c $< -o $@
$(LIB): $(LIB_PARTS)
	rm -f $@ && $(AR) qcs $@ $^
$(OUT)/libtracesmith.so: $(LIB_PARTS)
	$(CC) -shared -pthread $(CFLAGS) $(LDFLAGS) $^ -o $@ $(LIBS)
$(INJECT): backends/ts_inject.c
	@mkdir -p $(@D)
	$(COMPILE) -MT $@ -fPIC -fvisibility=hidden -shared -Wl,-z,nodelete \
	    $(LDFLAGS) $< -o $@ $(LIBS)
$(OUT)/tools/%.o: tools/%.c
	@mkdir -p $(@D)
	$(COMPILE) -c $< -o $@
$(OUT)/libts-tools.a: $(MODULES)
	rm -f $@ && $(AR) qcs $@ $^
$(OUT)/ts-%: tools/ts-%.c $(MODULE_LIB) $(LIB)
	$(COMPILE) -MT $@ $(LDFLAGS) $< $(filter %.a,$^) -o $@ $(LIBS)
$(ALONE): $(OUT)/%: %.c
	@mkdir -p $(@D)
	$(COMPILE) -MT $@ $(LDFLAGS) $< -o $@ $(LIBS)
$(OUT)/tests/doubles/%.so: tests/doubles/%.c
	@mkdir -p $(@D)
	$(COMPILE) -MT $@ -fPIC -fvisibility=hidden -shared $(LDFLAGS) $(SONAME) \
	    $< -o $@
$(OUT)/tests/doubles/libcuda.so: SONAME = -Wl,-soname,libcuda.so.1
$(OUT)/tests/doubles/libamdhip64.so: SONAME = -Wl,-soname,libamdhip64.so.6
$(OUT)/tests/doubles/librocprofiler-sdk.so: \
    SONAME = -Wl,-soname,librocprofiler-sdk.so.1
# Code of devices, whose variables no sanitizer makes longer.
$(OUT)/tests/doubles/libcubin.so $(OUT)/tests/doubles/libhsaco.so: \
    override CFLAGS += -fno-sanitize=all
$(TESTS): | $(DOUBLES)
$(OUT)/tests/%: LIBS += -lcmocka
$(OUT)/tests/%: tests/%.cpp $(LIB)
	@mkdir -p $(@D)
	$(COMPILE_CXX) -MT $@ $(LDFLAGS) $< $(LIB) -o $@ $(LIBS)
$(WITH_MODULES): $(MODULE_LIB)
$(OUT)/%: %.c $(LIB)
	@mkdir -p $(@D)
	$(COMPILE) -MT $@ $(LDFLAGS) $< -Wl,--start-group $(filter %.a,$^) \
	    -Wl,--end-group -o $@ $(LIBS)
-include $(shell find $(OUT) -maxdepth 4 -name '*.d' 2>/dev/null)

INSTALL = install -D -t $(DESTDIR)$(PREFIX)
install: all ## headers, backends, library, tools and manual pages
	$(INSTALL)/include -m 644 tracesmith.h tracesmith_replay.h
	$(INSTALL)/include/tracesmith/backends -m 644 $(wildcard backends/*.h)
	$(INSTALL)/lib -m 644 $(LIB)
	$(INSTALL)/lib $(OUT)/libtracesmith.so $(INJECT)
	$(INSTALL)/bin $(TOOLS)
	$(INSTALL)/share/man/man1 -m 644 $(wildcard man/*.1)
uninstall: ## what install put there
	cd $(DESTDIR)$(PREFIX) && rm -f include/tracesmith.h \
	    include/tracesmith_replay.h \
	    $(addprefix lib/libtracesmith,.a .so -inject.so) \
	    $(addprefix bin/,$(notdir $(TOOLS))) \
	    $(addprefix share/man/man1/,$(notdir $(wildcard man/*.1)))
	rm -rf $(DESTDIR)$(PREFIX)/include/tracesmith
dist: ## a tar file of the committed tree
	git archive --prefix=tracesmith-$(VERSION)/ HEAD \
	    | gzip -n9 >tracesmith-$(VERSION).tar.gz
clean: ## everything that was built
	rm -rf $(OUT) trace.sbt trace.perfetto-trace
help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 16

.PHONY: all examples tests benches accuracy demo check check-san \
    check-disabled check-cxx fuzz soak bench amalgamate format format-check ci \
    install uninstall dist clean help
