// SPDX-License-Identifier: Apache-2.0
// pg_boss.js ADDRESS drain COUNT | timed RATE SECONDS POLL_MS | wake COUNT | insert COUNT BATCH
//
// pg-boss with fetch and complete in batches of 500, four at a time; `timed` and `wake` with its worker, at
// the shortest poll that it allows unless told otherwise.
"use strict";
const PgBoss = require("pg-boss");
const { print, printSamples, sleep, until } = require("./common.js");

const [address, what, ...numbers] = process.argv.slice(2);
const [first, second, third] = numbers.map(Number);
const samples = [];
let runs = 0;

async function fill(boss, count, batch, data, at) {
    for (let done = 0; done < count; done += batch) {
        const some = Math.min(batch, count - done);
        await boss.insert(Array.from({ length: some }, (_, i) => ({
            name: "bench", data: data(done + i), startAfter: at && new Date(at(done + i)).toISOString() })));
    }
}

async function drainOne(boss, count) {
    while (runs < count) {
        const jobs = await boss.fetch("bench", { batchSize: 500 });
        if (jobs && jobs.length > 0) {
            await boss.complete("bench", jobs.map((job) => job.id));
            runs += jobs.length;
        } else {
            await sleep(5);
        }
    }
}

async function main() {
    const boss = new PgBoss({ connectionString: address, schema: "pgboss_bench", max: 10 });
    boss.on("error", (error) => console.error(error));
    await boss.start();
    await boss.createQueue("bench");
    if (what === "insert") {
        const start = process.hrtime.bigint();
        await fill(boss, first, second, () => ({ x: 1 }));
        print("insert", first / (Number(process.hrtime.bigint() - start) / 1e9), "tasks/s");
    } else if (what === "drain") {
        await fill(boss, first, 500, () => ({}));
        const start = process.hrtime.bigint();
        await Promise.all([1, 2, 3, 4].map(() => drainOne(boss, first)));
        print("drain", first / (Number(process.hrtime.bigint() - start) / 1e9), "tasks/s");
    } else if (what === "timed") {
        const begin = Date.now() + 3000 + first * second / 10;
        const at = (i) => begin + i * 1000 / first;
        await fill(boss, first * second, 500, (i) => ({ at: at(i) }), at);
        await boss.work("bench", { batchSize: 1000, pollingIntervalSeconds: Math.max(0.5, third / 1000) },
            async (jobs) => {
                for (const job of jobs) samples.push((Date.now() - job.data.at) * 1000);
                runs += jobs.length;
            });
        await until(() => runs >= first * second);
        printSamples("timed.late", samples);
    } else if (what === "wake") {
        await boss.work("bench", { pollingIntervalSeconds: 0.5 }, async (jobs) => {
            for (const job of jobs)
                samples.push(Number(process.hrtime.bigint() - BigInt(job.data.at)) / 1000);
            runs += jobs.length;
        });
        for (let i = 0; i < first; i++) {
            await sleep(5);
            await boss.send("bench", { at: process.hrtime.bigint().toString() });
            await until(() => runs > i);
        }
        printSamples("wake", samples);
    }
    await boss.stop({ graceful: false });
}

main().then(() => process.exit(0), (error) => { console.error(error); process.exit(1); });
