package server

import (
	"context"
	stdlog "log"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/go-logr/logr/funcr"
	"golang.org/x/net/http2"
)

// TestFramesThatNobodyKnowsDoNotFillTheLog: net/http writes a line for each into Go's own log.
func TestFramesThatNobodyKnowsDoNotFillTheLog(t *testing.T) {
	flags, output := stdlog.Flags(), stdlog.Writer()
	t.Cleanup(func() {
		stdlog.SetFlags(flags)
		stdlog.SetOutput(output)
	})
	synctest.Test(t, func(t *testing.T) {
		var lines []string
		BoundStandardLog(funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{}))
		own, peer := net.Pipe()
		transport := &http.Transport{Protocols: new(http.Protocols), DialContext: func(context.Context, string, string) (net.Conn, error) { return own, nil }}
		transport.Protocols.SetUnencryptedHTTP2(true)
		go func() {
			framer := http2.NewFramer(peer, peer)
			_, _ = peer.Read(make([]byte, len(http2.ClientPreface)))
			go func() {
				for {
					if _, err := framer.ReadFrame(); err != nil {
						return
					}
				}
			}()
			_ = framer.WriteSettings()
			for range 1000 {
				_ = framer.WriteRawFrame(http2.FrameType(0xee), 0, 0, nil)
			}
			_ = peer.Close()
		}()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://member/", nil)
		if err != nil {
			t.Fatal(err)
		}
		if response, err := transport.RoundTrip(request); err == nil {
			_ = response.Body.Close()
			t.Error("there was an answer")
		}
		synctest.Wait()
		if len(lines) != 1 || !strings.Contains(lines[0], "unhandled response frame") {
			t.Errorf("a thousand frames made %d lines: %.500s", len(lines), lines)
		}
	})
}
