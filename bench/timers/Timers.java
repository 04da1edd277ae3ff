/* SPDX-License-Identifier: Apache-2.0 */

import java.lang.management.ManagementFactory;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Locale;
import java.util.Scanner;
import java.util.SplittableRandom;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The JDK's ScheduledThreadPoolExecutor as a subject of the benchmark: java Timers jdk|jdk-keep WORKLOAD
 *
 * <p>jdk removes what is cancelled at once, jdk-keep does so only between runs: by default cancelled tasks stay until they are due.
 * timers_main.c describes the commands and has the same workloads. "warm" repeats the workload until the given time has been spent on
 * it, for the sake of the compiler. timer.memory is the heap that is in use after a collection: how much the process occupies
 * depends on how it was started.
 */
final class Timers {
    private static final int WORKERS = 2;
    private static final int DELAYS = 4096;
    private static final int AT_ONCE = 256;
    private static final int WARM_UP_TIMERS = 20_000;
    private static final long FIRE_RATE = 500_000;
    private static final int TASKS = 1000;
    private static final long SECOND = 1_000_000_000;
    private static final long MILLISECOND = 1_000_000;
    private static final long PERIOD_NS = 10 * MILLISECOND;
    private static final long FAR_NS = 60 * SECOND;
    private static final long FARTHEST_NS = 3600 * SECOND;

    private static final SplittableRandom random = new SplittableRandom();
    private static final ScheduledThreadPoolExecutor timers = new ScheduledThreadPoolExecutor(WORKERS);
    private static ScheduledFuture<?>[] pending;
    private static boolean keeps;
    private static String workload;
    private static boolean quiet;

    private static void report(String metric, double value, String unit, String better) {
        if (!quiet)
            System.out.printf(Locale.ROOT, "%s %.6g %s %s%n", metric, value, unit, better);
    }

    private static void reportPercentiles(long[] valuesNs) {
        if (quiet)
            return;
        must(valuesNs.length > 0, "nothing ran");
        Arrays.sort(valuesNs);
        report(workload + ".p50", valuesNs[valuesNs.length / 2] / 1e3, "us", "lower");
        report(workload + ".p99", valuesNs[(int) (valuesNs.length * 99L / 100)] / 1e3, "us", "lower");
    }

    private static void must(boolean truth, String what) {
        if (truth)
            return;
        System.err.println("Timers: " + what);
        Runtime.getRuntime().halt(1);
    }

    private static void waitUntil(long timeNs) throws InterruptedException {
        long leftNs = timeNs - System.nanoTime();
        if (leftNs > 0)
            TimeUnit.NANOSECONDS.sleep(leftNs);
    }

