// Compares a folder of Parquet files with what ts-query says, by DuckDB: names,
// order and values of all columns, and how many are NULL.
// usage: node compare.mjs DUCKDB TS-QUERY TRACE FOLDER
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { resolve } from "node:path";

const [modules, query, trace, folder] = process.argv.slice(2);
const require = createRequire(resolve(modules) + "/");
const { DuckDBInstance } = require("@duckdb/node-api");
const duckdb = await (await DuckDBInstance.create()).connect();
let failures = 0;

function fail(text) {
    if (failures++ < 20) console.log(text);
}

function run(sql) {
    const ran = spawnSync(query, ["--csv", trace, sql],
        { maxBuffer: 1 << 30, encoding: "latin1" });
    if (ran.status !== 0) throw new Error(`${sql}: ${ran.stderr}`);
    return Buffer.from(ran.stdout, "latin1").toString("utf8");
}

// RFC 4180, with line breaks of one byte.
function parse(text) {
    const rows = [];
    let row = [];
    for (let at = 0; at < text.length;) {
        let value = "";
        if (text[at] === '"') {
            for (at++; text[at] !== '"' || text[at + 1] === '"'; at++) {
                if (text[at] === '"') at++;
                value += text[at];
            }
            at++;
        } else {
            const from = at;
            while (text[at] !== "," && text[at] !== "\n") at++;
            value = text.slice(from, at);
        }
        row.push(value);
        if (text[at++] === "\n") {
            rows.push(row);
            row = [];
        }
    }
    return rows;
}

// What ts-query prints instead of characters that a terminal would obey.
const controls = new RegExp("[\\u0000-\\u0009\\u000b-\\u001f\\u007f-\\u009f" +
    "\\u061c\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069\\u2028\\u2029]", "g");

const known = new Map();

function printed(value) {
    if (!known.has(value))
        known.set(value, value.replace(controls, "\ufffd"));
    return known.get(value);
}

function same(value, text) {
    if (value === null) return text === "";
    if (typeof value === "bigint") return value.toString() === text;
    if (typeof value !== "number")
        return value === text || printed(value) === text;
    if (text === "inf" || text === "Inf") return value === Infinity;
    if (text === "-inf" || text === "-Inf") return value === -Infinity;
    return text !== "" && Object.is(value, Number(text));
}

async function compare(table) {
    const file = `${folder}/${table}.parquet`;
    const got = await duckdb.runAndReadAll(`SELECT * FROM '${file}'`);
    const names = got.columnNames();
    const want = parse(run(`SELECT * FROM "${table}"`));
    const head = want.shift();
    if (JSON.stringify(head) !== JSON.stringify(names))
        fail(`${table}: columns ${names} instead of ${head}`);
    const rows = got.getRows();
    if (rows.length !== want.length)
        fail(`${table}: ${rows.length} rows instead of ${want.length}`);
    const counts = names.map(() => 0);
    rows.forEach((row, i) => row.forEach((value, k) => {
        counts[k] += value !== null;
        if (!want[i] || !same(value, want[i][k]))
            fail(`${table}.${names[k]}, row ${i}: ${JSON.stringify(
                String(value))} instead of ${JSON.stringify(want[i]?.[k])}`);
    }));
    const there = names.map((name) => `count("${name}")`).join(", ");
    const expected = parse(run(`SELECT ${there} FROM "${table}"`))[1];
    if (counts.join() !== expected.join())
        fail(`${table}: ${counts} values that are not NULL, not ${expected}`);
    return rows.length;
}

const tables = readdirSync(folder).filter((name) => name.endsWith(".parquet"))
    .map((name) => name.slice(0, -".parquet".length));
let rows = 0;
for (const table of tables) rows += await compare(table);
console.log(`${tables.length} tables, ${rows} rows`);
process.exit(failures || !tables.length ? 1 : 0);
