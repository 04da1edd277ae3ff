/* SPDX-License-Identifier: Apache-2.0 */

import java.util.Arrays;
import java.util.SplittableRandom;
import java.util.concurrent.DelayQueue;
import java.util.concurrent.Delayed;
import java.util.concurrent.TimeUnit;

/**
 * The JDK's DelayQueue as a subject of W8: java Delay jdk WORKLOAD. delay_main.c describes the workloads. The
 * elements are made before the time is taken, as in C.
 */
final class Delay {
    private static final int WARM_UP_ELEMENTS = 20_000;
    private static final long MOST_DELAY_NS = 50_000_000;
    private static final long PACE_NS = 5_000;

    private static final DelayQueue<Element> queue = new DelayQueue<>();
    private static String workload;
    private static volatile long putNs;

    private static final class Element implements Delayed {
        long dueNs; // set before the element is put

        @Override
        public long getDelay(TimeUnit unit) {
            return unit.convert(dueNs - System.nanoTime(), TimeUnit.NANOSECONDS);
        }

        @Override
        public int compareTo(Delayed other) {
            return Long.compare(dueNs, ((Element) other).dueNs);
        }
    }

    private static void produce(Element[] elements, long paceNs) {
        SplittableRandom random = new SplittableRandom();
        long startNs = System.nanoTime();
        long turnNs = startNs;
        for (Element element : elements) {
            long now = System.nanoTime();
            while (now < turnNs)
                now = System.nanoTime();
            element.dueNs = now + random.nextLong(MOST_DELAY_NS);
            queue.put(element);
            turnNs += paceNs;
        }
        putNs = System.nanoTime() - startNs;
    }

    private static void consume(long[] lateNs) throws InterruptedException {
        for (int i = 0; i < lateNs.length; i++) {
            Element element = queue.take();
            lateNs[i] = System.nanoTime() - element.dueNs;
            if (lateNs[i] < 0)
                Measure.must(false, "an element was taken early");
        }
    }

    private static void flow(int count, long paceNs) throws InterruptedException {
        long[] lateNs = new long[count];
        Element[] elements = new Element[count];
        Arrays.setAll(elements, i -> new Element());
        if (!Measure.quiet)
            System.gc();
        Thread producer = new Thread(() -> produce(elements, paceNs));
        long startCpuNs = Measure.cpuNs();
        long startNs = System.nanoTime();
        producer.start();
        consume(lateNs);
        long spentNs = System.nanoTime() - startNs;
        long spentCpuNs = Measure.cpuNs() - startCpuNs;
        producer.join();
        if (paceNs == 0) {
            Measure.report(workload + ".rate", count * 1e9 / spentNs, "1/s", "higher");
            Measure.report(workload + ".put", count * 1e9 / putNs, "1/s", "higher");
        }
        Measure.report(workload + ".cpu", (double) spentCpuNs / count, "ns", "lower");
        Measure.reportLateness(workload, lateNs);
    }

    private static void run(long amount) throws InterruptedException {
        flow(Measure.quiet ? WARM_UP_ELEMENTS : (int) amount, workload.equals("W8.paced") ? PACE_NS : 0);
    }

    public static void main(String[] args) {
        workload = args[1];
        Measure.serve(true, Delay::run);
    }
}
