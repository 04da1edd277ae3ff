// SPDX-License-Identifier: Apache-2.0
// graphile.js ADDRESS drain COUNT | timed RATE SECONDS POLL_MS | wake COUNT | insert COUNT BATCH
//
// graphile-worker with the settings of its own benchmark: a local queue of 500 and batched completions.
"use strict";
const { run, makeWorkerUtils, Logger } = require("graphile-worker");
const { Pool } = require("pg");
const { print, printSamples, sleep, until } = require("./common.js");

const [address, what, ...numbers] = process.argv.slice(2);
const [first, second, third] = numbers.map(Number);
const logger = new Logger(() => () => {});
const preset = {
    worker: {
        connectionString: address, concurrentJobs: 24, maxPoolSize: 25, schema: "graphile_worker",
        pollInterval: what === "timed" ? third : 2000, logger,
        localQueue: { size: what === "wake" ? 0 : 500, refetchDelay: undefined },
        completeJobBatchDelay: what === "wake" ? -1 : 0, failJobBatchDelay: what === "wake" ? -1 : 0,
    },
};
let runs = 0;
const samples = [];
const taskList = {
    count: () => { runs++; },
    timed: (payload) => { samples.push((Date.now() - payload.at) * 1000); runs++; },
    wake: (payload) => { samples.push(Number(process.hrtime.bigint() - BigInt(payload.at)) / 1000); runs++; },
};

async function add(pool, task, payloads, runAt) {
    const specs = payloads.map((payload, i) => ({ identifier: task, payload, run_at: runAt && runAt(i) }));
    await pool.query(
        "select count(*) from graphile_worker.add_jobs(array(select json_populate_recordset(" +
        "null::graphile_worker.job_spec, $1::json)))", [JSON.stringify(specs)]);
}

async function fill(pool, task, count, batch, payload, at) {
    for (let done = 0; done < count; done += batch) {
        const some = Math.min(batch, count - done);
        await add(pool, task, Array.from({ length: some }, (_, i) => payload(done + i)),
            at && ((i) => new Date(at(done + i)).toISOString()));
    }
}

async function main() {
    const utils = await makeWorkerUtils({ connectionString: address, logger });
    await utils.migrate();
    const pool = new Pool({ connectionString: address });
    if (what === "insert") {
        const start = process.hrtime.bigint();
        await fill(pool, "count", first, second, () => ({ x: 1 }));
        print("insert", first / (Number(process.hrtime.bigint() - start) / 1e9), "tasks/s");
    } else if (what === "drain") {
        await fill(pool, "count", first, 500, () => ({}));
        const start = process.hrtime.bigint();
        const runner = await run({ preset, taskList, noHandleSignals: true });
        await until(() => runs >= first);
        print("drain", first / (Number(process.hrtime.bigint() - start) / 1e9), "tasks/s");
        await runner.stop();
    } else if (what === "timed") {
        const begin = Date.now() + 3000 + first * second / 10;
        const at = (i) => begin + i * 1000 / first;
        await fill(pool, "timed", first * second, 500, (i) => ({ at: at(i) }), at);
        const runner = await run({ preset, taskList, noHandleSignals: true });
        await until(() => runs >= first * second);
        printSamples("timed.late", samples);
        await runner.stop();
    } else if (what === "wake") {
        const runner = await run({ preset, taskList, noHandleSignals: true });
        for (let i = 0; i < first; i++) {
            await sleep(5);
            await add(pool, "wake", [{ at: process.hrtime.bigint().toString() }]);
            await until(() => runs > i);
        }
        printSamples("wake", samples);
        await runner.stop();
    }
    await pool.end();
    await utils.release();
}

main().then(() => process.exit(0), (error) => { console.error(error); process.exit(1); });
