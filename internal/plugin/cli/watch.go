package cli

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/codeconnect/vmgroup-operator/internal/term"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

// live shows a table that changes. On a terminal, the table replaces the one before. Elsewhere, it prints the rows that are new or changed.
type live struct {
	*Options
	screen term.Screen
	// printed are the rows of the last table, without their ages.
	printed map[string]bool
	drop    []string
}

// watchTable reads a table every second, until the command is interrupted. A read that fails is shown, and repeated.
func (o *Options) watchTable(ctx context.Context, read func(ctx context.Context) (*metav1.Table, error), drop ...string) error {
	l := live{Options: o, drop: drop}
	begun := false
	err := wait.PollUntilContextCancel(ctx, interval, true, func(ctx context.Context) (bool, error) {
		table, err := read(ctx)
		if err != nil && !begun {
			return false, err
		}
		begun = true
		return false, l.show(table, err)
	})
	if err != nil && ctx.Err() == nil {
		return err
	}
	return nil // interrupted
}

// show shows a table, or the failure of a read.
func (l *live) show(table *metav1.Table, failure error) error {
	file, ok := l.Out.(*os.File)
	size, terminal := term.Size{}, false
	if ok {
		size, terminal = term.SizeOf(file)
	}
	if !terminal {
		return l.append(table, failure)
	}
	lines, err := linesOf(table, failure, size, l.drop)
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(l.Out, l.screen.Frame(lines, size))
	return err
}

// linesOf returns a table as lines that fit a terminal. A failure has a line in place of the table.
func linesOf(table *metav1.Table, failure error, size term.Size, drop []string) ([]string, error) {
	switch {
	case failure != nil:
		return term.Cut([]string{"Error: " + untrusted.Text(failure.Error(), longestMessage)}, size), nil
	case len(table.Rows) == 0:
		return term.Cut([]string{nothingFound}, size), nil
	}
	var text bytes.Buffer
	if err := fitTable(&text, table, false, size.Width-1, drop); err != nil {
		return nil, err
	}
	lines := strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return term.Cut(lines, size), nil
}

// append prints the rows that the last table did not have.
func (l *live) append(table *metav1.Table, failure error) error {
	if failure != nil {
		_, err := fmt.Fprintln(l.ErrOut, "Error: "+untrusted.Text(failure.Error(), longestMessage))
		return err
	}
	first, rows := l.printed == nil, map[string]bool{}
	age := columnOf(table, "Since")
	table.Rows = slices.DeleteFunc(table.Rows, func(r metav1.TableRow) bool {
		cells := slices.Clone(r.Cells)
		if age >= 0 {
			cells[age] = nil
		}
		key := fmt.Sprint(cells...)
		rows[key] = true
		return l.printed[key]
	})
	l.printed = rows
	if len(table.Rows) == 0 && !first {
		return nil
	}
	return fitTable(l.Out, table, !first, 0, nil)
}
