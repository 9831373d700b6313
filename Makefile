# TraceSmith. `make help` lists the targets. The variables to set are PREFIX,
# LIBDIR (a folder of PREFIX), DESTDIR, CFLAGS (LIB_CFLAGS are added for the
# library), LDFLAGS (PROGRAM_LDFLAGS are added for programs) and OUT. New files
# are found by their names. -g1 gives stack traces line numbers; full debug
# information would take a quarter of the compiler's time.
PREFIX = /usr/local
LIBDIR = lib
DESTDIR =
CFLAGS = -O2 -g1
LDFLAGS =
PROGRAM_LDFLAGS =
OUT = build

# The two headers are made from the sections in src/. The build includes copies
# of them with #line directives, so that the compiler's messages name a section.
HEADERS = tracesmith.h tracesmith_replay.h
SECTIONS_record := $(shell find src/record -name '*.h')
SECTIONS_replay := $(shell find src/replay -name '*.h')
LINES = $(addprefix $(OUT)/lines/,$(HEADERS))
INCLUDE = -I$(OUT)/lines -I.
LINK = -Wl,--start-group $(filter %.a,$^) -Wl,--end-group
WARNINGS = -Wall -Wextra -Wpedantic -Wconversion -Wshadow
COMPILE = $(CC) -std=c11 $(WARNINGS) $(INCLUDE) $(HAVE) -pthread -MMD -MP \
    $(CFLAGS)
COMPILE_CXX = $(CXX) -std=c++17 $(WARNINGS) $(INCLUDE) $(HAVE) -pthread -MMD \
    -MP $(CFLAGS)
LIB = $(OUT)/libtracesmith.a
LIB_PARTS = $(patsubst %,$(OUT)/src/%.o,IMPLEMENTATION REPLAY_IMPLEMENTATION)
LIBS = -Wl,--as-needed $(HAVE_LIBS) -lm -ldl
VERSION := $(shell awk '/define TS_VERSION_(MAJOR|MINOR|PATCH) / \
    { v = v s $$3; s = "." } END { print v }' tracesmith.h)
# The version in the shared library's name: 0.1.
SERIES := $(basename $(VERSION))
SHARED = $(OUT)/libtracesmith.so

# A machine without cc may have a compiler with another name.
ifeq ($(origin CC),default)
CC := $(or $(shell for name in cc gcc clang `tests/clang.sh`; do \
    command -v $$name >/dev/null && echo $$name && break; done),cc)
endif

ifneq ($(words $(OUT)),1)
$(error OUT is a folder whose name has no spaces, not '$(OUT)')
endif

# xxHash is required, the others are optional. They are found by compiling an
# include, and a condition if there is one. From GNU make 4.3 on, $(shell) keeps
# a backslash before a #.
HASH := \#
probe = $(shell printf '%s\n' '$(HASH)include <$(1)>' \
    '$(HASH)if !($(or $(2),1))' '$(HASH)error old' '$(HASH)endif' | \
    $(CC) $(CFLAGS) -E -xc - >/dev/null 2>&1 && echo yes)
ifeq ($(filter help clean format format-check,$(or $(MAKECMDGOALS),all)),)
HAVE_C := $(call probe,stdlib.h)
HAVE_XXHASH := $(call probe,xxhash.h)
HAVE_ZSTD := $(call probe,zstd.h)
HAVE_ZLIB := $(call probe,zlib.h)
HAVE_DEFLATE := $(call probe,libdeflate.h)
HAVE_ARCHIVE := $(call probe,archive.h)
HAVE_YAJL := $(call probe,yajl/yajl_parse.h)
HAVE_SQLITE := $(call probe,sqlite3.h)
HAVE_EDIT := $(call probe,editline/readline.h)
HAVE_DW := $(call probe,elfutils/libdwelf.h)
HAVE_IBERTY := $(call probe,libiberty/demangle.h)
HAVE_MICROHTTPD := $(call probe,microhttpd.h)
HAVE_BABELTRACE := $(call probe,babeltrace2/babeltrace.h)
HAVE_OTF2 := $(call probe,otf2/otf2.h,OTF2_VERSION_MAJOR >= 3)
# Debian gives the library another name.
OTF2 := $(if $(filter /%,$(shell $(CC) \
    -print-file-name=libopen-trace-format2.so)),open-trace-format2,otf2)
