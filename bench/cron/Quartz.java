// SPDX-License-Identifier: Apache-2.0
// Quartz ROWS --answers | WORKLOAD - Quartz's CronExpression, as cron_main.c measures the others
// Debian: libquartz2-java
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Date;
import java.util.List;
import java.util.TimeZone;

import org.quartz.CronExpression;

public class Quartz {
    private static final int COLUMN = 2;
    private static final int INSTANTS = 32;
    private static final int PARTS = 5;
    private static final Date[] instants = new Date[INSTANTS];
    private static long sink;

    private static List<String[]> readRows(String file) throws Exception {
        List<String[]> rows = new ArrayList<>();
        for (String line : Files.readAllLines(Path.of(file)))
            if (!line.startsWith("#"))
                rows.add(line.split("\t"));
        return rows;
    }

    private static CronExpression parse(String[] row) throws Exception {
        CronExpression expression = new CronExpression(row[COLUMN]);
        expression.setTimeZone(TimeZone.getTimeZone(row[0]));
        return expression;
    }

    private static void askNext(CronExpression expression) {
        for (Date instant : instants)
            sink += expression.getNextValidTimeAfter(instant).getTime();
    }

    private static void askParse(String text) throws Exception {
        for (int i = 0; i < INSTANTS; i++)
            sink += new CronExpression(text).hashCode();
    }

    private static double measurePart(CronExpression expression, String text, boolean parses, double windowNs)
            throws Exception {
        long begin = System.nanoTime();
        long calls = 0;
        long spent = 0;
        while (calls == 0 || spent < windowNs) {
            if (parses)
                askParse(text);
            else
                askNext(expression);
            calls += INSTANTS;
            spent = System.nanoTime() - begin;
        }
        return (double) spent / calls;
    }

    private static double measureRow(String[] row, boolean parses, double windowNs) throws Exception {
        CronExpression expression = parse(row);
        double least = Double.MAX_VALUE;
        for (int i = 0; i < PARTS; i++)
            least = Math.min(least, measurePart(expression, row[COLUMN], parses, windowNs / PARTS));
        return least;
    }

    private static void serve(List<String[]> rows, String workload) {
        rows.removeIf(row -> Arrays.asList(row).contains("-"));
        Measure.serve(false, amount -> {
            double sum = 0;
            for (String[] row : rows)
                sum += measureRow(row, workload.equals("cron.parse"), amount * 1e6 / rows.size());
            Measure.report(workload, sum / rows.size(), "ns", "lower");
        });
    }

    private static void answer(List<String[]> rows) throws Exception {
        for (int i = 0; i < rows.size(); i++) {
            if (rows.get(i)[COLUMN].equals("-"))
                continue;
            CronExpression expression = parse(rows.get(i));
            for (int j = 0; j < INSTANTS; j++)
                System.out.println(i + " " + j + " "
                        + expression.getNextValidTimeAfter(instants[j]).getTime() / 1000);
        }
    }

    public static void main(String[] args) throws Exception {
        for (int i = 0; i < INSTANTS; i++)
            instants[i] = new Date((1704067200L + i * 2959391L) * 1000);
        List<String[]> rows = readRows(args[0]);
        if (args[1].equals("--answers"))
            answer(rows);
        else
            serve(rows, args[1]);
    }
}
