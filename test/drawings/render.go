package drawings

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/codeconnect/vmgroup-operator/test/harness/mermaid"
)

// timeout of one drawing, which takes less than a second.
const timeout = time.Minute

// margin around a drawing, which draw sets.
const margin = 8

// draw puts the drawing into the page, and waits until its images have loaded or failed.
const draw = `(async source => {
	document.body.style.margin = "8px"
	document.body.innerHTML = '<div id="drawing"></div>'
	const drawing = document.getElementById("drawing")
	drawing.innerHTML = (await mermaid.render("svg", source)).svg
	const images = [...drawing.querySelectorAll("img, image")].map(image => image.href?.baseVal ?? image.src)
	await Promise.allSettled(images.map(url => Object.assign(new Image(), {src: url}).decode()))
	// A page shows a drawing in its own size, and smaller if the page is too narrow.
	const svg = drawing.querySelector("svg")
	const {width, height} = svg.viewBox.baseVal
	svg.setAttribute("width", width)
	return {width, height}
})`

// Size of a drawing in pixels, before the page that shows it makes it fit.
type Size struct {
	Width  float64 `json:"width"`
	Height float64 `json:"height"`
}

// Render draws a block. The error has its place and Mermaid's message.
func (b *Browser) Render(block mermaid.Block) (Size, error) {
	size, err := b.draw(block.Source)
	if err != nil {
		return size, fmt.Errorf("%s: this drawing does not render: %w", block, err)
	}
	return size, nil
}

func (b *Browser) draw(source string) (Size, error) {
	quoted, err := json.Marshal(source)
	if err != nil {
		return Size{}, err
	}
	ctx, cancel := context.WithTimeout(b.page, timeout)
	defer cancel()
	size, err := chromedp.Run(ctx, chromedp.Evaluate[Size](draw+"("+string(quoted)+")", chromedp.EvalAwaitPromise))
	asked := b.requests()
	var exception *chromedp.ExceptionError
	switch {
	case len(asked) > 0:
		return size, fmt.Errorf("it needs %s, and a drawing must be complete in itself", strings.Join(asked, ", "))
	case errors.As(err, &exception):
		return size, errors.New(message(exception))
	case err != nil:
		return size, err
	case size.Width < 1 || size.Height < 1:
		return size, errors.New("it is empty")
	}
	return size, nil
}

// Picture returns the drawing that was rendered last as a PNG.
func (b *Browser) Picture(size Size) ([]byte, error) {
	ctx, cancel := context.WithTimeout(b.page, timeout)
	defer cancel()
	beyond := true // the window
	shot, err := chromedp.Call(ctx, page.CaptureScreenshot, page.CaptureScreenshotParams{
		Clip: &page.Viewport{Width: size.Width + 2*margin, Height: size.Height + 2*margin, Scale: 1}, CaptureBeyondViewport: &beyond,
	})
	if err != nil {
		return nil, err
	}
	return shot.Data, nil
}

// message returns Mermaid's message without the stack.
func message(e *chromedp.ExceptionError) string {
	text := e.Text
	if e.Exception != nil && e.Exception.Description != "" {
		text = e.Exception.Description
	}
	text, _, _ = strings.Cut(text, "\n    at ")
	return strings.TrimPrefix(text, "Error: ")
}
