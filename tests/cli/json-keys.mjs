// The objects of the JSON on stdin, as lines "PATH: KEY...", sorted; the
// elements of an array are one, which has the keys of them all. Objects without
// a key are left out: those around them name them.
import { readFileSync } from 'node:fs';

const keys = new Map();

function walk(value, path) {
    if (Array.isArray(value)) {
        for (const element of value) walk(element, path + '[]');
    } else if (value !== null && typeof value === 'object') {
        if (!keys.has(path)) keys.set(path, new Set());
        for (const [key, inner] of Object.entries(value)) {
            keys.get(path).add(key);
            walk(inner, path ? `${path}.${key}` : key);
        }
    }
}

walk(JSON.parse(readFileSync(0, 'utf8')), '');
const objects = [...keys].filter(([, names]) => names.size);
for (const [path, names] of objects.sort(([a], [b]) => a < b ? -1 : 1))
    console.log(`  ${path || '(top)'}: ${[...names].sort().join(' ')}`);
