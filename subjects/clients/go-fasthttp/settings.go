// The adapter's settings, read from the environment.
package main

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"time"
)

// Settings of one crawl.
type Settings struct {
	Concurrency    int
	RequestTimeout time.Duration
	UserAgent      string
	KeepAlive      bool
	CheckJSON      bool
}

// readSettings reads the environment; the error is one line that names the variable.
func readSettings() (settings Settings, err error) {
	concurrency := variable("CONCURRENCY", "10")
	settings.Concurrency, err = strconv.Atoi(concurrency)
	if err != nil || settings.Concurrency < 1 {
		return settings, refusal("CONCURRENCY", "a whole number from 1", concurrency)
	}
	timeout := variable("REQUEST_TIMEOUT", "5")
	seconds, err := strconv.ParseFloat(timeout, 64)
	if err != nil || !(seconds > 0) || seconds > math.MaxInt64/float64(time.Second) {
		return settings, refusal("REQUEST_TIMEOUT", "a number of seconds above 0", timeout)
	}
	settings.RequestTimeout = time.Duration(seconds * float64(time.Second))
	if method := variable("METHOD", "GET"); method != "GET" {
		return settings, refusal("METHOD", "empty or GET", method)
	}
	settings.UserAgent = os.Getenv("USER_AGENT")
	keepAlive := variable("KEEPALIVE", "1")
	if keepAlive != "0" && keepAlive != "1" {
		return settings, refusal("KEEPALIVE", "0 or 1", keepAlive)
	}
	settings.KeepAlive = keepAlive == "1"
	check := os.Getenv("CHECK")
	if check != "" && check != "json" {
		return settings, refusal("CHECK", "empty or json", check)
	}
	settings.CheckJSON = check == "json"
	version := os.Getenv("HTTP_VERSION")
	if version != "" && version != "1.1" {
		return settings, refusal("HTTP_VERSION", "empty or 1.1 (fasthttp speaks nothing else)", version)
	}
	return settings, nil
}

// variable is the value of an environment variable; an empty one counts as missing.
func variable(name, fallback string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return fallback
}

func refusal(name, wanted, found string) error {
	return fmt.Errorf("%s must be %s, not %q", name, wanted, found)
}
