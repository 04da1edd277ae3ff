/* SPDX-License-Identifier: Apache-2.0 */

import java.util.Arrays;
import java.util.Locale;
import java.util.Scanner;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The JDK's thread pools as subjects of the benchmark: java Pools jdk|jdk-fjp WORKLOAD
 *
 * <p>jdk is a fixed ThreadPoolExecutor, jdk-fjp a ForkJoinPool. peer_main.c describes the commands and has the same
 * workloads. "warm" repeats the workload until the given time has been spent on it, for the sake of the compiler.
 */
final class Pools {
    private static final int WORKERS = 2;
    private static final int WARM_UP_TASKS = 20_000;
    private static final int TASKS_PER_WAIT = 100;

    private static final AtomicLong ran = new AtomicLong();
    private static final Semaphore allRan = new Semaphore(0);
    private static volatile long expected;
    private static volatile long endNs;

    private static ExecutorService pool;
    private static boolean quiet;

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

    private static void execute(String workload, int producers, long tasks) throws Exception {
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
        if (!quiet)
            System.out.printf(Locale.ROOT, "%s %.6g 1/s higher%n", workload, expected * 1e9 / (endNs - startNs));
    }

    private static void submit(String workload, long tasks) throws Exception {
        int rounds = (int) Math.max(1, tasks / TASKS_PER_WAIT);
        long[] takenNs = new long[rounds];
        expect(rounds);
        for (int i = 0; i < rounds; i++) {
            long startNs = System.nanoTime();
            pool.submit(Pools::count).get();
            takenNs[i] = System.nanoTime() - startNs;
        }
        allRan.acquire();
        Arrays.sort(takenNs);
        if (quiet)
            return;
        System.out.printf(Locale.ROOT, "%s.p50 %.6g us lower%n", workload, takenNs[rounds / 2] / 1e3);
        System.out.printf(Locale.ROOT, "%s.p99 %.6g us lower%n", workload, takenNs[(int) (rounds * 99L / 100)] / 1e3);
    }

    private static void run(String workload, long tasks) throws Exception {
        if (workload.equals("pool.submit"))
            submit(workload, tasks);
        else
            execute(workload, workload.endsWith("4p") ? 4 : 1, tasks);
    }

    public static void main(String[] args) throws Exception {
        pool = args[0].equals("jdk-fjp") ? new ForkJoinPool(WORKERS) : Executors.newFixedThreadPool(WORKERS);
        Scanner commands = new Scanner(System.in);
        while (commands.hasNext()) {
            quiet = commands.next().equals("warm");
            long amount = commands.nextLong();
            long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(amount);
            if (quiet)
                do
                    run(args[1], WARM_UP_TASKS);
                while (System.nanoTime() < end);
            else
                run(args[1], amount);
            System.out.println(".");
            System.out.flush();
        }
        pool.shutdown();
    }
}
