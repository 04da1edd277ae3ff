// SPDX-License-Identifier: Apache-2.0

//! tokio: spawn on a runtime of several threads, and block_on the handle to wait with
//!
//! Built as an archive, and called by pools_main.c. Both from outside of the runtime, as a thread that is not
//! one of its own has to.

use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use tokio::runtime::{Builder, Runtime};

extern "C" {
    fn pool_ran();
}

#[repr(C)]
pub struct PoolPeer {
    open: extern "C" fn(i32),
    execute: extern "C" fn(i64),
    submit: extern "C" fn(),
    close: extern "C" fn(),
}

static RUNTIME: AtomicPtr<Runtime> = AtomicPtr::new(ptr::null_mut());

fn runtime() -> &'static Runtime {
    unsafe { &*RUNTIME.load(Ordering::Relaxed) }
}

extern "C" fn open(workers: i32) {
    let runtime = Builder::new_multi_thread()
        .worker_threads(workers as usize)
        .build()
        .unwrap();
    RUNTIME.store(Box::into_raw(Box::new(runtime)), Ordering::Relaxed);
}

extern "C" fn execute(tasks: i64) {
    for _ in 0..tasks {
        runtime().spawn(async { unsafe { pool_ran() } });
    }
}

extern "C" fn submit() {
    let handle = runtime().spawn(async { unsafe { pool_ran() } });
    runtime().block_on(handle).unwrap();
}

extern "C" fn close() {}

#[no_mangle]
#[allow(non_upper_case_globals)]
pub static pool_peer: PoolPeer = PoolPeer {
    open,
    execute,
    submit,
    close,
};
