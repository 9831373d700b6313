// A session of a client of revision 2026-07-28, which needs no initialize.
//   node modern.mjs MODULES TS_MCP TRACE
import assert from 'node:assert/strict';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const [modules, command, trace] = process.argv.slice(2);
const folder = `${modules}/@modelcontextprotocol/client/dist`;
const load = (name) => import(pathToFileURL(resolve(folder, name)));
const { Client } = await load('index.mjs');
const { StdioClientTransport } = await load('stdio.mjs');
const client = new Client({ name: 'check', version: '1' },
    { versionNegotiation: { mode: 'auto' } });
await client.connect(new StdioClientTransport({ command, args: [trace] }));
assert.equal(client.getNegotiatedProtocolVersion(), '2026-07-28');
assert.equal((await client.listTools()).tools.length, 8);
const { structuredContent: answer } =
    await client.callTool({ name: 'idle_causes', arguments: {} });
assert.equal(answer.trust.lost_records, 17);
const { resources: [{ uri }] } = await client.listResources();
assert.equal((await client.readResource({ uri })).contents.length, 1);
await assert.rejects(client.callTool({ name: 'nosuch' }), { code: -32602 });
await client.close();
console.log('a client of 2026-07-28 is answered');