HAVE = $(if $(HAVE_ZSTD),-DTRACESMITH_ZSTD) \
    $(if $(HAVE_ZLIB),-DTRACESMITH_ZLIB) \
    $(if $(HAVE_DEFLATE),-DTRACESMITH_DEFLATE) \
    $(if $(HAVE_ARCHIVE),-DTRACESMITH_ARCHIVE) \
    $(if $(HAVE_YAJL),-DTRACESMITH_YAJL) \
    $(if $(HAVE_SQLITE),-DTRACESMITH_SQLITE) \
    $(if $(HAVE_EDIT),-DTRACESMITH_EDIT) $(if $(HAVE_DW),-DTRACESMITH_DW) \
    $(if $(HAVE_IBERTY),-DTRACESMITH_IBERTY) \
    $(if $(HAVE_MICROHTTPD),-DTRACESMITH_MICROHTTPD) \
    $(if $(HAVE_BABELTRACE),-DTRACESMITH_BABELTRACE) \
    $(if $(HAVE_OTF2),-DTRACESMITH_OTF2)
HAVE_LIBS = $(if $(HAVE_ZSTD),-lzstd) $(if $(HAVE_ZLIB),-lz) \
    $(if $(HAVE_DEFLATE),-ldeflate) $(if $(HAVE_ARCHIVE),-larchive) \
    $(if $(HAVE_YAJL),-lyajl) $(if $(HAVE_SQLITE),-lsqlite3) \
    $(if $(HAVE_EDIT),-ledit) $(if $(HAVE_DW),-ldw -lelf) \
    $(if $(HAVE_IBERTY),-liberty) $(if $(HAVE_MICROHTTPD),-lmicrohttpd) \
    $(if $(HAVE_BABELTRACE),-lbabeltrace2) $(if $(HAVE_OTF2),-l$(OTF2))
FOUND = $(HAVE) $(if $(HAVE_OTF2),-l$(OTF2))
endif

TOOLS = $(patsubst tools/%.c,$(OUT)/%,$(wildcard tools/ts-*.c \
    tools/tracesmith.c))
