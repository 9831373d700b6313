# Compares the CUDA backend with NVIDIA's own binaries and headers, without a
# GPU: with those of CUDA 11.8 and 12.4, fetched from Debian's archive if
# possible, and with those of an installed CUDA. Nothing of them is ever
# committed.
. tests/lib.sh
folder=build/nvidia
programs=build/nvidia-programs
mkdir -p $programs
check_build "nvidia: build" all
check "nvidia: libraries and headers are fetched" $HERE/fetch.sh $folder
cuda=${CUDA_HOME:-/usr/local/cuda}

build() { # NAME
    check "nvidia: $1 is built" gcc -std=gnu11 -O1 -I. -Wall \
        $HERE/$1.c -o $programs/$1 -pthread -ldl
}
build names
build cubins
build init

for suite in bookworm trixie; do
    test -e $folder/done || break
    check "nvidia: records of CUPTI of $suite lie where we read" sh -c '
        gcc -std=c11 -DALONE -I. -I$HERE/stub -isystem $0/usr/include \
            tests/checks/capture/cupti_abi.c -o $1 -pthread -ldl && $1' \
        $folder/$suite $programs/abi_$suite
done
for library in $folder/*/usr/lib/*/libcupti.so.1[12]* "$cuda"/lib*/libcupti.so \
    "$cuda"/extras/CUPTI/lib64/libcupti.so; do
    test -e "$library" || continue
    case $library in *.20*) continue ;; esac # the file behind a link
    check "nvidia: all names of $library pass the rules" \
        $programs/names "$library"
done

# usage: cubins LIBRARY ARCHITECTURE [large]
cubins() {
    check "nvidia: parameters in cubins of $1, $2" env \
        LD_LIBRARY_PATH="$(dirname "$1")" $programs/cubins "$@"
}
for library in $folder/*/usr/lib/*/libnvrtc.so.12; do
    test -e "$library" || continue
    cubins "$library" sm_50
    cubins "$library" sm_90 large
done
for library in "$cuda"/lib*/libnvrtc.so; do
    test -e "$library" || continue
    cubins "$library" sm_90 large
    break
done

# The driver without a device: it loads the recorder, and CUPTI answers nothing.
# Of root it would make device nodes in /dev: it may not.
weak=
test "$(id -u)" != 0 || weak="setpriv --bounding-set=-mknod"
for driver in bookworm trixie; do
    for cupti in bookworm trixie; do
        test -e $folder/done || break 2
        check "nvidia: driver of $driver, CUPTI of $cupti, no device" sh -c '
            if test -e /proc/driver/nvidia; then
                echo "there is a device, with a driver of its own"
                exit 77
            fi
            lib=usr/lib/x86_64-linux-gnu
            export LD_LIBRARY_PATH=$1/$2/$lib/nvidia/current:$1/$3/$lib
            timeout -k 5 60 $4 build/ts-record -q -o $0/init.sbt -- $0/init \
                >$0/init.out 2>$0/init.err
            status=$?
            cat $0/init.out $0/init.err
            test ! -e /dev/nvidiactl && test $status = 0 &&
                test "$(cat $0/init.out)" = "cuInit 100" &&
                build/ts-info $0/init.sbt |
                grep "no driver responds to CUPTI"' \
            $programs "$PWD/$folder" $driver $cupti "$weak"
    done
done
