# TRACESMITH_DISABLE leaves nothing: a program that uses the whole API compiles
# to the same bytes as without any line that calls TraceSmith, and contains
# none of its symbols. (At -O0 an empty statement may cost a nop, so only the
# symbols are compared there.)
. tests/lib.sh
folder=build/disabled
mkdir -p $folder
surface=tests/checks/surface/surface.c
bare=$folder/bare.c
sed -E '/\b(TS_[A-Z_]+|ts_[a-z]+_[a-z_]+)\(/d' $surface >$bare

for compiler in "gcc -std=c11" "g++ -std=c++17 -xc++" \
    "$CLANG -std=c11" "$CLANGXX -std=c++17 -xc++"; do
    cc=${compiler%% *}
    for level in -O0 -O1 -O2 -Os; do
        out=$folder/$cc$level
        check "disabled: $cc $level, no symbols" sh -c '
            set -e
            '"$compiler $level"' -DTRACESMITH_DISABLE -I. -Wall -Wextra \
                -Wpedantic -Wconversion -Wshadow -Werror \
                -c tests/checks/surface/surface.c -o $0.o
            ! nm $0.o | grep -E "[ _]ts_"' "$out"
        test $level = -O0 || check "disabled: $cc $level, same code" sh -c '
            set -e
            for name in surface bare; do
                source=tests/checks/surface/surface.c
                test $name = surface || source='$bare'
                '"$compiler $level"' -w -DTRACESMITH_DISABLE -I. \
                    -c $source -o $0.$name.o
                objdump -dr $0.$name.o | sed 1,3d >$0.$name.dis
                objcopy -O binary $0.$name.o $0.$name.bin
            done
            diff -u $0.bare.dis $0.surface.dis
            cmp $0.bare.bin $0.surface.bin' "$out"
    done
done

# Compiled in, while nothing is recorded.
for compiler in "gcc -std=c11" "g++ -std=c++17 -xc++" \
    "$CLANG -std=c11" "$CLANGXX -std=c++17 -xc++"; do
    for loads in 1 2; do
        kind=-fno-pie
        test $loads = 1 || kind=-fPIC
        check "disabled: ${compiler%% *} $kind, not recording" sh -c '
            set -e
            '"$compiler -O2 $kind"' -I. -c tests/checks/disabled/off.c -o $0.o
            objdump -d --no-show-raw-insn $0.o >$0.dis
            awk -v most='$loads' -f tests/checks/disabled/off.awk $0.dis' \
            "$folder/off.${compiler%% *}$kind"
    done
done
