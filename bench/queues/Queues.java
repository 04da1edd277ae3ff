/* SPDX-License-Identifier: Apache-2.0 */

import java.util.Arrays;
import java.util.Comparator;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.DelayQueue;
import java.util.concurrent.Delayed;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.PriorityBlockingQueue;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/**
 * The JDK as a subject of the benchmark: java Queues jdk|jdk-fair WORKLOAD
 *
 * <p>queues_main.c describes the commands and has the same workloads. Each process runs one workload only, so
 * that the compiler sees one kind of queue, and "warm" repeats it until the given time has been spent on it.
 */
final class Queues {
    private static final int HELD_ITEMS = 1000;
    private static final int CALLS_PER_LOOK = 256;
    private static final int ROUNDS_PER_LOOK = 16;
    private static final int LATCHES = 256;
    private static final int LATE_ITEMS = 100;

    private static final Item ANY_ITEM = new Item();
    private static final Item LAST_ITEM = new Item();

    /** Written so that the compiler cannot leave out what led to them. */
    private static volatile boolean wasInterrupted;
    private static CountDownLatch usedLatch;

    private static volatile boolean stop;
    private static volatile int side;

    private static final class Item implements Delayed, Comparable<Delayed> {
        long priority;
        long dueNs = System.nanoTime();

        @Override
        public long getDelay(TimeUnit unit) {
            return unit.convert(dueNs - System.nanoTime(), TimeUnit.NANOSECONDS);
        }

        @Override
        public int compareTo(Delayed other) {
            return Long.compare(dueNs, ((Item) other).dueNs);
        }
    }

    private interface Body {
        void run() throws Exception;
    }

