// SPDX-License-Identifier: Apache-2.0
// common.js - what the peers print: lines "name<TAB>value<TAB>unit", as store-bench does
"use strict";

function print(name, value, unit) {
    console.log(`${name}\t${value.toPrecision(6)}\t${unit}`);
}

function printSamples(name, samples) {
    samples.sort((a, b) => a - b);
    const points = { min: 0, p50: 0.5, p90: 0.9, p99: 0.99, p999: 0.999, max: 1 };
    for (const [point, share] of Object.entries(points))
        print(`${name}.${point}`, samples[Math.floor(share * (samples.length - 1))], "us");
}

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function until(condition) {
    while (!condition())
        await sleep(1);
}

module.exports = { print, printSamples, sleep, until };
