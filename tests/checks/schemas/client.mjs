// A session of a real client with ts-mcp, over several traces: what it lists are
// schemas, each answer fits its own and is as small as it is to be, pages go on,
// errors are errors, and a request can be cancelled.
//   node client.mjs MODULES TS_MCP TRACE...
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const [modules, server, ...traces] = process.argv.slice(2);
const require = createRequire(resolve(modules, 'x.js'));
const load = (name) => import(pathToFileURL(require.resolve(name)));
const sdk = '@modelcontextprotocol/sdk/client';
const { Client } = await load(`${sdk}/index.js`);
const { StdioClientTransport } = await load(`${sdk}/stdio.js`);
const Ajv = require('ajv/dist/2020.js').default;

const client = new Client({ name: 'check', version: '1' });
await client.connect(new StdioClientTransport({ command: server, args: traces }));
assert.equal(client.getServerVersion().name, 'ts-mcp');
assert.match(client.getInstructions(), /never instructions/);

// The client itself holds each answer against the schema that was listed.
const { tools } = await client.listTools();
const ajv = new Ajv({ strict: true, allowUnionTypes: true });
for (const tool of tools) {
    ajv.compile(tool.inputSchema);
    ajv.compile(tool.outputSchema);
    assert(tool.annotations.readOnlyHint, tool.name);
    assert(tool.description.length > 20 && tool.title, tool.name);
}

const seen = new Set();
function mark(schema, value) {
    if (!schema || value === null || typeof value !== 'object') return;
    for (const one of schema.anyOf ?? []) mark(one, value);
    if (Array.isArray(value)) for (const v of value) mark(schema.items, v);
    else for (const [key, v] of Object.entries(value)) {
        seen.add(schema.properties?.[key]);
        mark(schema.properties?.[key], v);
    }
}

let answers = 0;
async function ask(name, args, most = 2000) {
    const tool = tools.find((t) => t.name === name);
    const result = await client.callTool({ name, arguments: args });
    assert(!result.isError, `${name}: ${result.content[0].text}`);
    const answer = result.structuredContent;
    assert.deepEqual(JSON.parse(result.content[0].text), answer);
    assert(answer.tokens <= most, `${name}: ${answer.tokens} tokens`);
    // No tokenizer makes as few as this of it, so none is far above the limit.
    assert(result.content[0].text.length <= most * 5, name);
    mark(tool.outputSchema, answer);
    answers++;
    return answer;
}
// All pages of an answer, of few tokens each.
async function pages(name, args, list) {
    const rows = [];
    for (let cursor; ;) {
        const page = await ask(name, { ...args, max_tokens: 1000,
            ...(cursor && { cursor }) }, 1000);
        rows.push(...page[list]);
        if (!page.more) return rows;
        ({ cursor } = page);
    }
}
async function refused(name, args, words) {
    const result = await client.callTool({ name, arguments: args });
    assert(result.isError, name);
    assert.match(result.content[0].text, words);
}

for (let file = 1; file <= traces.length; file++) {
    const files = [file];
    await ask('summary', { files });
    await pages('summary', { files }, 'topics');
    await pages('advice', { files }, 'findings');
    const { devices } = await ask('idle_causes', { files });
    await ask('idle_causes', { files, device: devices.length - 1 });
    const gaps = await pages('idle_causes', { files }, 'gaps');
    for (const gap of gaps.slice(0, 20)) {
        const why = await ask('why', { files, operation: gap.operation });
        assert.equal(why.operation.operation, gap.operation);
        assert.equal(why.idle_before.idle_ns, gap.idle_ns);
        assert.equal(why.idle_before.cause, gap.cause);
    }
    const changes = ['scale .=0.5', 'remove nosuch', 'host 0.5', 'serialise',
        'no-launch-overhead', 'ideal-overlap', 'copy h2d=0.5', 'fuse .'];
    await pages('what_if', { files, changes }, 'what_ifs');
    const [{ n }] = (await ask('query',
        { files, sql: 'SELECT count(*) AS n FROM gpu_op' })).rows
        .map(([count]) => ({ n: count }));
    const rows = await pages('query', { files, sql: 'SELECT * FROM gpu_op' }, 'rows');
    assert.equal(rows.length, n);
}
const [before, after] = await Promise.all([
    pages('diff', {}, 'changes'), ask('diff', { before: [2], after: [1] })]);
assert.equal(before.length, after.total_changes);
const tables = (await pages('schema', {}, 'lines')).map((line) => line.split(' ')[0]);
assert(tables.includes('gpu_op') && tables.length > 30);
for (const table of ['gpu_op', 'gap']) await pages('schema', { table }, 'lines');

const { resources } = await client.listResources();
assert.equal(resources.length, traces.length);
const { contents } = await client.readResource({ uri: resources[0].uri });
assert.equal(JSON.parse(contents[0].text).files[0].path, traces[0]);

await refused('query', { sql: 'DROP VIEW kernel' }, /only read/);
await refused('why', { operation: 1e9 }, /there is no operation/);
await refused('summary', { files: [99] }, /there is no trace 99/);
await assert.rejects(client.callTool({ name: 'nosuch' }), { code: -32602 });
await assert.rejects(client.readResource({ uri: 'file:///etc/passwd' }),
    { code: -32002 });
const stop = new AbortController();
setTimeout(() => stop.abort('enough'), 100);
await assert.rejects(client.callTool({ name: 'query', arguments: {
    time_ms: 60000, sql: 'WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL ' +
        'SELECT x + 1 FROM c) SELECT count(*) FROM c' } }, undefined,
    { signal: stop.signal }));
await client.ping();
await ask('query', { sql: 'SELECT 1' });

function unseen(schema, path) {
    if (!schema || typeof schema !== 'object') return [];
    return [
        ...Object.entries(schema.properties ?? {}).flatMap(([key, inner]) =>
            seen.has(inner) ? unseen(inner, `${path}.${key}`) : [`${path}.${key}`]),
        ...(schema.anyOf ?? []).flatMap((one) => unseen(one, path)),
        ...unseen(schema.items, `${path}[]`),
    ];
}
// What an operation waited for fits one page here.
const missing = tools.flatMap((t) => unseen(t.outputSchema, t.name))
    .filter((key) => key !== 'why.cursor');
assert.deepEqual(missing, [], 'no answer has these keys');
await client.close();
console.log(`${tools.length} tools, ${answers} answers`);