    private static Thread start(Body body) {
        Thread thread = new Thread(() -> {
            try {
                body.run();
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        });
        thread.start();
        return thread;
    }

    private static Thread[] start(int count, Body body) {
        Thread[] threads = new Thread[count];
        for (int i = 0; i < count; i++)
            threads[i] = start(body);
        return threads;
    }

    private static void join(Thread... threads) throws InterruptedException {
        for (Thread thread : threads)
            thread.join();
    }

    private static long nextRandom(long state) {
        state ^= state << 13;
        state ^= state >>> 7;
        return state ^ state << 17;
    }

    private static void reportRate(String metric, long count, long spentNs) {
        Measure.report(metric, count * 1e9 / spentNs, "1/s", "higher");
    }

    private static void reportCost(String metric, long count, long spentNs) {
        Measure.report(metric, (double) spentNs / count, "ns", "lower");
    }

    /** The queue that a workload's name asks for, such as "queue.array.4p4c.1024". */
    private static BlockingQueue<Item> newQueue(String workload, boolean fair) {
        String[] words = workload.split("\\.");
        String last = words[words.length - 1];
        int capacity = last.matches("[0-9]+") ? Integer.parseInt(last) : 1024;
        switch (words[1]) {
            case "array": return new ArrayBlockingQueue<>(capacity, fair);
            case "linked": return new LinkedBlockingQueue<>(capacity);
            case "synchronous": return new SynchronousQueue<>(last.equals("fair"));
            case "priority":
                return new PriorityBlockingQueue<>(11, Comparator.comparingLong((Item i) -> i.priority));
            default: return asItems(new DelayQueue<>());
        }
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    private static BlockingQueue<Item> asItems(DelayQueue<Item> queue) {
        return (BlockingQueue) queue;
    }

    private static void produce(BlockingQueue<Item> queue, CyclicBarrier barrier) throws Exception {
        barrier.await();
        while (!stop)
            queue.put(ANY_ITEM);
    }

    private static void consume(BlockingQueue<Item> queue, CyclicBarrier barrier, AtomicLong done)
            throws Exception {
        long taken = 0;
        barrier.await();
        while (queue.take() != LAST_ITEM)
            taken++;
        done.addAndGet(taken);
    }

    private static void handOver(String workload, boolean fair, long windowNs) throws Exception {
        int threads = workload.contains("4p4c") ? 4 : 1;
        BlockingQueue<Item> queue = newQueue(workload, fair);
        CyclicBarrier barrier = new CyclicBarrier(2 * threads + 1);
        AtomicLong done = new AtomicLong();
        stop = false;
        Thread[] consumers = start(threads, () -> consume(queue, barrier, done));
        Thread[] producers = start(threads, () -> produce(queue, barrier));
        barrier.await();
        long start = System.nanoTime();
        TimeUnit.NANOSECONDS.sleep(windowNs);
        stop = true;
        join(producers);
        for (int i = 0; i < threads; i++)
            queue.put(LAST_ITEM);
        join(consumers);
        reportRate(workload, done.get(), System.nanoTime() - start);
    }

    private static void offerAndPoll(BlockingQueue<Item> queue) {
        for (int i = 0; i < CALLS_PER_LOOK; i++) {
            Measure.must(queue.offer(ANY_ITEM), "a call has failed");
            Measure.must(queue.poll() == ANY_ITEM, "a call has failed");
        }
    }

    private static void offersAndPolls(String workload, boolean fair, long windowNs) {
        BlockingQueue<Item> queue = newQueue(workload, fair);
        long start = System.nanoTime();
        long pairs = 0;
        long spent;
        do {
            offerAndPoll(queue);
            pairs += CALLS_PER_LOOK;
            spent = System.nanoTime() - start;
        } while (spent < windowNs);
        reportCost(workload, pairs, spent);
    }

    private static long moveBack(Item item, long random) {
        random = nextRandom(random);
        item.priority += random >>> 44;
        item.dueNs = item.priority;
        return random;
    }

    private static long takeAndPutBack(BlockingQueue<Item> queue, long random) throws InterruptedException {
        for (int i = 0; i < CALLS_PER_LOOK; i++) {
            Item item = queue.take();
            random = moveBack(item, random);
            queue.put(item);
        }
        return random;
    }

    private static void holdFor(BlockingQueue<Item> queue, long windowNs, CyclicBarrier barrier,
            AtomicLong done) throws Exception {
        long random = System.nanoTime() | 1;
        long pairs = 0;
        barrier.await();
        long start = System.nanoTime();
        do {
            random = takeAndPutBack(queue, random);
            pairs += CALLS_PER_LOOK;
        } while (System.nanoTime() - start < windowNs);
        done.addAndGet(pairs);
    }

    private static void hold(String workload, long windowNs) throws Exception {
        int threads = workload.endsWith("4t") ? 4 : 1;
        BlockingQueue<Item> queue = newQueue(workload, false);
        CyclicBarrier barrier = new CyclicBarrier(threads + 1);
        AtomicLong done = new AtomicLong();
        long random = System.nanoTime() | 1;
        for (int i = 0; i < HELD_ITEMS; i++) {
            Item item = new Item();
            random = moveBack(item, random);
            queue.put(item);
        }
        Thread[] holders = start(threads, () -> holdFor(queue, windowNs, barrier, done));
        long start = System.nanoTime();
        barrier.await();
        join(holders);
        reportRate(workload, done.get(), System.nanoTime() - start);
    }

    private static void lateness(String workload) throws InterruptedException {
        BlockingQueue<Item> queue = newQueue(workload, false);
        long[] lateNs = new long[LATE_ITEMS];
        long start = System.nanoTime();
        long random = start | 1;
        for (int i = 0; i < LATE_ITEMS; i++) {
            Item item = new Item();
            random = nextRandom(random);
            item.dueNs = start + 1_000_000 + Long.remainderUnsigned(random, 100_000_000);
            queue.put(item);
        }
        for (int i = 0; i < LATE_ITEMS; i++) {
            Item item = queue.take();
            lateNs[i] = System.nanoTime() - item.dueNs;
            Measure.must(lateNs[i] >= 0, "a call has failed");
        }
        Arrays.sort(lateNs);
        Measure.report("queue.delay.late.p50", lateNs[LATE_ITEMS / 2] / 1e3, "us", "lower");
        Measure.report("queue.delay.late.p90", lateNs[LATE_ITEMS * 9 / 10] / 1e3, "us", "lower");
    }

    private static void returnBall(Thread opponent) {
        while (side != 2) {
            if (side == 0) {
                LockSupport.park();
            } else if (side == 1) {
                side = 0;
                LockSupport.unpark(opponent);
            }
        }
    }

    private static void parkAndUnpark(String workload, long windowNs) throws InterruptedException {
        Thread self = Thread.currentThread();
        side = 0;
        Thread other = start(() -> returnBall(self));
        long start = System.nanoTime();
        long rounds = 0;
        long spent;
        do {
            for (int i = 0; i < ROUNDS_PER_LOOK; i++) {
                side = 1;
                LockSupport.unpark(other);
                while (side != 0)
                    LockSupport.park();
            }
            rounds += ROUNDS_PER_LOOK;
            spent = System.nanoTime() - start;
        } while (spent < windowNs);
        side = 2;
        LockSupport.unpark(other);
        join(other);
        reportCost(workload, rounds, spent);
    }

    private static boolean testInterrupts() {
        boolean interrupted = false;
        for (int i = 0; i < CALLS_PER_LOOK; i++)
            interrupted |= Thread.interrupted();
        return interrupted;
    }

    private static void testsOfInterrupts(String workload, long windowNs) {
        long start = System.nanoTime();
        long tests = 0;
        long spent;
        do {
            wasInterrupted = testInterrupts();
            tests += CALLS_PER_LOOK;
            spent = System.nanoTime() - start;
        } while (spent < windowNs);
        reportCost(workload, tests, spent);
    }

    private static void openLatches(String workload, long windowNs) throws InterruptedException {
        long start = System.nanoTime();
        long latches = 0;
        long spent;
        do {
            for (int i = 0; i < CALLS_PER_LOOK; i++) {
                CountDownLatch latch = new CountDownLatch(1);
                usedLatch = latch;
                latch.countDown();
                latch.await();
            }
            latches += CALLS_PER_LOOK;
            spent = System.nanoTime() - start;
        } while (spent < windowNs);
        reportCost(workload, latches, spent);
    }

    private static void answerLatches(CountDownLatch[] there, CountDownLatch[] back)
            throws InterruptedException {
        for (int i = 0; i < LATCHES; i++) {
            there[i].await();
            back[i].countDown();
        }
    }

    private static long relayOnce() throws InterruptedException {
        CountDownLatch[] there = new CountDownLatch[LATCHES];
        CountDownLatch[] back = new CountDownLatch[LATCHES];
        Arrays.setAll(there, i -> new CountDownLatch(1));
        Arrays.setAll(back, i -> new CountDownLatch(1));
        Thread other = start(() -> answerLatches(there, back));
        long start = System.nanoTime();
        for (int i = 0; i < LATCHES; i++) {
            there[i].countDown();
            back[i].await();
        }
        long spent = System.nanoTime() - start;
        join(other);
        return spent;
    }

    private static void awaitAndCountDown(String workload, long windowNs) throws InterruptedException {
        long spent = 0;
        long rounds = 0;
        for (; spent < windowNs; rounds += LATCHES)
            spent += relayOnce();
        reportCost(workload, rounds, spent);
    }

    private static void run(String workload, boolean fair, long windowNs) throws Exception {
        if (workload.contains("1c") || workload.contains("4c"))
            handOver(workload, fair, windowNs);
        else if (workload.contains(".hold"))
            hold(workload, windowNs);
        else if (workload.equals("queue.delay.late"))
            lateness(workload);
        else if (workload.equals("parker.pingpong"))
            parkAndUnpark(workload, windowNs);
        else if (workload.equals("latch.pingpong"))
            awaitAndCountDown(workload, windowNs);
        else if (workload.equals("latch.alone"))
            openLatches(workload, windowNs);
        else if (workload.equals("interrupt.test"))
            testsOfInterrupts(workload, windowNs);
        else
            offersAndPolls(workload, fair, windowNs);
    }

    /** Warm up in short runs: only a method that is entered anew gets the compiler's best code. */
    public static void main(String[] args) {
        boolean fair = args[0].equals("jdk-fair");
        Measure.serve(true, milliseconds ->
                run(args[1], fair, TimeUnit.MILLISECONDS.toNanos(milliseconds) / (Measure.quiet ? 20 : 1)));
    }
}
