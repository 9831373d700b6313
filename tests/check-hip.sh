# Programs of HIP, recorded through each of the four ways that there are, by
# doubles of AMD's libraries: there is no GPU here. What the traces hold is
# compared; programs print and return what they do without.
. tests/lib.sh
check_build "hip: build" all
folder=$PWD/build/hip
rm -rf "$folder"
mkdir -p "$folder"
flags="-std=gnu11 -O1 -g -Wall -Wextra -Werror -I."

# usage: double FOLDER FILE.c NAME.so [FLAG...]: one of tests/doubles
double() {
    local where source name
    where=$folder/$1 source=tests/doubles/$2 name=$3
    shift 3
    mkdir -p "$where"
    gcc $flags -fPIC -shared -fvisibility=hidden $source "-Wl,-soname,$name" \
        -o "$where/$name" "$@" -pthread -ldl
}
program() { # FOLDER [FLAG...]: what is recorded there
    local where
    where=$folder/$1
    shift
    gcc $flags tests/capture/hip_program.c -o "$where/program" "$@" \
        "$where/libamdhip64.so.6" -pthread
}

# usage: recorded NAME FOLDER [VARIABLE=VALUE...] WORD...: the program is as it
# was; tests/capture/hip_NAME.want, if it is there, is what its trace holds
recorded() {
    local name where want
    name=$1 where=$2 want=tests/capture/hip_$1.want
    shift 2
    test -e "$want" || want=
    check "hip: $name" env "$@" tests/capture/hip.sh "$folder/$where" \
        "$name" "$want" "$folder/$where/program" ${what:-plain}
}
# usage: holds NAME FOLDER TEXT...: lines of ts-info or of ts-record's summary
holds() {
    local name where
    name=$1 where=$folder/$2
    shift 2
    check "hip: $name: $1" sh -c '
        name=$0 where=$1 && shift
        cat "$where/$name.info" "$where/$name.said"
        cat "$where/$name.info" "$where/$name.said" | tr -s " " |
            grep -qF -- "$1"' "$name" "$where" "$@"
}

sdk() {
    double sdk amdhip64.c libamdhip64.so.6 &&
        double sdk rocprofiler.c librocprofiler-sdk.so.1 \
            "$folder/sdk/libamdhip64.so.6" && program sdk
}
if sdk; then
    recorded rocprofiler sdk A=
    recorded rocprofiler_old sdk HIP_DOUBLE=old
    what="many 10000" recorded many sdk A=
    holds many sdk "kernel 10,000"
    what=threads recorded threads sdk A=
    holds threads sdk "kernel 1,000"
    what=fork recorded fork sdk A=
    holds fork sdk "kernel 7"
    what=busy recorded busy sdk A=
    what="many 30" recorded zero sdk HIP_DOUBLE=zero_times
    holds zero sdk "kernel 20"
    holds zero sdk "10 records were LOST"
    what="many 30" recorded reversed sdk HIP_DOUBLE=reversed
    holds reversed sdk "10 records were LOST"
    what="many 30" recorded dropped sdk HIP_DOUBLE=drop
    holds dropped sdk "kernel 27"
    what="many 30" recorded hang sdk HIP_DOUBLE=hang_flush
    holds hang sdk "30 records were LOST"
    what="many 30" recorded late sdk HIP_DOUBLE=late
    recorded no_buffer sdk HIP_DOUBLE=no_buffer
    holds no_buffer sdk "rocprofiler-sdk: it gives no buffer"
    recorded no_context sdk HIP_DOUBLE=no_context
    holds no_context sdk "rocprofiler-sdk: it gives no names"
    recorded crowd sdk HIP_DOUBLE=crowd
fi

roctracer() {
    double roctracer amdhip64.c libamdhip64.so.6 -DVALUES &&
        double roctracer roctracer.c libroctracer64.so.4 \
            "$folder/roctracer/libamdhip64.so.6" && program roctracer
}
if roctracer; then
    recorded roctracer roctracer A=
    what="many 10000" recorded rt_many roctracer A=
    holds rt_many roctracer "kernel 10,000"
    what=threads recorded rt_threads roctracer A=
    holds rt_threads roctracer "kernel 1,000"
    what=fork recorded rt_fork roctracer A=
    holds rt_fork roctracer "kernel 7"
    what=busy recorded rt_busy roctracer A=
    what="many 30" recorded rt_zero roctracer HIP_DOUBLE=zero_times
    holds rt_zero roctracer "10 records were LOST"
    what="many 30" recorded rt_hang roctracer HIP_DOUBLE=hang_flush
    holds rt_hang roctracer "30 records were LOST"
    recorded rt_no_pool roctracer HIP_DOUBLE=no_pool
    holds rt_no_pool roctracer "roctracer: it gives no pool"
    recorded rt_no_ops roctracer HIP_DOUBLE=no_ops
    holds rt_no_ops roctracer "roctracer: it gives no operations"
fi

for hook in new old; do
    double $hook amdhip64.c libamdhip64.so.6 -DVALUES \
        -DHOOK_$(echo $hook | tr a-z A-Z) && program $hook || continue
    recorded hook_$hook $hook A=
    what="many 10000" recorded ${hook}_many $hook A=
    holds ${hook}_many $hook "kernel 10,000"
    what=threads recorded ${hook}_threads $hook A=
    holds ${hook}_threads $hook "kernel 1,000"
    what=fork recorded ${hook}_fork $hook A=
    holds ${hook}_fork $hook "kernel 7"
    what=busy recorded ${hook}_busy $hook A=
    what="many 30" recorded ${hook}_zero $hook HIP_DOUBLE=zero_times
    holds ${hook}_zero $hook "10 records were LOST"
done
recorded hook_newer new HIP_DOUBLE=newer
holds hook_newer new "without calls: this version of HIP is not known"

# Addresses that are found at the first call, and all at the start.
for bound in lazy now; do
    double $bound amdhip64.c libamdhip64.so.6 &&
        program $bound -Wl,-z,$bound || continue
    recorded shim $bound A=
    what="many 10000" recorded shim_many $bound A=
    holds shim_many $bound "hip.launches 10000"
    what=threads recorded shim_threads $bound A=
    holds shim_threads $bound "hip.launches 1000"
    what=fork recorded shim_fork $bound A=
    holds shim_fork $bound "hip.launches 7"
    what=busy recorded shim_busy $bound A=
done
