package webhookcall

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"time"
)

// drip is the pause of a slow sender before each byte.
const drip = 200 * time.Millisecond

// Hostile is a kind of hostile request.
type Hostile struct {
	Name string
	// body returns the body of one request, until ctx ends.
	body func(ctx context.Context) io.Reader
}

// HostileBodies are a body of 1 MiB, a body with 10,000 levels, and a body of 3 MiB that decodes to hundreds of MiB. Others have
// wrong types in several fields, or come from senders that never end.
func HostileBodies(namespace string) []Hostile {
	object := func(text string) func(context.Context) io.Reader {
		whole := creationOf(namespace, "hostile", []byte(text))
		return func(context.Context) io.Reader { return bytes.NewReader(whole) }
	}
	const head = `{"apiVersion":"vm.codeconnect.vmworld.com/v1alpha1","kind":"VmGroup","metadata":{"name":"hostile"%s},"spec":%s}`
	const depth, items = 10_000, 1_000_000
	return []Hostile{
		{"1 MiB", object(fmt.Sprintf(head, `,"annotations":{"a":"`+strings.Repeat("x", 1<<20)+`"}`, `{"cpu":1,"memory":1,"template":"t"}`))},
		{"nested", object(fmt.Sprintf(head, "", strings.Repeat(`{"a":`, depth)+"1"+strings.Repeat("}", depth)))},
		{"amplifying", object(fmt.Sprintf(head, "", `{"cpu":1,"memory":1,"template":"t"},"status":{"vms":[`+strings.Repeat("{},", items)+`{}]}`))},
		{"wrong types", object(fmt.Sprintf(head, "", `{"cpu":"many","memory":[1],"template":{"a":1},"replicas":1e99}`))},
		{"no review", func(context.Context) io.Reader { return strings.NewReader(`{"kind":7,"request":["a",{}]}`) }},
		{"slow", func(ctx context.Context) io.Reader { return &slowReader{ctx: ctx} }},
	}
}

// slowReader returns a byte after each pause. It returns an error when its context ends.
type slowReader struct {
	ctx  context.Context //nolint:containedctx // a Reader is given none
	sent int
}

func (s *slowReader) Read(p []byte) (int, error) {
	timer := time.NewTimer(drip)
	defer timer.Stop()
	select {
	case <-s.ctx.Done():
		return 0, s.ctx.Err()
	case <-timer.C:
	}
	p[0] = ' '
	if s.sent == 0 {
		p[0] = '{'
	}
	s.sent++
	return 1, nil
}
