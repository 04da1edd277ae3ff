/* SPDX-License-Identifier: Apache-2.0 */

import static java.util.concurrent.TimeUnit.NANOSECONDS;

import java.io.BufferedOutputStream;
import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.FileReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.DelayQueue;
import java.util.concurrent.Delayed;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.PriorityBlockingQueue;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.TimeUnit;

/**
 * The JDK's answers to histories: java History EXPECTED <HISTORIES
 *
 * <p>history.h describes both texts. The JDK cannot tell when all threads have ended or wait, because a
 * thread that was just woken still appears to wait. So the program reads hora's answers, and after each line
 * waits for the workers that ended there. A worker that ends unexpectedly shows in the answer to this line or
 * a later one; one that does not end as expected shows after PATIENCE_MS. So no difference stays hidden, and
 * no time is lost if both agree. The program ends with the first answer that differs.
 */
final class History {
    private static final int LAST_ELEMENT = 40;
    private static final int LAST_DUE_ELEMENT = 30;
    private static final int WORKERS = 6;
    private static final long DUE_NEVER = 1_000_000_000_000_000_000L;
    private static final long PATIENCE_MS = 5000;

    private static final Comparator<Element> BY_RANK = Comparator.comparingLong((Element e) -> e.rank);
    private static final Element UNTOUCHED = new Element(0, 0);

    /** The time that the operation "advance" moves. */
    private static long now;

    private String kind;
    private boolean fixed;
    private boolean ties;
    private boolean withWorkers;
    private Element[] elements;
    private BlockingQueue<Element> queue;
    private CountDownLatch latch;
    private final Worker[] workers = new Worker[WORKERS];

    /** Equal only to itself, as a pointer is. */
    private static final class Element implements Delayed {
        final int number;
        final long rank;
        boolean fixed;

        Element(int number, long rank) {
            this.number = number;
            this.rank = rank;
        }

        @Override
        public long getDelay(TimeUnit unit) {
            return unit.convert(fixed ? rank : rank - now, NANOSECONDS);
        }

        @Override
        public int compareTo(Delayed other) {
            return Long.compare(rank, ((Element) other).rank);
        }
    }

    private final class Worker extends Thread {
        private final String[] call;
        private String answer;

        Worker(String[] call) {
            this.call = call;
        }

        @Override
        public void run() {
            answer = perform(call);
        }
    }

    private long rankOf(int number) {
        long tie = number % 4;
        if (!kind.equals("delay"))
            return ties ? tie : number;
        if (!fixed)
            return ties ? tie * 100 : number * 10;
        if (number > LAST_DUE_ELEMENT)
            return ties ? DUE_NEVER : DUE_NEVER + number;
        return ties ? tie - 10 : number - 100;
    }

