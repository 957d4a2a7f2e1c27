// Fetches the URLs of stdin with net/http and prints one CSV line a URL.
package main

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
)

const redirectLimit = 10

var (
	errCheckFailed      = errors.New("CheckFailed")
	errInvalidURL       = errors.New("InvalidURL")
	errNotHTTP2         = errors.New("NotHTTP2")
	errTooManyRedirects = errors.New("TooManyRedirects")
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "--version" {
		fmt.Println(strings.TrimPrefix(runtime.Version(), "go"))
		return
	}
	settings, err := readSettings()
	if err != nil {
		fmt.Fprintln(os.Stderr, "go-net-http:", err)
		os.Exit(127)
	}
	work := crawl
	if settings.Harness {
		work = timeOne
	}
	if err := work(settings); err != nil {
		fmt.Fprintln(os.Stderr, "go-net-http:", err)
		os.Exit(1)
	}
}

func crawl(settings Settings) error {
	client := newClient(settings)
	lines := make(chan string)
	var workers sync.WaitGroup
	for range settings.Concurrency {
		workers.Add(1)
		go func() {
			defer workers.Done()
			for line := range lines {
				// One write a row, so that rows do not interleave. A closed pipe ends the crawl.
				if _, err := os.Stdout.WriteString(row(client, line, settings)); err != nil {
					os.Exit(1)
				}
			}
		}()
	}
	err := readLines(os.Stdin, lines)
	close(lines)
	workers.Wait()
	return err
}

// timeOne times the calls of one URL, and prints the result.
func timeOne(settings Settings) error {
	target, err := readURL(os.Stdin)
	if err != nil {
		return err
	}
	client := newClient(settings)
	return timeCalls(os.Stdout, settings.Concurrency, func() answer {
		code, bodyLength, err := fetch(client, target, settings)
		if err != nil {
			return answer{causeName(err), bodyLength, true}
		}
		return answer{code, bodyLength, false}
	})
}

// readLines sends every line that is not empty. The channel has no buffer: a line is read when a worker is free for it.
func readLines(file io.Reader, lines chan<- string) error {
	reader := bufio.NewReader(file)
	for {
		line, err := reader.ReadString('\n')
		line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
		if line != "" {
			lines <- line
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func newClient(settings Settings) *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	// A crawl rarely returns to a host: as many idle connections as there are workers, the oldest closed first.
	transport.MaxIdleConns = settings.Concurrency
	transport.MaxIdleConnsPerHost = settings.Concurrency
	// That bound does not apply to connections of HTTP/2, which stay idle for this long whatever their number.
	transport.IdleConnTimeout = time.Second
	transport.TLSHandshakeTimeout = 0 // the client's timeout bounds the handshake too
	transport.DisableKeepAlives = !settings.KeepAlive
	client := &http.Client{Transport: transport, Timeout: settings.RequestTimeout, CheckRedirect: checkRedirect}
	switch settings.HTTPVersion {
	case "1.1":
		transport.ForceAttemptHTTP2 = false
		transport.TLSClientConfig = &tls.Config{NextProtos: []string{"http/1.1"}} // the clone already offers h2
		transport.TLSNextProto = map[string]func(string, *tls.Conn) http.RoundTripper{}
	case "2":
		client.Transport = http2Only{transport}
	}
	return client
}

// checkRedirect allows ten redirects; net/http's own check stops at the tenth.
func checkRedirect(_ *http.Request, via []*http.Request) error {
	if len(via) > redirectLimit {
		return errTooManyRedirects
	}
	return nil
}

// http2Only refuses answers over another version: before Go 1.24 net/http has no setting to offer HTTP/2 alone.
type http2Only struct{ transport http.RoundTripper }

func (t http2Only) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := t.transport.RoundTrip(request)
	if err == nil && response.ProtoMajor != 2 {
		response.Body.Close()
		return nil, errNotHTTP2
	}
	return response, err
}

// row fetches one URL: `url,code,start_time,duration,body_length` and a line feed. The URL is printed as it was read.
func row(client *http.Client, line string, settings Settings) string {
	start := time.Now()
	code, bodyLength, err := fetch(client, line, settings)
	duration := time.Since(start)
	if err != nil {
		code = causeName(err)
	}
	return fmt.Sprintf("%s,%s,%s,%.3f,%d\n", line, code, start.Format("2006-01-02T15:04:05.000000Z07:00"),
		float64(duration)/float64(time.Millisecond), bodyLength)
}

// fetch returns the final status and the bytes of content after decoding. The client's timeout bounds all of it.
func fetch(client *http.Client, line string, settings Settings) (code string, bodyLength int64, err error) {
	target := strings.TrimSpace(line)
	if !isURL(target) {
		return "", 0, errInvalidURL
	}
	var body io.Reader
	if settings.Body != "" {
		body = strings.NewReader(settings.Body)
	}
	request, err := http.NewRequest(settings.Method, target, body)
	if err != nil {
		return "", 0, errInvalidURL
	}
	if settings.UserAgent != "" {
		request.Header.Set("User-Agent", settings.UserAgent)
	}
	response, err := client.Do(request)
	if err != nil {
		return "", 0, err
	}
	defer response.Body.Close()
	code = strconv.Itoa(response.StatusCode)
	if !settings.CheckJSON {
		bodyLength, err = io.Copy(io.Discard, response.Body)
		if err != nil {
			return "", 0, err
		}
		return code, bodyLength, nil
	}
	var content bytes.Buffer
	if _, err = content.ReadFrom(response.Body); err != nil {
		return "", 0, err
	}
	if !isExpected(content.Bytes()) {
		return "", int64(content.Len()), errCheckFailed
	}
	return code, int64(content.Len()), nil
}

// isURL reports whether a text is an absolute http or https URL. net/http would repair a blank in the path.
func isURL(target string) bool {
	if strings.ContainsFunc(target, unicode.IsSpace) {
		return false
	}
	parsed, err := url.Parse(target)
	return err == nil && (parsed.Scheme == "http" || parsed.Scheme == "https") && parsed.Host != ""
}

func isExpected(content []byte) bool {
	var documents []struct {
		Numbers float64 `json:"numbers"`
	}
	return json.Unmarshal(content, &documents) == nil && len(documents) > 0 && documents[0].Numbers == 123123
}
