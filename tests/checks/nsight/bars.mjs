// The rows of a CSV file, whatever it quotes, a line each with bars between
// the columns; without the line of names.
//   node bars.mjs FILE
import { readFileSync } from "node:fs";

const text = readFileSync(process.argv[2], "utf8").replace(/\r\n/g, "\n");
const cell = /(?:"((?:[^"]|"")*)"|([^",\n]*))(,|\n|$)/gy;
const rows = [[]];
while (cell.lastIndex < text.length) {
    const [, quoted, plain, end] = cell.exec(text);
    rows.at(-1).push(quoted?.replaceAll('""', '"') ?? plain);
    if (end !== ",") rows.push([]);
}
for (const row of rows.slice(1))
    if (row.length) console.log(row.join("|"));