    /** Makes the object that the first line of a history describes. */
    private History(String[] words) {
        withWorkers = !words[2].equals("0");
        kind = words[3];
        ties = words[4].equals("ties");
        fixed = kind.equals("delay") && words[5].equals("fixed");
        now = 0;
        elements = new Element[LAST_ELEMENT + 1];
        for (int i = 1; i <= LAST_ELEMENT; i++) {
            elements[i] = new Element(i, rankOf(i));
            elements[i].fixed = fixed;
        }
        switch (kind) {
            case "array" -> queue = new ArrayBlockingQueue<>(Integer.parseInt(words[4]), words[5].equals("fair"));
            case "linked" -> queue = new LinkedBlockingQueue<>(Integer.parseInt(words[4]));
            case "synchronous" -> queue = new SynchronousQueue<>(words[4].equals("fair"));
            case "priority" -> queue = new PriorityBlockingQueue<>(1, BY_RANK);
            case "delay" -> queue = newDelayQueue();
            default -> latch = new CountDownLatch(Integer.parseInt(words[4]));
        }
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    private static BlockingQueue<Element> newDelayQueue() {
        return (BlockingQueue) new DelayQueue<Element>();
    }

    private static String construct(String what, int size) {
        switch (what) {
            case "array" -> new ArrayBlockingQueue<Element>(size);
            case "linked" -> new LinkedBlockingQueue<Element>(size);
            case "priority" -> new PriorityBlockingQueue<>(size == 0 ? 11 : size, BY_RANK); // 0: hora takes the JDK's default
            default -> new CountDownLatch(size);
        }
        return "ok";
    }

    private long label(Element e) {
        return ties ? e.rank : e.number;
    }

    private String show(Element e, String whenNull) {
        return e == null ? whenNull : Long.toString(label(e));
    }

    private boolean isOrdered() {
        return !kind.equals("priority") && !kind.equals("delay");
    }

    private String list(List<Element> items, boolean sorted) {
        if (sorted)
            items.sort(Comparator.comparingLong(this::label));
        StringBuilder text = new StringBuilder();
        for (Element e : items)
            text.append(' ').append(label(e));
        return text.toString();
    }

    private String snapshot() {
        List<Element> items = new ArrayList<>();
        for (Object o : queue.toArray())
            items.add((Element) o);
        return items.size() + ":" + list(items, !isOrdered());
    }

    private String snapshotInto(int room) {
        Element[] given = new Element[room];
        Arrays.fill(given, UNTOUCHED);
        Element[] got = queue.toArray(given);
        int count = queue.size();
        int written = Math.min(count, room);
        StringBuilder text = new StringBuilder(count + ":");
        if (isOrdered() || written == count)
            text.append(list(new ArrayList<>(Arrays.asList(got).subList(0, written)), !isOrdered()));
        for (int i = written; i < room; i++)
            text.append(got[i] == null ? " -" : got[i] == UNTOUCHED ? " *" : " ?");
        return text.toString();
    }

    private String iterate() {
        List<Element> items = new ArrayList<>();
        for (Element e : queue)
            items.add(e);
        return "ok" + list(items, !isOrdered());
    }

    private String drain(int most) {
        List<Element> items = new ArrayList<>();
        int count = queue.drainTo(items, most);
        return count + ":" + list(items, false);
    }

    private String removeNth(int n) {
        List<Element> items = new ArrayList<>(queue);
        if (items.isEmpty())
            return "empty";
        items.sort(Comparator.comparingLong(this::label));
        Element chosen = items.get(n % items.size());
        return label(chosen) + " " + number(queue.remove(chosen));
    }

    private static String number(boolean truth) {
        return truth ? "1" : "0";
    }

    /** Returns whether the call would wait, so that without workers no thread could ever end it. */
    private boolean wouldWait(String[] call) {
        boolean inserts = call[0].equals("put") || call[0].equals("offer_for");
        boolean extracts = call[0].equals("take") || call[0].equals("poll_for");
        boolean awaits = call[0].equals("await") || call[0].equals("await_for");
        if (!(inserts || extracts || awaits) || Thread.currentThread().isInterrupted())
            return false;
        if (call[0].endsWith("_for")) {
            long timeout = nanos(call[inserts ? 2 : 1]);
            boolean timePasses = !kind.equals("delay") || fixed;
            if (timeout <= 0 || (timeout < Long.MAX_VALUE && timePasses))
                return false;
        }
        if (awaits)
            return latch.getCount() > 0;
        if (inserts)
            return !call[1].equals("0") && queue.remainingCapacity() == 0;
        Element head = queue.peek();
        return head == null || (kind.equals("delay") && head.getDelay(NANOSECONDS) > 0);
    }

    private Comparator<? super Element> comparator() {
        return ((PriorityBlockingQueue<Element>) queue).comparator();
    }

    private Element element(String[] call) {
        return elements[Integer.parseInt(call[1])];
    }

    private static long nanos(String word) {
        return Long.parseLong(word);
    }

    private String call(String[] call) throws InterruptedException {
        switch (call[0]) {
            case "put": queue.put(element(call)); return "ok";
            case "offer": return queue.offer(element(call)) ? "ok" : "full";
            case "add": queue.add(element(call)); return "ok";
            case "offer_for": return queue.offer(element(call), nanos(call[2]), NANOSECONDS) ? "ok" : "timeout";
            case "take": return show(queue.take(), "null");
            case "poll": return show(queue.poll(), "empty");
            case "poll_for": return show(queue.poll(nanos(call[1]), NANOSECONDS), "timeout");
            case "remove_first": return show(queue.remove(), "null");
            case "peek": return show(queue.peek(), "empty");
            case "first": return show(queue.element(), "null");
            case "remove": return number(queue.remove(element(call)));
            case "remove_nth": return removeNth(Integer.parseInt(call[1]));
            case "contains": return number(queue.contains(element(call)));
            case "drain": return drain(Integer.parseInt(call[1]));
            case "drain_null": return Integer.toString(queue.drainTo(null, Integer.parseInt(call[1])));
            case "clear": queue.clear(); return "ok";
            case "size": return Integer.toString(queue.size());
            case "empty": return number(queue.isEmpty());
            case "remaining": return Integer.toString(queue.remainingCapacity());
            case "snapshot": return snapshot();
            case "snapshot_into": return snapshotInto(Integer.parseInt(call[1]));
            case "snapshot_null": return Integer.toString(queue.toArray((Element[]) null).length);
            case "iterate": return iterate();
            case "comparator": return comparator() == BY_RANK ? "same" : "other";
            case "construct": return construct(call[1], Integer.parseInt(call[2]));
            case "interrupt": Thread.currentThread().interrupt(); return "ok";
            case "interrupted": return number(Thread.interrupted());
            case "is_interrupted": return number(Thread.currentThread().isInterrupted());
            case "sleep": Thread.sleep(0); return "ok";
            case "advance": now += nanos(call[1]); return "ok";
            case "await": latch.await(); return "ok";
            case "await_for": return latch.await(nanos(call[1]), NANOSECONDS) ? "ok" : "timeout";
            case "count_down": latch.countDown(); return "ok";
            case "count": return Long.toString(latch.getCount());
            case "end": return latch != null ? Long.toString(latch.getCount()) : snapshot();
            case "history": return "history " + call[1];
            default: return "no such operation";
        }
    }

    private String perform(String[] call) {
        String answer;
        try {
            answer = !withWorkers && wouldWait(call) ? "waits" : call(call);
        } catch (InterruptedException e) {
            answer = "interrupted";
        } catch (NullPointerException | IllegalArgumentException e) {
            answer = "invalid";
        } catch (IllegalStateException e) {
            answer = "full";
        } catch (NoSuchElementException e) {
            answer = "empty";
        }
        if (call[0].equals("end"))
            Thread.interrupted();
        return Thread.currentThread().isInterrupted() ? answer + " !" : answer;
    }

    private String interruptWorker(int index) {
        if (workers[index] == null)
            return "idle";
        workers[index].interrupt();
        return "ok";
    }

    private static boolean isExpectedToEnd(int index, String expected) {
        return expected != null && expected.contains(" | " + (index + 1) + " ");
    }

    /** Returns whether the thread waits, or has ended, within the patience. */
    private static boolean awaitWaiting(Thread thread) {
        long start = System.nanoTime();
        while (System.nanoTime() - start < TimeUnit.MILLISECONDS.toNanos(PATIENCE_MS)) {
            switch (thread.getState()) {
                case WAITING, TIMED_WAITING, TERMINATED: return true;
                default: Thread.yield();
            }
        }
        return false;
    }

    /** Returns the answers of the workers that have ended, once each has done what is expected of it. */
    private String collectWorkers(String expected) throws InterruptedException {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < WORKERS; i++)
            if (workers[i] != null && isExpectedToEnd(i, expected))
                workers[i].join(PATIENCE_MS);
            else if (workers[i] != null && !awaitWaiting(workers[i]))
                text.append(" | ").append(i + 1).append(" runs on");
        for (int i = 0; i < WORKERS; i++) {
            if (workers[i] == null || workers[i].isAlive())
                continue;
            text.append(" | ").append(i + 1).append(' ').append(workers[i].answer);
            workers[i] = null;
        }
        return text.toString();
    }

