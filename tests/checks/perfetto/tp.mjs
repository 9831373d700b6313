// tp.mjs - asks Perfetto's own trace processor about a trace, offline
//
// The engine is trace_processor.wasm. It talks protobuf: requests go into a
// buffer in its memory, replies come through a callback. Message and field
// numbers: perfetto, protos/perfetto/trace_processor/trace_processor.proto.
//
//   node tp.mjs FOLDER TRACE SQL...    prints rows as TSV

import fs from 'node:fs';
import path from 'node:path';
import vm from 'node:vm';
import { fileURLToPath } from 'node:url';

const REQUEST_BYTES = 32 << 20;

/* ---- Protobuf ----------------------------------------------------------- */

function varint(number) {
    let rest = BigInt.asUintN(64, BigInt(number));
    const bytes = [];
    for (; rest >= 128n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128);
    bytes.push(Number(rest));
    return Buffer.from(bytes);
}

function numberField(field, number) {
    return Buffer.concat([varint(field << 3), varint(number)]);
}

function bytesField(field, bytes) {
    return Buffer.concat([varint((field << 3) | 2), varint(bytes.length),
        bytes]);
}

// Reads varints as numbers where they are exact, as BigInt elsewhere.
class Reader {
    constructor(bytes) {
        this.bytes = bytes;
        this.at = 0;
    }

    varint() {
        let low = 0, scale = 1, count = 0, byte;
        do {
            byte = this.bytes[this.at++];
            if (count++ === 7) return this.wide(BigInt(low), byte);
            low += (byte & 127) * scale;
            scale *= 128;
        } while (byte & 128);
        return low;
    }

    wide(sum, byte) {
        for (let shift = 49n; ; shift += 7n) {
            sum |= BigInt(byte & 127) << shift;
            if (!(byte & 128)) return BigInt.asIntN(64, sum);
            byte = this.bytes[this.at++];
        }
    }

    *fields() {
        while (this.at < this.bytes.length) {
            const tag = this.varint();
            const field = Math.floor(tag / 8);
            const size = { 1: 8, 5: 4 }[tag & 7];
            if ((tag & 7) === 0) {
                yield [field, this.varint()];
                continue;
            }
            const bytes = size ?? this.varint();
            yield [field, this.bytes.subarray(this.at, this.at + bytes)];
            this.at += bytes;
        }
    }
}

function parse(bytes) {
    const message = {};
    for (const [field, value] of new Reader(bytes).fields())
        (message[field] ??= []).push(value);
    return message;
}

/* ---- Engine ------------------------------------------------------------- */

// The file around the engine is made for a browser's worker. Its
// constructor is cut short where it has the 32-bit engine's factory.
function loadFactory(folder) {
    const file = path.join(folder, 'engine_bundle.node.js');
    const anchor = 'this.useMemory64 = hasMemory64Support();';
    const source = fs.readFileSync(file, 'utf8');
    if (!source.includes(anchor)) throw Error(`${file} has changed`);
    const world = globalThis;
    const define = (name, value) => Object.defineProperty(world, name,
        { value, configurable: true, writable: true });
    define('self', world);
    define('location', { href: 'file:///' });
    world.WorkerGlobalScope ??= function () {};
    world.importScripts ??= () => {};
    const cut = 'globalThis.traceProcessorFactory = ' +
        'trace_processor_32_stub_1.default; return;';
    vm.runInThisContext(source.replace(anchor, cut), { filename: file });
    return world.traceProcessorFactory;
}

function startEngine(folder) {
    return new Promise((resolve, reject) => {
        const engine = loadFactory(folder)({
            wasmBinary: fs.readFileSync(
                path.join(folder, 'trace_processor.wasm')),
            locateFile: (name) => name,
            print: () => {},
            printErr: () => {},
            // The engine may be ready before the factory has returned it.
            onRuntimeInitialized: () => setImmediate(() => resolve(engine)),
            onAbort: (why) => reject(Error(`the engine stopped: ${why}`)),
        });
    });
}

