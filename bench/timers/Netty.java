/* SPDX-License-Identifier: Apache-2.0 */

import io.netty.util.HashedWheelTimer;
import io.netty.util.Timeout;
import java.util.concurrent.TimeUnit;

/**
 * Netty's HashedWheelTimer with ticks of a millisecond and 512 buckets, one thread. It has no repeating
 * timers, and it wakes up at each tick even if no timer is due.
 */
final class Netty implements Timers.Subject {
    private final HashedWheelTimer wheel = new HashedWheelTimer(1, TimeUnit.MILLISECONDS);

    @Override
    public void open() {
        wheel.start();
    }

    @Override
    public Object schedule(long delayNs) {
        return wheel.newTimeout(timeout -> Timers.expire(), delayNs, TimeUnit.NANOSECONDS);
    }

    @Override
    public Object forbid(long delayNs) {
        return wheel.newTimeout(timeout -> Timers.complain(), delayNs, TimeUnit.NANOSECONDS);
    }

    @Override
    public boolean cancel(Object timer) {
        return ((Timeout) timer).cancel();
    }

    @Override
    public void fire(Timers.Round round, int number, long delayNs) {
        wheel.newTimeout(timeout -> round.fired(number), delayNs, TimeUnit.NANOSECONDS);
    }

    @Override
    public Object repeat(Runnable task, long delayNs, long periodNs) {
        return null;
    }
}
