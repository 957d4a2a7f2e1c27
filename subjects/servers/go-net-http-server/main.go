// Serves the contract's endpoints with net/http.
package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"
)

//go:embed document.json
var document []byte

func main() {
	if len(os.Args) > 1 && os.Args[1] == "--version" {
		fmt.Println(strings.TrimPrefix(runtime.Version(), "go"))
		return
	}
	settings, err := readSettings()
	if err != nil {
		fmt.Fprintln(os.Stderr, "go-net-http-server:", err)
		os.Exit(127)
	}
	if settings.Threads > 0 {
		// How many threads run Go code at a time; those that wait in the kernel are not counted.
		runtime.GOMAXPROCS(settings.Threads)
	}
	if err := serve(settings); !errors.Is(err, http.ErrServerClosed) {
		fmt.Fprintln(os.Stderr, "go-net-http-server:", err)
		os.Exit(1)
	}
}

// serve serves until SIGTERM, and then without waiting for the requests in flight.
func serve(settings Settings) error {
	address := net.JoinHostPort(settings.Host, strconv.Itoa(settings.Port))
	server := &http.Server{Addr: address, Handler: handler(settings)}
	terminated, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	context.AfterFunc(terminated, func() { server.Close() })
	return server.ListenAndServe()
}

func handler(settings Settings) http.Handler {
	var work http.Handler = http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
		worked(response, request, settings)
	})
	if settings.Timeout > 0 {
		// Answers with 503 and cancels the request's context.
		work = http.TimeoutHandler(work, settings.Timeout, "timed out\n")
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /plain", func(response http.ResponseWriter, _ *http.Request) {
		response.Header().Set("Content-Type", "text/plain; charset=utf-8")
		io.WriteString(response, "Hello, World!")
	})
	mux.HandleFunc("GET /json", func(response http.ResponseWriter, _ *http.Request) {
		response.Header().Set("Content-Type", "application/json")
		response.Write(document)
	})
	mux.Handle("GET /{$}", work)
	mux.Handle("POST /{$}", work)
	return mux
}

func worked(response http.ResponseWriter, request *http.Request, settings Settings) {
	content, err := io.ReadAll(request.Body)
	if err != nil {
		http.Error(response, "content cut short", http.StatusBadRequest)
		return
	}
	order, err := parseOrder(content)
	if err != nil {
		http.Error(response, err.Error(), http.StatusBadRequest)
		return
	}
	answer, err := order.done(request.Context(), settings.Workloads)
	if err != nil {
		return // no client waits any more
	}
	response.Header().Set("Content-Type", "application/json")
	json.NewEncoder(response).Encode(answer)
}
