// Runs a program of wasm32-wasi: run.mjs PROGRAM ARGUMENTS...
import { readFile } from 'node:fs/promises';
import { WASI } from 'node:wasi';

const wasi = new WASI({ version: 'preview1', args: process.argv.slice(2),
                        preopens: { '.': '.' } });
const module = await WebAssembly.compile(await readFile(process.argv[2]));
const instance =
    await WebAssembly.instantiate(module, wasi.getImportObject());
process.exit(wasi.start(instance) ?? 0);
