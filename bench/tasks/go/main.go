// SPDX-License-Identifier: Apache-2.0

// main.go - Go as a subject of W9 to W11: tasks-go go-chan|go-spawn WORKLOAD
//
// go-chan: as many goroutines as there are workers take functions from a channel. It has room for 1024, and
// for all of them in W10, where the goroutines that take functions also send some. go-spawn: a goroutine per
// task. A future is a channel of its own, a group a WaitGroup, a completion service a channel of results. The
// forms of W11 are closures. tasks_main.c describes the commands and has the same workloads.
package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	workers      = 2
	room         = 1024
	round        = 10000
	stages       = 4
	choices      = 1 << 16
	warmUpTasks  = 20000
	leastPerTask = 200 * time.Nanosecond
)

var (
	workload string
	quiet    bool
	tasks    chan func() // nil: spawn

	ran      atomic.Int64
	expected int64
	end      time.Time
	allRan   = make(chan bool, 1)
)

func fail(what string) {
	fmt.Fprintln(os.Stderr, "main.go: "+what)
	os.Exit(1)
}

func execute(task func()) {
	if tasks != nil {
		tasks <- task
	} else {
		go task()
	}
}

func count() {
	last := expected // read before the task is counted: afterwards the next run may write it
	if ran.Add(1) == last {
		end = time.Now()
		allRan <- true
	}
}

func expect(amount int) {
	ran.Store(0)
	expected = int64(amount)
}

// Repeats a run until it has taken long enough, and reports the rate.
func repeat(amount int, run func(int) time.Duration) {
	var spent time.Duration
	done := 0
	for done == 0 || !quiet && spent < time.Duration(amount)*leastPerTask {
		spent += run(amount)
		done += amount
	}
	if !quiet {
		fmt.Printf("%s %.6g 1/s higher\n", workload, float64(done)/spent.Seconds())
	}
}

// ---- W9 ----

type cell struct {
	value int64
}

func (c *cell) add() *cell {
	c.value++
	return c
}

func (c *cell) check() {
	if c.value != 1 {
		fail("a task has not run exactly once")
	}
}

func order(cells []cell) {
	futures := make([]chan *cell, len(cells))
	for i := range cells {
		c, future := &cells[i], make(chan *cell, 1)
		futures[i] = future
		execute(func() { future <- c.add() })
	}
	for _, future := range futures {
		(<-future).check()
	}
}

func group(cells []cell) {
	var all sync.WaitGroup
	for i := range cells {
		c := &cells[i]
		all.Add(1)
		execute(func() {
			c.add()
			all.Done()
		})
	}
	all.Wait()
}

func completion(cells []cell) {
	done := make(chan *cell, len(cells))
	for i := range cells {
		c := &cells[i]
		execute(func() { done <- c.add() })
	}
	for range cells {
		(<-done).check()
	}
}

func rounds(join func([]cell)) func(int) time.Duration {
	cells := make([]cell, round)
	return func(amount int) time.Duration {
		var spent time.Duration
		for left := amount; left > 0; left -= round {
			some := cells
			if left < round {
				some = cells[:left]
			}
			for i := range some {
				some[i].value = 0
			}
			begin := time.Now()
			join(some)
			spent += time.Since(begin)
			for i := range some {
				some[i].check()
			}
		}
		return spent
	}
}

// ---- W10 ----

func tree(number int64) {
	execute(func() {
		for child := 2 * number; child <= 2*number+1 && child <= expected; child++ {
			tree(child)
		}
		count()
	})
}

func runTree(amount int) time.Duration {
	expect(amount)
	begin := time.Now()
	tree(1)
	<-allRan
	return end.Sub(begin)
}

var items []int32

func pipe(number int) {
	execute(func() {
		stage := number % stages
		if items[number/stages] != int32(stage) {
			fail("a stage ran twice, or too early")
		}
		items[number/stages]++
		if stage < stages-1 {
			pipe(number + 1)
		}
		count()
	})
}

func runPipe(amount int) time.Duration {
	items = make([]int32, amount/stages)
	expect(len(items) * stages)
	begin := time.Now()
	for i := range items {
		pipe(i * stages)
	}
	<-allRan
	return end.Sub(begin)
}

// ---- W11 ----

var (
	forms  []func()
	chosen [][]int16 // by each producer
)

// W11.forms17.p4: 17 forms, 4 producers.
func prepareForms() {
	words := strings.Split(workload, ".")
	number, _ := strconv.Atoi(strings.TrimPrefix(words[1], "forms"))
	producers, _ := strconv.Atoi(strings.TrimPrefix(words[2], "p"))
	for i := 0; i < number; i++ {
		own := i // captured, so that each form is a closure of its own
		forms = append(forms, func() {
			if own < 0 {
				fail("a form has lost its variable")
			}
			count()
		})
	}
	random := uint64(1)
	for i := 0; i < producers; i++ {
		all := make([]int16, choices)
		for j := range all {
			random ^= random << 13
			random ^= random >> 7
			random ^= random << 17
			all[j] = int16(random % uint64(number))
		}
		chosen = append(chosen, all)
	}
}

func runForms(amount int) time.Duration {
	var ready sync.WaitGroup
	start := make(chan bool)
	each := amount / len(chosen)
	expect(each * len(chosen))
	ready.Add(len(chosen))
	for _, all := range chosen {
		go func(all []int16) {
			ready.Done()
			<-start
			for i := 0; i < each; i++ {
				execute(forms[all[i%choices]])
			}
		}(all)
	}
	ready.Wait()
	begin := time.Now()
	close(start)
	<-allRan
	return end.Sub(begin)
}

func workloadRun() func(int) time.Duration {
	switch workload {
	case "W9.order":
		return rounds(order)
	case "W9.group":
		return rounds(group)
	case "W9.completion":
		return rounds(completion)
	case "W10.tree":
		return runTree
	case "W10.pipe":
		return runPipe
	}
	prepareForms()
	return runForms
}

// Starts the goroutines of go-chan. The channel has this room.
func startWorkers(room int) {
	tasks = make(chan func(), room)
	for i := 0; i < workers; i++ {
		go func(tasks chan func()) {
			for task := range tasks {
				task()
			}
		}(tasks)
	}
}

func main() {
	workload = os.Args[2]
	channels := os.Args[1] == "go-chan"
	if channels {
		startWorkers(room)
	} else if runtime.GOMAXPROCS(0) < workers {
		runtime.GOMAXPROCS(workers)
	}
	run := workloadRun()
	var command string
	var amount int
	for {
		if n, _ := fmt.Scan(&command, &amount); n != 2 {
			return
		}
		quiet = command == "warm"
		limit := time.Now().Add(time.Duration(amount) * time.Millisecond)
		if quiet {
			amount = warmUpTasks
		}
		if channels && strings.HasPrefix(workload, "W10.") && cap(tasks) < amount {
			close(tasks)
			startWorkers(amount)
		}
		repeat(amount, run)
		for quiet && time.Now().Before(limit) {
			repeat(amount, run)
		}
		fmt.Println(".")
	}
}
