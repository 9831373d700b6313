// XPlane files against the traces that ts-import made of them:
//     node xplane.mjs make FILE            writes one, as JAX would
//     node xplane.mjs compare FILE TRACE.sbt
// Each event must be in the trace with its name, time and duration: as an
// operation, call, zone or mark by rules of its own, and nothing else.
import { readFileSync, writeFileSync } from 'node:fs';
import { Rows, ask } from './rows.mjs';

const [task, file, trace] = process.argv.slice(2);

/* ---- Making ------------------------------------------------------------- */

function varint(value) {
    const bytes = [];
    for (value = BigInt.asUintN(64, BigInt(value)); value > 127n; value >>= 7n)
        bytes.push(Number(value & 127n) | 128);
    return Buffer.from([...bytes, Number(value)]);
}
const number = (field, value) =>
    Buffer.concat([varint(field << 3), varint(value)]);
const bytes = (field, value) => Buffer.concat(
    [varint(field << 3 | 2), varint(value.length), Buffer.from(value)]);

// A plane whose names are numbered as they are used.
function plane(name, lines) {
    const events = [], values = [];
    const of = (list, text) => {
        if (!list.includes(text)) list.push(text);
        return list.indexOf(text) + 1;
    };
    const stat = ([key, value]) => bytes(4, Buffer.concat(
        [number(1, of(values, key)), typeof value === 'string'
            ? number(7, of(values, value)) : number(3, value)]));
    const event = ([text, from, to, stats]) => bytes(4, Buffer.concat(
        [number(1, of(events, text)), number(2, from), number(3, to - from),
            ...Object.entries(stats ?? {}).map(stat)]));
    const list = lines.map(([id, title, ns, rows]) => bytes(3, Buffer.concat(
        [number(1, id), bytes(2, title), number(3, ns), ...rows.map(event)])));
    const names = (field, texts) => texts.map((text, i) => bytes(field,
        Buffer.concat([number(1, i + 1), bytes(2, Buffer.concat(
            [number(1, i + 1), bytes(2, text)]))])));
    return bytes(1, Buffer.concat([number(1, 0), bytes(2, name), ...list,
        ...names(4, events), ...names(5, values)]));
}

function make() {
    const calls = [], kernels = [], modules = [], ops = [], python = [];
    for (let i = 1; i < 3000; i++) {
        const ps = i * 10_000_700;
        calls.push(['cuLaunchKernel', ps, ps + 2_000_300,
            { correlation_id: i, hlo_op: 'fusion' }]);
        kernels.push([`fusion_${i % 7}`, ps + 3_000_000, ps + 8_000_400, {
            correlation_id: i, kernel_details: 'regs:32 static_shared:0 ' +
                'dynamic_shared:64 grid:16,2,1 block:256,1,1 occ_pct:50' }]);
        if (i % 3 === 0) python.push([`$train.py:${i % 40} step`, ps,
            ps + 30_000_000]);
        if (i % 100 === 0) modules.push(['jit_step', ps, ps + 900_000_000]);
        if (i % 50) continue;
        ops.push(['while.1', ps, ps + 9_000_000],
            ['fusion.2', ps + 1_000_000, ps + 4_000_000],
            ['copy.3', ps + 4_000_000, ps + 8_000_000]);
    }
    writeFileSync(file, Buffer.concat([
        plane('/host:metadata', []),
        plane('/device:GPU:0', [[7, 'Stream #7(Kernel)', 1000, kernels],
            [90, 'XLA Modules', 1000, modules]]),
        plane('/device:TPU:1', [[3, 'XLA Ops', 2000, ops]]),
        plane('/host:CPU', [[583, 'Host Threads/583', 1000, calls],
            [-99, 'python', 500, python]])]));
}

/* ---- Comparing ---------------------------------------------------------- */

function* fields(buffer) {
    let at = 0;
    const next = () => {
        let value = 0n, shift = 0n;
        for (;;) {
            const byte = BigInt(buffer[at++]);
            value |= (byte & 127n) << shift;
            shift += 7n;
            if (byte < 128n) return BigInt.asIntN(64, value);
        }
    };
    while (at < buffer.length) {
        const tag = Number(next());
        let value;
        if ((tag & 7) === 0) value = next();
        else if ((tag & 7) === 1) value = buffer.readBigInt64LE((at += 8) - 8);
        else if ((tag & 7) === 2) {
            const size = Number(next());
            value = buffer.subarray(at, at += size);
        } else throw new Error(`type ${tag & 7}`);
        yield [tag >> 3, value];
    }
}
const all = (buffer, n) => [...fields(buffer)].filter(([k]) => k === n)
    .map(([, value]) => value);
const last = (buffer, n, other) => all(buffer, n).at(-1) ?? other;
const text = (buffer, n) => (last(buffer, n) ?? '').toString('utf8');

function compare() {
    const rows = [];
    for (const p of all(readFileSync(file), 1)) {
        const names = new Map(all(p, 4).map((entry) => {
            const m = last(entry, 2, Buffer.alloc(0));
            return [last(entry, 1, 0n), text(m, 4) || text(m, 2)];
        }));
        const keys = new Map(all(p, 5).map((entry) =>
            [last(entry, 1, 0n), text(last(entry, 2), 2)]));
        const device = /^\/device:(?!CUSTOM)[^:]*:\d+/.test(text(p, 2));
        for (const line of all(p, 3)) {
            const title = text(line, 11) || text(line, 2);
            const zero = last(line, 3, 0n);
            const events = all(line, 4).map((e) => {
                const from = last(e, 2, 0n), to = from + last(e, 3, 0n);
                return { name: names.get(last(e, 1, 0n)),
                    start: zero + from / 1000n, ns: to / 1000n - from / 1000n,
                    has: new Set(all(e, 4).map((v) => keys.get(last(v, 1)))) };
            });
            events.forEach((e, i) => {
                const next = events[i + 1];
                const around = /^(Async )?XLA Ops/.test(title) && next &&
                    next.start < e.start + e.ns && next.start >= e.start;
                const kind = device && /^Stream #\d/.test(title) ||
                    device && /^(Async )?XLA Ops/.test(title) && !around
                    ? e.has.has('memcpy_details') ? 'memcpy' : 'kernel'
                    : !device && e.has.has('correlation_id') ? 'api_call'
                        : e.ns ? 'zone' : 'mark';
                rows.push([e.start, e.ns, kind, kind === 'memcpy' ? '' :
                    e.name]);
            });
        }
    }
    const start = rows.reduce((a, [b]) => a < b ? a : b, 1n << 62n);
    const both = new Rows();
    for (const [from, ns, kind, name] of rows)
        both.want([Number(from - start), Number(ns), kind, name]);
    const each = (from, kind, columns = 'start_ns AS a, duration_ns AS b',
        name = 'name') => {
        for (const { a, b, d } of ask(trace,
            `SELECT ${columns}, ${name} AS d FROM ${from}`))
            both.find([a, b, kind, d]);
    };
    each("gpu_op WHERE kind = 'kernel'", 'kernel');
    each("gpu_op WHERE kind = 'memcpy'", 'memcpy', undefined, "''");
    each('api_call', 'api_call');
    each('zone', 'zone');
    each('mark', 'mark', 'time_ns AS a, 0 AS b');
    both.end();
}

if (task === 'make') make();
else compare();
