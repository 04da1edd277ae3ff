/* SPDX-License-Identifier: Apache-2.0 */

import static java.util.concurrent.TimeUnit.NANOSECONDS;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CancellationException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.RunnableScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.LockSupport;

/**
 * Plays scenarios with the JDK, in real time and many at once: java Scenario [AT_ONCE] <SCENARIOS >TRACES
 *
 * <p>scenario.h describes both texts. On a busy machine events are late. All events of a scenario are at
 * whole ticks, so this can be detected: if an event is late by more than TOLERANCE ticks, the play does not
 * count. A trace is valid if two plays with ticks of different lengths gave it. A scenario is played
 * repeatedly, with longer ticks each time, until a time limit; then its trace is only "scenario NUMBER
 * unsettled". If, with several threads, a task acted on others in a tick in which others acted or were due,
 * their order would be arbitrary, and the trace is "scenario NUMBER ambiguous". Neither depends on hora's
 * answers.
 */
final class Scenario {
    private static final double TOLERANCE = 0.4;
    private static final int[] TICKS_MS = {20, 24, 30, 36, 44, 54, 66, 80, 100};
    private static final int MOST_PLAYS = 1000;
    private static final long START_NS = System.nanoTime();
    private static final long MOST_NS = 150_000_000_000L;
    private static final long MORE_NS_PER_SCENARIO = 100_000_000L;
    private static final long LONGEST_PLAY_NS = 3_600_000_000_000L;
    private static final VarHandle PLANNED_TIME = plannedTime();
    private static final int AT_ONCE = 250;
    private static final int PATIENCE_S = 10;
    private static final int DRIVER = 0;
    private static final int WAITER = 1000;

    final int number;
    final List<String[]> lines = new ArrayList<>();
    private List<String> settled;
    private String verdict = "unsettled";
    private int plays;
    private int disturbed;
    private String reason = "";

    private Scenario(int number) {
        this.number = number;
    }

