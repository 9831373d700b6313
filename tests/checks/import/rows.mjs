// The rows that a script wants of a trace, against those that are in it.
import { execFileSync } from 'node:child_process';

// What ts-query answers: an object a row.
export function ask(trace, sql) {
    return JSON.parse(execFileSync('build/ts-query', ['--json', trace, sql],
        { encoding: 'utf8', maxBuffer: 1 << 28 })).results[0].rows;
}

export class Rows {
    #count = new Map(); // how often each is wanted more than it was found
    #wanted = 0;

    #add(row, n) {
        const key = JSON.stringify(row);
        this.#count.set(key, (this.#count.get(key) ?? 0) + n);
    }

    want(row) {
        this.#add(row, 1);
        this.#wanted++;
    }

    find(row) {
        this.#add(row, -1);
    }

    // Ends the script: in failure unless both are equal, and at least so many.
    end(least = 1) {
        const wrong = [...this.#count].filter(([, n]) => n);
        for (const [key, n] of wrong.slice(0, 5))
            console.log(`${n > 0 ? 'missing' : 'invented'}: ${key}`);
        console.log(`${this.#wanted} rows compared, ${wrong.length} ` +
            'differences');
        process.exit(wrong.length || this.#count.size < least ? 1 : 0);
    }
}