    private String answer(String line, String expected) throws InterruptedException {
        String[] call = line.split(" ");
        String answer;
        if (call[0].endsWith(":")) {
            int index = Integer.parseInt(call[0].replace(":", "")) - 1;
            answer = workers[index] == null ? "started" : "busy";
            if (workers[index] == null) {
                workers[index] = new Worker(Arrays.copyOfRange(call, 1, call.length));
                workers[index].setDaemon(true);
                workers[index].start();
            }
        } else if (withWorkers && call[0].equals("interrupt")) {
            answer = interruptWorker(Integer.parseInt(call[1]) - 1);
        } else {
            answer = perform(call);
        }
        return withWorkers ? answer + collectWorkers(expected) : answer;
    }

    public static void main(String[] args) throws IOException, InterruptedException {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        PrintStream out = new PrintStream(new BufferedOutputStream(new FileOutputStream(FileDescriptor.out)));
        History history = null;
        try (BufferedReader expectedLines = new BufferedReader(new FileReader(args[0]))) {
            boolean agree = true;
            for (String line = lines.readLine(); agree && line != null; line = lines.readLine()) {
                String expected = expectedLines.readLine();
                if (line.startsWith("history "))
                    history = new History(line.split(" "));
                String answer = history.answer(line, expected);
                out.println(answer);
                agree = answer.equals(expected);
            }
        }
        out.flush();
    }
}
