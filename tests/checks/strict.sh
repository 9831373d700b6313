# The headers compile without a warning in a program with every warning
# enabled.
. tests/lib.sh
folder=build/strict
mkdir -p $folder

# What strict users ask of their compilers, of every one that is here; those
# that do not know a warning or a language say so, and are not asked. They use
# the macros and fill in descs, and one file of theirs has the implementation.
printf '%s\n' '#define TRACESMITH_IMPLEMENTATION' '#include "tracesmith.h"' \
    >$folder/implementation.c
strict='
    strict="-Wold-style-cast -Wuseless-cast -Wzero-as-null-pointer-constant"
    known() { echo "int x;" | $1 $2 -Werror -fsyntax-only - 2>/dev/null; }
    for language in $1; do
        flags="-I. -std=$language -x${language%%[0-9]*}"
        test $language != ${language#c++} || flags="-I. -std=$language -xc"
        known "$0" "$flags" || continue
        for warning in -Wall -Wextra -Wpedantic -Wconversion -Wshadow \
            -Wclobbered $(test $language = ${language#c++} || echo $strict); do
            known "$0" "$flags $warning" && flags="$flags $warning"
        done
        flags="$flags -Werror" files="tests/checks/surface/strict.c $2"
        case $language in
        c++2*) files="$files tests/checks/surface/descs.cpp" ;;
        esac
        $0 $flags -O2 -c tests/checks/surface/strict.c -o /dev/null &&
            $0 $flags -fsyntax-only $files &&
            $0 $flags -DTRACESMITH_DISABLE -fsyntax-only $files ||
            { echo "$0 $flags"; exit 1; }
    done'
for version in "" -11 -12 -13 -14 -15 -16 -17 -18 -19 -20; do
    for cc in gcc clang g++ clang++; do
        command -v $cc$version >/dev/null || continue
        test -n "$version" || ! command -v "$cc-$($cc -dumpversion |
            cut -d. -f1)" >/dev/null || continue # below, with its version
        languages="c11 c17 c2x c23"
        case $cc in *++) languages="c++17 c++20 c++2b c++23" ;; esac
        check "strict: $cc$version" sh -c "$strict" $cc$version \
            "$languages" $folder/implementation.c
    done
done
check "strict: the README program is C++20 and has no warning" sh -c '
    awk "/^\`\`\`c\$/ { on = 1; next } /^\`\`\`/ { if (on) exit } on" \
        README.md >$0.cpp
    g++ -std=c++20 -I. -Wall -Wextra -Wpedantic -Wconversion -Werror \
        -c $0.cpp -o $0.o' $folder/readme
check "strict: an implementation that comes too late, one error" sh -c '
    printf "#include <stdio.h>\n#define TRACESMITH_IMPLEMENTATION\n" >$0.c
    echo "#include \"tracesmith.h\"" >>$0.c
    ! gcc -I. -fsyntax-only $0.c 2>$0.said
    test "$(grep -c error: $0.said)" = 1 && grep "_GNU_SOURCE" $0.said' \
    $folder/late
big='-U__BYTE_ORDER__ -D__BYTE_ORDER__=__ORDER_BIG_ENDIAN__'
check "strict: a big-endian machine, one error" sh -c '
    ! gcc $1 -I. -fsyntax-only '$folder'/implementation.c 2>$0.said
    test "$(grep -c error: $0.said)" = 1 && grep "little-endian" $0.said
    gcc $1 -I. -DTRACESMITH_DISABLE -c '$folder'/implementation.c -o $0.o &&
        gcc $1 -I. -DTRACESMITH_DISABLE -c tests/checks/surface/strict.c \
            -o $0.o' \
    $folder/big "$big"
