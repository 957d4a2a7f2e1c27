// Fetches the URLs of stdin with resty and prints one CSV line a URL.
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
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"resty.dev/v3"
)

const (
	// How long an idle connection waits for the next URL of its host: a crawl rarely returns to one.
	idleTimeout = time.Second
	// resty gives up at this many redirects, so that ten are followed.
	redirectLimit = 11
)

var (
	errCheckFailed = errors.New("CheckFailed")
	errInvalidURL  = errors.New("InvalidURL")
	errNotHTTP2    = errors.New("NotHTTP2")
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "--version" {
		fmt.Println(resty.Version)
		return
	}
	settings, err := readSettings()
	if err != nil {
		fmt.Fprintln(os.Stderr, "go-resty:", err)
		os.Exit(127)
	}
	if err := crawl(settings); err != nil {
		fmt.Fprintln(os.Stderr, "go-resty:", err)
		os.Exit(1)
	}
}

func crawl(settings Settings) error {
	client := newClient(settings)
	defer client.Close()
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

func newClient(settings Settings) *resty.Client {
	client := resty.NewWithTransportSettings(&resty.TransportSettings{
		DisableKeepAlives:   !settings.KeepAlive,
		IdleConnTimeout:     idleTimeout,
		MaxIdleConns:        settings.Concurrency,
		MaxIdleConnsPerHost: settings.Concurrency,
		// The client's timeout bounds these two as well, whichever is longer.
		DialerTimeout:       settings.RequestTimeout,
		TLSHandshakeTimeout: settings.RequestTimeout,
	})
	client.SetTimeout(settings.RequestTimeout)
	client.SetRedirectPolicy(resty.RedirectFlexiblePolicy(redirectLimit))
	// The content is read in pieces; resty's own way keeps all of it, and accepts truncated content as complete.
	client.SetResponseDoNotParse(true)
	// Else a DELETE has no content.
	client.SetMethodDeleteAllowPayload(true)
	// Cookies of one host do not matter to the next, and a jar would keep them for ever.
	client.SetCookieJar(nil)
	if settings.UserAgent != "" {
		client.SetHeader("User-Agent", settings.UserAgent)
	}
	transport, err := client.HTTPTransport()
	if err != nil {
		panic(err) // resty has just created it
	}
	switch settings.HTTPVersion {
	case "1.1":
		transport.ForceAttemptHTTP2 = false
		transport.TLSNextProto = map[string]func(string, *tls.Conn) http.RoundTripper{}
	case "2":
		client.SetTransport(http2Only{transport})
	}
	return client
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
func row(client *resty.Client, line string, settings Settings) string {
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
func fetch(client *resty.Client, line string, settings Settings) (code string, bodyLength int64, err error) {
	target := strings.TrimSpace(line)
	if !isURL(target) {
		return "", 0, errInvalidURL
	}
	request := client.R()
	if settings.Body != "" {
		request.SetBody(settings.Body)
	}
	response, err := request.Execute(settings.Method, target)
	if response != nil && response.Body != nil {
		defer response.Body.Close() // a response may come with an error: content with a broken coding
	}
	if err != nil {
		return "", 0, err
	}
	code = strconv.Itoa(response.StatusCode())
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

// isURL reports whether a text is an absolute http or https URL. resty would repair a blank in the path.
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
