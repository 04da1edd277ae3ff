/* SPDX-License-Identifier: Apache-2.0 */

import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.Locale;
import java.util.Scanner;
import java.util.concurrent.TimeUnit;

/** What all programs of the benchmark in Java share, as measure.h does in C. */
final class Measure {
    /** While the program only warms up: nothing is reported. */
    static boolean quiet;

    private Measure() {}

    interface Run {
        void run(long amount) throws Exception;
    }

    static void report(String metric, double value, String unit, String better) {
        if (!quiet)
            System.out.printf(Locale.ROOT, "%s %.6g %s %s%n", metric, value, unit, better);
    }

    private static void reportPart(String workload, String part, long valueNs) {
        report(workload + "." + part, valueNs / 1e3, "us", "lower");
    }

    /** The median and the 99th percentile. Sorts the values. */
    static void reportPercentiles(String workload, long[] valuesNs) {
        if (quiet)
            return;
        must(valuesNs.length > 0, "nothing ran");
        Arrays.sort(valuesNs);
        reportPart(workload, "p50", valuesNs[valuesNs.length / 2]);
        reportPart(workload, "p99", valuesNs[(int) (valuesNs.length * 99L / 100)]);
    }

    /** The same, and the tail. */
    static void reportLateness(String workload, long[] valuesNs) {
        if (quiet)
            return;
        reportPercentiles(workload, valuesNs);
        reportPart(workload, "p999", valuesNs[(int) (valuesNs.length * 999L / 1000)]);
        reportPart(workload, "max", valuesNs[valuesNs.length - 1]);
    }

    static void must(boolean truth, String what) {
        if (truth)
            return;
        System.err.println("bench: " + what);
        Runtime.getRuntime().halt(1);
    }

    static void waitUntil(long timeNs) throws InterruptedException {
        long leftNs = timeNs - System.nanoTime();
        if (leftNs > 0)
            TimeUnit.NANOSECONDS.sleep(leftNs);
    }

    /** What the process has spent so far. */
    static long cpuNs() {
        var system = (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        return system.getProcessCpuTime();
    }

    /**
     * Carries out the commands "warm MILLISECONDS" and "run AMOUNT"; see serve_peer. With `repeats`, warming
     * up runs the workload until the given time has been spent on it, for the sake of the compiler; otherwise
     * once. Then ends the process: threads of a pool would go on.
     */
    static void serve(boolean repeats, Run run) {
        try (Scanner commands = new Scanner(System.in)) {
            while (commands.hasNext()) {
                quiet = commands.next().equals("warm");
                long amount = commands.nextLong();
                long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(amount);
                do
                    run.run(amount);
                while (quiet && repeats && System.nanoTime() < end);
                System.out.println(".");
                System.out.flush();
            }
        } catch (Throwable e) {
            e.printStackTrace();
            Runtime.getRuntime().halt(1);
        }
        Runtime.getRuntime().halt(0);
    }
}
