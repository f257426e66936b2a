package remote

import (
	"bytes"
	"cmp"
	"errors"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// TestAStatusThatHTTPDoesNotHaveIsRefused: a metric counts requests by status, and a server could create a new series with each
// answer.
func TestAStatusThatHTTPDoesNotHaveIsRefused(t *testing.T) {
	next := 600
	api := framing(t, testBounds(), func(framer *http2.Framer) {
		for {
			frame, err := framer.ReadFrame()
			if err != nil {
				return
			}
			if _, ok := frame.(*http2.HeadersFrame); !ok {
				continue
			}
			var block bytes.Buffer
			_ = hpack.NewEncoder(&block).WriteField(hpack.HeaderField{Name: ":status", Value: strconv.Itoa(next)}) // a buffer accepts everything
			next += 401
			if framer.WriteHeaders(http2.HeadersFrameParam{
				StreamID: frame.Header().StreamID, BlockFragment: block.Bytes(), EndHeaders: true, EndStream: true,
			}) != nil {
				return
			}
		}
	})
	said := ""
	for range 8 { // more would wait for the client's own pace
		_, err := api.Version(t.Context())
		var answer *AnswerError
		if !errors.As(err, &answer) || answer.Status < 600 {
			t.Fatalf("said was %v", err)
		}
		p := AsProblem(api.Host(), err)
		if said = cmp.Or(said, p.Message); p.Reason != v1alpha1.ReasonMemberUnreachable || !strings.Contains(p.Message, "a status that HTTP does not have") || p.Message != said {
			t.Errorf("the problem is %+v; before it was %q", p, said)
		}
	}
	if codes := countedCodes(t, strings.TrimPrefix(api.Host(), "https://")); len(codes) != 1 || codes[0] != "<error>" {
		t.Errorf("requests are counted as %q", codes)
	}
}

// countedCodes are the codes by which requests to a host are counted.
func countedCodes(t *testing.T, host string) (codes []string) {
	t.Helper()
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() != "rest_client_requests_total" {
			continue
		}
		for _, series := range family.GetMetric() {
			labels := map[string]string{}
			for _, label := range series.GetLabel() {
				labels[label.GetName()] = label.GetValue()
			}
			if labels["host"] == host {
				codes = append(codes, labels["code"])
			}
		}
	}
	return codes
}