    private static long cpuNs() {
        return ((com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean()).getProcessCpuTime();
    }

    private static void expire() {
    }

    private static void complain() {
        must(false, "a cancelled timer ran");
    }

    private static void fill(int count) {
        pending = new ScheduledFuture<?>[count];
        for (int i = 0; i < count; i++)
            pending[i] = timers.schedule(Timers::expire, random.nextLong(FAR_NS, FARTHEST_NS), TimeUnit.NANOSECONDS);
    }

    private static long churn(long[] delaysNs, long endNs) {
        long pairs = 0;
        int position = 0;
        do {
            for (int i = 0; i < AT_ONCE; i++) {
                ScheduledFuture<?> timer = timers.schedule(Timers::complain, delaysNs[position], TimeUnit.NANOSECONDS);
                if (!timer.cancel(false))
                    must(false, "a timer could not be cancelled");
                position = (position + 1) % DELAYS;
            }
            pairs += AT_ONCE;
        } while (System.nanoTime() < endNs);
        return pairs;
    }

    private static long[] delays(long leastNs, long mostNs) {
        return random.longs(DELAYS, leastNs, mostNs).toArray();
    }

    private static void testCancelling() throws Exception {
        churn(delays(500 * MILLISECOND, 550 * MILLISECOND), 0);
        waitUntil(System.nanoTime() + 600 * MILLISECOND);
    }

    private static void cancel(long milliseconds) throws Exception {
        int producers = workload.endsWith("2t") ? 2 : 1;
        Thread[] threads = new Thread[producers];
        AtomicLong pairs = new AtomicLong();
        CyclicBarrier start = new CyclicBarrier(producers + 1);
        for (int i = 0; i < producers; i++) {
            long[] delaysNs = delays(FAR_NS, FARTHEST_NS);
            threads[i] = new Thread(() -> {
                try {
                    start.await();
                } catch (Exception e) {
                    throw new IllegalStateException(e);
                }
                pairs.addAndGet(churn(delaysNs, System.nanoTime() + milliseconds * MILLISECOND));
            });
            threads[i].start();
        }
        start.await();
        long startNs = System.nanoTime();
        for (Thread thread : threads)
            thread.join();
        report(workload, pairs.get() * 1e9 / (System.nanoTime() - startNs), "1/s", "higher");
        if (keeps)
            timers.purge();
    }

    private static void fire(int count) throws Exception {
        long[] delaysNs = random.longs(count, 0, count * (SECOND / FIRE_RATE)).toArray();
        long[] dueNs = new long[count];
        long[] lateNs = new long[count];
        AtomicInteger fired = new AtomicInteger();
        AtomicLong endCpuNs = new AtomicLong();
        Semaphore allFired = new Semaphore(0);
        Arrays.fill(lateNs, Long.MIN_VALUE);
        long startCpuNs = cpuNs();
        for (int i = 0; i < count; i++) {
            int number = i;
            dueNs[i] = System.nanoTime() + delaysNs[i];
            timers.schedule(() -> {
                must(lateNs[number] == Long.MIN_VALUE, "a timer ran twice");
                lateNs[number] = System.nanoTime() - dueNs[number];
                must(lateNs[number] >= 0, "a timer ran early");
                if (fired.incrementAndGet() == count) {
                    endCpuNs.set(cpuNs());
                    allFired.release();
                }
            }, delaysNs[i], TimeUnit.NANOSECONDS);
        }
        allFired.acquire();
        waitUntil(System.nanoTime() + 20 * MILLISECOND);
        must(fired.get() == count, "a timer ran twice");
        report(workload + ".cpu", (endCpuNs.get() - startCpuNs) / (double) count, "ns", "lower");
        reportPercentiles(lateNs);
    }

    private static final class Task implements Runnable {
        final long firstNs = System.nanoTime() + MILLISECOND + random.nextLong(PERIOD_NS);
        final AtomicBoolean running = new AtomicBoolean();
        volatile long lastNs = Long.MAX_VALUE;
        volatile int runs;
        final long[] lateNs;

        Task(int mostRuns) {
            lateNs = new long[mostRuns];
        }

        @Override
        public void run() {
            long now = System.nanoTime();
            must(running.compareAndSet(false, true), "a task ran beside itself");
            long late = now - (firstNs + runs * PERIOD_NS);
            must(late >= 0, "a task ran early");
            if (now < lastNs) {
                lateNs[runs] = late;
                runs++;
            }
            running.set(false);
        }
    }

    private static void repeat(long milliseconds) throws Exception {
        Task[] tasks = new Task[TASKS];
        ScheduledFuture<?>[] series = new ScheduledFuture<?>[TASKS];
        long lastNs = System.nanoTime() + MILLISECOND + milliseconds * MILLISECOND;
        long startCpuNs = cpuNs();
        long startNs = System.nanoTime();
        for (int i = 0; i < TASKS; i++) {
            tasks[i] = new Task((int) (milliseconds * MILLISECOND / PERIOD_NS + 2));
            tasks[i].lastNs = lastNs;
            series[i] = timers.scheduleAtFixedRate(
                    tasks[i], tasks[i].firstNs - System.nanoTime(), PERIOD_NS, TimeUnit.NANOSECONDS);
        }
        waitUntil(lastNs);
        for (ScheduledFuture<?> future : series)
            future.cancel(false);
        double share = (cpuNs() - startCpuNs) / (double) (System.nanoTime() - startNs);
        waitUntil(System.nanoTime() + 20 * MILLISECOND);
        long missed = 0;
        for (Task task : tasks)
            missed += Math.max(0, (lastNs - PERIOD_NS - task.firstNs) / PERIOD_NS + 1 - task.runs);
        reportPercentiles(Arrays.stream(tasks).flatMapToLong(t -> Arrays.stream(t.lateNs, 0, t.runs)).toArray());
        report(workload + ".cpu", 100 * share, "%", "lower");
        report(workload + ".missed", missed, "runs", "lower");
    }

    private static long heapInUse() {
        Runtime runtime = Runtime.getRuntime();
        System.gc();
        System.gc();
        return runtime.totalMemory() - runtime.freeMemory();
    }

    private static void remember(int count) {
        long before = heapInUse();
        fill(count);
        report(workload, (heapInUse() - before) / (double) count, "B", "lower");
    }

    /** Voluntary switches of all threads but this one. */
    private static long switches() throws Exception {
        Path self = Path.of("/proc/thread-self").toRealPath().getFileName();
        long sum = 0;
        try (DirectoryStream<Path> threads = Files.newDirectoryStream(Path.of("/proc/self/task"))) {
            for (Path thread : threads)
                if (!thread.getFileName().equals(self))
                    for (String line : Files.readAllLines(thread.resolve("status")))
                        if (line.startsWith("voluntary_ctxt_switches:"))
                            sum += Long.parseLong(line.substring(line.indexOf(':') + 1).strip());
        }
        return sum;
    }

    private static void idle(long milliseconds) throws Exception {
        long startNs = System.nanoTime();
        long before = switches();
        waitUntil(startNs + milliseconds * MILLISECOND);
        report(workload, (switches() - before) * 1e9 / (System.nanoTime() - startNs), "1/s", "lower");
    }

    private static void prepare() throws Exception {
        timers.setRemoveOnCancelPolicy(!keeps);
        timers.prestartAllCoreThreads();
        if (workload.equals("timer.idle"))
            fill(1);
        if (workload.startsWith("timer.cancel.")) {
            String pendingCount = workload.split("\\.")[2];
            fill(Integer.parseInt(pendingCount.replace("k", "000").replace("M", "000000")));
            if (workload.equals("timer.cancel.1k.1t"))
                testCancelling();
        }
    }

    private static void run(long amount) throws Exception {
        if (workload.startsWith("timer.cancel."))
            cancel(quiet ? 20 : amount);
        else if (workload.equals("timer.fire"))
            fire(quiet ? WARM_UP_TIMERS : (int) amount);
        else if (workload.equals("timer.periodic"))
            repeat(quiet ? 100 : amount);
        else if (workload.equals("timer.memory") && !quiet)
            remember((int) amount);
        else if (workload.equals("timer.idle"))
            idle(amount);
    }

    private static boolean warmsUp() {
        return !workload.equals("timer.memory") && !workload.equals("timer.idle");
    }

    private static void serve() throws Exception {
        prepare();
        Scanner commands = new Scanner(System.in);
        while (commands.hasNext()) {
            quiet = commands.next().equals("warm");
            long amount = commands.nextLong();
            long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(amount);
            do
                run(amount);
            while (quiet && warmsUp() && System.nanoTime() < end);
            System.out.println(".");
            System.out.flush();
        }
    }

    public static void main(String[] args) {
        keeps = args[0].equals("jdk-keep");
        workload = args[1];
        try {
            serve();
        } catch (Throwable e) {
            e.printStackTrace();
            Runtime.getRuntime().halt(1); // threads of the pool would go on
        }
        timers.shutdownNow();
    }
}
