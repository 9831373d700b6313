# The kernel that hashes on devices: its texts are made from its source, and
# it hashes as the host does.
. tests/lib.sh
folder=build/hash
mkdir -p $folder
check "hash: the OpenCL C is made from its source" sh -c '
    backends/ts_hash.sh cl | cmp - backends/ts_opencl_hash_text.h'
check "hash: the PTX is made from its source" sh -c '
    clang-14 --print-targets 2>/dev/null | grep -q nvptx64 ||
        { echo "no clang-14 that makes PTX"; exit 77; }
    backends/ts_hash.sh ptx | cmp - backends/ts_cuda_hash_text.h'
check "hash: the source as C, every size and offset" sh -c '
    gcc -std=c11 -O1 -I. -Wall -Wextra -Wpedantic -Wshadow -Werror \
        tests/capture/hash_here.c -o $0/here && $0/here >$0/ptx' $folder
check "hash: the PTX is what assemblers of devices take" sh -c '
    ptxas=$(command -v ptxas || echo /usr/local/cuda/bin/ptxas)
    test -x $ptxas || { echo "no ptxas"; exit 77; }
    for device in sm_75 sm_80 sm_90 sm_100 sm_120; do
        $ptxas --help | grep -q "$device" || continue
        $ptxas -arch=$device $0/ptx -o $0/$device.cubin || exit 1
    done' $folder
