// console.mjs DOCUMENT - what the console blocks of a document show
//
// Runs each command of the document in the current folder, in order. Every
// line that the document shows below it must be one of those that it prints;
// "..." stands for lines left out.
import { readFileSync } from "node:fs";
import { spawnSync } from "node:child_process";

const text = readFileSync(process.argv[2], "utf8");
let commands = 0;
for (const [, block] of text.matchAll(/```console\n([^]*?)```/g)) {
    for (const part of block.split(/^\$ /m).slice(1)) {
        const lines = part.split("\n");
        let command = lines.shift();
        while (command.endsWith("\\"))
            command = command.slice(0, -1) + lines.shift().trim();
        const ran = spawnSync("sh", ["-c", command], { encoding: "utf8" });
        const printed = new Set(ran.stdout.split("\n"));
        const missing = lines.filter(
            (line) => line && line !== "..." && !printed.has(line));
        commands++;
        if (!missing.length) continue;
        console.log(`$ ${command}\ndoes not print:\n${missing.join("\n")}`);
        console.log(`but:\n${ran.stdout}${ran.stderr}`);
        process.exitCode = 1;
    }
}
console.log(`${commands} commands`);
if (!commands) process.exitCode = 1;
