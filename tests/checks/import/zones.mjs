// Zones in files of other tools against the traces that ts-import made of them:
//     node zones.mjs make FORMAT FILE
//     node zones.mjs compare FORMAT TRACE.sbt
// Each zone must be in the trace with its name, time, duration, thread and text,
// and nothing else. The files are written from the layouts' descriptions.
import { mkdirSync, writeFileSync } from 'node:fs';
import { Rows, ask } from './rows.mjs';

const [task, format, file] = process.argv.slice(2);

/* ---- The zones ---------------------------------------------------------- */

let state = 7;
const random = (below) => { // xorshift
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % below;
};
const base = 3_000_000_000_000_000n; // ns of a clock that runs for a month

// [kind, thread, ticks, name, text]: begins and ends in the order of a thread.
const threads = [[4001, 11], [4001, 12], [4002, 11]];
const events = threads.flatMap((thread) => {
    const list = [];
    const open = [];
    let ticks = base + BigInt(thread[1]);
    for (let i = 0; i < 8000 || open.length; i++) {
        ticks += BigInt(1 + random(900));
        if (i < 8000 && open.length < 9 && random(2)) {
            open.push(`zone<${random(40)}, int>`);
            list.push(['begin', thread, ticks, open.at(-1),
                random(3) ? '' : `step ${random(9)}`]);
        } else if (open.length) {
            list.push(['end', thread, ticks, open.pop()]);
        }
    }
    return list;
});

// [thread, start, end, name, text] of each zone.
function ends() {
    const open = new Map();
    return events.flatMap((e) => {
        const stack = open.get(e[1]) ?? [];
        open.set(e[1], stack);
        if (e[0] === 'begin') return stack.push(e), [];
        const [, thread, from, name, text] = stack.pop();
        return [[thread, from, e[2], name, text]];
    });
}

/* ---- Making ------------------------------------------------------------- */

const le = (size, value) => {
    const bytes = Buffer.alloc(8);
    bytes.writeBigUInt64LE(BigInt(value));
    return bytes.subarray(0, size);
};
const real = (value) => {
    const bytes = Buffer.alloc(8);
    bytes.writeDoubleLE(value);
    return bytes;
};
const unit = 0.3703703703703704; // ns of a tick, as of a processor of 2.7 GHz

function spall(version) {
    const parts = [le(8, 0x0BADF00D), le(8, version),
        real(version === 3 ? unit : 0.001), le(8, 0)];
    const texts = (e) => [le(1, e[3].length), le(1, e[4].length),
        Buffer.from(e[3] + e[4])];
    if (version === 1) {
        for (const e of events)
            parts.push(le(1, e[0] === 'begin' ? 3 : 4),
                ...e[0] === 'begin' ? [le(1, 0)] : [],
                le(4, e[1][0]), le(4, e[1][1]), real(Number(e[2])),
                ...e[0] === 'begin' ? texts(e) : []);
        return Buffer.concat(parts);
    }
    for (let i = 0; i < events.length;) { // buffers of a thread's next events
        const thread = events[i][1], buffer = [le(1, 9), le(1, 6), 'worker'];
        for (let k = 0; k < 700 && events[i]?.[1] === thread; k++, i++)
            buffer.push(le(1, events[i][0] === 'begin' ? 3 : 4),
                le(8, events[i][2]),
                ...events[i][0] === 'begin' ? texts(events[i]) : []);
        const bytes = Buffer.concat(buffer.map((b) => Buffer.from(b)));
        parts.push(le(4, bytes.length), le(4, thread[1]), le(4, thread[0]),
            le(8, 0), bytes);
    }
    return Buffer.concat(parts);
}

// Zones of a place in the source after each other, as tracy-csvexport -u has
// them; names hold its separator, and nothing is quoted.
function tracy() {
    const rows = ends().map(([thread, from, to, name, text]) => [name, 'a,b.c',
        `${name.length}`, from, to - from, thread[1], text].join());
    return `name,src_file,src_line,ns_since_start,exec_time_ns,thread,value\n${
        rows.sort().join('\n')}\n`;
}

// A folder of metadata and a stream of all threads, as a tracer of system calls
// writes them. A name has an exit, and entries with a text and without.
function ctf() {
    const names = [...new Set(events.map((e) => e[3]))];
    const classes = names.flatMap((name, i) => [
        `event { name = "syscall_exit_${name}"; id = ${3 * i}; };`,
        `event { name = "syscall_entry_${name}"; id = ${3 * i + 1}; };`,
        `event { name = "syscall_entry_${name}"; id = ${3 * i + 2};
            fields := struct { string note; }; };`]);
    const metadata = `/* CTF 1.8 */
        typealias integer { size = 32; } := uint32_t;
        clock { name = c; freq = 1000000000; offset = 0; };
        typealias integer { size = 64; map = clock.c.value; } := when;
        trace { major = 1; minor = 8; byte_order = le;
            packet.header := struct { uint32_t magic; }; };
        stream { event.header := struct { uint32_t id; when timestamp; };
            event.context := struct { uint32_t pid; uint32_t tid; }; };
        ${classes.join('\n')}`;
    const number = (e) => 3 * names.indexOf(e[3]) +
        (e[0] === 'end' ? 0 : e[4] ? 2 : 1);
    const stream = [...events].sort((a, b) => a[2] < b[2] ? -1 : a[2] > b[2])
        .flatMap((e) => [le(4, number(e)), le(8, e[2]), le(4, e[1][0]),
            le(4, e[1][1]), Buffer.from(e[4] ? `${e[4]}\0` : '')]);
    mkdirSync(file, { recursive: true });
    writeFileSync(`${file}/metadata`, metadata);
    writeFileSync(`${file}/stream`,
        Buffer.concat([le(4, 0xC1FC1FC1), ...stream]));
}

const makers = { ctf, tracy, spall1: () => spall(1), spall3: () => spall(3) };

/* ---- Comparing ---------------------------------------------------------- */

// Rounds ticks of a unit to ns: the unit is a fraction of a power of two.
function rounded(ticks) {
    const scale = 2 ** 60;
    return (ticks * BigInt(unit * scale) * 2n + BigInt(scale)) /
        (BigInt(scale) * 2n);
}

function compare() {
    const ns = format === 'spall3' ? rounded : (ticks) => ticks;
    const has = { process: format !== 'tracy', ...format === 'tracy' &&
        { name: (text) => `${text},a` } }; // up to the last separator
    const both = new Rows();
    const start = events.map((e) => ns(e[2])).reduce((a, b) => a < b ? a : b);
    for (const [thread, from, to, text, args] of ends()) {
        const at = Number(ns(from) - start);
        const name = has.name ? has.name(text) : text;
        both.want([at, Number(ns(to) - ns(from)), name,
            [has.process ? thread[0] : null, thread[1]]]);
        const value = format === 'ctf' ? `note=${args}` : args;
        if (args) both.want([at, name, value]);
    }
    for (const z of ask(file, `SELECT z.start_ns, z.duration_ns, z.name, t.number,
        p.number AS process FROM zone z JOIN track t ON t.id = z.track
        LEFT JOIN track p ON p.id = t.parent`))
        both.find([z.start_ns, z.duration_ns, z.name, [z.process, z.number]]);
    for (const a of ask(file, 'SELECT start_ns, zone, value FROM zone_arg'))
        both.find([a.start_ns, a.zone, a.value]);
    both.end(10000);
}

if (task === 'make') {
    const bytes = makers[format]();
    if (bytes) writeFileSync(file, bytes);
} else compare();
