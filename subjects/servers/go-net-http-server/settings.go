// The server's settings, read from the environment.
package main

import (
	"fmt"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"time"
)

const (
	longestMS     = 600_000
	mostWorkloads = 100
)

// Settings of the server. Threads and Timeout are 0 if none are given; Workloads are the waits of one unit of work.
type Settings struct {
	Host      string
	Port      int
	Threads   int
	Workloads []time.Duration
	Timeout   time.Duration
}

// readSettings reads the environment; the error is one line that names the variable.
func readSettings() (settings Settings, err error) {
	settings.Host = variable("HOST", "127.0.0.1")
	if address, err := netip.ParseAddr(settings.Host); err != nil || !address.Is4() {
		return settings, fmt.Errorf("HOST must be an IPv4 address, not %q", settings.Host)
	}
	if settings.Port, err = wholeNumber("PORT", "8080", 1, 65535); err != nil {
		return settings, err
	}
	if settings.Threads, err = wholeNumber("THREADS", "", 1, 1024); err != nil {
		return settings, err
	}
	if workers := variable("WORKERS", "1"); workers != "1" {
		return settings, fmt.Errorf("WORKERS must be 1, not %q", workers)
	}
	timeout, err := wholeNumber("TIMEOUT_MS", "", 1, longestMS)
	if err != nil {
		return settings, err
	}
	settings.Timeout = time.Duration(timeout) * time.Millisecond
	settings.Workloads, err = readWorkloads(variable("WORKLOADS_MS", "500,1000,2000"))
	return settings, err
}

func readWorkloads(text string) ([]time.Duration, error) {
	var workloads []time.Duration
	for _, wait := range strings.Split(text, ",") {
		milliseconds, err := digits(wait, 0, longestMS)
		if err != nil || len(workloads) == mostWorkloads {
			return nil, fmt.Errorf("WORKLOADS_MS must be 1 to %d whole numbers up to %d, joined by commas, not %q",
				mostWorkloads, longestMS, text)
		}
		workloads = append(workloads, time.Duration(milliseconds)*time.Millisecond)
	}
	return workloads, nil
}

// wholeNumber is the value of a variable, or of the fallback; 0 if both are empty.
func wholeNumber(name, fallback string, least, most int) (int, error) {
	text := variable(name, fallback)
	if text == "" {
		return 0, nil
	}
	number, err := digits(text, least, most)
	if err != nil {
		return 0, fmt.Errorf("%s must be a whole number from %d to %d, not %q", name, least, most, text)
	}
	return number, nil
}

// digits reads a number of digits alone: strconv would take a sign too.
func digits(text string, least, most int) (int, error) {
	number, err := strconv.ParseUint(text, 10, 31)
	if err != nil || int(number) < least || int(number) > most {
		return 0, strconv.ErrRange
	}
	return int(number), nil
}

// variable is the value of an environment variable; an empty one counts as missing.
func variable(name, fallback string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return fallback
}
