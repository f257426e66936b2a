//go:build unix

package localcluster

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"maps"
	"net/http"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// requestMetric counts the API server's answers to all clients.
const requestMetric = "apiserver_request_total"

// RequestKey names a class of requests to the API server.
type RequestKey struct {
	// Verb in the spelling of the API server's metrics: GET, LIST, WATCH, POST, PUT, PATCH, APPLY, DELETE, DELETECOLLECTION. A watch is
	// counted when it ends.
	Verb string
	// Group is the API group. It is empty for the core group and for paths that are no resource.
	Group string
	// Resource in the plural, for example "vmgroups". It is empty for paths that are no resource.
	Resource string
	// Subresource, for example "status". For a path that is no resource, it is the path, for example "/readyz".
	Subresource string
	// Code is the HTTP status, for example "200".
	Code string
}

// Writes reports whether requests of this class can have changed an object.
func (k RequestKey) Writes() bool {
	switch k.Verb {
	case "POST", "PUT", "PATCH", "APPLY", "DELETE", "DELETECOLLECTION":
		return true
	default:
		return false
	}
}

// Requests returns the number of answered requests of each class since the API server last started, from all clients. The number does not
// depend on the program under test. Dry runs are not counted. Requests of the API server to itself and those of this method are included.
// After a restart of the API server, counters begin at zero again.
func (c *ControlPlane) Requests(ctx context.Context) (map[RequestKey]int, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.Config.Host+"/metrics", nil)
	if err != nil {
		return nil, err
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, fmt.Errorf("read the metrics of cluster %s: %w", c.Name, err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("read the metrics of cluster %s: %s", c.Name, response.Status)
	}
	// Drop megabytes of other metrics before parsing.
	var wanted bytes.Buffer
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if bytes.HasPrefix(lines.Bytes(), []byte(requestMetric+"{")) {
			wanted.Write(lines.Bytes())
			wanted.WriteByte('\n')
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read the metrics of cluster %s: %w", c.Name, err)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(&wanted)
	if err != nil {
		return nil, fmt.Errorf("read the metrics of cluster %s: %w", c.Name, err)
	}
	counts := map[RequestKey]int{}
	for _, metric := range families[requestMetric].GetMetric() {
		if key, dry := requestKey(metric); !dry {
			// Lines without a TYPE are untyped values for the parser.
			counts[key] += int(metric.GetUntyped().GetValue())
		}
	}
	return counts, nil
}

func requestKey(metric *dto.Metric) (key RequestKey, dryRun bool) {
	for _, label := range metric.GetLabel() {
		switch label.GetName() {
		case "verb":
			key.Verb = label.GetValue()
		case "group":
			key.Group = label.GetValue()
		case "resource":
			key.Resource = label.GetValue()
		case "subresource":
			key.Subresource = label.GetValue()
		case "code":
			key.Code = label.GetValue()
		case "dry_run":
			dryRun = label.GetValue() != ""
		}
	}
	return key, dryRun
}

// Since returns the requests in after that were not in before, without classes that did not grow. If the API server restarted between the
// two, the result is too low.
func Since(before, after map[RequestKey]int) map[RequestKey]int {
	grown := maps.Clone(after)
	maps.DeleteFunc(grown, func(key RequestKey, count int) bool { return count <= before[key] })
	for key := range grown {
		grown[key] -= before[key]
	}
	return grown
}

// Total adds the counts of all classes that the filter accepts, for example RequestKey.Writes.
func Total(counts map[RequestKey]int, accept func(RequestKey) bool) int {
	sum := 0
	for key, count := range counts {
		if accept(key) {
			sum += count
		}
	}
	return sum
}
