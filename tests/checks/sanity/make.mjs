// Traces at the ends of what there is, as PyTorch's profiler writes them:
//     node make.mjs FOLDER
// Of each one file FOLDER/NAME.json; those of several ranks are NAME.N.json.
import { writeFileSync } from 'node:fs';

const folder = process.argv[2];
const host = { pid: 100, tid: 101 };
let events = [];

const put = (cat, name, ts, dur, place, args = {}) =>
    events.push({ ph: 'X', cat, name, ts, dur, ...place, args });
const zone = (name, ts, dur, tid = 101) =>
    put('cpu_op', name, ts, dur, { pid: 100, tid });
const call = (name, ts, dur, correlation, tid = 101) =>
    put('cuda_runtime', name, ts, dur, { pid: 100, tid }, { correlation });
const kernel = (name, ts, dur, correlation, stream = 7, device = 0) =>
    put('kernel', name, ts, dur, { pid: device, tid: stream },
        { device, stream, context: 1, correlation, grid: [8, 1, 1],
          block: [128, 1, 1], 'registers per thread': 32,
          'shared memory': 0 });
const copy = (ts, dur, correlation, bytes, stream = 7, device = 0) =>
    put('gpu_memcpy', 'Memcpy HtoD (Pageable -> Device)', ts, dur,
        { pid: device, tid: stream },
        { device, stream, context: 1, correlation, bytes });
const launch = (name, ts, wait, dur, correlation, stream = 7, device = 0) => {
    call('cudaLaunchKernel', ts, 4, correlation);
    kernel(name, ts + wait, dur, correlation, stream, device);
};
const write = (name, about = {}) => {
    writeFileSync(`${folder}/${name}.json`, JSON.stringify(
        { schemaVersion: 1, ...about, traceEvents: events }));
    events = [];
};
const device = (id, name) => ({
    id, name, totalGlobalMem: 34089730048, computeMajor: 7, computeMinor: 0,
    maxThreadsPerBlock: 1024, numSms: 80,
});

zone('alone', 10, 5);
write('one-zone');

launch('alone', 10, 6, 20, 1);
write('one-kernel');

kernel('alone', 10, 20, 1);
write('one-kernel-no-call');

// A zone around so many that they lie in several chunks of the file.
zone('outer', 0, 200000);
for (let i = 0; i < 20000; i++) zone('inner', 10 * i + 1, 5);
write('children');

// What runs was launched before the window; what is launched runs behind it.
for (let i = 0; i < 40; i++) kernel('early', 300 + 50 * i, 49, 1000 + i);
for (let i = 0; i < 40; i++) {
    zone('step', 50 * i, 45);
    call('cudaLaunchKernel', 50 * i + 5, 6, 2000 + i);
}
call('cudaDeviceSynchronize', 2100, 300, 5000);
write('cut');

for (let i = 0; i < 4096; i++)
    launch('k' + i % 7, 5 * i, 40, 900, i + 1, i + 8);
write('streams');

// Kernels that overlap on their stream, none that lasts no time, zones in
// their own like, zones that cross, a wait for the device.
for (let i = 0; i < 20; i++)
    launch('overlap', 100 * i, 30, i % 5 ? 260 : 0, i + 1);
for (let i = 0; i < 6; i++) zone('again', 10 * i, 1900 - 20 * i);
for (let i = 0; i < 9; i++) zone('cross', 200 * i, 300, 102);
call('cudaDeviceSynchronize', 2000, 260, 99);
copy(2300, 40, 100, 1 << 20);
call('cudaMemcpyAsync', 2280, 10, 100);
write('overlap');

for (let i = 0; i < 50; i++) {
    zone('work', 100 * i, 90);
    zone('part', 100 * i + 10, 30);
    zone('io', 100 * i + 5, 80, 102);
}
write('cpu-only');

// Two marked steps only.
for (let i = 0; i < 2; i++) {
    put('user_annotation', 'ProfilerStep#' + (i + 6), 1000 * i, 990, host);
    for (let k = 0; k < 5; k++)
        launch('k', 1000 * i + 50 * k + 5, 30, 60, 10 * i + k + 1);
}
write('two-steps');

// Steps that are found: all alike, but one that takes three times as long.
for (let i = 0, t = 0; i < 30; i++, t += i === 20 ? 900 : 300)
    for (let k = 0; k < 4; k++)
        launch('k' + k, t + 20 * k, 30, 50 + k, 4 * i + k + 1);
write('found-steps');

// Two ranks on devices of two models, which meet in collectives.
for (const rank of [0, 1]) {
    for (let i = 0; i < 12; i++) {
        put('user_annotation', 'ProfilerStep#' + i, 2000 * i, 1900, host);
        launch('gemm', 2000 * i + 10 + 200 * rank, 20, 500 + 100 * rank,
            2 * i + 1);
        call('cudaLaunchKernel', 2000 * i + 40 + 200 * rank, 4, 2 * i + 2);
        put('kernel', 'ncclDevKernel_AllReduce_Sum_f32_RING_LL',
            2000 * i + 560 + 300 * rank, 700 - 300 * rank,
            { pid: 0, tid: 9 },
            { device: 0, stream: 9, context: 1, correlation: 2 * i + 2,
              'Collective name': 'allreduce', 'In msg nelems': 4096,
              'Out msg nelems': 4096, 'Group size': 2, dtype: 'Float',
              'Process Group Name': 'default' });
    }
    write('ranks.' + rank, {
        distributedInfo: { backend: 'nccl', rank, world_size: 2 },
        deviceProperties: [device(0, rank ? 'Model B' : 'Model A')],
    });
}

// Flows: ids that come again, several ends of one, an end without a start.
const flow = (ph, id, ts, tid) =>
    events.push({ ph, id, ts, tid, pid: 100, cat: 'fwdbwd', name: 'fwdbwd' });
for (let i = 0; i < 20; i++) {
    zone('forward', 10 * i, 8);
    zone('backward', 1000 + 10 * i, 8, 102);
    flow('s', i % 7, 10 * i + 1, 101);
    if (i % 3) flow('f', i % 7, 10 * i + 5, 102);
    if (i > 12) flow('f', i % 7, 1001 + 10 * i, 102);
    if (i === 4) flow('f', 99, 50, 102);
}
write('flows');

put('Trace', 'PyTorch Profiler (0)', 0, 100, host);
write('nothing');
