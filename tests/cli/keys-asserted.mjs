// Each key that a tool can print as JSON is named by a test: prints those that
// none names, and what it takes for keys with --all.
//   node tests/cli/keys-asserted.mjs [--all]
import { readFileSync, readdirSync } from 'node:fs';

const files = (folder, ends) => readdirSync(folder, { recursive: true })
    .filter((name) => ends.some((end) => name.endsWith(end)))
    .map((name) => `${folder}/${name}`);
const read = (path) => readFileSync(path, 'utf8');

// Functions that are given a key print it: those of the core by name, others
// are declared with one behind what they print to.
const sources = new Map(files('tools', ['.c', '.h'])
    .map((path) => [path, read(path)]));
const printers = new Set(['report_begin']);
const printed = 'cli_json|report_section|list|diff|(?:const )?\w+_ask';
const declared = new RegExp('\\b(?:void |report_\\w+ \\*)(\\w+)\\(' +
    `(?:${printed}) \\*[^;{)]*const char \\*key`, 'g');
for (const text of sources.values())
    for (const [, name] of text.matchAll(declared)) printers.add(name);

const keys = new Map();
const found = (key, path) => keys.has(key) || keys.set(key, path);
const called = new RegExp(
    `\\b(?:${[...printers].join('|')})\\(([^;"{]*)` +
    '"([a-z][a-z0-9_]*)"(?:\\s*:\\s*"([a-z][a-z0-9_]*)")?', 'g');
for (const [path, text] of sources) {
    for (const [, before, key, other] of text.matchAll(called)) {
        if (/\bNULL\b/.test(before)) continue; // it has none
        found(key, path);
        if (other) found(other, path);
    }
    for (const [columns] of text.matchAll(/report_column \w+\[\] = \{[^;]*;/g))
        for (const [, key] of columns.matchAll(/\{\s*"([a-z][a-z0-9_]*)"/g))
            found(key, path);
}

const named = new Set();
for (const path of ['tests/cli/json-keys.out',
    'tests/checks/execute/json-keys.txt'])
    for (const word of read(path).split(/[\s:.[\]]+/)) named.add(word);
for (const path of files('tests', ['.out', '.sh', '.test', '.c', '.mjs']))
    for (const [, key] of read(path).matchAll(/"([a-z][a-z0-9_]*)\\?"/g))
        named.add(key);

const missing = [...keys].filter(([key]) => !named.has(key));
if (process.argv[2] === '--all') console.log([...keys.keys()].sort().join(' '));
for (const [key, path] of missing) console.log(`${path}: ${key}`);
if (keys.size < 400) console.log(`only ${keys.size} keys were found`);
process.exit(missing.length || keys.size < 400 ? 1 : 0);
