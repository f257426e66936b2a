package drawings

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/codeconnect/vmgroup-operator/test/harness/assets"
	"github.com/codeconnect/vmgroup-operator/test/harness/mermaid"
)

var (
	write = flag.Bool("drawings.write", false, "write "+mermaid.File)
	png   = flag.String("drawings.png", "", "a directory to write the drawings to, as PNG files")
)

// widest is the width of a column on GitHub with some shrinking: below that, a text of 16 pixels stays readable.
const widest = 1300

// browser of all tests.
var browser *Browser

func TestMain(m *testing.M) {
	flag.Parse()
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	if browser, err = Start(context.Background()); err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, browser.Close()) }()
	return m.Run(), nil
}

func TestEveryDrawingRenders(t *testing.T) {
	root, err := assets.Root()
	if err != nil {
		t.Fatal(err)
	}
	blocks, err := mermaid.Repository(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range blocks {
		size, err := browser.Render(block)
		if err != nil {
			t.Error(err)
			continue
		}
		t.Logf("%s: %.0f by %.0f", block, size.Width, size.Height)
		if size.Width > widest {
			t.Errorf("%s: this drawing is %.0f pixels wide, and a page makes more than %d too small to read", block, size.Width, widest)
		}
		if *png != "" {
			save(t, block, size)
		}
	}
	if t.Failed() {
		return
	}
	if *write {
		err = mermaid.Of(blocks).Write(root)
	} else {
		err = mermaid.Check(t.Context(), root, nil)
	}
	if err != nil {
		t.Error(err)
	}
}

func save(t *testing.T, block mermaid.Block, size Size) {
	t.Helper()
	picture, err := browser.Picture(size)
	if err != nil {
		t.Fatalf("%s: %v", block, err)
	}
	name := fmt.Sprintf("%s-%d.png", strings.TrimSuffix(filepath.Base(block.Page), ".md"), block.Line)
	if err := errors.Join(os.MkdirAll(*png, 0o755), os.WriteFile(filepath.Join(*png, name), picture, 0o644)); err != nil {
		t.Fatal(err)
	}
}

func TestADrawingThatIsWrongFails(t *testing.T) {
	for _, c := range []struct{ name, source, want string }{
		{"an arrow to nowhere", "flowchart TB\n  a --> b\n  b -->\n", "b -->"},
		{"a kind that does not exist", "flowchrt TB\n  a --> b\n", "No diagram type detected"},
		{"nothing", "", "No diagram type detected"},
		{"no end of a state", "stateDiagram-v2\n  state A {\n", "state A {"},
		{"a message without a receiver", "sequenceDiagram\n  a->>\n", "Parse error on line 2"},
		{"an image of another server", "flowchart TB\n  a@{ img: \"https://example.com/a.png\", label: \"a\" }\n", "it needs https://example.com/a.png"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := browser.Render(mermaid.Block{Page: "docs/page.md", Line: 12, Source: c.source})
			if err == nil {
				t.Fatal("it renders")
			}
			t.Log(err)
			for _, want := range []string{"docs/page.md:12: ", c.want} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is not in: %v", want, err)
				}
			}
		})
	}
	// A failure leaves the browser as it was.
	if size, err := browser.Render(mermaid.Block{Source: "flowchart TB\n  a --> b\n"}); err != nil || size.Width < 10 || size.Height < 10 {
		t.Errorf("two boxes: %v, %v", size, err)
	}
}

func TestOnlyRootGivesUpTheSandbox(t *testing.T) {
	if flags(0)["no-sandbox"] != true {
		t.Error("Chromium does not start for root with its sandbox")
	}
	if _, set := flags(1000)["no-sandbox"]; set {
		t.Error("a user gets no sandbox")
	}
}
