# The kernel that hashes on devices: its texts are those made from its source,
# and its hashes equal those of the host.
. tests/lib.sh
folder=build/hash
mkdir -p $folder
check "hash: the OpenCL C is made from its source" sh -c '
    backends/capture/hash.sh cl | cmp - backends/opencl/hash_text.h'
check "hash: the C++ of HIP is made from its source" sh -c '
    backends/capture/hash.sh hip | cmp - backends/hip/hash_text.h'
check "hash: the C++ of HIP is what compilers for AMD take" sh -c '
    clang-14 --print-targets 2>/dev/null | grep -q amdgcn ||
        { echo "no clang-14 for AMD"; exit 77; }
    for device in gfx906 gfx90a gfx1030; do
        clang-14 -x hip --cuda-device-only -nogpuinc -nogpulib -O3 -S \
            --offload-arch=$device -Wall -Wextra -Werror \
            -include $HERE/hip_hash_shim.h backends/capture/hash.cl \
            -o $0/$device.s && grep -q "amdhsa_kernel ts_hash_chunks" \
            $0/$device.s && grep -q "ts_hashes, 65536" $0/$device.s || exit 1
    done' $folder
check "hash: the PTX is made from its source" sh -c '
    clang-14 --print-targets 2>/dev/null | grep -q nvptx64 ||
        { echo "no clang-14 that makes PTX"; exit 77; }
    backends/capture/hash.sh ptx | cmp - backends/cupti/hash_ptx.h'
check "hash: the source as C, every size and offset" sh -c '
    gcc -std=c11 -O1 -I. -Wall -Wextra -Wpedantic -Wshadow -Werror \
        $HERE/here.c -o $0/here && $0/here >$0/ptx' $folder
check "hash: the PTX is what assemblers of devices take" sh -c '
    ptxas=$(command -v ptxas || echo /usr/local/cuda/bin/ptxas)
    test -x $ptxas || { echo "no ptxas"; exit 77; }
    for device in sm_75 sm_80 sm_90 sm_100 sm_120; do
        $ptxas --help | grep -q "$device" || continue
        $ptxas -arch=$device $0/ptx -o $0/$device.cubin || exit 1
    done' $folder
