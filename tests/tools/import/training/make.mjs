// make.mjs - writes a profile of three training steps as PyTorch's profiler
// would: node make.mjs | gzip -n9 > training.json.gz
//
// Made up, and the same each time: two ranks' worth of streams, operators
// around launches, copies, events between streams, collectives, waits.

let state = 12345;
function random(below) { // Park and Miller's minimal standard
    state = state * 48271 % 2147483647;
    return state % below;
}

const events = [];
let now = 1700000000000000.125; // microseconds, with fractions
let correlation = 100;
const free = new Map(); // when streams are done
const pid = 4711;

function put(cat, name, tid, ts, dur, args) {
    events.push({ ph: 'X', cat, name, pid: cat.startsWith('gpu') ||
        cat === 'kernel' ? 0 : pid, tid, ts: round(ts), dur: round(dur),
        args });
}

const round = (us) => Math.round(us * 1000) / 1000;

function operation(call, cat, name, stream, dur, more) {
    const number = ++correlation;
    const began = now + 0.5 + random(40) / 16;
    const took = 2.5 + random(100) / 32;
    put('cuda_runtime', call, pid, began, took,
        { correlation: number, 'External id': number });
    const start = Math.max(began + took + 1 + random(300) / 100,
        (free.get(stream) ?? 0) + 0.75);
    put(cat, name, stream, start, dur, { correlation: number, device: 0,
        context: 1, stream, 'External id': number, ...more });
    free.set(stream, start + dur);
    events.push({ ph: 's', id: number, pid, tid: pid, ts: round(began),
        cat: 'ac2g', name: 'ac2g' });
    events.push({ ph: 'f', id: number, pid: 0, tid: stream, ts: round(start),
        cat: 'ac2g', name: 'ac2g', bp: 'e' });
    now = began + took;
    return start + dur;
}

function kernel(name, stream, dur, collective) {
    return operation('cudaLaunchKernel', 'kernel', name, stream, dur,
        { grid: [1 + random(256), 1, 1], block: [32 << random(5), 1, 1],
            'registers per thread': 16 + random(96),
            'shared memory': random(4) * 4096, ...collective });
}

function wait(call, until) {
    const number = ++correlation;
    const end = Math.max(now + 2, until + 1.25);
    put('cuda_runtime', call, pid, now + 0.25, end - now, {
        correlation: number });
    now = end + 0.5;
}

function layer(step, index) {
    const began = now;
    const names = ['gemm_f16_128x64', 'layer_norm_forward', 'gelu_fused',
        'softmax_warp<float, 8>'];
    for (const name of names)
        kernel(name, 7, 3 + random(4000) / 64);
    put('cpu_op', index % 2 ? 'aten::linear' : 'aten::layer_norm', pid, began,
        now - began + 0.25, { 'External id': step * 100 + index });
    now += 1 + random(20) / 8;
}

for (let step = 0; step < 3; step++) {
    const began = now;
    let last = operation('cudaMemcpyAsync', 'gpu_memcpy',
        'Memcpy HtoD (Pinned -> Device)', 7, 12.5 + random(99) / 32,
        { bytes: 1 << 20, 'memory bandwidth (GB/s)': 12.5 });
    for (let index = 0; index < 12; index++) layer(step, index);
    for (let bucket = 0; bucket < 4; bucket++)
        kernel('ncclDevKernel_AllReduce_Sum_f32_RING_LL', 20,
            40 + random(900) / 16, { 'Collective name': 'allreduce',
                'In msg nelems': 1 << 16, 'Out msg nelems': 1 << 16,
                dtype: 'Float', 'Group size': 2,
                'Process Group Name': 'default', seq: step * 4 + bucket });
    operation('cudaMemsetAsync', 'gpu_memset', 'Memset (Device)', 7, 1.5,
        { bytes: 4096 });
    last = operation('cudaMemcpyAsync', 'gpu_memcpy',
        'Memcpy DtoH (Device -> Pageable)', 7, 2.25, { bytes: 4 });
    wait(step % 2 ? 'cudaDeviceSynchronize' : 'cudaStreamSynchronize', last);
    put('user_annotation', `ProfilerStep#${step}`, pid, began, now - began,
        {});
    now += 20 + random(100) / 8;
}

console.log(JSON.stringify({ schemaVersion: 1,
    distributedInfo: { backend: 'nccl', rank: 0, world_size: 2 },
    deviceProperties: [{ id: 0, name: 'a device', numSms: 80 }],
    displayTimeUnit: 'ms', traceEvents: events }, null, 0)
    .replaceAll('},{"ph"', '},\n{"ph"'));
