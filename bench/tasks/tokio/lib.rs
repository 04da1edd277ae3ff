// SPDX-License-Identifier: Apache-2.0

//! tokio: spawn on a runtime of several threads, join handles in order, and a JoinSet for completion
//!
//! Built as an archive, and called by tasks_main.c. The calling thread is not one of the runtime.

use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use tokio::runtime::{Builder, Runtime};
use tokio::task::{JoinHandle, JoinSet};

#[repr(C)]
pub struct Cell {
    value: i64,
}

extern "C" {
    fn cell_add(cell: *mut Cell) -> *mut Cell;
    fn cell_check(cell: *const Cell);
    fn tree_ran(number: i64);
    fn pipe_ran(number: i64);
    fn task_ran();
    fn worker_block();
    fn workers_release();
}

type Join = extern "C" fn(*mut Cell, i64);

#[repr(C)]
pub struct TasksPeer {
    open: extern "C" fn(i32),
    close: extern "C" fn(),
    order: Join,
    group: Option<Join>,
    completion: Join,
    batch: Option<Join>,
    latch: Option<Join>,
    tree: extern "C" fn(i64),
    pipe: extern "C" fn(i64),
    forms: Option<extern "C" fn(*const i16, i64)>,
    block: extern "C" fn(),
    execute: extern "C" fn(i64),
    submit: extern "C" fn(*mut *mut c_void, i64),
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

extern "C" fn close() {}

/// A cell as a number, which may be sent to another thread.
fn add(cell: usize) -> usize {
    unsafe { cell_add(cell as *mut Cell) as usize }
}

fn check(cell: usize) {
    unsafe { cell_check(cell as *const Cell) }
}

fn addresses(cells: *mut Cell, count: i64) -> impl Iterator<Item = usize> {
    (0..count as usize).map(move |i| cells.wrapping_add(i) as usize)
}

extern "C" fn order(cells: *mut Cell, count: i64) {
    let handles: Vec<JoinHandle<usize>> = addresses(cells, count)
        .map(|cell| runtime().spawn(async move { add(cell) }))
        .collect();
    runtime().block_on(async {
        for handle in handles {
            check(handle.await.unwrap());
        }
    });
}

extern "C" fn completion(cells: *mut Cell, count: i64) {
    let mut set = JoinSet::new();
    for cell in addresses(cells, count) {
        set.spawn_on(async move { add(cell) }, runtime().handle());
    }
    runtime().block_on(async {
        while let Some(done) = set.join_next().await {
            check(done.unwrap());
        }
    });
}

extern "C" fn tree(number: i64) {
    runtime().spawn(async move { unsafe { tree_ran(number) } });
}

extern "C" fn pipe(number: i64) {
    runtime().spawn(async move { unsafe { pipe_ran(number) } });
}

extern "C" fn block() {
    runtime().spawn(async { unsafe { worker_block() } });
}

extern "C" fn execute(count: i64) {
    for _ in 0..count {
        runtime().spawn(async { unsafe { task_ran() } });
    }
}

extern "C" fn submit(_futures: *mut *mut c_void, count: i64) {
    let mut handles: Vec<JoinHandle<()>> = Vec::with_capacity(count as usize);
    for _ in 0..count {
        handles.push(runtime().spawn(async { unsafe { task_ran() } }));
    }
    unsafe { workers_release() }
    runtime().block_on(async {
        for handle in handles {
            handle.await.unwrap();
        }
    });
}

#[no_mangle]
#[allow(non_upper_case_globals)]
pub static tasks_peer: TasksPeer = TasksPeer {
    open,
    close,
    order,
    group: None,
    completion,
    batch: None,
    latch: None,
    tree,
    pipe,
    forms: None,
    block,
    execute,
    submit,
};
