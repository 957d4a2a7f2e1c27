// The name of an error: Go's name of its innermost cause.
package main

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"

	"github.com/valyala/fasthttp"
)

// errnoNames holds the system errors that a client meets; package syscall has their numbers and texts, not their names.
var errnoNames = map[syscall.Errno]string{
	syscall.EADDRNOTAVAIL: "EADDRNOTAVAIL",
	syscall.ECONNABORTED:  "ECONNABORTED",
	syscall.ECONNREFUSED:  "ECONNREFUSED",
	syscall.ECONNRESET:    "ECONNRESET",
	syscall.EHOSTUNREACH:  "EHOSTUNREACH",
	syscall.EMFILE:        "EMFILE",
	syscall.ENETUNREACH:   "ENETUNREACH",
	syscall.ENFILE:        "ENFILE",
	syscall.EPIPE:         "EPIPE",
	syscall.ETIMEDOUT:     "ETIMEDOUT",
}

// fasthttpNames holds the error values of fasthttp that a client meets; their texts are sentences.
var fasthttpNames = map[error]string{
	fasthttp.ErrConnectionClosed:           "ErrConnectionClosed",
	fasthttp.ErrContentEncodingUnsupported: "ErrContentEncodingUnsupported",
	fasthttp.ErrDialTimeout:                "ErrDialTimeout",
	fasthttp.ErrNoFreeConns:                "ErrNoFreeConns",
	fasthttp.ErrTimeout:                    "ErrTimeout",
	fasthttp.ErrTooManyRedirects:           "ErrTooManyRedirects",
}

// causeName names the innermost cause: a system error, a condition of DNS or of a certificate, one of the well-known
// error values, else a type.
func causeName(err error) string {
	for _, own := range []error{errCheckFailed, errInvalidURL} {
		if errors.Is(err, own) {
			return own.Error()
		}
	}
	for known, name := range fasthttpNames {
		if errors.Is(err, known) {
			return name
		}
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) {
		return "DeadlineExceeded"
	}
	inner := innermost(err)
	switch cause := inner.(type) {
	case syscall.Errno:
		if name, ok := errnoNames[cause]; ok {
			return name
		}
		return fmt.Sprintf("Errno%d", int(cause))
	case *net.DNSError:
		return dnsName(cause)
	case x509.CertificateInvalidError:
		if cause.Reason == x509.Expired {
			return "x509.Expired"
		}
		return fmt.Sprintf("x509.CertificateInvalidError.%d", cause.Reason)
	}
	switch inner {
	case io.EOF:
		return "EOF"
	case io.ErrUnexpectedEOF:
		return "ErrUnexpectedEOF"
	}
	if timeout, ok := err.(net.Error); ok && timeout.Timeout() {
		return "Timeout"
	}
	return typeName(inner)
}

func innermost(err error) error {
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
		err = inner
	}
	return err
}

func dnsName(err *net.DNSError) string {
	switch {
	case err.IsNotFound:
		return "DNSError.IsNotFound"
	case err.IsTimeout:
		return "DNSError.IsTimeout"
	case err.IsTemporary:
		return "DNSError.IsTemporary"
	}
	return "DNSError"
}

// typeName is a type such as x509.HostnameError; an error that is only a text gives the text as one word.
func typeName(err error) string {
	name := strings.TrimLeft(fmt.Sprintf("%T", err), "*")
	if name != "errors.errorString" && name != "fmt.wrapError" {
		return name
	}
	text, _, _ := strings.Cut(err.Error(), `"`) // the rest is the server's text
	text, _, _ = strings.Cut(text, ";")
	var word strings.Builder
	for _, part := range strings.FieldsFunc(text, func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9')
	}) {
		word.WriteString(strings.ToUpper(part[:1]) + part[1:])
	}
	if word.Len() == 0 {
		return name
	}
	return word.String()
}
