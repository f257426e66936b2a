package drawings

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"github.com/codeconnect/vmgroup-operator/test/harness/assets"
	"github.com/codeconnect/vmgroup-operator/test/harness/mermaid"
)

// Browser is a page of Chromium with Mermaid. It reaches no network, and listens on no port: its client talks to it through a pipe.
type Browser struct {
	page context.Context
	end  func()

	mu sync.Mutex
	// asked are the addresses outside of the page that drawings asked for.
	asked []string
}

// Start starts Chromium and loads Mermaid. It installs what is missing. Close ends Chromium.
func Start(ctx context.Context) (*Browser, error) {
	program, err := mermaid.Chromium(ctx, os.Stderr)
	if err != nil {
		return nil, err
	}
	path, err := assets.Mermaid(ctx, os.Stderr)
	if err != nil {
		return nil, err
	}
	script, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program))
	for name, value := range flags(os.Geteuid()) {
		options = append(options, chromedp.Flag(name, value))
	}
	allocator, endAllocator := chromedp.NewExecAllocator(ctx, options...)
	page, endPage := chromedp.NewContext(allocator)
	b := &Browser{page: page, end: func() { endPage(); endAllocator() }}
	if err := b.load(string(script)); err != nil {
		b.end()
		return nil, fmt.Errorf("load mermaid in %s: %w", program, err)
	}
	return b, nil
}

// flags of Chromium beside the defaults of its client.
func flags(uid int) map[string]any {
	set := map[string]any{
		// Without a resolver and a proxy, Chromium reaches no server.
		"host-resolver-rules": "MAP * ~NOTFOUND",
		"no-proxy-server":     true,
		// These look for devices and for updates.
		"disable-component-update": true,
		"disable-features":         "MediaRouter,OptimizationHints,Translate",
	}
	// Chromium's sandbox does not start for root.
	if uid == 0 {
		set["no-sandbox"] = true
	}
	return set
}

func (b *Browser) load(script string) error {
	if err := chromedp.Listen(b.page, b.listen); err != nil {
		return err
	}
	if _, err := chromedp.Call(b.page, network.Enable, network.EnableParams{}); err != nil {
		return err
	}
	return chromedp.Do(b.page,
		chromedp.Evaluate[chromedp.Void](script),
		chromedp.Evaluate[chromedp.Void](`mermaid.initialize({startOnLoad: false, securityLevel: "strict", suppressErrorRendering: true})`),
	)
}

// listen records requests, except for data that is part of the page.
func (b *Browser) listen(event any) {
	sent, ok := event.(*network.EventRequestWillBeSent)
	if !ok || strings.HasPrefix(sent.Request.URL, "data:") {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked = append(b.asked, sent.Request.URL)
}

// requests returns the recorded requests, and forgets them.
func (b *Browser) requests() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	asked := b.asked
	b.asked = nil
	return asked
}

// Close ends Chromium and removes its files.
func (b *Browser) Close() error {
	defer b.end()
	return chromedp.Cancel(b.page)
}
