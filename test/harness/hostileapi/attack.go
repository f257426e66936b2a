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

// Attack answers a request in the place of the API server, or returns nil where it is answered as ever. It is called by several goroutines.
type Attack func(localcluster.APICall) http.HandlerFunc

// OnLists answers lists and watches of a resource, both as a client may fill a cache by either.
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

// Anew answers watches that begin with all that there is, and otherwise answers those that go on from where another one ended.
func Anew(anew, others http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Has("sendInitialEvents") {
			anew(w, r)
			return
		}
		others(w, r)
	}
}

// Refuse answers as an API server that does not do what was asked for.
func Refuse(code int, reason string) http.HandlerFunc {
	body := failure(code, reason, "the attacker says "+reason).Body
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", jsonType)
		w.WriteHeader(code)
		_, _ = w.Write(body)
	}
}

// Compressed answers with JSON that gzip has made a thousandth: what begins, so many bytes of a text in whole MiB, and what ends. One MiB is compressed: what
// follows the end of one gzip file is the next one, and belongs to the same text.
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
	_ = z.Close() // a buffer takes everything
	return b.Bytes()
}

// Endless answers with JSON that goes on until nobody reads any more, or until as many bytes were sent, and then ends; more makes what comes next from a
// number.
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

// Drip answers with JSON that does not end: a blank comes every so often.
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

// LongHeaders answers with headers of so many KiB.
func LongHeaders(kib int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", jsonType)
		for i := range kib {
			w.Header().Set(fmt.Sprintf("X-Flood-%d", i), strings.Repeat("x", 1000))
		}
		_, _ = io.WriteString(w, "{}")
	}
}
