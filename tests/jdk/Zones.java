/* SPDX-License-Identifier: Apache-2.0 */

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.zone.ZoneOffsetTransition;
import java.time.zone.ZoneRules;
import java.time.zone.ZoneRulesProvider;
import java.util.Set;

/**
 * The JDK's description of zones: java Zones &lt;NAMES &gt;LINES
 *
 * <p>zones.c describes the lines, and prints the same for hora's zones. Zones that the JDK does not know are
 * left out. The first line is the release of its data.
 */
final class Zones {
    private static final long FROM = -5364662400L;
    private static final long UNTIL = 4133980800L;
    private static final StringBuilder OUT = new StringBuilder();

    private Zones() {}

    private static void local(ZoneRules rules, long second) {
        ZoneOffset offset = rules.getOffset(Instant.ofEpochSecond(second));
        LocalDateTime local = LocalDateTime.ofEpochSecond(second, 0, offset);
        String text = local.toString();
        OUT.append(' ').append(text).append(text.length() == 16 ? ":00" : "");
        OUT.append(',').append(local.getDayOfWeek().getValue()).append(',').append(local.getDayOfYear());
        OUT.append(',').append(offset.getTotalSeconds());
    }

    private static void moments(ZoneRules rules, long shown) {
        LocalDateTime local = LocalDateTime.ofEpochSecond(shown, 0, ZoneOffset.UTC);
        ZoneOffsetTransition transition = rules.getTransition(local);
        int kind = 0;
        int before;
        int after;
        long first;
        long second;
        if (transition == null) {
            before = rules.getValidOffsets(local).get(0).getTotalSeconds();
            after = before;
            first = shown - before;
            second = first;
        } else {
            before = transition.getOffsetBefore().getTotalSeconds();
            after = transition.getOffsetAfter().getTotalSeconds();
            kind = transition.isGap() ? 1 : 2;
            first = transition.isGap() ? transition.toEpochSecond() : shown - before;
            second = transition.isGap() ? first : shown - after;
        }
        OUT.append(' ').append(kind).append(',').append(first).append(',').append(second);
        OUT.append(',').append(before).append(',').append(after);
    }

    private static void transition(ZoneRules rules, ZoneOffsetTransition transition) {
        long at = transition.toEpochSecond();
        int before = transition.getOffsetBefore().getTotalSeconds();
        int after = transition.getOffsetAfter().getTotalSeconds();
        long low = at + Math.min(before, after);
        long high = at + Math.max(before, after);
        OUT.append(at).append(' ').append(before).append(' ').append(after);
        local(rules, at - 1);
        local(rules, at);
        for (long shown : new long[] {low - 1, low, low + (high - low) / 2, high - 1, high}) {
            moments(rules, shown);
        }
        OUT.append('\n');
    }

    private static void zone(String name) {
        ZoneRules rules = ZoneId.of(name).getRules();
        Instant at = Instant.ofEpochSecond(FROM);
        OUT.append("zone ").append(name).append(' ').append(rules.getOffset(at).getTotalSeconds()).append('\n');
        ZoneOffsetTransition next;
        while ((next = rules.nextTransition(at)) != null && next.toEpochSecond() < UNTIL) {
            transition(rules, next);
            at = next.getInstant();
        }
    }

    public static void main(String[] arguments) throws IOException {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        Set<String> known = ZoneId.getAvailableZoneIds();
        OUT.append(ZoneRulesProvider.getVersions("Europe/Paris").lastKey()).append('\n');
        for (String name; (name = in.readLine()) != null; ) {
            if (known.contains(name)) {
                zone(name);
            }
            System.out.print(OUT);
            OUT.setLength(0);
        }
        System.out.flush();
    }
}
