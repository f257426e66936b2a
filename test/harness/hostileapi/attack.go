//go:build unix

package hostileapi

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/codeconnect/vmgroup-operator/test/harness/localcluster"
)

// Attack returns a handler that answers a request in place of the API server, or nil for the usual answer. Several goroutines can call it.
type Attack func(localcluster.APICall) http.HandlerFunc

// OnLists answers lists and watches of a resource, because clients can fill a cache with either.
func OnLists(resource string, list, watch http.HandlerFunc) Attack {
	return func(call localcluster.APICall) http.HandlerFunc {
		switch {
		case call.Resource != resource:
			return nil
		case call.Verb == "list":
			return list
		case call.Verb == "watch":
			return watch
		}
		return nil
	}
}

// Anew answers watches that request the initial objects with anew, and watches that continue an earlier one with others.
func Anew(anew, others http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Has("sendInitialEvents") {
			anew(w, r)
			return
		}
		others(w, r)
	}
}

// Refuse answers with a refusal of the API server.
func Refuse(code int, reason string) http.HandlerFunc {
	body := failure(code, reason, "the attacker says "+reason).Body
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", jsonType)
		w.WriteHeader(code)
		_, _ = w.Write(body)
	}
}

// Compressed answers with JSON that gzip reduces to a thousandth: begin, a text of length bytes in whole MiB, and end. Only one MiB is compressed, because
// concatenated gzip files are one text.
func Compressed(begin string, length int64, end string) http.HandlerFunc {
	body := slices.Concat(compressed([]byte(begin)), bytes.Repeat(compressed(bytes.Repeat([]byte("0"), 1<<20)), int(length>>20)), compressed([]byte(end)))
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", jsonType)
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(body)
	}
}

func compressed(text []byte) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write(text)
	_ = z.Close() // a buffer accepts every write
	return b.Bytes()
}

// Endless answers with JSON until the client stops reading or most bytes were sent, and then sends end. more returns the next part for a number.
func Endless(begin string, most int64, more func(int) string, end string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", jsonType)
		_, err := io.WriteString(w, begin)
		for i, sent := 0, 0; err == nil && int64(sent) < most; i++ {
			var n int
			n, err = io.WriteString(w, more(i))
			sent += n
		}
		if err == nil {
			_, _ = io.WriteString(w, end)
		}
	}
}

// Drip answers with JSON that does not end: it sends a blank at each interval.
func Drip(begin string, every time.Duration) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", jsonType)
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		_, err := io.WriteString(w, begin)
		for err == nil && r.Context().Err() == nil {
			if err = http.NewResponseController(w).Flush(); err != nil {
				return
			}
			<-ticker.C
			_, err = io.WriteString(w, " ")
		}
	}
}

// Elsewhere redirects to another server.
func Elsewhere(url string, status int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, url+r.URL.Path, status) } //nolint:gosec // a test sends it to a server of its own
}

// LongHeaders answers with so many KiB of headers.
func LongHeaders(kib int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", jsonType)
		for i := range kib {
			w.Header().Set(fmt.Sprintf("X-Flood-%d", i), strings.Repeat("x", 1000))
		}
		_, _ = io.WriteString(w, "{}")
	}
}
