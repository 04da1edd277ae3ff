/* SPDX-License-Identifier: Apache-2.0 */

import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
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
 * Timers of the JDK and of Netty as subjects of W3 to W7: java Timers jdk|jdk-keep|netty-1ms WORKLOAD
 *
 * <p>jdk is a ScheduledThreadPoolExecutor that removes what is cancelled at once, jdk-keep one that does so
 * only between runs: by default cancelled tasks stay until they are due. netty-1ms is in Netty.java.
 * timers_main.c describes the workloads. W3 begins each run with a collection, so that it does not pay for
 * what the run before has left. W6 is the heap that is in use after a collection: how much the process
 * occupies depends on how it was started.
 */
final class Timers {
    private static final int WORKERS = 2;
    private static final int DELAYS = 4096;
    private static final int AT_ONCE = 256;
    private static final int LAG = 1024;
    private static final int WARM_UP_TIMERS = 20_000;
    private static final int LEAST_FIRED = 100_000;
    private static final long FIRE_RATE = 500_000;
    private static final int TASKS = 1000;
    private static final long SECOND = 1_000_000_000;
    private static final long MILLISECOND = 1_000_000;
    private static final long PERIOD_NS = 10 * MILLISECOND;
    private static final long FAR_NS = 60 * SECOND;
    private static final long FARTHEST_NS = 3600 * SECOND;

    private static final SplittableRandom random = new SplittableRandom();
    private static Subject timers;
    private static Object[] pending;
    private static String workload;

    /** Timers of one kind. There is one subject in a process, so that the compiler knows what is called. */
    interface Subject {
        /** Threads that wait for timers have been started when it returns. */
        void open();

        /** A timer that calls Timers.expire; it can be cancelled. */
        Object schedule(long delayNs);

        /** One that calls Timers.complain. */
        Object forbid(long delayNs);

        boolean cancel(Object timer);

        /** One that calls round.fired(number). */
        void fire(Round round, int number, long delayNs);

        /** A task that runs again and again, cancelled like the others. Null: there are no such timers. */
        Object repeat(Runnable task, long delayNs, long periodNs);

        /** After a run of W3. */
        default void tidy() {}
    }

    private static final class Jdk implements Subject {
        private final ScheduledThreadPoolExecutor pool = new ScheduledThreadPoolExecutor(WORKERS);
        private final boolean keeps;

        Jdk(boolean keeps) {
            this.keeps = keeps;
        }

        @Override
        public void open() {
            pool.setRemoveOnCancelPolicy(!keeps);
            pool.prestartAllCoreThreads();
        }

        @Override
        public Object schedule(long delayNs) {
            return pool.schedule(Timers::expire, delayNs, TimeUnit.NANOSECONDS);
        }

        @Override
        public Object forbid(long delayNs) {
            return pool.schedule(Timers::complain, delayNs, TimeUnit.NANOSECONDS);
        }

        @Override
        public boolean cancel(Object timer) {
            return ((ScheduledFuture<?>) timer).cancel(false);
        }

        @Override
        public void fire(Round round, int number, long delayNs) {
            pool.schedule(() -> round.fired(number), delayNs, TimeUnit.NANOSECONDS);
        }

        @Override
        public Object repeat(Runnable task, long delayNs, long periodNs) {
            return pool.scheduleAtFixedRate(task, delayNs, periodNs, TimeUnit.NANOSECONDS);
        }

        @Override
        public void tidy() {
            if (keeps)
                pool.purge();
        }
    }

    static void expire() {
    }

    static void complain() {
        Measure.must(false, "a cancelled timer ran");
    }

    private static void fill(int count) {
        pending = new Object[count];
        for (int i = 0; i < count; i++)
            pending[i] = timers.schedule(random.nextLong(FAR_NS, FARTHEST_NS));
    }

    /** The same of timers that nobody will cancel. */
    private static void leave(int count) {
        for (int i = 0; i < count; i++)
            timers.schedule(random.nextLong(FAR_NS, FARTHEST_NS));
    }

    // ---- W3.cancel and W3.window ----

    private static final class Churn {
        final long[] delaysNs;
        final Object[] lagging;
        int position;

        Churn(long leastNs, long mostNs, int lag) {
            delaysNs = random.longs(DELAYS, leastNs, mostNs).toArray();
            lagging = new Object[lag];
        }

        void once() {
            Object timer = timers.forbid(delaysNs[position]);
            if (lagging.length > 0) {
                Object earlier = lagging[position % lagging.length];
                lagging[position % lagging.length] = timer;
                timer = earlier;
            }
            if (timer != null && !timers.cancel(timer))
                Measure.must(false, "a timer could not be cancelled");
            position = (position + 1) % DELAYS;
        }

