package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/codeconnect/vmgroup-operator/internal/term"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

// view is what a watch shows at one time.
type view interface {
	// lines returns the view for a terminal. They can be too many and too long for it.
	lines(size term.Size) ([]string, error)
	// changes prints what an earlier view did not have, for output that is no terminal. before is nil at first.
	changes(out io.Writer, before view) error
}

// live shows a view that changes. On a terminal, it replaces the one before. Elsewhere, the changes are printed.
type live struct {
	*Options
	screen term.Screen
	before view
}

// watch reads a view every second, until the command is interrupted. A read that fails is shown, and repeated.
func (o *Options) watch(ctx context.Context, read func(ctx context.Context) (view, error)) error {
	l := live{Options: o}
	begun := false
	err := wait.PollUntilContextCancel(ctx, interval, true, func(ctx context.Context) (bool, error) {
		v, err := read(ctx)
		if err != nil && !begun {
			return false, err
		}
		begun = true
		return false, l.show(v, err)
	})
	if err != nil && ctx.Err() == nil {
		return err
	}
	return nil // interrupted
}

// show shows a view, or the failure of a read.
func (l *live) show(v view, failure error) error {
	file, ok := l.Out.(*os.File)
	size, terminal := term.Size{}, false
	if ok {
		size, terminal = term.SizeOf(file)
	}
	switch {
	case terminal:
		lines, err := linesOf(v, failure, size)
		if err == nil {
			_, err = fmt.Fprint(l.Out, l.screen.Frame(lines, size))
		}
		return err
	case failure != nil:
		_, err := fmt.Fprintln(l.ErrOut, "Error: "+untrusted.Text(failure.Error(), longestMessage))
		return err
	}
	err := v.changes(l.Out, l.before)
	l.before = v
	return err
}

// linesOf returns a view as lines that fit a terminal. A failure has a line in place of the view.
func linesOf(v view, failure error, size term.Size) ([]string, error) {
	if failure != nil {
		return term.Cut([]string{"Error: " + untrusted.Text(failure.Error(), longestMessage)}, size), nil
	}
	lines, err := v.lines(size)
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return term.Cut(lines, size), err
}

// list is a table as a view.
type list struct {
	*metav1.Table
	// age is a column that changes with time alone.
	age string
	// empty is the sentence for a table without rows.
	empty string
	// drop are the columns that a narrow terminal does not show, the least important first.
	drop []string
}

func (l list) lines(size term.Size) ([]string, error) {
	if len(l.Rows) == 0 {
		return []string{l.empty}, nil
	}
	var text bytes.Buffer
	err := fitTable(&text, l.DeepCopy(), false, size.Width-1, l.drop)
	return strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n"), err
}

// changes prints the rows that the list before did not have.
func (l list) changes(out io.Writer, before view) error {
	known := map[string]bool{}
	was, again := before.(list)
	if again {
		for _, row := range was.Rows {
			known[was.key(row)] = true
		}
	}
	news := l.DeepCopy()
	news.Rows = slices.DeleteFunc(news.Rows, func(r metav1.TableRow) bool { return known[l.key(r)] })
	if len(news.Rows) == 0 && again {
		return nil
	}
	return fitTable(out, news, again, 0, nil)
}

// key is the text of a row without its age.
func (l list) key(row metav1.TableRow) string {
	cells := slices.Clone(row.Cells)
	if at := columnOf(l.Table, l.age); at >= 0 {
		cells[at] = nil
	}
	return fmt.Sprint(cells...)
}