export class TraceProcessor {
    static async start(folder) {
        const made = new TraceProcessor();
        made.engine = await startEngine(folder);
        made.replies = [];
        made.sequence = 0;
        const reply = made.engine.addFunction((at, size) => {
            const from = at >>> 0;
            made.replies.push(Buffer.from(
                made.engine.HEAPU8.slice(from, from + size)));
        }, 'vpi');
        made.request = made.engine.ccall('trace_processor_rpc_init',
            'pointer', ['pointer', 'number'], [reply, REQUEST_BYTES]) >>> 0;
        return made;
    }

    call(method, args) {
        this.replies = [];
        const message = bytesField(1, Buffer.concat([
            numberField(1, this.sequence++), numberField(2, method), args]));
        for (let at = 0; at < message.length; at += REQUEST_BYTES) {
            const part = message.subarray(at, at + REQUEST_BYTES);
            this.engine.HEAPU8.set(part, this.request);
            this.engine.ccall('trace_processor_on_rpc_request', 'void',
                ['number'], [part.length]);
        }
        const replies = (parse(Buffer.concat(this.replies))[1] ?? [])
            .map(parse);
        for (const one of replies)
            if (one[5]) throw Error(one[5][0].toString());
        return replies;
    }

    load(file) {
        const handle = fs.openSync(file, 'r');
        const part = Buffer.allocUnsafe(REQUEST_BYTES - 64);
        for (let size; (size = fs.readSync(handle, part)) > 0;)
            for (const reply of this.call(1,
                bytesField(101, part.subarray(0, size)))) {
                const error = reply[201] && parse(reply[201][0])[2];
                if (error) throw Error(error[0].toString());
            }
        fs.closeSync(handle);
        for (const reply of this.call(2, Buffer.alloc(0))) {
            const error = reply[212] && parse(reply[212][0])[1];
            if (error && error[0].length) throw Error(error[0].toString());
        }
    }

    // Rows as arrays of null, number or BigInt, string, Buffer.
    query(sql) {
        const columns = [], cells = [];
        const sent = bytesField(103, bytesField(1, Buffer.from(sql)));
        for (const reply of this.call(3, sent)) {
            if (!reply[203]) continue;
            const result = parse(reply[203][0]);
            if (result[2]?.[0].length)
                throw Error(`${result[2][0]}\nin: ${sql}`);
            for (const name of result[1] ?? []) columns.push(name.toString());
            for (const batch of result[3] ?? []) pushCells(cells, batch);
        }
        const rows = [];
        for (let i = 0; i < cells.length; i += columns.length)
            rows.push(cells.slice(i, i + columns.length));
        return { columns, rows };
    }
}

// A batch has the cells' types and, by type, their values.
function pushCells(cells, bytes) {
    const batch = parse(bytes);
    const packed = (field) => (batch[field] ?? []).flatMap((value) => {
        if (!(value instanceof Uint8Array)) return [value];
        const reader = new Reader(value), numbers = [];
        while (reader.at < value.length) numbers.push(reader.varint());
        return numbers;
    });
    const numbers = packed(2);
    const reals = (batch[3] ?? []).flatMap((value) => {
        const out = [];
        for (let at = 0; at < value.length; at += 8)
            out.push(value.readDoubleLE(at));
        return out;
    });
    const blobs = batch[4] ?? [];
    const texts = (batch[5]?.[0] ?? Buffer.alloc(0)).toString().split('\0');
    let number = 0, real = 0, blob = 0, text = 0;
    for (const type of packed(1))
        cells.push(type === 2 ? numbers[number++] : type === 3 ? reals[real++]
            : type === 4 ? texts[text++] : type === 5 ? blobs[blob++] : null);
}

// What went wrong while a trace was read; nothing must.
export const ERRORS = `select name, idx, value from stats
    where value > 0 and severity in ('error', 'data_loss')`;

if (process.argv[1] === fileURLToPath(import.meta.url)) {
    const [folder, trace, ...statements] = process.argv.slice(2);
    const processor = await TraceProcessor.start(folder);
    processor.load(trace);
    for (const sql of [ERRORS, ...statements]) {
        const { columns, rows } = processor.query(sql);
        if (sql === ERRORS && !rows.length) continue;
        console.log(columns.join('\t'));
        for (const row of rows) console.log(row.join('\t'));
    }
}
