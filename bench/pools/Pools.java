/* SPDX-License-Identifier: Apache-2.0 */

import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The JDK's thread pools as subjects of W1 and W2: java Pools jdk|jdk-fjp WORKLOAD
 *
 * <p>jdk is a fixed ThreadPoolExecutor, jdk-fjp a ForkJoinPool. pools_main.c describes the workloads.
 */
final class Pools {
    private static final int USUAL_WORKERS = 2;
    private static final int WARM_UP_TASKS = 20_000;
    private static final long LEAST_NS_PER_TASK = 200;
    private static final int TASKS_PER_WAIT = 100;
    private static final int TASKS_PER_PAUSE = 5;
    private static final long PAUSE_NS = 200_000;

    private static final AtomicLong ran = new AtomicLong();
    private static final Semaphore allRan = new Semaphore(0);
    private static volatile long expected;
    private static volatile long endNs;

    private static String workload;
    private static ExecutorService pool;

    private static void count() {
        if (ran.incrementAndGet() != expected)
            return;
        endNs = System.nanoTime();
        allRan.release();
    }

    private static void expect(long tasks) {
        ran.set(0);
        expected = tasks;
    }

    private static void produce(CyclicBarrier start, long tasks) {
        try {
            start.await();
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
        executeAll(tasks);
    }

    private static void executeAll(long tasks) {
        for (long i = 0; i < tasks; i++)
            pool.execute(Pools::count);
    }

    private static void execute(int producers, long tasks) throws Exception {
        long spentNs = 0;
        long done = 0;
        do {
            spentNs += executeOnce(producers, tasks);
            done += expected;
        } while (!Measure.quiet && spentNs < tasks * LEAST_NS_PER_TASK);
        Measure.report(workload, done * 1e9 / spentNs, "1/s", "higher");
    }

    private static long executeOnce(int producers, long tasks) throws Exception {
        Thread[] threads = new Thread[producers];
        CyclicBarrier start = new CyclicBarrier(producers + 1);
        long each = tasks / producers;
        expect(each * producers);
        for (int i = 0; i < producers; i++) {
            threads[i] = new Thread(() -> produce(start, each));
            threads[i].start();
        }
        long startNs = System.nanoTime();
        start.await();
        allRan.acquire();
        for (Thread thread : threads)
            thread.join();
        return endNs - startNs;
    }

    private static void submit(long rounds, long pauseNs) throws Exception {
        long[] takenNs = new long[(int) Math.max(1, rounds)];
        expect(takenNs.length);
        for (int i = 0; i < takenNs.length; i++) {
            if (pauseNs > 0)
                Measure.waitUntil(System.nanoTime() + pauseNs);
            long startNs = System.nanoTime();
            pool.submit(Pools::count).get();
            takenNs[i] = System.nanoTime() - startNs;
        }
        allRan.acquire();
        Measure.reportPercentiles(workload, takenNs);
    }

    /** The number before a letter in the workload's name: W1.execute.4p.8w. */
    private static int number(String letter, int otherwise) {
        Matcher matcher = Pattern.compile("\\.([0-9]+)" + letter + "\\b").matcher(workload);
        return matcher.find() ? Integer.parseInt(matcher.group(1)) : otherwise;
    }

    private static void run(long amount) throws Exception {
        long tasks = Measure.quiet ? WARM_UP_TASKS : amount;
        if (workload.equals("W2.submit"))
            submit(tasks / TASKS_PER_WAIT, 0);
        else if (workload.equals("W2.idle"))
            submit(tasks / TASKS_PER_WAIT / TASKS_PER_PAUSE, PAUSE_NS);
        else
            execute(number("p", 1), tasks);
    }

    public static void main(String[] args) {
        workload = args[1];
        int workers = number("w", USUAL_WORKERS);
        pool = args[0].equals("jdk-fjp") ? new ForkJoinPool(workers) : Executors.newFixedThreadPool(workers);
        Measure.serve(true, Pools::run);
    }
}
