#!/bin/sh
# Writes the headers that hold backends/capture/hash.cl, as texts and as PTX:
#   backends/capture/hash.sh cl >backends/opencl/hash_text.h
#   backends/capture/hash.sh hip >backends/hip/hash_text.h
#   backends/capture/hash.sh ptx >backends/cupti/hash_ptx.h
# The PTX is clang 14's (clang-14 must have the target nvptx64), of ISA 6.0 for
# sm_50, which drivers compile for whatever device they have; with a variable
# for the hashes of 4,096 chunks.
set -eu
cd "$(dirname "$0")/.."

# The lines for one language, by the name that its compiler defines.
language() {
    sed -e '1,/^\*\//d' -e '/^ *\/\//d' -e 's/ *\/\/.*//' \
        -e '/^#ifdef __NVPTX__$/,/^#else$/d' capture/hash.cl |
        awk -v name="$1" '
            /^#(ifdef|elif)/ && /OPENCL|HIP/ {
                skips = !index($0, name)
                next
            }
            /^#ifdef TS_KERNEL$/ { next }
            /^#else$/ { skips = 1; next }
            /^#endif$/ { skips = 0; next }
            !skips && NF { sub(/^ +/, ""); print }' | fold -s -w 68
}

case $1 in
cl)
    file=opencl/hash_text.h
    name=ts__cl_hash_text
    about='hashes chunks: OpenCL C'
    text=$(language __OPENCL_C_VERSION__)
    ;;
hip)
    file=hip/hash_text.h
    name=ts__hip_hash_text
    about='hashes chunks: C++ of HIP'
    text=$(language __HIPCC_RTC__)
    ;;
ptx)
    file=cupti/hash_ptx.h
    name=ts__cuda_hash_text
    about='hashes chunks: PTX'
    text=$(clang-14 -x cl -cl-std=CL1.2 --target=nvptx64-nvidia-cuda \
        -Xclang -target-cpu -Xclang sm_50 -Xclang -target-feature \
        -Xclang +ptx60 -Os -S -o - capture/hash.cl |
        sed -e 's/[\t ]*\/\/.*//' -e 's/^\t//' -e 's/[ \t][ \t]*/ /g' \
            -e '/^ *$/d' -e '/^\.address_size/a\
.visible .global .align 16 .b8 ts_hashes[65536];' | fold -s -w 68)
    ;;
esac

# No string is longer than C11 promises (4,095 characters).
printf '%s\n' "$text" | awk -v file="$file" -v name="$name" \
    -v about="$about" '
    BEGIN {
        guard = toupper(file)
        gsub(/[.\/]/, "_", guard)
        print "/*"
        print "    " file " - " about
        print ""
        print "    Made by capture/hash.sh from capture/hash.cl."
        print "    Apache-2.0; the licence is in LICENSE."
        print "*/"
        print "#ifndef TS__" guard
        print "#define TS__" guard
        print "// clang-format off"
        print "static const char *const " name "[] = {"
    }
    {
        if (size + length($0) + 1 > 4000) {
            print "    ,"
            size = 0
        }
        size += length($0) + 1
        gsub(/\\/, "\\\\")
        gsub(/"/, "\\\"")
        print "    \"" $0 "\\n\""
    }
    END {
        print "};"
        print "// clang-format on"
        print "#endif"
    }'
