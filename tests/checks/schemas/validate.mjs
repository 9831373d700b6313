// Whether what tools printed with --json fits the schemas of docs/json-schema:
// prints what does not, schemas that nothing was held against, and keys of
// schemas that nothing had.
//   node validate.mjs MODULES SCHEMAS KEPT
// KEPT: files TOOL.X, a command line, and TOOL.X.json, what it printed.
import { readFileSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { resolve } from 'node:path';

const [modules, schemas, kept] = process.argv.slice(2);
const Ajv = createRequire(resolve(modules, 'x.js'))('ajv/dist/2020.js').default;
const read = (path) => readFileSync(path, 'utf8');
// Only other tests see these: of traces that begin or end in the middle of the
// work, of collectives and memsets that differ, and of graphs that are launched.
// Any row may have evidence.
const elsewhere = new Set([
    'ts-analyze.answers.summary.figures.queued_before',
    'ts-analyze.answers.summary.figures.calls_outside',
    'ts-replay-execute.together.graph_ns',
    'ts-replay-verify/operation.communicator',
    'ts-replay-verify/operation.peer',
    'ts-replay-verify/operation.ranks',
    'ts-replay-verify/operation.value',
    'evidence',
]);
let wrong = 0;
const say = (text) => { console.log(text); wrong++; };

// The name of the schema of a command; null: it prints no JSON.
function schemaOf(tool, words) {
    const mode = (...names) => names.find((name) => words.includes(`--${name}`));
    const of = {
        'ts-info': mode('stale'),
        'ts-view': mode('events', 'stats', 'states') ?? null,
        'ts-replay': mode('verify', 'races', 'explore', 'execute'),
    }[tool];
    if (of === null) return null;
    return of ? `${tool}-${of === 'explore' ? 'races' : of}` : tool;
}

const ajv = new Ajv({ strict: true, allowUnionTypes: true, strictTypes: false,
    allErrors: false });
const all = new Map();
for (const file of readdirSync(schemas).filter((f) => f.endsWith('.json'))) {
    const name = file.slice(0, -'.json'.length);
    if (name === 'ts-mcp') continue; // a list of schemas: see client.mjs
    const schema = JSON.parse(read(`${schemas}/${file}`));
    all.set(name, { schema, check: ajv.compile(schema), documents: 0 });
}

// Marks the keys of a schema that a document has.
const seen = new Set(), used = new Set();
function mark(root, schema, value) {
    if (!schema || typeof schema !== 'object' || value === null) return;
    const def = schema.$ref && root.$defs[schema.$ref.split('/').at(-1)];
    if (def) used.add(def);
    mark(root, def, value);
    for (const one of schema.anyOf ?? []) mark(root, one, value);
    if (Array.isArray(value)) {
        for (const element of value) {
            seen.add(schema.items);
            mark(root, schema.items, element);
        }
    } else if (typeof value === 'object') {
        for (const [key, inner] of Object.entries(value)) {
            const of = schema.properties?.[key];
            if (of) seen.add(of);
            mark(root, of ?? schema.additionalProperties, inner);
        }
    }
}

let documents = 0;
for (const file of readdirSync(kept).filter((f) => !f.endsWith('.json'))) {
    const command = read(`${kept}/${file}`).trim();
    const tool = file.slice(0, file.indexOf('.'));
    const printed = read(`${kept}/${file}.json`);
    const name = schemaOf(tool, command.split(' '));
    // Wrong usage prints nothing, and `-- --json` is a file.
    if (!printed.trim() || command.includes('-- --json')) continue;
    const of = name && all.get(name);
    if (!of) {
        say(`${tool} ${command}: there is no schema ${name}`);
        continue;
    }
    const value = JSON.parse(printed);
    documents++;
    of.documents++;
    mark(of.schema, of.schema, value);
    if (of.check(value)) continue;
    const { instancePath, message, params } = of.check.errors[0];
    say(`${tool} ${command}: ${instancePath || 'it'} ${message} ` +
        JSON.stringify(params));
}

function unseen(schema, path) {
    if (!schema || typeof schema !== 'object') return;
    for (const [key, inner] of Object.entries(schema.properties ?? {})) {
        // Beside a $ref, what it refers to says that it is there.
        const here = `${path}.${key}`;
        if (elsewhere.has(here) || elsewhere.has(key)) continue;
        if (!seen.has(inner)) say(`${here}: no output has it`);
        else unseen(inner, `${path}.${key}`);
    }
    for (const one of schema.anyOf ?? []) unseen(one, path);
    // Of a list that is always empty here, nothing is said.
    if (seen.has(schema.items)) unseen(schema.items, `${path}[]`);
    unseen(schema.additionalProperties, `${path}.*`);
}
for (const [name, { schema, documents: count }] of all) {
    if (!count) say(`${name}: no output was held against it`);
    else {
        unseen(schema, name);
        for (const [def, inner] of Object.entries(schema.$defs ?? {}))
            if (used.has(inner)) unseen(inner, `${name}/${def}`);
    }
}
console.log(`${documents} documents, ${all.size} schemas`);
process.exit(wrong || documents < 100 ? 1 : 0);
