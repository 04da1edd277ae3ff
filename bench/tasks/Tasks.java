/* SPDX-License-Identifier: Apache-2.0 */

import java.io.IOException;
import java.io.InputStream;
import java.lang.invoke.MethodHandles;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorCompletionService;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.Future;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The JDK's thread pools as subjects of W9 to W12: java Tasks jdk|jdk-fjp WORKLOAD
 *
 * <p>jdk is a fixed ThreadPoolExecutor, jdk-fjp a ForkJoinPool of as many threads, not in asynchronous mode.
 * tasks_main.c describes the workloads. The cells of W9 are the tasks, so that nothing but what the pool
 * needs is allocated. The JDK has no group: W9.group submits tasks that count down a CountDownLatch.
 */
final class Tasks {
    private static final int WORKERS = 2;
    private static final int ROUND = 10_000;
    private static final int BATCH = 1000;
    private static final int STAGES = 4;
    private static final int CHOICES = 1 << 16;
    private static final int BACKLOG = 5;
    private static final int WARM_UP_TASKS = 20_000;
    private static final long LEAST_NS_PER_TASK = 200;
    private static final long IDLE_NS_PER_TASK = 1000;

    private static final AtomicLong ran = new AtomicLong();
    private static final Semaphore allRan = new Semaphore(0);
    private static volatile long expected;
    private static volatile long endNs;

    private static String workload;
    private static ExecutorService pool;

    /** Runs so many tasks. Returns the time that they took. */
    interface Run {
        long run(int tasks) throws Exception;
    }

    static void count() {
        if (ran.incrementAndGet() != expected)
            return;
        endNs = System.nanoTime();
        allRan.release();
    }

    private static void expect(long tasks) {
        ran.set(0);
        expected = tasks;
    }

    private static void repeat(Run run, int tasks) throws Exception {
        long spentNs = 0;
        long done = 0;
        do {
            spentNs += run.run(tasks);
            done += tasks;
        } while (!Measure.quiet && spentNs < tasks * LEAST_NS_PER_TASK);
        Measure.report(workload, done * 1e9 / spentNs, "1/s", "higher");
    }

    // ---- W9 ----

    private static final class Cell implements Callable<Cell> {
        int value;

        @Override
        public Cell call() {
            value++;
            return this;
        }

        void check() {
            if (value != 1)
                Measure.must(false, "a task has not run exactly once");
        }
    }

    /** Runs these tasks and returns when it has seen that all are done. */
    interface Join {
        void join(List<Cell> cells) throws Exception;
    }

    @SuppressWarnings("unchecked")
    private static final Future<Cell>[] futures = new Future[ROUND];

    private static void order(List<Cell> cells) throws Exception {
        int count = cells.size();
        for (int i = 0; i < count; i++)
            futures[i] = pool.submit((Callable<Cell>) cells.get(i));
        for (int i = 0; i < count; i++) {
            futures[i].get().check();
            futures[i] = null;
        }
    }

    private static void group(List<Cell> cells) throws Exception {
        CountDownLatch latch = new CountDownLatch(cells.size());
        for (Cell cell : cells)
            pool.submit(() -> {
                cell.call();
                latch.countDown();
                return cell;
            });
        latch.await();
    }

    private static void completion(List<Cell> cells) throws Exception {
        ExecutorCompletionService<Cell> service = new ExecutorCompletionService<>(pool);
        for (Cell cell : cells)
            service.submit(cell);
        for (int i = cells.size(); i > 0; i--)
            service.take().get().check();
    }

    private static void batch(List<Cell> cells) throws Exception {
        for (Future<Cell> future : pool.invokeAll(cells))
            future.get().check();
    }

    private static void latch(List<Cell> cells) throws Exception {
        CountDownLatch latch = new CountDownLatch(cells.size());
        for (Cell cell : cells)
            pool.execute(() -> {
                cell.call();
                latch.countDown();
            });
        latch.await();
    }

    private static final Cell[] allCells = new Cell[ROUND];

    private static long rounds(Join join, int tasks, int most) throws Exception {
        long spentNs = 0;
        for (int left = tasks; left > 0;) {
            int size = Math.min(left, most);
            for (Cell cell : allCells)
                cell.value = 0;
            List<Cell> cells = Arrays.asList(allCells).subList(0, size);
            long startNs = System.nanoTime();
            join.join(cells);
            spentNs += System.nanoTime() - startNs;
            cells.forEach(Cell::check);
            left -= size;
        }
        return spentNs;
    }

    // ---- W10 ----

    private static void tree(int number) {
        pool.execute(() -> {
            for (int child = 2 * number; child <= 2 * number + 1 && child <= expected; child++)
                tree(child);
            count();
        });
    }

    private static long runTree(int tasks) throws InterruptedException {
        expect(tasks);
        long startNs = System.nanoTime();
        tree(1);
        allRan.acquire();
        return endNs - startNs;
    }

    private static int[] items;

    private static void pipe(int number) {
        pool.execute(() -> {
            int stage = number % STAGES;
            if (items[number / STAGES]++ != stage)
                Measure.must(false, "a stage ran twice, or too early");
            if (stage < STAGES - 1)
                pipe(number + 1);
            count();
        });
    }

