package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// get reads a page of the manager's loopback endpoint.
func get(ctx context.Context, url string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", url, response.Status)
	}
	return string(body), err
}

// sumOf adds the samples of a metric in Prometheus' text format whose labels contain all given texts.
func sumOf(text, name string, labels ...string) float64 {
	sum := 0.0
next:
	for line := range strings.Lines(text) {
		rest, ok := strings.CutPrefix(line, name)
		if !ok || (rest[0] != '{' && rest[0] != ' ') {
			continue
		}
		at := strings.LastIndexByte(rest, ' ')
		for _, label := range labels {
			if !strings.Contains(rest[:at], label) {
				continue next
			}
		}
		v, err := strconv.ParseFloat(strings.TrimSpace(rest[at+1:]), 64)
		if err == nil {
			sum += v
		}
	}
	return sum
}