    /**
     * The field of the JDK's class. Needs the option --add-opens java.base/java.util.concurrent=ALL-UNNAMED.
     */
    private static VarHandle plannedTime() {
        try {
            Class<?> type = Class.forName("java.util.concurrent.ScheduledThreadPoolExecutor$ScheduledFutureTask");
            return MethodHandles.privateLookupIn(type, MethodHandles.lookup()).findVarHandle(type, "time", long.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    /** An event. The actor is DRIVER, the number of a task, or WAITER plus the number of a waiter. */
    private record Event(long tick, int actor, int order, String text) {
        boolean isTask() {
            return actor > DRIVER && actor < WAITER;
        }

        String line() {
            String who = actor == DRIVER ? "driver" : actor < WAITER ? "task " + actor : "waiter " + (actor - WAITER);
            return tick + " " + who + ": " + text;
        }
    }

    private void settle(long patienceNs) throws InterruptedException {
        List<List<String>> seen = new ArrayList<>();
        while (settled == null && plays < MOST_PLAYS && System.nanoTime() - START_NS < patienceNs) {
            Play play = new Play(TICKS_MS[Math.min(plays, TICKS_MS.length - 1)] * 1_000_000L);
            plays++;
            play.perform();
            if (play.trouble != null) {
                disturbed++;
                reason = play.trouble;
                continue;
            }
            List<String> trace = play.trace();
            if (seen.contains(trace)) {
                settled = trace;
                verdict = play.isAmbiguous() ? "ambiguous" : "";
            } else if (!seen.isEmpty()) {
                reason = "two plays differ: " + firstDifference(seen.get(0), trace);
            }
            seen.add(trace);
        }
    }

    private static String firstDifference(List<String> a, List<String> b) {
        int i = 0;
        while (i < a.size() && i < b.size() && a.get(i).equals(b.get(i)))
            i++;
        return (i < a.size() ? a.get(i) : "(end)") + " | " + (i < b.size() ? b.get(i) : "(end)");
    }

    /** One attempt. */
    private final class Play {
        final long tickNs;
        final List<Event> events = new ArrayList<>();
        final Map<Integer, Task> tasks = new HashMap<>();
        final Map<Thread, Long> freeSince = new ConcurrentHashMap<>();
        final List<Thread> waiters = new ArrayList<>();
        final Pool pool;
        long start;
        boolean single;
        volatile long coreSetAt;
        volatile String trouble;
        volatile boolean othersWereDue;

        Play(long tickNs) {
            this.tickNs = tickNs;
            String[] first = lines.get(0);
            pool = new Pool(Integer.parseInt(first[2]));
            pool.setExecuteExistingDelayedTasksAfterShutdownPolicy(first[3].equals("1"));
            pool.setContinueExistingPeriodicTasksAfterShutdownPolicy(first[4].equals("1"));
            pool.setRemoveOnCancelPolicy(first[5].equals("1"));
            single = Integer.parseInt(first[2]) < 2;
            for (String[] words : lines) {
                int word = words[0].equals("does") ? 3 : 2;
                if (words.length > word + 1 && words[word].equals("core") && Integer.parseInt(words[word + 1]) > 1)
                    single = false;
                if (words[0].equals("task"))
                    tasks.put(Integer.parseInt(words[1]), new Task(words));
                if (words[0].equals("does"))
                    tasks.get(Integer.parseInt(words[1])).deeds.add(words);
            }
        }

        /** Learns which future belongs to which task before the task can run. */
        private final class Pool extends ScheduledThreadPoolExecutor {
            final Map<Object, Task> owners = Collections.synchronizedMap(new IdentityHashMap<>());

            Pool(int core) {
                super(core);
            }

            @Override
            protected <V> RunnableScheduledFuture<V> decorateTask(Runnable runnable, RunnableScheduledFuture<V> future) {
                Task task = (Task) runnable;
                alignTime(future);
                owners.put(future, task);
                task.future = future;
                return future;
            }

            /** A series with a fixed delay has taken its next time from the clock. */
            @Override
            protected void afterExecute(Runnable future, Throwable thrown) {
                if (!isAligned(future) && getQueue().remove(future)) {
                    alignTime(future);
                    getQueue().add(future);
                }
            }
        }

        private final class Task implements Runnable {
            final int id;
            final int length;
            final int fails;
            final List<String[]> deeds = new ArrayList<>();
            volatile RunnableScheduledFuture<?> future;
            volatile boolean hasHandle;
            private int runs;
            private long lastEnd;

            Task(String[] words) {
                id = Integer.parseInt(words[1]);
                length = Integer.parseInt(words[2]);
                fails = Integer.parseInt(words[3]);
            }

            /**
             * How late this run begins: it may have waited for this thread, any thread, or the previous run.
             */
            private void checkLateness() {
                long since = Math.max(start, Math.max(coreSetAt, lastEnd));
                since = Math.max(since, freeSince.getOrDefault(Thread.currentThread(), start));
                long late = Math.min(-future.getDelay(NANOSECONDS), System.nanoTime() - since);
                checkLate((double) late / tickNs, "a run of task " + id);
            }

            /** Returns whether it was interrupted. */
            private boolean takeTime(long until) {
                try {
                    sleepUntilTick(until);
                    return false;
                } catch (InterruptedException e) {
                    log(id, "interrupted " + runs);
                    return true;
                }
            }

            @Override
            public void run() {
                runs++;
                checkLateness();
                long begin = tick();
                log(id, "begins " + runs, begin);
                for (String[] deed : deeds)
                    if (Integer.parseInt(deed[2]) == runs)
                        act(id, begin, Arrays.copyOfRange(deed, 3, deed.length));
                long end = even(begin + length);
                if (end > begin && takeTime(end)) {
                    end = even(tick() + 1);
                    if (takeTime(end))
                        end = tick();
                }
                boolean failed = runs == fails;
                log(id, (failed ? "fails " : "ends ") + runs, end);
                lastEnd = System.nanoTime();
                freeSince.put(Thread.currentThread(), lastEnd);
                if (failed)
                    throw new IllegalStateException();
            }
        }

        /**
         * Subtracts from a planned time what the clock has advanced since the tick began. So tasks that are
         * due at the same tick are due at the same nanosecond, and their order is not arbitrary.
         */
        private void alignTime(Object future) {
            if (!isAligned(future)) {
                long time = (long) PLANNED_TIME.getVolatile(future);
                boolean far = time - start > LONGEST_PLAY_NS;
                PLANNED_TIME.setVolatile(future, time - Math.floorMod((far ? System.nanoTime() : time) - start, tickNs));
            }
        }

        private boolean isAligned(Object future) {
            long sinceStart = (long) PLANNED_TIME.getVolatile(future) - start;
            return Math.floorMod(sinceStart, tickNs) == 0;
        }

        private void checkLate(double late, String what) {
            if (late < 0 || late > TOLERANCE)
                trouble = what + " is late by " + late + " ticks";
        }

        private double ticksNow() {
            return (double) (System.nanoTime() - start) / tickNs;
        }

        private long tick() {
            return (long) Math.floor(ticksNow());
        }

        private static long even(long tick) {
            return tick + tick % 2;
        }

        /** Records an event that happens now, at whatever time. */
        private void log(int actor, String text) {
            log(actor, text, tick());
        }

        /** Records an event that had to happen at this time. */
        private synchronized void log(int actor, String text, double expected) {
            double now = ticksNow();
            checkLate(now - expected, "tick " + now + " actor " + actor + ": " + text);
            events.add(new Event((long) Math.floor(now), actor, events.size(), text));
        }

        private void sleepUntilTick(double tick) throws InterruptedException {
            long until = start + (long) (tick * tickNs);
            for (long left = until - System.nanoTime(); left > 0; left = until - System.nanoTime()) {
                LockSupport.parkNanos(left);
                if (Thread.interrupted())
                    throw new InterruptedException();
            }
            if (Thread.interrupted())
                throw new InterruptedException();
            checkLate((double) (System.nanoTime() - until) / tickNs, "a sleep until " + tick);
        }

        private long delay(String word) {
            if (word.equals("forever"))
                return Long.MAX_VALUE;
            if (word.equals("past"))
                return Long.MIN_VALUE;
            long ticks = Long.parseLong(word);
            return (ticks > 0 ? even(tick() + ticks) - tick() : ticks) * tickNs;
        }

        private long firstDelay(String word) {
            long delay = delay(word);
            return delay <= 0 && tick() % 2 == 1 ? tickNs : delay;
        }

        private long period(String word) {
            return Long.parseLong(word) * tickNs;
        }

        private Task task(String[] call) {
            return tasks.get(Integer.parseInt(call[1]));
        }

        private static String number(boolean truth) {
            return truth ? "1" : "0";
        }

        private String list(List<Object> futures) {
            List<RunnableScheduledFuture<?>> sorted = new ArrayList<>();
            for (Object o : futures)
                sorted.add((RunnableScheduledFuture<?>) o);
            sorted.sort(Comparator.naturalOrder());
            StringBuilder text = new StringBuilder("[");
            for (RunnableScheduledFuture<?> f : sorted)
                text.append(text.length() > 1 ? " " : "").append(f.isCancelled() ? "-" : "").append(pool.owners.get(f).id);
            return text.append("]").toString();
        }

        private String showPool() {
            String state = " shut down";
            if (pool.isTerminated())
                state = " threads " + pool.getPoolSize() + " terminated";
            else if (!pool.isShutdown())
                state = " threads " + pool.getPoolSize() + " largest " + pool.getLargestPoolSize() + " running";
            return "queue " + list(Arrays.asList(pool.getQueue().toArray())) + " tasks " + pool.getTaskCount() + " completed "
                    + pool.getCompletedTaskCount() + " active " + pool.getActiveCount() + state;
        }

        private String outcome(Future<?> future, long timeoutNs) throws InterruptedException {
            try {
                future.get(timeoutNs, NANOSECONDS);
                return "succeeded";
            } catch (CancellationException e) {
                return "cancelled";
            } catch (ExecutionException e) {
                return "failed";
            } catch (TimeoutException e) {
                return "timeout";
            }
        }

        private String showFuture(RunnableScheduledFuture<?> f) throws InterruptedException {
            double delay = (double) f.getDelay(NANOSECONDS) / tickNs;
            String inTicks = "far";
            if (delay < 1e6) {
                inTicks = Long.toString(Math.round(delay));
                checkLate(Math.abs(delay - Math.round(delay)), "a delay");
            }
            String outcome = f.isDone() ? outcome(f, 0) : "pending";
            if (f.isCancelled() != outcome.equals("cancelled"))
                outcome += " and not";
            return outcome + (f.isPeriodic() ? " periodic" : "") + " due in " + inTicks;
        }

        private String schedule(String[] call) {
            Task task = task(call);
            try {
                switch (call[0]) {
                    case "schedule" -> pool.schedule(task, delay(call[2]), NANOSECONDS);
                    case "rate" -> pool.scheduleAtFixedRate(task, firstDelay(call[2]), period(call[3]), NANOSECONDS);
                    case "gap" -> pool.scheduleWithFixedDelay(task, firstDelay(call[2]), period(call[3]), NANOSECONDS);
                    case "submit" -> pool.submit(task);
                    default -> pool.execute(task);
                }
                task.hasHandle = !call[0].equals("execute");
                return "ok";
            } catch (RejectedExecutionException e) {
                return "rejected";
            } catch (IllegalArgumentException e) {
                return "invalid";
            }
        }

        private String startWaiter(String[] call) {
            RunnableScheduledFuture<?> future = call[0].equals("get") ? task(call).future : null;
            int actor = WAITER + waiters.size() + 1;
            double until = tick() + Integer.parseInt(call[call.length - 1]) + 0.5;
            Thread waiter = new Thread(() -> {
                long timeout = start + (long) (until * tickNs) - System.nanoTime();
                String answer;
                try {
                    if (future != null)
                        answer = outcome(future, timeout);
                    else
                        answer = pool.awaitTermination(timeout, NANOSECONDS) ? "terminated" : "timeout";
                } catch (InterruptedException e) {
                    answer = "interrupted";
                }
                log(actor, String.join(" ", call) + ": " + answer, answer.equals("timeout") ? until : tick());
            });
            waiters.add(waiter);
            waiter.start();
            return "waiter " + waiters.size();
        }

        /**
         * One operation at a time, so that a task's future is known before the task does anything with it.
         */
        private synchronized String answer(String[] call) throws InterruptedException {
            boolean ofTask = List.of("cancel", "remove", "future", "get").contains(call[0]);
            if (ofTask && !task(call).hasHandle)
                return "none";
            switch (call[0]) {
                case "schedule", "rate", "gap", "submit", "execute": return schedule(call);
                case "cancel": return number(task(call).future.cancel(call[2].equals("1")));
                case "remove": return number(pool.remove(task(call).future));
                case "purge": pool.purge(); return "queue " + pool.getQueue().size();
                case "core":
                    coreSetAt = System.nanoTime();
                    pool.setCorePoolSize(Integer.parseInt(call[1]));
                    return "ok";
                case "delayed": pool.setExecuteExistingDelayedTasksAfterShutdownPolicy(call[1].equals("1")); return "ok";
                case "periodic": pool.setContinueExistingPeriodicTasksAfterShutdownPolicy(call[1].equals("1")); return "ok";
                case "on_cancel": pool.setRemoveOnCancelPolicy(call[1].equals("1")); return "ok";
                case "shutdown": pool.shutdown(); return "ok";
                case "stop": return list(new ArrayList<>(pool.shutdownNow()));
                case "pool": return showPool();
                case "future": return showFuture(task(call).future);
                case "await", "get": return startWaiter(call);
                default: throw new IllegalArgumentException("no such operation: " + call[0]);
            }
        }

        private void act(int actor, long tick, String... call) {
            for (Task other : tasks.values())
                if (!single && actor != DRIVER && other.id != actor && other.future != null)
                    othersWereDue |= Math.abs(other.future.getDelay(NANOSECONDS)) < tickNs / 2;
            try {
                log(actor, String.join(" ", call) + ": " + answer(call), tick);
            } catch (InterruptedException e) {
                trouble = "an operation was interrupted";
            }
        }

        void perform() throws InterruptedException {
            start = System.nanoTime() + tickNs;
            coreSetAt = start;
            for (Task task : tasks.values())
                task.lastEnd = start;
            for (String[] words : lines) {
                if (trouble != null) {
                    pool.shutdownNow();
                    return;
                }
                if (words[0].equals("at")) {
                    int tick = Integer.parseInt(words[1]);
                    sleepUntilTick(tick);
                    act(DRIVER, tick, Arrays.copyOfRange(words, 2, words.length));
                } else if (words[0].equals("end")) {
                    finish(Integer.parseInt(words[1]));
                }
            }
        }

        private void finish(int tick) throws InterruptedException {
            sleepUntilTick(tick);
            act(DRIVER, tick, "stop");
            sleepUntilTick(tick + 2);
            act(DRIVER, tick + 2, "pool");
            for (int id : tasks.keySet().stream().sorted().toList())
                act(DRIVER, tick + 2, "future", Integer.toString(id));
            for (Thread waiter : waiters)
                waiter.join();
            if (!pool.awaitTermination(PATIENCE_S, TimeUnit.SECONDS))
                trouble = "the pool does not end: " + pool;
        }

        /** Returns whether a task acted on others in a tick in which others acted, or were about to act. */
        synchronized boolean isAmbiguous() {
            if (othersWereDue)
                return true;
            for (Event e : single ? List.<Event>of() : events)
                if (e.isTask() && e.text.contains(":"))
                    for (Event other : events)
                        if (other.isTask() && other.tick == e.tick && other.actor != e.actor)
                            return true;
            return false;
        }

        synchronized List<String> trace() {
            Comparator<Event> order = Comparator.comparingLong(Event::tick).thenComparingInt(e -> single && e.isTask() ? 1 : e.actor);
            return events.stream().sorted(order.thenComparingInt(Event::order)).map(Event::line).toList();
        }
    }

    private static List<Scenario> read() throws IOException {
        List<Scenario> scenarios = new ArrayList<>();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            if (words[0].equals("scenario"))
                scenarios.add(new Scenario(Integer.parseInt(words[1])));
            scenarios.get(scenarios.size() - 1).lines.add(words);
        }
        return scenarios;
    }

    private void print(StringBuilder out) {
        out.append("scenario ").append(number).append(verdict.isEmpty() ? "" : " " + verdict).append('\n');
        if (verdict.isEmpty())
            settled.forEach(line -> out.append(line).append('\n'));
        out.append("end\n");
    }

    private static void settleOrExit(Scenario scenario, long patienceNs) {
        try {
            scenario.settle(patienceNs);
        } catch (InterruptedException | RuntimeException e) {
            System.err.println("scenario " + scenario.number + ":");
            e.printStackTrace();
            System.exit(2);
        }
    }

    public static void main(String[] args) throws Exception {
        List<Scenario> scenarios = read();
        long patienceNs = MOST_NS + scenarios.size() * MORE_NS_PER_SCENARIO;
        ExecutorService drivers = Executors.newFixedThreadPool(args.length > 0 ? Integer.parseInt(args[0]) : AT_ONCE);
        List<Future<?>> all = new ArrayList<>();
        for (Scenario s : scenarios)
            all.add(drivers.submit(() -> settleOrExit(s, patienceNs)));
        drivers.shutdown();
        for (Future<?> f : all)
            f.get();
        StringBuilder out = new StringBuilder();
        int plays = 0;
        int disturbed = 0;
        for (Scenario s : scenarios) {
            s.print(out);
            plays += s.plays;
            disturbed += s.disturbed;
            if (s.verdict.equals("unsettled"))
                System.err.println("scenario " + s.number + " is unsettled: " + s.reason);
        }
        System.out.print(out);
        System.err.println("jdk: the JDK played " + plays + " times, " + disturbed + " times disturbed");
        System.exit(0);
    }
}
