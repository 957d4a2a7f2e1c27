// Times calls in this process, by the rules of Python's timeit: `HARNESS=timeit` of the subject contract.
package main

import (
	"bufio"
	"encoding/json"
	"io"
	"strings"
	"syscall"
	"time"
)

const (
	timedRuns = 7
	// The duration of the warm-up, and the minimum of a run: timeit's own choice.
	longEnough = 200 * time.Millisecond
)

// answer is the code and the bytes of content that a URL's row would have, and whether the code is the name of an error.
type answer struct {
	code       string
	bodyLength int64
	failed     bool
}

// timedRun is the time of some loops, one after the other.
type timedRun struct{ wall, user, system time.Duration }

// harness times a call; a loop is one call, or several in their own goroutines, awaited together.
type harness struct {
	call    func() answer
	atOnce  int
	loops   *int
	runs    []timedRun
	answers map[answer]int
	failure string
}

type timedAnswer struct {
	Code       string `json:"code"`
	BodyLength int64  `json:"body_length"`
	Calls      int    `json:"calls"`
}

type timedLine struct {
	Outcome      string        `json:"outcome"`
	Loops        *int          `json:"loops"`
	CallsPerLoop int           `json:"calls_per_loop"`
	RunsNs       []int64       `json:"runs_ns"`
	CPUUserNs    []int64       `json:"cpu_user_ns"`
	CPUSystemNs  []int64       `json:"cpu_system_ns"`
	Answers      []timedAnswer `json:"answers"`
}

// timeCalls measures, and writes the line with the result.
func timeCalls(file io.Writer, atOnce int, call func() answer) error {
	measured := harness{call: call, atOnce: atOnce, answers: map[answer]int{}}
	measured.measure()
	line := timedLine{Outcome: "ok", Loops: measured.loops, CallsPerLoop: atOnce,
		RunsNs: []int64{}, CPUUserNs: []int64{}, CPUSystemNs: []int64{}}
	if measured.failure != "" {
		line.Outcome = measured.failure
	}
	for _, run := range measured.runs {
		line.RunsNs = append(line.RunsNs, int64(run.wall))
		line.CPUUserNs = append(line.CPUUserNs, int64(run.user))
		line.CPUSystemNs = append(line.CPUSystemNs, int64(run.system))
	}
	for kept, calls := range measured.answers {
		line.Answers = append(line.Answers, timedAnswer{kept.code, kept.bodyLength, calls})
	}
	return json.NewEncoder(file).Encode(line)
}

// measure warms up, chooses the number of loops in a run, and runs; it ends early when a call ended in an error.
func (h *harness) measure() {
	for start := time.Now(); time.Since(start) < longEnough; {
		if !h.loop() {
			return
		}
	}
	loops := 0
	for number := 0; ; number++ {
		loops = numberOfLoops(number)
		run, ok := h.run(loops)
		if !ok {
			return
		}
		if run.wall >= longEnough {
			break
		}
	}
	h.loops = &loops
	for range timedRuns {
		run, ok := h.run(loops)
		if !ok {
			return
		}
		h.runs = append(h.runs, run)
	}
}

// run times a number of loops.
func (h *harness) run(loops int) (timedRun, bool) {
	userBefore, systemBefore := cpuTime()
	start := time.Now()
	for range loops {
		if !h.loop() {
			return timedRun{}, false
		}
	}
	wall := time.Since(start)
	user, system := cpuTime()
	return timedRun{wall, user - userBefore, system - systemBefore}, true
}

// loop makes the calls, and records their answers for verification; it reports whether no call ended in an error.
func (h *harness) loop() bool {
	if h.atOnce == 1 {
		h.keep(h.call())
		return h.failure == ""
	}
	answers := make(chan answer, h.atOnce)
	for range h.atOnce {
		go func() { answers <- h.call() }()
	}
	for range h.atOnce {
		h.keep(<-answers)
	}
	return h.failure == ""
}

func (h *harness) keep(came answer) {
	h.answers[came]++
	if came.failed && h.failure == "" {
		h.failure = came.code
	}
}

// numberOfLoops is 1, 2, 5, 10, 20, 50 and so on, as timeit's autorange tries them.
func numberOfLoops(number int) int {
	loops := []int{1, 2, 5}[number%3]
	for range number / 3 {
		loops *= 10
	}
	return loops
}

// cpuTime is the CPU time of the process, all its threads.
func cpuTime() (user, system time.Duration) {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err) // it fails only for a wrong argument
	}
	return time.Duration(usage.Utime.Nano()), time.Duration(usage.Stime.Nano())
}

// readURL reads the first line that is not empty; no line counts as an invalid URL.
func readURL(file io.Reader) (string, error) {
	reader := bufio.NewReader(file)
	for {
		line, err := reader.ReadString('\n')
		if line = strings.TrimSpace(line); line != "" || err == io.EOF {
			return line, nil
		}
		if err != nil {
			return "", err
		}
	}
}
