// SPDX-License-Identifier: Apache-2.0

// main.go - Go as a subject of W1 and W2: pool-go go-chan|go-spawn WORKLOAD
//
// go-chan: as many goroutines as there are workers take functions from a channel of 1024; who waits for one
// does so on a channel of its own. go-spawn: a goroutine per task; who waits does so with a WaitGroup.
// pools_main.c describes the commands and has the same workloads.
package main

import (
	"fmt"
	"os"
	"runtime"
	"sort"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	usualWorkers  = 2
	warmUpTasks   = 20000
	tasksPerWait  = 100
	tasksPerPause = 5
	room          = 1024
	pause         = 200 * time.Microsecond
	leastPerTask  = 200 * time.Nanosecond
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

func count() {
	last := expected // read before the task is counted: afterwards the next run may write it
	if ran.Add(1) == last {
		end = time.Now()
		allRan <- true
	}
}

func expect(amount int64) {
	ran.Store(0)
	expected = amount
}

func executeAll(amount int64) {
	for i := int64(0); i < amount; i++ {
		if tasks != nil {
			tasks <- count
		} else {
			go count()
		}
	}
}

func execute(producers int, amount int64) {
	var spent time.Duration
	var done int64
	for done == 0 || !quiet && spent < time.Duration(amount)*leastPerTask {
		spent += executeOnce(producers, amount)
		done += expected
	}
	if !quiet {
		fmt.Printf("%s %.6g 1/s higher\n", workload, float64(done)/spent.Seconds())
	}
}

func executeOnce(producers int, amount int64) time.Duration {
	each := amount / int64(producers)
	expect(each * int64(producers))
	var ready sync.WaitGroup
	start := make(chan bool)
	ready.Add(producers)
	for i := 0; i < producers; i++ {
		go func() {
			ready.Done()
			<-start
			executeAll(each)
		}()
	}
	ready.Wait()
	begin := time.Now()
	close(start)
	<-allRan
	return end.Sub(begin)
}

func submitOne() {
	if tasks != nil {
		done := make(chan bool, 1)
		tasks <- func() {
			count()
			done <- true
		}
		<-done
		return
	}
	var done sync.WaitGroup
	done.Add(1)
	go func() {
		count()
		done.Done()
	}()
	done.Wait()
}

// As clock_nanosleep does it: the thread sleeps, not only the goroutine.
func sleep(d time.Duration) {
	t := syscall.NsecToTimespec(int64(d))
	_ = syscall.Nanosleep(&t, nil)
}

func submit(rounds int64, before time.Duration) {
	if rounds < 1 {
		rounds = 1
	}
	taken := make([]time.Duration, rounds)
	expect(rounds)
	for i := range taken {
		if before > 0 {
			sleep(before)
		}
		begin := time.Now()
		submitOne()
		taken[i] = time.Since(begin)
	}
	<-allRan
	if quiet {
		return
	}
	sort.Slice(taken, func(i, j int) bool { return taken[i] < taken[j] })
	fmt.Printf("%s.p50 %.6g us lower\n", workload, float64(taken[rounds/2])/1e3)
	fmt.Printf("%s.p99 %.6g us lower\n", workload, float64(taken[rounds*99/100])/1e3)
}

// The number before a letter in the workload's name: W1.execute.4p.8w.
func number(letter string, otherwise int) int {
	for _, word := range strings.Split(workload, ".")[1:] {
		if n, err := strconv.Atoi(strings.TrimSuffix(word, letter)); err == nil && strings.HasSuffix(word, letter) {
			return n
		}
	}
	return otherwise
}

func run(amount int64) {
	switch {
	case workload == "W2.submit":
		submit(amount/tasksPerWait, 0)
	case workload == "W2.idle":
		submit(amount/tasksPerWait/tasksPerPause, pause)
	default:
		execute(number("p", 1), amount)
	}
}

func main() {
	workload = os.Args[2]
	workers := number("w", usualWorkers)
	if os.Args[1] == "go-chan" {
		tasks = make(chan func(), room)
		for i := 0; i < workers; i++ {
			go func() {
				for task := range tasks {
					task()
				}
			}()
		}
	} else if runtime.GOMAXPROCS(0) < workers {
		runtime.GOMAXPROCS(workers)
	}
	var command string
	var amount int64
	for {
		if n, _ := fmt.Scan(&command, &amount); n != 2 {
			return
		}
		quiet = command == "warm"
		limit := time.Now().Add(time.Duration(amount) * time.Millisecond)
		if !quiet {
			run(amount)
		} else {
			for run(warmUpTasks); time.Now().Before(limit); {
				run(warmUpTasks)
			}
		}
		fmt.Println(".")
	}
}
