// Fetches the URLs of stdin with fasthttp and prints one CSV line a URL.
package main

import (
	"bufio"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/valyala/fasthttp"
)

const (
	redirectLimit = 10
	// How long an idle connection, and the address of a name, wait for the next URL of their host: a crawl rarely
	// returns to one.
	idleTimeout = time.Second
	// The longest head of an answer: on the open web fasthttp's 4096 bytes are too few.
	headBytes = 65536
	// The codings that fasthttp decodes; it sends no Accept-Encoding by default.
	acceptEncoding = "gzip, deflate, br, zstd"
)

var (
	errCheckFailed = errors.New("CheckFailed")
	errInvalidURL  = errors.New("InvalidURL")
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "--version" {
		fmt.Println(version())
		return
	}
	settings, err := readSettings()
	if err != nil {
		fmt.Fprintln(os.Stderr, "go-fasthttp:", err)
		os.Exit(127)
	}
	if err := crawl(settings); err != nil {
		fmt.Fprintln(os.Stderr, "go-fasthttp:", err)
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

func newClient(settings Settings) *fasthttp.Client {
	return &fasthttp.Client{
		Name:                   settings.UserAgent,
		MaxConnsPerHost:        settings.Concurrency,
		MaxIdleConnDuration:    idleTimeout,
		ReadBufferSize:         headBytes,
		DisablePathNormalizing: true, // a URL is fetched as it was read
		ConfigureClient:        configureDialing(),
	}
}

// configureDialing makes the timeout of a request bound the TLS handshake too. By default fasthttp's handshake has no
// timeout, or WriteTimeout, which starts again with every redirect. This function also reaches hosts that have IPv6
// only.
func configureDialing() func(*fasthttp.HostClient) error {
	dialer := &fasthttp.TCPDialer{DNSCacheDuration: idleTimeout}
	return func(host *fasthttp.HostClient) error {
		host.DialTimeout = dialer.DialDualStackTimeout
		if host.IsTLS {
			host.DialTimeout = func(address string, timeout time.Duration) (net.Conn, error) {
				return dialTLS(dialer, address, time.Now().Add(timeout))
			}
		}
		return nil
	}
}

func dialTLS(dialer *fasthttp.TCPDialer, address string, deadline time.Time) (net.Conn, error) {
	name, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	inner, err := dialer.DialDualStackTimeout(address, time.Until(deadline))
	if err != nil {
		return nil, err
	}
	connection := tls.Client(inner, &tls.Config{ServerName: name})
	connection.SetDeadline(deadline) // each request sets its own
	if err := connection.Handshake(); err != nil {
		inner.Close()
		return nil, err
	}
	return connection, nil
}

// row fetches one URL: `url,code,start_time,duration,body_length` and a line feed. The URL is printed as it was read.
func row(client *fasthttp.Client, line string, settings Settings) string {
	start := time.Now()
	code, bodyLength, err := fetch(client, line, settings)
	duration := time.Since(start)
	if err != nil {
		code = causeName(err)
	}
	return fmt.Sprintf("%s,%s,%s,%.3f,%d\n", line, code, start.Format("2006-01-02T15:04:05.000000Z07:00"),
		float64(duration)/float64(time.Millisecond), bodyLength)
}

// fetch returns the final status and the bytes of content after decoding. One deadline bounds all of it.
func fetch(client *fasthttp.Client, line string, settings Settings) (code string, bodyLength int, err error) {
	deadline := time.Now().Add(settings.RequestTimeout)
	target := strings.TrimSpace(line)
	if !isURL(target) {
		return "", 0, errInvalidURL
	}
	request, response := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(request)
	defer fasthttp.ReleaseResponse(response)
	request.SetRequestURI(target)
	request.Header.Set(fasthttp.HeaderAcceptEncoding, acceptEncoding)
	if !settings.KeepAlive {
		request.SetConnectionClose()
	}
	if err := follow(client, request, response, deadline); err != nil {
		return "", 0, err
	}
	content, err := response.BodyUncompressed()
	if err != nil {
		return "", 0, err
	}
	if settings.CheckJSON && !isExpected(content) {
		return "", len(content), errCheckFailed
	}
	return strconv.Itoa(response.StatusCode()), len(content), nil
}

// follow is fasthttp's DoRedirects with one deadline for all redirects; in DoRedirects each redirect gets the whole
// timeout again.
func follow(client *fasthttp.Client, request *fasthttp.Request, response *fasthttp.Response, deadline time.Time) error {
	for redirects := 0; ; redirects++ {
		if err := client.DoDeadline(request, response, deadline); err != nil {
			return err
		}
		location := response.Header.Peek(fasthttp.HeaderLocation)
		if !fasthttp.StatusCodeIsRedirect(response.StatusCode()) || len(location) == 0 {
			return nil
		}
		if redirects == redirectLimit {
			return fasthttp.ErrTooManyRedirects
		}
		request.URI().UpdateBytes(location)
	}
}

// isURL reports whether a text is an absolute http or https URL. fasthttp would send a blank in the path.
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

// version is that of fasthttp, as go.mod pins it.
func version() string {
	if build, ok := debug.ReadBuildInfo(); ok {
		for _, module := range build.Deps {
			if module.Path == "github.com/valyala/fasthttp" {
				return strings.TrimPrefix(module.Version, "v")
			}
		}
	}
	return "unknown"
}
