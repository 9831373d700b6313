// SBT of TraceSmith 0.x against the trace that ts-import made of it:
//     node sbt0.mjs make FILE          writes one, as its headers document
//     node sbt0.mjs compare TRACE.sbt
// Each kernel, copy and range must be in the trace with its times, sizes,
// launch configuration and innermost function, and nothing else.
import { writeFileSync } from 'node:fs';
import { Rows, ask } from './rows.mjs';

const [task, file] = process.argv.slice(2);
let state = 7;
const random = (below) => {
    state = (state * 1103515245 + 12345) % 2147483648;
    return state % below;
};
const LAUNCH = 1, COMPLETE = 2, COPY = 3, RANGE_START = 18, RANGE_END = 19;
const base = 1_700_000_000_000_000_000n;
const events = [], rows = []; // rows: [start, duration, kind, name, size, grid, function]
for (let i = 0; i < 20000; i++) {
    const time = base + BigInt(i) * 1000n, ns = 1 + random(900);
    const stream = random(40), name = `kernel_${random(300)}<float>`;
    const event = { time, stream, name, correlation: i + 1 };
    const start = Number(time - base);
    if (i % 10 === 9) {
        const size = 1 + random(2 ** 30);
        events.push({ ...event, type: COPY + i % 3, name: 'copy', ns,
            memory: [i, i * 2, size] });
        rows.push([start, ns, 'memcpy', '', size, 0, '']);
    } else if (i % 10 === 8) {
        events.push({ ...event, type: RANGE_START, name: 'step' },
            { ...event, time: time + BigInt(ns), type: RANGE_END, name: 'step' });
        rows.push([start, ns, 'zone', 'step', 0, 0, '']);
    } else {
        const grid = 1 + random(5000), frame = `call_${random(50)}`;
        events.push({ ...event, type: LAUNCH,
            kernel: [grid, 2, 1, 128, 1, 1, 0, 32], stack: frame },
        { ...event, time: time + BigInt(ns), type: COMPLETE });
        rows.push([start, ns, 'kernel', name, 0, grid, frame]);
    }
}

/* ---- Making ------------------------------------------------------------- */

function make() {
    const parts = [];
    let size = 0;
    const put = (buffer) => { parts.push(buffer); size += buffer.length; };
    const byte = (value) => put(Buffer.from([value]));
    const number = (value) => {
        let rest = BigInt.asUintN(64, BigInt(value));
        for (; rest >= 128n; rest >>= 7n) byte(Number(rest & 127n) | 128);
        byte(Number(rest));
    };
    const text = (value) => { number(Buffer.byteLength(value)); put(Buffer.from(value)); };
    const strings = new Map();
    const index = (value) => {
        if (!strings.has(value)) strings.set(value, strings.size);
        return strings.get(value);
    };
    const header = Buffer.alloc(72);
    header.write('SBT\0', 0, 'latin1');
    header.writeUInt16LE(1, 6);
    header.writeUInt32LE(1, 8);
    header.writeUInt32LE(72, 12);
    put(header);
    header.writeBigUInt64LE(BigInt(size), 16);
    byte(1);
    ['app', 'app --fast'].forEach(text);
    [base, base + 20000000n].forEach(number);
    text('host');
    number(42);
    header.writeBigUInt64LE(BigInt(size), 40);
    byte(4);
    number(base);
    let last = base;
    for (const e of events) {
        byte(e.type);
        byte((e.ns ? 1 : 0) | (e.kernel ? 2 : 0) | (e.memory ? 4 : 0) | (e.stack ? 8 : 0));
        number(e.time - last); // wraps
        last = e.time;
        if (e.ns) number(e.ns);
        [0, e.stream, e.correlation, index(e.name)].forEach(number);
        (e.kernel ?? e.memory ?? []).forEach(number);
        if (e.stack)
            [7, 2, 0x1000 + index(e.stack), index(e.stack), index('app.c'), 9,
                0, index('main'), index('app.c'), 3].forEach(number);
    }
    header.writeBigUInt64LE(BigInt(size), 24);
    header.writeBigUInt64LE(BigInt(events.length), 56);
    byte(2);
    number(strings.size);
    [...strings.keys()].forEach(text);
    byte(255);
    writeFileSync(file, Buffer.concat(parts));
}

/* ---- Comparing ---------------------------------------------------------- */

function compare() {
    const both = new Rows();
    for (const row of rows) both.want(row);
    const found = ask(file, `SELECT start_ns, duration_ns, kind, CASE kind WHEN 'kernel' THEN name
            ELSE '' END, IFNULL(size, 0), IFNULL(grid_x, 0), IFNULL((SELECT
            function FROM stack_frame f WHERE f.stack = o.stack AND f.depth = 0),
            '') FROM gpu_op o UNION ALL SELECT start_ns, duration_ns, 'zone',
            name, 0, 0, '' FROM zone`);
    for (const row of found) both.find(Object.values(row));
    both.end();
}

if (task === 'make') make();
else compare();
