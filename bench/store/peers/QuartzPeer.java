// SPDX-License-Identifier: Apache-2.0
// QuartzPeer ADDRESS drain COUNT | timed RATE SECONDS POLL_MS | wake COUNT | insert COUNT BATCH
//
// Quartz with its clustered store in PostgreSQL, 20 threads, and triggers acquired in batches of 20. It has no
// queue: a task is a trigger with one firing of a common job. POLL_MS is ignored: it looks ahead for due
// triggers, and another node notices new ones at its next look, which is every second at the least that Quartz
// allows. `wake` schedules with a second scheduler of the cluster, which does not run.
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.Statement;
import java.util.Arrays;
import java.util.Date;
import java.util.HashSet;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongUnaryOperator;
import org.quartz.Job;
import org.quartz.JobBuilder;
import org.quartz.JobDetail;
import org.quartz.JobExecutionContext;
import org.quartz.Scheduler;
import org.quartz.Trigger;
import org.quartz.TriggerBuilder;
import org.quartz.impl.StdSchedulerFactory;

public class QuartzPeer {
    private static final AtomicInteger runs = new AtomicInteger();
    private static final Semaphore ended = new Semaphore(0);
    private static double[] samples = new double[0];

    /** Counts its runs, and measures how late they are. */
    public static class Measured implements Job {
        @Override
        public void execute(JobExecutionContext context) {
            String put = context.getMergedJobDataMap().getString("put");
            double late = put != null ? (System.nanoTime() - Long.parseLong(put)) / 1e3
                    : (System.currentTimeMillis() - context.getScheduledFireTime().getTime()) * 1e3;
            int index = runs.getAndIncrement();
            if (index < samples.length)
                samples[index] = late;
            ended.release();
        }
    }

    private static void print(String name, double value, String unit) {
        System.out.printf(Locale.ROOT, "%s\t%.6g\t%s%n", name, value, unit);
    }

    private static void printSamples(String name) {
        Arrays.sort(samples);
        String[] points = {"min", "p50", "p90", "p99", "p999", "max"};
        double[] shares = {0, 0.5, 0.9, 0.99, 0.999, 1};
        for (int i = 0; i < points.length; i++)
            print(name + "." + points[i], samples[(int) (shares[i] * (samples.length - 1))], "us");
    }

    private static void createTables(String url) throws Exception {
        String name = "/org/quartz/impl/jdbcjobstore/tables_postgres.sql";
        try (InputStream in = QuartzPeer.class.getResourceAsStream(name);
                Connection connection = DriverManager.getConnection(url);
                Statement statement = connection.createStatement()) {
            statement.execute(new String(in.readAllBytes(), StandardCharsets.UTF_8));
        }
    }

    private static Scheduler scheduler(String url, String instance) throws Exception {
        Properties settings = new Properties();
        String[][] values = {
            {"scheduler.instanceName", "bench"}, {"scheduler.instanceId", instance},
            {"scheduler.skipUpdateCheck", "true"}, {"scheduler.idleWaitTime", "1000"},
            {"scheduler.batchTriggerAcquisitionMaxCount", "20"},
            {"threadPool.class", "org.quartz.simpl.SimpleThreadPool"}, {"threadPool.threadCount", "20"},
            {"jobStore.class", "org.quartz.impl.jdbcjobstore.JobStoreTX"},
            {"jobStore.driverDelegateClass", "org.quartz.impl.jdbcjobstore.PostgreSQLDelegate"},
            {"jobStore.isClustered", "true"}, {"jobStore.acquireTriggersWithinLock", "true"},
            {"jobStore.misfireThreshold", "3600000"}, {"jobStore.dataSource", "db"},
            {"dataSource.db.provider", "hikaricp"}, {"dataSource.db.driver", "org.postgresql.Driver"},
            {"dataSource.db.URL", url}, {"dataSource.db.maxConnections", "25"}};
        for (String[] value : values)
            settings.setProperty("org.quartz." + value[0], value[1]);
        return new StdSchedulerFactory(settings).getScheduler();
    }

    private static Trigger trigger(JobDetail job, long number, long at, String put) {
        TriggerBuilder<Trigger> builder = TriggerBuilder.newTrigger().forJob(job)
                .withIdentity("t" + number).startAt(new Date(at));
        return put == null ? builder.build() : builder.usingJobData("put", put).build();
    }

    private static void fill(Scheduler scheduler, JobDetail job, int count, int batch, LongUnaryOperator at)
            throws Exception {
        for (int done = 0; done < count; done += batch) {
            Set<Trigger> triggers = new HashSet<>();
            for (int i = done; i < Math.min(count, done + batch); i++)
                triggers.add(trigger(job, i, at.applyAsLong(i), null));
            scheduler.scheduleJobs(Map.of(job, triggers), true);
        }
    }

    private static double seconds(long start) {
        return (System.nanoTime() - start) / 1e9;
    }

    private static void measure(String url, Scheduler scheduler, String[] arguments) throws Exception {
        JobDetail job = JobBuilder.newJob(Measured.class).withIdentity("job").storeDurably().build();
        scheduler.addJob(job, true);
        int first = Integer.parseInt(arguments[2]);
        long start = System.nanoTime(), now = System.currentTimeMillis();
        switch (arguments[1]) {
        case "insert" -> {
            fill(scheduler, job, first, Integer.parseInt(arguments[3]), i -> now + 3600000);
            print("insert", first / seconds(start), "tasks/s");
        }
        case "drain" -> {
            fill(scheduler, job, first, 500, i -> now);
            start = System.nanoTime();
            scheduler.start();
            ended.acquire(first);
            print("drain", first / seconds(start), "tasks/s");
        }
        case "timed" -> {
            int count = first * Integer.parseInt(arguments[3]);
            long begin = now + 3000 + count * 10L;
            samples = new double[count];
            fill(scheduler, job, count, 100, i -> begin + i * 1000 / first);
            scheduler.start();
            ended.acquire(count);
            printSamples("timed.late");
        }
        case "wake" -> {
            samples = new double[first];
            scheduler.start();
            Scheduler other = scheduler(url, "other");
            for (int i = 0; i < first; i++) {
                other.scheduleJob(trigger(job, i, System.currentTimeMillis(), "" + System.nanoTime()));
                ended.acquire();
            }
            other.shutdown();
            printSamples("wake");
        }
        default -> throw new IllegalArgumentException(arguments[1]);
        }
    }

    public static void main(String[] arguments) throws Exception {
        String url = arguments[0].replaceFirst("^postgres://(\\w+)@(.*)$", "jdbc:postgresql://$2?user=$1");
        createTables(url);
        Scheduler scheduler = scheduler(url, "node");
        measure(url, scheduler, arguments);
        scheduler.shutdown(true);
        System.exit(0);
    }
}