        long until(long endNs) {
            long pairs = 0;
            do {
                for (int i = 0; i < AT_ONCE; i++)
                    once();
                pairs += AT_ONCE;
            } while (System.nanoTime() < endNs);
            return pairs;
        }
    }

    private static Churn[] churns;

    private static void testCancelling() throws InterruptedException {
        Churn churn = new Churn(500 * MILLISECOND, 550 * MILLISECOND, 0);
        for (int i = 0; i < DELAYS; i++)
            churn.once();
        Measure.waitUntil(System.nanoTime() + 600 * MILLISECOND);
    }

    private static void prepareChurns() throws InterruptedException {
        fill(pendingOf(workload));
        if (workload.equals("W3.cancel.1k.1t"))
            testCancelling();
        churns = new Churn[workload.endsWith("2t") ? 2 : 1];
        int lag = workload.startsWith("W3.window") ? LAG : 0;
        Arrays.setAll(churns, i -> new Churn(FAR_NS, FARTHEST_NS, lag));
    }

    private static void cancel(long milliseconds) throws Exception {
        if (!Measure.quiet)
            System.gc();
        Thread[] threads = new Thread[churns.length];
        AtomicLong pairs = new AtomicLong();
        CyclicBarrier start = new CyclicBarrier(threads.length + 1);
        for (int i = 0; i < threads.length; i++) {
            Churn churn = churns[i];
            threads[i] = new Thread(() -> {
                try {
                    start.await();
                } catch (Exception e) {
                    throw new IllegalStateException(e);
                }
                pairs.addAndGet(churn.until(System.nanoTime() + milliseconds * MILLISECOND));
            });
            threads[i].start();
        }
        start.await();
        long startNs = System.nanoTime();
        for (Thread thread : threads)
            thread.join();
        Measure.report(workload, pairs.get() * 1e9 / (System.nanoTime() - startNs), "1/s", "higher");
        timers.tidy();
    }

    // ---- W4.fire ----

    /** Timers that are scheduled one after the other, and fire. */
    static final class Round {
        private final long[] dueNs;
        private final long[] lateNs;
        private final AtomicInteger fired = new AtomicInteger();
        private final Semaphore allFired = new Semaphore(0);
        private volatile long endCpuNs;
        private long insertNs;

        Round(int count) {
            dueNs = new long[count];
            lateNs = new long[count];
            Arrays.fill(lateNs, Long.MIN_VALUE);
        }

        void fired(int number) {
            Measure.must(lateNs[number] == Long.MIN_VALUE, "a timer ran twice");
            lateNs[number] = System.nanoTime() - dueNs[number];
            Measure.must(lateNs[number] >= 0, "a timer ran early");
            if (fired.incrementAndGet() == dueNs.length) {
                endCpuNs = Measure.cpuNs();
                allFired.release();
            }
        }

        void run() throws InterruptedException {
            long[] delaysNs = random.longs(dueNs.length, 0, dueNs.length * (SECOND / FIRE_RATE)).toArray();
            long startNs = System.nanoTime();
            for (int i = 0; i < dueNs.length; i++) {
                dueNs[i] = System.nanoTime() + delaysNs[i];
                timers.fire(this, i, delaysNs[i]);
            }
            insertNs = System.nanoTime() - startNs;
            allFired.acquire();
        }
    }

    private static void fire(int count) throws InterruptedException {
        Round[] rounds = new Round[Measure.quiet ? 1 : Math.max(1, LEAST_FIRED / count)];
        Arrays.setAll(rounds, i -> new Round(count));
        long startCpuNs = Measure.cpuNs(); // of all rounds: it is told in hundredths of a second
        for (Round round : rounds)
            round.run();
        long spentCpuNs = rounds[rounds.length - 1].endCpuNs - startCpuNs;
        Measure.waitUntil(System.nanoTime() + 20 * MILLISECOND);
        long insertNs = 0;
        for (Round round : rounds) {
            Measure.must(round.fired.get() == count, "a timer ran twice");
            insertNs += round.insertNs;
        }
        double all = (double) count * rounds.length;
        Measure.report(workload + ".cpu", spentCpuNs / all, "ns", "lower");
        Measure.report(workload + ".insert", all * 1e9 / insertNs, "1/s", "higher");
        Measure.reportLateness(workload,
                Arrays.stream(rounds).flatMapToLong(round -> Arrays.stream(round.lateNs)).toArray());
    }

    // ---- W5 ----

    private static final class Task implements Runnable {
        final long firstNs;
        final long lastNs;
        final AtomicBoolean running = new AtomicBoolean();
        final long[] lateNs;
        volatile int runs;

