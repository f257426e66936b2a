package cli

import (
	"bytes"
	"io"
	"os"
	"slices"

	"charm.land/lipgloss/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/printers"

	"github.com/codeconnect/vmgroup-operator/internal/term"
)

// columns makes a table with columns of strings.
func columns(names ...string) *metav1.Table {
	table := &metav1.Table{}
	for _, name := range names {
		table.ColumnDefinitions = append(table.ColumnDefinitions, metav1.TableColumnDefinition{Name: name, Type: "string"})
	}
	return table
}

// printTable prints a table. On a terminal that is too narrow, it leaves out columns in the order of drop, instead of wrapping lines.
func printTable(out io.Writer, table *metav1.Table, noHeaders bool, drop ...string) error {
	width := 0
	if file, ok := out.(*os.File); ok {
		if size, terminal := term.SizeOf(file); terminal {
			width = size.Width
		}
	}
	return fitTable(out, table, noHeaders, width, drop)
}

// fitTable prints a table of at most width columns of characters, if leaving out columns makes that possible. A width of 0 has no limit.
func fitTable(out io.Writer, table *metav1.Table, noHeaders bool, width int, drop []string) error {
	drop = slices.DeleteFunc(slices.Clone(drop), func(name string) bool { return columnOf(table, name) < 0 })
	for {
		text := &bytes.Buffer{}
		if err := printers.NewTablePrinter(printers.PrintOptions{NoHeaders: noHeaders}).PrintObj(table.DeepCopy(), text); err != nil {
			return err
		}
		if width == 0 || len(drop) == 0 || lipgloss.Width(text.String()) <= width {
			_, err := out.Write(text.Bytes())
			return err
		}
		dropColumn(table, columnOf(table, drop[0]))
		drop = drop[1:]
	}
}

func columnOf(table *metav1.Table, name string) int {
	return slices.IndexFunc(table.ColumnDefinitions, func(c metav1.TableColumnDefinition) bool { return c.Name == name })
}

func dropColumn(table *metav1.Table, at int) {
	table.ColumnDefinitions = slices.Delete(table.ColumnDefinitions, at, at+1)
	for i := range table.Rows {
		table.Rows[i].Cells = slices.Delete(table.Rows[i].Cells, at, at+1)
	}
}

// withoutEmptyColumns removes columns without a value.
func withoutEmptyColumns(table *metav1.Table) *metav1.Table {
	for at := len(table.ColumnDefinitions) - 1; at >= 0; at-- {
		if !slices.ContainsFunc(table.Rows, func(r metav1.TableRow) bool { return r.Cells[at] != "" }) {
			dropColumn(table, at)
		}
	}
	return table
}
