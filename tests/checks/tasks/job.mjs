// Writes what the profiler of PyTorch would of small training jobs whose truth
// is known, and that truth:
//     node job.mjs FOLDER
// run.json, OTHER.json (loading and its gemm take longer), rank0.json to
// rank3.json (one loads longer), truth.json, which knows of a faster host, too.
import { writeFileSync } from 'node:fs';

const folder = process.argv[2];
const MiB = 1 << 20, STEPS = 8, SLOW = 4;

// All in us. A step loads, copies and launches kernels, and never waits for
// them; ranks meet in a collective, which ends when the last has come.
const simulate = ({ gemm = 1000, load = () => 5000, host = 1, ranks = 1 }) => {
    const all = Array.from({ length: ranks }, () => ({ rows: [], t: 0,
        device: 0, memory: 0, peak: 0, gemm: 0, load: 0, waited: 0 }));
    let id = 0;
    const span = (r, cat, name, ts, dur, args = {}) =>
        r.rows.push({ ph: 'X', cat, name, ts, dur, pid: 100, tid: 100, args });
    const memory = (r, rank, bytes, address) => {
        r.memory += bytes;
        r.peak = Math.max(r.peak, r.memory);
        r.rows.push({ ph: 'i', s: 't', cat: 'cpu_instant_event',
            name: '[memory]', ts: r.t, pid: 100, tid: 100, args: {
                Addr: address, Bytes: bytes, 'Device Type': 1,
                'Device Id': rank, 'Total Allocated': r.memory,
                'Total Reserved': r.memory } });
    };
    const launch = (r, rank, call, cat, name, dur, args = {}) => {
        span(r, 'cuda_runtime', call, r.t, 10 * host, { correlation: ++id });
        r.t += 10 * host;
        const start = Math.max(r.t + 5, r.device + 1);
        if (dur !== undefined) place(r, rank, cat, name, start, dur, id, args);
        return { start, id };
    };
    const place = (r, rank, cat, name, ts, dur, correlation, args) => {
        r.rows.push({ ph: 'X', cat, name, ts, dur, pid: rank, tid: 7,
            args: { device: rank, context: 1, stream: 7, correlation,
                ...args } });
        r.device = ts + dur;
    };
    for (let step = 0; step < STEPS; step++) {
        const begun = all.map((r) => r.t), meet = [];
        all.forEach((r, rank) => {
            const long = load(step, rank) * host;
            memory(r, rank, 64 * MiB, 0x10000000);
            span(r, 'user_annotation', 'load_batch', r.t, long);
            r.t += long;
            r.load += long;
            const from = r.t;
            launch(r, rank, 'cudaMemcpyAsync', 'gpu_memcpy',
                'Memcpy HtoD (Pinned -> Device)', 200, { bytes: 4 * MiB });
            for (let i = 0; i < 2; i++) {
                launch(r, rank, 'cudaLaunchKernel', 'kernel', 'gemm', gemm);
                launch(r, rank, 'cudaLaunchKernel', 'kernel', 'relu', 100);
                r.gemm += gemm;
            }
            span(r, 'user_annotation', 'keep_loss', r.t, 20 * host);
            memory(r, rank, 16 * MiB, 0x80000000 + step * 16 * MiB);
            r.t += 20 * host;
            if (ranks > 1)
                meet.push(launch(r, rank, 'cudaLaunchKernel'));
            span(r, 'user_annotation', 'forward', from, r.t - from);
        });
        const last = Math.max(...meet.map((m) => m.start));
        all.forEach((r, rank) => {
            if (ranks > 1) {
                const { start, id: call } = meet[rank];
                place(r, rank, 'kernel', 'ncclKernel_AllReduce_RING_LL_Sum_' +
                    'float(ncclDevComm*, unsigned long, ncclWork*)', start,
                last + 50 - start, call, { 'Collective name': 'allreduce',
                    'In msg nelems': 1024, dtype: 'Float', 'Group size': ranks,
                    'Process Group Name': '0',
                    'Process Group Ranks': `[${all.map((_, i) => i)}]` });
                r.waited += last - start;
            }
            memory(r, rank, -64 * MiB, 0x10000000);
            span(r, 'user_annotation', `ProfilerStep#${step}`, begun[rank],
                r.t - begun[rank]);
        });
    }
    return all;
};

const write = (name, { rows }, rank, ranks) =>
    writeFileSync(`${folder}/${name}.json`, JSON.stringify({
        schemaVersion: 1, displayTimeUnit: 'ms',
        deviceProperties: [{ id: rank, name: 'Made up', numSms: 100,
            computeMajor: 8, computeMinor: 0 }],
        ...(ranks > 1 ? { distributedInfo: { backend: 'nccl', rank,
            world_size: ranks } } : {}),
        traceEvents: rows.sort((a, b) => a.ts - b.ts || b.dur - a.dur) }));

const slow = (step) => (step === SLOW ? 12000 : 5000);
const slower = (step) => slow(step) + 1000;
const worst = (step, rank) => (rank === 2 ? 8000 : 5000);
const [run] = simulate({ load: slow });
const [other] = simulate({ load: slower, gemm: 1200 });
const [faster] = simulate({ load: slow, host: 0.5 });
const ranks = simulate({ load: worst, ranks: 4 });
write('run', run, 0, 1);
write('OTHER', other, 0, 1);
ranks.forEach((r, rank) => write(`rank${rank}`, r, rank, 4));

const isWork = (row) => ['kernel', 'gpu_memcpy'].includes(row.cat);
const figures = ({ rows, load, gemm, peak }) => {
    const work = rows.filter(isWork).sort((a, b) => a.ts - b.ts);
    const ends = rows.map((r) => r.ts + (r.dur ?? 0));
    let idle = 0;
    work.forEach((w, i) => {
        if (i) idle += w.ts - work[i - 1].ts - work[i - 1].dur;
    });
    return { idle_us: idle, load_us: load, gemm_us: gemm, peak_bytes: peak,
        gaps: work.length - 1, makespan_us: Math.max(...ends) - work[0].ts };
};
writeFileSync(`${folder}/truth.json`, JSON.stringify({
    run: figures(run), other: figures(other),
    faster_us: figures(faster).makespan_us,
    slow: SLOW, straggler: 2,
    waited_us: ranks.reduce((sum, r) => sum + r.waited, 0) }, null, 4));