    private static long runPipe(int tasks) throws InterruptedException {
        items = new int[tasks / STAGES];
        expect((long) items.length * STAGES);
        long startNs = System.nanoTime();
        for (int i = 0; i < items.length; i++)
            pipe(i * STAGES);
        allRan.acquire();
        return endNs - startNs;
    }

    // ---- W11 ----

    /** Defined again and again under hidden names: as many classes with the same code. */
    static final class Form implements Runnable {
        @Override
        public void run() {
            count();
        }
    }

    private static Runnable[] forms;
    private static short[][] choices; // of each producer

    private static Runnable[] makeForms(int count) throws IOException, ReflectiveOperationException {
        Runnable[] made = new Runnable[count];
        try (InputStream file = Form.class.getResourceAsStream("Tasks$Form.class")) {
            byte[] code = file.readAllBytes();
            for (int i = 0; i < count; i++)
                made[i] = (Runnable) MethodHandles.lookup().defineHiddenClass(code, true).lookupClass()
                        .getDeclaredConstructor().newInstance();
        }
        return made;
    }

    /** W11.forms17.p4: 17 forms, 4 producers. */
    private static void prepareForms() throws IOException, ReflectiveOperationException {
        String[] words = workload.split("\\.");
        int count = Integer.parseInt(words[1].substring("forms".length()));
        SplittableRandom random = new SplittableRandom(1);
        forms = makeForms(count);
        choices = new short[Integer.parseInt(words[2].substring(1))][CHOICES];
        for (short[] each : choices)
            for (int i = 0; i < CHOICES; i++)
                each[i] = (short) random.nextInt(count);
    }

    private static void produce(CyclicBarrier start, short[] choice, int tasks) {
        try {
            start.await();
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
        for (int i = 0; i < tasks; i++)
            pool.execute(forms[choice[i % CHOICES]]);
    }

    private static long runForms(int tasks) throws Exception {
        Thread[] threads = new Thread[choices.length];
        CyclicBarrier start = new CyclicBarrier(threads.length + 1);
        expect(tasks);
        for (int i = 0; i < threads.length; i++) {
            short[] choice = choices[i];
            threads[i] = new Thread(() -> produce(start, choice, tasks / threads.length));
            threads[i].start();
        }
        long startNs = System.nanoTime();
        start.await();
        allRan.acquire();
        for (Thread thread : threads)
            thread.join();
        return endNs - startNs;
    }

    // ---- W12 ----

    private static double residentMb() throws IOException {
        System.gc();
        System.gc();
        for (String line : Files.readAllLines(Path.of("/proc/self/status")))
            if (line.startsWith("VmRSS:"))
                return Long.parseLong(line.replaceAll("[^0-9]", "")) / 1024.0;
        throw new IOException("no VmRSS");
    }

    private static void drain(Future<?>[] all, int tasks, boolean submits) throws Exception {
        CountDownLatch released = new CountDownLatch(1);
        for (int i = 0; i < WORKERS; i++)
            pool.execute(() -> {
                try {
                    released.await();
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
            });
        expect(tasks);
        for (int i = 0; i < tasks; i++)
            if (submits)
                all[i] = pool.submit(Tasks::count);
            else
                pool.execute(Tasks::count);
        released.countDown();
        for (int i = 0; i < tasks && submits; i++) {
            all[i].get();
            all[i] = null;
        }
        allRan.acquire();
    }

    private static void stay(long amount, boolean submits) throws Exception {
        int tasks = Measure.quiet ? 0 : (int) (amount * BACKLOG);
        Future<?>[] all = new Future<?>[tasks + 1000];
        drain(all, 1000, submits);
        if (Measure.quiet)
            return;
        double before = residentMb();
        drain(all, tasks, submits);
        Measure.waitUntil(System.nanoTime() + amount * IDLE_NS_PER_TASK);
        Measure.report(workload, residentMb() - before, "MB", "lower");
    }

    private static void run(long amount) throws Exception {
        int tasks = Measure.quiet ? WARM_UP_TASKS : (int) amount;
        switch (workload) {
            case "W9.order" -> repeat(n -> rounds(Tasks::order, n, ROUND), tasks);
            case "W9.group" -> repeat(n -> rounds(Tasks::group, n, ROUND), tasks);
            case "W9.completion" -> repeat(n -> rounds(Tasks::completion, n, ROUND), tasks);
            case "W9.batch" -> repeat(n -> rounds(Tasks::batch, n, BATCH), tasks);
            case "W9.latch" -> repeat(n -> rounds(Tasks::latch, n, ROUND), tasks);
            case "W10.tree" -> repeat(Tasks::runTree, tasks);
            case "W10.pipe" -> repeat(Tasks::runPipe, tasks / STAGES * STAGES);
            case "W12.execute" -> stay(amount, false);
            case "W12.submit" -> stay(amount, true);
            default -> repeat(Tasks::runForms, tasks);
        }
    }

    public static void main(String[] args) throws Exception {
        workload = args[1];
        pool = args[0].equals("jdk-fjp") ? new ForkJoinPool(WORKERS) : Executors.newFixedThreadPool(WORKERS);
        Arrays.setAll(allCells, i -> new Cell());
        if (workload.startsWith("W11."))
            prepareForms();
        Measure.serve(!workload.startsWith("W12."), Tasks::run);
    }
}
