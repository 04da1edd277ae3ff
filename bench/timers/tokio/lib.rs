// SPDX-License-Identifier: Apache-2.0

//! tokio: sleep, in whole milliseconds, on a runtime of several threads
//!
//! Built as an archive, and called by timers_main.c. timers_churn polls a Sleep once, which schedules it, and
//! drops it, which cancels it: as timeout does. A timer that does something when its time has come is a task
//! that sleeps. A repeating timer is an interval, which makes up for what it has missed.

use std::future::Future;
use std::pin::Pin;
use std::ptr;
use std::slice;
use std::sync::atomic::{AtomicI64, AtomicPtr, Ordering};
use std::sync::Arc;
use std::task::{Context, Wake, Waker};
use std::thread;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;
use tokio::time::{self, Instant, Sleep};

const WORKERS: usize = 2;

extern "C" {
    fn now_ns() -> i64;
    fn wait_until(time_ns: i64);
    fn timer_expired();
    fn timer_forbidden();
    fn timer_fired(number: i64);
    fn timer_ran(number: i32);
}

struct Timers {
    runtime: Runtime,
    // Two names for about the same moment, the first one not later: so what is derived from them is never
    // early.
    start_ns: i64,
    start: Instant,
}

static TIMERS: AtomicPtr<Timers> = AtomicPtr::new(ptr::null_mut());
static PENDING: AtomicPtr<Vec<JoinHandle<()>>> = AtomicPtr::new(ptr::null_mut());
static LAGGING: AtomicPtr<Vec<Pin<Box<Sleep>>>> = AtomicPtr::new(ptr::null_mut());
static CALLS: AtomicI64 = AtomicI64::new(0);
// Tasks that a worker has begun, which is when they start to sleep.
static BEGUN: AtomicI64 = AtomicI64::new(0);

fn timers() -> &'static Timers {
    unsafe { &*TIMERS.load(Ordering::Relaxed) }
}

fn at(due_ns: i64) -> Instant {
    let timers = timers();
    timers.start + Duration::from_nanos((due_ns - timers.start_ns).max(0) as u64)
}

struct NobodyWakes;

impl Wake for NobodyWakes {
    fn wake(self: Arc<Self>) {
        unsafe { timer_forbidden() }
    }
}

#[no_mangle]
pub extern "C" fn timers_open() {
    let runtime = Builder::new_multi_thread()
        .worker_threads(WORKERS)
        .enable_time()
        .build()
        .unwrap();
    let start_ns = unsafe { now_ns() };
    let start = Instant::now();
    TIMERS.store(
        Box::into_raw(Box::new(Timers {
            runtime,
            start_ns,
            start,
        })),
        Ordering::Relaxed,
    );
}

#[no_mangle]
pub unsafe extern "C" fn timers_fill(due_ns: *const i64, count: i64) {
    let mut pending = Vec::with_capacity(count as usize);
    for &due in slice::from_raw_parts(due_ns, count as usize) {
        let due = at(due);
        pending.push(timers().runtime.spawn(async move {
            BEGUN.fetch_add(1, Ordering::Relaxed);
            time::sleep_until(due).await;
            timer_expired();
        }));
    }
    PENDING.store(Box::into_raw(Box::new(pending)), Ordering::Relaxed);
    while BEGUN.load(Ordering::Relaxed) < count {
        thread::yield_now();
    }
}

#[no_mangle]
pub extern "C" fn timers_part() {}

#[no_mangle]
pub unsafe extern "C" fn timers_churn(_producer: i32, delay_ns: *const i64, count: i64, lag: i32) {
    let _inside = timers().runtime.enter();
    let waker = Waker::from(Arc::new(NobodyWakes));
    let mut context = Context::from_waker(&waker);
    let delays = slice::from_raw_parts(delay_ns, count as usize);
    if lag > 0 {
        churn_behind(delays, lag as usize, &mut context);
        return;
    }
    for &delay in delays {
        let sleep = time::sleep(Duration::from_nanos(delay as u64));
        tokio::pin!(sleep);
        assert!(sleep.as_mut().poll(&mut context).is_pending());
    }
}

fn churn_behind(delays: &[i64], lag: usize, context: &mut Context) {
    if LAGGING.load(Ordering::Relaxed).is_null() {
        LAGGING.store(Box::into_raw(Box::default()), Ordering::Relaxed);
    }
    let lagging = unsafe { &mut *LAGGING.load(Ordering::Relaxed) };
    for &delay in delays {
        let mut sleep = Box::pin(time::sleep(Duration::from_nanos(delay as u64)));
        assert!(sleep.as_mut().poll(context).is_pending());
        if lagging.len() < lag {
            lagging.push(sleep);
        } else {
            let slot = CALLS.fetch_add(1, Ordering::Relaxed) as usize % lag;
            lagging[slot] = sleep; // drops the one that was there
        }
    }
}

#[no_mangle]
pub extern "C" fn timers_settle() {}

#[no_mangle]
pub unsafe extern "C" fn timers_fire(delay_ns: *const i64, due_ns: *mut i64, count: i64) {
    let delays = slice::from_raw_parts(delay_ns, count as usize);
    for (number, &delay) in delays.iter().enumerate() {
        let due = now_ns() + delay;
        *due_ns.add(number) = due;
        let due = at(due);
        timers().runtime.spawn(async move {
            time::sleep_until(due).await;
            timer_fired(number as i64);
        });
    }
}

#[no_mangle]
pub unsafe extern "C" fn timers_repeat(
    first_ns: *const i64,
    tasks: i32,
    period_ns: i64,
    end_ns: i64,
) {
    let mut series = Vec::with_capacity(tasks as usize);
    for number in 0..tasks {
        let first = at(*first_ns.add(number as usize));
        series.push(timers().runtime.spawn(async move {
            let mut interval = time::interval_at(first, Duration::from_nanos(period_ns as u64));
            loop {
                interval.tick().await;
                timer_ran(number);
            }
        }));
    }
    wait_until(end_ns);
    for task in &series {
        task.abort();
    }
    for task in series {
        let _ = timers().runtime.block_on(task);
    }
}

#[no_mangle]
pub extern "C" fn timers_close() {}