# A room is a folder of tools/, or one of common/ and analyze/, with everything
# below it.
ROOMS = $(patsubst tools/%/,%,$(filter-out tools/common/ tools/analyze/, \
    $(wildcard tools/*/ tools/common/*/ tools/analyze/*/)))
modules = $(patsubst %.c,$(OUT)/%.o,$(wildcard $(addprefix tools/$(1)/, \
    *.c */*.c */*/*.c)))
ROOM_LIBS = $(patsubst %,$(OUT)/tools/%.a,$(ROOMS))
EXAMPLES = $(patsubst %.c,$(OUT)/%,$(wildcard examples/*.c))
TEST_SOURCES := $(sort $(shell find tests -name 'test_*.c' -o \
    -name 'test_*.cpp'))
TESTS = $(patsubst %,$(OUT)/%,$(basename $(TEST_SOURCES)))
BENCHES = $(patsubst %.c,$(OUT)/%,$(wildcard bench/*.c))
# Examples that contain the implementation; they are linked without a library.
ALONE := $(patsubst %.c,$(OUT)/%,$(shell grep -l \
    'define TRACESMITH_IMPLEMENTATION' examples/*.c 2>/dev/null))
# Tests that include a module of the tools.
WITH_MODULES := $(patsubst %.c,$(OUT)/%,$(shell grep -l \
    '^$(HASH)include "tools/' $(TEST_SOURCES) $(wildcard bench/*.c) \
    /dev/null))
# A tool is linked with the rooms of tools/ that it includes from, with those
# that these include from, and so on: `ts-view:view view:common/symbolize ...`.
# Of the room api, a tool calls one file only: `ts-export:api-export`.
INCLUDES := $(shell grep -ro '^$(HASH)include "tools/[a-z_/]*/' tools | \
    sed -E 's,^tools/api/([a-z]*)[^:]*,api-\1,' | \
    sed -E 's,^tools/(((common|analyze)/)?[a-z-]*)[^:]*,\1,' | \
    sed -E 's,:.*"tools/(((common|analyze)/)?[a-z]*).*,:\1,' | sort -u) \
    $(shell grep -l '^$(HASH)include "tools/tracesmith_tools' \
    tools/ts-*.c tools/shell/*.h | \
    sed -E 's,tools/([a-z-]*).*,\1:api-\1,; s,api-ts-,api-,; \
    s,api-analyze,api-analysis,; s,api-studio,api-analysis,; \
    s/api-(query|shell)/api-sql/') \
    $(addprefix mcp:api-,analysis diff sql whatif) \
    studio:api-merge studio:api-sql record:api-import
FAMILIES = $(patsubst tools/%.c,%,$(subst api/,api-,$(wildcard tools/api/*.c)))
direct = $(foreach room,$(1),$(patsubst $(room):%,%,$(filter $(room):%, \
    $(INCLUDES))))
reached = $(if $(filter-out $(1),$(call direct,$(1))),$(call reached, \
    $(sort $(1) $(call direct,$(1)))),$(1))
rooms = $(patsubst %,$(OUT)/tools/%.a,$(filter $(ROOMS),$(call reached,$(1))))
# The backends of CUDA, compiled once for the tests that do not look inside.
CUDA_PARTS = $(addprefix $(OUT)/tests/backends/,cuda/cuda_executor.o \
    cupti/cupti_backend.o)
# Doubles of vendors' libraries, which tests load.
DOUBLES = $(patsubst %.c,$(OUT)/%.so,$(wildcard tests/doubles/lib*.c \
    tests/doubles/*/lib*.c))
C_FILES = $(shell find src backends tools examples tests bench python/native \
    rust/*/src -name '*.[ch]')

DEMO = $(LIB) $(addprefix $(OUT)/,ts-view ts-export ts-replay ts-studio \
    examples/pipeline)
TELL = $(if $(PROGRESS),@printf ' %s' $(basename $(@F)))
CORES = $(shell nproc 2>/dev/null || echo 2)
define NEXT_STEPS

Next, look closer, and find out why the devices were idle:
    $(OUT)/ts-view $(OUT)/trace.sbt --from 60ms --to 72ms
    make -j$(CORES) $(if $(filter-out build,$(OUT)),OUT=$(OUT) )all
    $(OUT)/ts-analyze $(OUT)/trace.sbt
A browser opens $(OUT)/trace.html, and https://ui.perfetto.dev opens
$(OUT)/trace.perfetto-trace. README.md, "A program", shows how to record
your own program.
endef
# Versions of clang-format lay out code differently: 14 decides.
FORMAT_14 = $(shell for name in clang-format-14 clang-format; do \
    $$name --version 2>/dev/null | grep -q ' 14[.]' && echo $$name && break; \
    done)
INJECT = $(OUT)/libtracesmith-inject.so
# The library of tools/tracesmith_tools.h. It is separate because it needs
# SQLite and others, which a program that only records must not load.
TOOLS_LIB = $(OUT)/libtracesmith-tools.a
TOOLS_SHARED = $(OUT)/libtracesmith-tools.so
LIBRARIES = $(LIB) $(SHARED) $(INJECT) $(TOOLS_LIB) $(TOOLS_SHARED)
all: $(LIBRARIES) $(TOOLS) ## build libraries and tools
examples: $(EXAMPLES) ## build the programs of examples/
tests: $(TESTS) ## build the test programs without running them
benches: $(BENCHES) ## build the benchmarks without running them

BUILD_DEMO = $(MAKE) -s --no-print-directory PROGRESS=1 \
    $(if $(filter -j%,$(MAKEFLAGS)),,-j$(CORES))
demo: export NEXT = $(NEXT_STEPS)
demo: ## record an example, show it, export it, replay it, make a page of it
	@tests/deps.sh build
	@printf 'Building the first tools, with %s at once:' $(CORES)
	@$(BUILD_DEMO) $(OUT)/ts-view $(OUT)/examples/pipeline && echo .
	$(OUT)/examples/pipeline -o $(OUT)/trace.sbt
	$(OUT)/ts-view $(OUT)/trace.sbt
	@printf 'Building what exports, replays and explains:'
	@$(BUILD_DEMO) $(DEMO) && echo .
	$(OUT)/ts-export $(OUT)/trace.sbt -o $(OUT)/trace.perfetto-trace
	$(OUT)/ts-replay $(OUT)/trace.sbt --stream 2
	$(OUT)/ts-studio $(OUT)/trace.sbt -o $(OUT)/trace.html
	@printf '%s\n' "$$NEXT"

test: ## run NAME=...: a test program, a check or a test (a function)
	@+MAKE="$(MAKE)" CC="$(CC)" tests/one.sh "$(NAME)"
check: ## run every check; the last line is `N passed, N failed`
	@tests/deps.sh check
	@tests/run.sh
check-san: ## run the tests under ASan + UBSan, TSan and valgrind
	@tests/run.sh asan tsan valgrind
check-disabled: ## check that TRACESMITH_DISABLE leaves no instruction
	@tests/run.sh disabled
check-cxx: ## compile each header alone, as C and C++, with every compiler
	@tests/run.sh cxx
fuzz: ## run libFuzzer for half a minute; FUZZ_SECONDS=600 for longer
	@tests/run.sh fuzz
soak: all ## test kill -9, storms and a full disk for half an hour
	tests/record/soak/run.sh
bench: all benches ## measure a row per budget of the design; JSON=1 for JSON
	bench/run.sh $(if $(JSON),--json)
bench-quick: ## measure the instrumented line, count instructions, in 60 s
	bench/run.sh --short $(if $(JSON),--json)
accuracy: all ## replay ../shared/data: the errors of the model
	bench/accuracy.sh
amalgamate: $(HEADERS) ## make the two headers from the sections in src/
format: ## lay out every C file
	$(or $(FORMAT_14),clang-format) -i $(C_FILES)
	@$(MAKE) -s --no-print-directory amalgamate
format-check: ## fail if `make format` would change something
	$(if $(FORMAT_14),,@echo "clang-format 14, which decides the \
	    layout, is missing." >&2; exit 1)
	$(FORMAT_14) --dry-run -Werror $(C_FILES)
ci: ## run what the hosted checks run, also on a bare machine
	.ci/run

# A header that equals the sum of its sections is not written, so that a
# read-only tree can be built, too.
tracesmith.h $(OUT)/lines/tracesmith.h: src/record/order $(SECTIONS_record)
tracesmith_replay.h $(OUT)/lines/tracesmith_replay.h: src/replay/order \
    $(SECTIONS_replay)
$(HEADERS) $(LINES): src/amalgamate.sh
$(HEADERS): %: $(OUT)/lines/%
	@src/amalgamate.sh $(patsubst %/order,%,$(filter %/order,$^)) \
	    >$(OUT)/lines/$@.new
	@cmp -s $(OUT)/lines/$@.new $@ || cp $(OUT)/lines/$@.new $@
$(LINES):
	@mkdir -p $(@D)
	@src/amalgamate.sh --lines $(patsubst %/order,%,$(filter %/order,$^)) >$@

# The list of libraries found: if it changes, everything is built again.
$(OUT)/found: always | $(HEADERS) $(LINES)
	@mkdir -p $(@D)
	$(if $(HAVE_C),,@echo "$(CC) compiles nothing: install a C compiler and \
	    the C library (gcc and libc6-dev), or name one, CC=clang." >&2; exit 1)
	$(if $(HAVE_XXHASH),,@echo "xxhash.h is missing: install libxxhash-dev \
	    (or whatever your system calls it)." >&2; exit 1)
	@echo '$(FOUND)' | cmp -s - $@ || echo '$(FOUND)' >$@
$(OUT)/src/%.o: override CFLAGS += $(LIB_CFLAGS)
$(OUT)/src/%.o: src/library.c $(OUT)/found
	@mkdir -p $(@D)
	$(COMPILE) -DTRACESMITH_$* -fPIC -c $< -o $@
$(LIB): $(LIB_PARTS)
	rm -f $@ && $(AR) qcs $@ $^
	$(TELL)
$(SHARED).$(VERSION): $(LIB_PARTS)
	$(CC) -shared -pthread -Wl,-soname,libtracesmith.so.$(SERIES) $(CFLAGS) \
	    $(LDFLAGS) $^ -o $@ $(LIBS)
$(SHARED): $(SHARED).$(VERSION)
	ln -sf $(<F) $@.$(SERIES)
	ln -sf $(<F) $@
.SECONDEXPANSION:
# One object with the calls and the parts of the rooms that they need. It
# exports only the public names, because others could clash with a program's.
# The names of a cross compiler's linker and objcopy follow from that of its ar.
OBJCOPY = $(patsubst %ar,%objcopy,$(AR))
LINKER = $(patsubst %ar,%ld,$(AR))
$(OUT)/libtracesmith-tools.o: $$(call modules,api) \
    $$(call rooms,api $$(FAMILIES))
	$(LINKER) -r $(call modules,api) --start-group $(filter %.a,$^) \
	    --end-group -o $@.all
	$(OBJCOPY) --localize-hidden $@.all $@ && rm $@.all
$(TOOLS_LIB): $(OUT)/libtracesmith-tools.o
	rm -f $@ && $(AR) qcs $@ $^
	$(TELL)
# With a sanitizer, symbols are undefined here: the program has its runtime.
DEFS = $(if $(findstring -fsanitize,$(CFLAGS)),,-Wl,-z,defs)
$(TOOLS_SHARED).$(VERSION): $(OUT)/libtracesmith-tools.o $(SHARED)
	$(CC) -shared -pthread $(DEFS) -Wl,--exclude-libs,ALL \
	    -Wl,-soname,libtracesmith-tools.so.$(SERIES) $(CFLAGS) $(LDFLAGS) \
	    $^ -o $@ $(LIBS)
$(TOOLS_SHARED): $(TOOLS_SHARED).$(VERSION)
	ln -sf $(<F) $@.$(SERIES)
	ln -sf $(<F) $@
$(INJECT): backends/ts_inject.c $(OUT)/found
	@mkdir -p $(@D)
	$(COMPILE) -MT $@ -fPIC -fvisibility=hidden -shared -Wl,-z,nodelete \
	    $(LDFLAGS) $< -o $@ $(LIBS)
$(OUT)/tools/%.o: tools/%.c $(OUT)/found
	@mkdir -p $(@D)
	$(COMPILE) -fPIC -fvisibility=hidden -c $< -o $@
# ts-studio contains the page that it writes and serves.
$(OUT)/tools/studio/page/page.o: tools/studio/page/studio.html
# And the list of what ts-mcp can do, of it.
$(OUT)/tools/mcp/server.o: docs/json-schema/ts-mcp.json
$(ROOM_LIBS): $(OUT)/tools/%.a: $$(call modules,$$*)
	rm -f $@ && $(AR) qcs $@ $^
	$(TELL)
$(TOOLS): $(OUT)/%: tools/%.c $(LIB) $$(call rooms,$$*)
	$(COMPILE) -MT $@ $(LDFLAGS) $< $(LINK) -o $@ $(LIBS)
	$(TELL)
$(ALONE): $(OUT)/%: %.c $(OUT)/found
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
# Device code: sanitizers must not enlarge its variables.
$(OUT)/tests/doubles/libcubin.so $(OUT)/tests/doubles/libhsaco.so: \
    override CFLAGS += -fno-sanitize=all
$(TESTS): | $(DOUBLES)
$(CUDA_PARTS): $(OUT)/%.o: %.c $(OUT)/found
	@mkdir -p $(@D)
	$(COMPILE) -c $< -o $@
$(OUT)/tests/backends/cuda.a: $(CUDA_PARTS)
	rm -f $@ && $(AR) qcs $@ $^
$(filter $(OUT)/tests/backends/cu%,$(TESTS)): $(OUT)/tests/backends/cuda.a
# cmocka passes each test a state; doubles have parameters that they ignore.
$(OUT)/tests/%: private WARNINGS += -Wno-unused-parameter
$(OUT)/tests/%: LIBS += -lcmocka
$(OUT)/tests/%: tests/%.cpp $(LIB)
	@mkdir -p $(@D)
	$(COMPILE_CXX) -MT $@ $(LDFLAGS) $(PROGRAM_LDFLAGS) $< \
	    $(LIB) -o $@ $(LIBS)
$(WITH_MODULES): $(ROOM_LIBS)
$(OUT)/%: %.c $(LIB)
	@mkdir -p $(@D)
	$(COMPILE) -MT $@ $(LDFLAGS) $(PROGRAM_LDFLAGS) $< \
	    $(LINK) -o $@ $(LIBS)
	$(TELL)
-include $(shell find $(OUT) -maxdepth 6 -type f -name '*.d' 2>/dev/null)

# The folders of PREFIX, and the files that are installed into each.
BACKENDS = $(patsubst %/,include/tracesmith/%,$(sort $(dir \
    $(wildcard backends/*.h backends/*/*.h))))
INSTALLED = include $(LIBDIR) lib/tracesmith bin share/man/man1 \
    share/doc/tracesmith share/doc/tracesmith/docs \
    share/doc/tracesmith/docs/examples share/doc/tracesmith/docs/json-schema \
    $(BACKENDS) $(LIBDIR)/pkgconfig $(LIBDIR)/cmake/tracesmith \
    share/bash-completion/completions share/zsh/site-functions \
    share/fish/vendor_completions.d
FILES_include = $(HEADERS) tools/tracesmith_tools.h
$(foreach folder,$(BACKENDS),$(eval FILES_$(folder) = \
    $(wildcard $(patsubst include/tracesmith/%,%,$(folder))/*.h)))
FILES_$(LIBDIR) = $(LIB) $(SHARED).$(VERSION) $(TOOLS_LIB) \
    $(TOOLS_SHARED).$(VERSION)
# Where ts-record looks for it, from its own folder: whatever LIBDIR is.
FILES_lib/tracesmith = $(INJECT)
FILES_$(LIBDIR)/pkgconfig = $(filter %.pc,$(PACKAGING))
FILES_$(LIBDIR)/cmake/tracesmith = $(filter %.cmake,$(PACKAGING))
FILES_bin = $(TOOLS)
FILES_share/man/man1 = $(wildcard man/*.1)
FILES_share/doc/tracesmith = LICENSE THIRD-PARTY README.md CHANGELOG.md
FILES_share/doc/tracesmith/docs = $(wildcard docs/*.md)
FILES_share/doc/tracesmith/docs/examples = $(wildcard docs/examples/*)
FILES_share/doc/tracesmith/docs/json-schema = $(wildcard docs/json-schema/*)
FILES_share/bash-completion/completions = $(wildcard completions/*.bash)
FILES_share/zsh/site-functions = $(wildcard completions/_*)
FILES_share/fish/vendor_completions.d = $(wildcard completions/*.fish)
# Shells look for a file with the command's name.
COMPLETED = $(patsubst tools/%.c,%,$(wildcard tools/ts-*.c))
# A folder for each place, because checks install to several at once.
PACKAGED = $(OUT)/packaging/$(subst /,-,$(PREFIX)-$(LIBDIR))
PACKAGING = $(patsubst packaging/%,$(PACKAGED)/%, \
    $(wildcard packaging/*.pc packaging/*.cmake))
# From LIBDIR to PREFIX: "..", or "../.." from lib/x86_64-linux-gnu.
UP = $(shell echo '$(LIBDIR)' | sed 's,[^/][^/]*,..,g')
TO = "$(DESTDIR)$(PREFIX)"
# The libraries that a program needs if it links the static library.
LIB_NEEDS = $(if $(HAVE_ZSTD),-lzstd) -pthread -ldl
TOOLS_NEEDS = $(filter-out -lzstd -ledit -lmicrohttpd,$(HAVE_LIBS)) -lm

$(PACKAGING): $(PACKAGED)/%: packaging/% always
	@mkdir -p $(@D)
	@sed -e 's,@PREFIX@,$(PREFIX),' -e 's,@VERSION@,$(VERSION),' \
	    -e 's,@LIBDIR@,$(LIBDIR),' -e 's,@UP@,$(UP),' \
	    -e 's,@SERIES@,$(SERIES),' -e 's,@LIBS@,$(LIB_NEEDS),' \
	    -e 's,@TOOLS_LIBS@,$(TOOLS_NEEDS),' $< >$@
install: all $(PACKAGING) ## install headers, libraries, tools, manuals, docs
	@$(foreach folder,$(INSTALLED),$(if $(FILES_$(folder)),install -D \
	    -m $(if $(filter bin,$(folder)),755,644) -t $(TO)/$(folder) \
	    $(FILES_$(folder)) &&)) :
	@$(foreach so,$(notdir $(SHARED) $(TOOLS_SHARED)), \
	    ln -sf $(so).$(VERSION) $(TO)/$(LIBDIR)/$(so).$(SERIES) && \
	    ln -sf $(so).$(SERIES) $(TO)/$(LIBDIR)/$(so) &&) :
	@$(foreach tool,$(COMPLETED),ln -sf tracesmith.bash \
	    $(TO)/share/bash-completion/completions/$(tool).bash && \
	    ln -sf tracesmith.fish \
	    $(TO)/share/fish/vendor_completions.d/$(tool).fish &&) :
	$(if $(DESTDIR),,-ldconfig 2>/dev/null)
uninstall: ## remove what `make install` installed
	@$(foreach folder,$(INSTALLED),$(if $(FILES_$(folder)),rm -f \
	    $(addprefix $(TO)/$(folder)/,$(notdir $(FILES_$(folder)))) &&)) \
	rm -f $(foreach so,$(notdir $(SHARED) $(TOOLS_SHARED)), \
	    $(TO)/$(LIBDIR)/$(so) $(TO)/$(LIBDIR)/$(so).$(SERIES))
	@rm -f $(foreach tool,$(COMPLETED), \
	    $(TO)/share/bash-completion/completions/$(tool).bash \
	    $(TO)/share/fish/vendor_completions.d/$(tool).fish)
	rm -rf $(addprefix $(TO)/,include/tracesmith lib/tracesmith \
	    $(LIBDIR)/cmake/tracesmith share/doc/tracesmith)
dist: ## make a tar file of the committed tree
	@test -e .git && command -v git >/dev/null || { echo "This packs the" \
	    "committed tree: it needs git and a clone." >&2; exit 1; }
	git archive --prefix=tracesmith-$(VERSION)/ HEAD \
	    -o tracesmith-$(VERSION).tar.gz
release: ## make packages of the committed tree and SHA256SUMS, in build/release
	packaging/release.sh $(OUT)/release $(PACKAGES)
clean: ## remove everything that was built
	rm -rf $(OUT)
help: ## print this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 16

.PHONY: always all examples tests test benches accuracy demo check check-san \
    check-disabled check-cxx fuzz soak bench bench-quick amalgamate format \
    format-check ci install uninstall dist release clean help
