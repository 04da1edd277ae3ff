// SPDX-License-Identifier: Apache-2.0

// go.go - Go: time.AfterFunc, Stop and Reset
//
// Built as an archive, and called by timers_main.c. The functions of the runtime's timers are goroutines; as
// many of them run at once as there are processors. Each call of a C function costs them about 50 ns. A
// repeating timer is one that is reset by its function.
package main

/*
#include <stdint.h>

int64_t now_ns(void);
void wait_until(int64_t time_ns);
void bench_fail(const char *file, int line, const char *what);
void timer_expired(void);
void timer_forbidden(void);
void timer_fired(long number);
void timer_ran(int number);
*/
import "C"

import (
	"sync"
	"time"
	"unsafe"
)

const mostProducers = 2

var (
	// Two names for about the same moment, the first one not later: so what is derived from them is never
	// early.
	startNs = int64(C.now_ns())
	start   = time.Now()

	pending []*time.Timer
	lagging []*time.Timer
	reused  [mostProducers]*time.Timer
	calls   int
)

func nowNs() int64 {
	return startNs + int64(time.Since(start))
}

func slice(first *C.int64_t, count int) []int64 {
	return unsafe.Slice((*int64)(unsafe.Pointer(first)), count)
}

func must(truth bool) {
	if !truth {
		C.bench_fail(C.CString("go.go"), 0, C.CString("a call has failed"))
	}
}

func expired() {
	C.timer_expired()
}

func forbidden() {
	C.timer_forbidden()
}

//export timers_open
func timers_open() {
}

//export timers_fill
func timers_fill(dueNs *C.int64_t, count C.long) {
	pending = make([]*time.Timer, count)
	for i, due := range slice(dueNs, int(count)) {
		pending[i] = time.AfterFunc(time.Duration(due-nowNs()), expired)
	}
}

//export timers_part
func timers_part() {
}

//export timers_churn
func timers_churn(producer C.int, delayNs *C.int64_t, count C.long, lag C.int) {
	if lag > 0 {
		churnBehind(slice(delayNs, int(count)), int(lag))
		return
	}
	for _, delay := range slice(delayNs, int(count)) {
		timer := time.AfterFunc(time.Duration(delay), forbidden)
		must(timer.Stop())
	}
}

func churnBehind(delaysNs []int64, lag int) {
	if lagging == nil {
		lagging = make([]*time.Timer, lag)
	}
	for _, delay := range delaysNs {
		slot := &lagging[calls%lag]
		calls++
		must(*slot == nil || (*slot).Stop())
		*slot = time.AfterFunc(time.Duration(delay), forbidden)
	}
}

//export timers_reuse
func timers_reuse(producer C.int, delayNs *C.int64_t, count C.long, lag C.int) {
	if lag > 0 {
		reuseBehind(slice(delayNs, int(count)), int(lag))
		return
	}
	if reused[producer] == nil {
		reused[producer] = newStopped()
	}
	timer := reused[producer]
	for _, delay := range slice(delayNs, int(count)) {
		timer.Reset(time.Duration(delay))
		must(timer.Stop())
	}
}

func newStopped() *time.Timer {
	timer := time.AfterFunc(time.Hour, forbidden)
	must(timer.Stop())
	return timer
}

func reuseBehind(delaysNs []int64, lag int) {
	if lagging == nil {
		lagging = make([]*time.Timer, lag)
	}
	for _, delay := range delaysNs {
		slot := &lagging[calls%lag]
		calls++
		if *slot == nil {
			*slot = newStopped()
		} else {
			must((*slot).Stop())
		}
		(*slot).Reset(time.Duration(delay))
	}
}

//export timers_settle
func timers_settle() {
}

//export timers_fire
func timers_fire(delayNs *C.int64_t, dueNs *C.int64_t, count C.long) {
	due := slice(dueNs, int(count))
	for i, delay := range slice(delayNs, int(count)) {
		number := C.long(i)
		due[i] = nowNs() + delay
		time.AfterFunc(time.Duration(delay), func() { C.timer_fired(number) })
	}
}

type task struct {
	lock   sync.Mutex
	timer  *time.Timer
	number C.int
	next   int64
	over   bool
}

func (t *task) run(periodNs int64) {
	t.lock.Lock()
	defer t.lock.Unlock()
	if t.over {
		return
	}
	C.timer_ran(t.number)
	t.next += periodNs
	t.timer.Reset(time.Duration(t.next - nowNs()))
}

//export timers_repeat
func timers_repeat(firstNs *C.int64_t, tasks C.int, periodNs C.int64_t, endNs C.int64_t) {
	all := make([]task, tasks)
	for i, first := range slice(firstNs, int(tasks)) {
		t := &all[i]
		t.number, t.next = C.int(i), first
		t.lock.Lock()
		t.timer = time.AfterFunc(time.Duration(first-nowNs()), func() { t.run(int64(periodNs)) })
		t.lock.Unlock()
	}
	C.wait_until(endNs)
	for i := range all {
		t := &all[i]
		t.lock.Lock()
		t.over = true
		t.timer.Stop()
		t.lock.Unlock()
	}
}

//export timers_close
func timers_close() {
}

func main() {
}
