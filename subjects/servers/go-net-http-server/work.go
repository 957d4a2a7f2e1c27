// The work that a request asks for: waits, all at the same time.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"
	"unicode/utf8"
)

// mostUnits: the contract permits the refusal of more; memory must have a bound.
const mostUnits = 100

var errMalformed = errors.New("malformed content")

// Order is the content of a request. Pointers, because encoding/json leaves a field as it is when its value is null.
type Order struct {
	Text  *string `json:"text"`
	Count *int    `json:"count"`
}

// Answer is the content of its answer.
type Answer struct {
	Texts []string `json:"texts"`
}

func parseOrder(content []byte) (order Order, err error) {
	// encoding/json would repair invalid UTF-8.
	if !utf8.Valid(content) {
		return order, errMalformed
	}
	if err := json.Unmarshal(content, &order); err != nil {
		return order, err
	}
	if order.Text == nil || order.Count == nil || *order.Count < 1 || *order.Count > mostUnits {
		return order, errMalformed
	}
	return order, nil
}

// done waits for every workload of every unit, each in its own goroutine; all of them end with the context.
func (order Order) done(ctx context.Context, workloads []time.Duration) (Answer, error) {
	texts := make([]string, *order.Count*len(workloads))
	var running sync.WaitGroup
	for place := range texts {
		running.Add(1)
		go func() {
			defer running.Done()
			wait := time.NewTimer(workloads[place%len(workloads)])
			defer wait.Stop()
			select {
			case <-wait.C:
				texts[place] = *order.Text
			case <-ctx.Done():
			}
		}()
	}
	running.Wait()
	return Answer{texts}, ctx.Err()
}
