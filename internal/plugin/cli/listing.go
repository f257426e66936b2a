package cli

import (
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/codeconnect/vmgroup-operator/internal/plugin/cluster"
)

// listing has the flags of commands that print a list.
type listing struct {
	format    *genericclioptions.PrintFlags
	noHeaders bool
}

func newListing(c *cobra.Command) *listing {
	return withFormat(c, genericclioptions.NewPrintFlags("").WithTypeSetter(cluster.Scheme()))
}

// newReport returns the flags of a command whose answer is one object without a name.
func newReport(c *cobra.Command) *listing {
	format := genericclioptions.NewPrintFlags("")
	format.NamePrintFlags = nil
	return withFormat(c, format)
}

func withFormat(c *cobra.Command, format *genericclioptions.PrintFlags) *listing {
	l := &listing{format: format}
	format.AddFlags(c)
	c.Flags().BoolVar(&l.noHeaders, "no-headers", false, "Print no headers.")
	return l
}

// formatted reports whether the user asks for a format of their own.
func (l *listing) formatted() bool { return *l.format.OutputFormat != "" }

// print prints the objects as --output asks for, or else a table of them. drop are the columns that a narrow terminal does not show, the least important first.
func (l *listing) print(o *Options, objects runtime.Object, table func() *metav1.Table, drop ...string) error {
	if !l.formatted() {
		return printTable(o.Out, table(), l.noHeaders, drop...)
	}
	printer, err := l.format.ToPrinter()
	if err != nil {
		return cluster.Usage("%v", err)
	}
	if *l.format.OutputFormat != "name" {
		return printer.PrintObj(objects, o.Out)
	}
	return meta.EachListItem(objects, func(object runtime.Object) error { return printer.PrintObj(object, o.Out) })
}