        Task(long firstNs, long lastNs) {
            this.firstNs = firstNs;
            this.lastNs = lastNs;
            lateNs = new long[(int) ((lastNs - firstNs) / PERIOD_NS + 2)];
        }

        @Override
        public void run() {
            long now = System.nanoTime();
            Measure.must(running.compareAndSet(false, true), "a task ran beside itself");
            long late = now - (firstNs + runs * PERIOD_NS);
            Measure.must(late >= 0, "a task ran early");
            if (now < lastNs) {
                lateNs[runs] = late;
                runs++;
            }
            running.set(false);
        }

        long missed() {
            return Math.max(0, (lastNs - PERIOD_NS - firstNs) / PERIOD_NS + 1 - runs);
        }
    }

    private static void repeat(long milliseconds, long phasesNs) throws InterruptedException {
        Object[] series = new Object[TASKS];
        long startNs = System.nanoTime() + 5 * MILLISECOND;
        long lastNs = startNs + milliseconds * MILLISECOND;
        Task[] tasks = new Task[TASKS];
        Arrays.setAll(tasks, i -> new Task(startNs + random.nextLong(phasesNs), lastNs));
        long startCpuNs = Measure.cpuNs();
        for (int i = 0; i < TASKS; i++)
            series[i] = timers.repeat(tasks[i], tasks[i].firstNs - System.nanoTime(), PERIOD_NS);
        Measure.waitUntil(lastNs);
        for (Object one : series)
            timers.cancel(one);
        double share = (Measure.cpuNs() - startCpuNs) / (double) (System.nanoTime() - startNs);
        Measure.waitUntil(System.nanoTime() + 20 * MILLISECOND);
        Measure.reportLateness(workload,
                Arrays.stream(tasks).flatMapToLong(t -> Arrays.stream(t.lateNs, 0, t.runs)).toArray());
        Measure.report(workload + ".cpu", 100 * share, "%", "lower");
        long missed = Arrays.stream(tasks).mapToLong(Task::missed).sum();
        Measure.report(workload + ".missed", missed, "runs", "lower");
    }

    // ---- W6.memory, W6.plain and W7.idle ----

    private static long heapInUse() {
        Runtime runtime = Runtime.getRuntime();
        System.gc();
        System.gc();
        return runtime.totalMemory() - runtime.freeMemory();
    }

    private static void remember(int count) {
        if (Measure.quiet)
            return;
        long before = heapInUse();
        if (workload.startsWith("W6.plain"))
            leave(count);
        else
            fill(count);
        Measure.report(workload, (heapInUse() - before) / (double) count, "B", "lower");
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
        long before = switches();
        long startNs = System.nanoTime();
        long startCpuNs = Measure.cpuNs();
        Measure.waitUntil(startNs + milliseconds * MILLISECOND);
        double spentS = (System.nanoTime() - startNs) / 1e9;
        double spentCpuUs = (Measure.cpuNs() - startCpuNs) / 1e3;
        Measure.report(workload + ".wakeups", (switches() - before) / spentS, "1/s", "lower");
        Measure.report(workload + ".cpu", spentCpuUs / spentS, "us/s", "lower");
    }

    /** The number in a workload's name, such as W3.cancel.100k.1t. */
    private static int pendingOf(String name) {
        return Integer.parseInt(name.split("\\.")[2].replace("k", "000").replace("M", "000000"));
    }

    private static void prepare() throws InterruptedException {
        timers.open();
        if (workload.startsWith("W3."))
            prepareChurns();
        if (workload.equals("W7.idle"))
            fill(1);
    }

    private static void run(long amount) throws Exception {
        boolean quiet = Measure.quiet;
        if (workload.startsWith("W3."))
            cancel(quiet ? 20 : amount);
        else if (workload.startsWith("W4."))
            fire(quiet ? Math.min(WARM_UP_TIMERS, pendingOf(workload)) : pendingOf(workload));
        else if (workload.startsWith("W5."))
            repeat(quiet ? 100 : amount, workload.equals("W5.phase") ? 1 : PERIOD_NS);
        else if (workload.startsWith("W6."))
            remember(pendingOf(workload));
        else
            idle(amount);
    }

    public static void main(String[] args) throws Exception {
        workload = args[1];
        if (args[0].equals("netty-1ms")) // Netty need not be there
            timers = (Subject) Class.forName("Netty").getDeclaredConstructor().newInstance();
        else
            timers = new Jdk(args[0].equals("jdk-keep"));
        prepare();
        Measure.serve(!workload.startsWith("W6.") && !workload.startsWith("W7."), Timers::run);
    }
}
