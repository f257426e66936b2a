package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/inquiry"
	"github.com/codeconnect/vmgroup-operator/internal/plugin/cluster"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

// offers asks the operator what a namespace can use.
type offers struct {
	*Options
	namespace string
	*listing

	in       *cluster.Cluster
	warnings *cluster.Collected
}

func (o *offers) add(c *cobra.Command) {
	c.Flags().StringVarP(&o.namespace, "namespace", "n", "", "Namespace. The default is that of the context.")
	o.listing = newReport(c)
}

const howOffersAsk = "Asks the operator by the dry run of a new VmGroup, so you need the permission to create VmGroups in the namespace. With --output, prints one object of kind NamespaceReport, which the API does not serve."

func quotaCommand(o *Options) *cobra.Command {
	of := &offers{Options: o}
	c := &cobra.Command{
		Use: "quota", Short: "Show the quotas of a namespace, and what is left of them", Args: cobra.NoArgs,
		Long: howOffersAsk + " A quota can count the VmGroups of one namespace, or those of all namespaces that its VmGroupPolicy matches together.",
		RunE: func(c *cobra.Command, _ []string) error { return of.quotas(c.Context()) },
	}
	of.add(c)
	return c
}

func templatesCommand(o *Options) *cobra.Command {
	of := &offers{Options: o}
	c := &cobra.Command{
		Use: "templates", Short: "List the templates that the VmGroups of a namespace can use", Args: cobra.NoArgs,
		Long: howOffersAsk + " A template is listed if a grant of its VCenter covers it and no VmGroupPolicy denies it. Set spec.template to the text in column TEMPLATE.",
		RunE: func(c *cobra.Command, _ []string) error { return of.templates(c.Context()) },
	}
	of.add(c)
	return c
}

// open opens the cluster of the namespace.
func (o *offers) open(ctx context.Context) error {
	contexts, err := cluster.Load(ctx, o.flags)
	if err != nil {
		return err
	}
	o.warnings = contexts.Collect()
	if o.in, err = openMember(ctx, contexts); err != nil {
		return err
	}
	o.namespace = cmp.Or(o.namespace, contexts.Namespace(o.in.Context))
	return nil
}

// ask sends one inquiry. Only the answer counts: the group is not valid.
func (o *offers) ask(ctx context.Context, vcenter, after string) (inquiry.Namespace, error) {
	o.warnings.Take()
	err := o.in.Create(ctx, &v1alpha1.VmGroup{
		ObjectMeta: metav1.ObjectMeta{Namespace: o.namespace, Name: inquiry.NamespaceManager}, Spec: v1alpha1.VmGroupSpec{CPU: 1, Memory: 1, VCenter: vcenter, Template: after},
	}, client.DryRunAll, client.FieldOwner(inquiry.NamespaceManager))
	answer, _, ok := inquiry.Parse[inquiry.Namespace](o.warnings.Take())
	switch {
	case ok:
		return answer, nil
	case err == nil || apierrors.IsInvalid(err):
		return answer, &cluster.Failure{Code: cluster.ExitUnreachable, Sentence: fmt.Sprintf(
			"The operator did not answer. Ask a hub administrator whether it serves the cluster of context %q: kubectl vmgroup member list", o.in.Context)}
	}
	return answer, cluster.Explain(o.in.Context, o.in.Config.Host, err)
}

func (o *offers) quotas(ctx context.Context) error {
	if err := o.open(ctx); err != nil {
		return err
	}
	answer, err := o.ask(ctx, "", "")
	if err != nil {
		return err
	}
	if len(answer.Quotas) == 0 && !o.formatted() {
		_, _ = fmt.Fprintf(o.ErrOut, "No quota counts the VmGroups of namespace %q.\n", o.namespace)
		return nil
	}
	report := &namespaceReport{Namespace: o.namespace, Quotas: answer.Quotas}
	if err := report.print(o, func() *metav1.Table { return quotaTable(answer.Quotas) }, quotaDrops...); err != nil {
		return err
	}
	for _, q := range answer.Quotas {
		if q.Problem != "" {
			_, _ = fmt.Fprintf(o.ErrOut, "VmGroupPolicy %q refuses all growth: %s\n", q.Policy, untrusted.Text(q.Problem, longestMessage))
		}
	}
	if answer.More {
		return cluster.NotWell("More quotas count the VmGroups of namespace %q than one answer has room for.", o.namespace)
	}
	return nil
}

// quotaDrops and templateDrops are the columns that a narrow terminal does not show, the least important first.
var quotaDrops, templateDrops = []string{"Exceeding", "Counts"}, []string{"Path", "Unfit", "Clones"}

func templateTable() *metav1.Table { return columns("VCenter", "Template", "Clones", "Path", "Unfit") }

// quotaTable has a row for each limit.
func quotaTable(quotas []inquiry.Quota) *metav1.Table {
	table := columns("Policy", "Limits", "Used", "Hard", "Left", "Counts", "Exceeding")
	for _, q := range quotas {
		counts, effect := "this namespace", "is refused"
		if q.Together {
			counts = "all that match"
		}
		if q.Warns {
			effect = "warns"
		}
		for _, of := range []struct {
			what, unit string
			amount     *inquiry.Amount
		}{{"groups", "", q.Groups}, {"VMs", "", q.VMs}, {"CPUs", "", q.CPU}, {"memory", "Gi", q.Memory}, {"storage", "Gi", q.Storage}} {
			if of.amount == nil {
				continue
			}
			text := func(n int64) string { return strconv.FormatInt(n, 10) + of.unit }
			used, left := "?", "?"
			if n := of.amount.Used; n != nil {
				used, left = text(*n), text(max(of.amount.Hard-*n, 0))
			}
			table.Rows = append(table.Rows, metav1.TableRow{Cells: []any{untrusted.Text(q.Policy, 253), of.what, used, text(of.amount.Hard), left, counts, effect}})
		}
	}
	return table
}

func (o *offers) templates(ctx context.Context) error {
	if err := o.open(ctx); err != nil {
		return err
	}
	answer, err := o.ask(ctx, "", "")
	if err != nil {
		return err
	}
	if len(answer.VCenters) == 0 {
		return cluster.NotWell("No VCenter grants anything to namespace %q. Ask a hub administrator for a grant.", o.namespace)
	}
	table, unknown, report := templateTable(), []string(nil), &namespaceReport{Namespace: o.namespace}
	for _, vcenter := range answer.VCenters {
		listed, reason, err := o.templatesOf(ctx, vcenter)
		if err != nil {
			return err
		}
		if reason != "" {
			unknown = append(unknown, fmt.Sprintf("VCenter %q: %s", vcenter, untrusted.Text(reason, longestMessage)))
		}
		table.Rows = append(table.Rows, templateRows(vcenter, listed)...)
		report.VCenters = append(report.VCenters, vcenterReport{Name: vcenter, Default: vcenter == answer.VCenter, Templates: listed, Unknown: reason})
	}
	if len(table.Rows) > 0 || o.formatted() {
		err = report.print(o, func() *metav1.Table { return withoutEmptyColumns(table) }, templateDrops...)
	} else if len(unknown) == 0 {
		_, _ = fmt.Fprintf(o.ErrOut, "The VmGroups of namespace %q can use no template.\n", o.namespace)
	}
	if len(answer.VCenters) > 1 {
		_, _ = fmt.Fprintf(o.ErrOut, "A VmGroup without spec.vcenter uses VCenter %q.\n", untrusted.Text(answer.VCenter, 253))
	}
	if err == nil && len(unknown) > 0 {
		return cluster.NotWell("Not all templates are known. %s", strings.Join(unknown, "; "))
	}
	return err
}

// templatesOf returns the templates of one VCenter, and why some are not known.
func (o *offers) templatesOf(ctx context.Context, vcenter string) (all []inquiry.Template, unknown string, err error) {
	after := ""
	for {
		answer, err := o.ask(ctx, vcenter, after)
		if err != nil {
			return nil, "", err
		}
		all = append(all, answer.Templates...)
		if !answer.More || len(answer.Templates) == 0 || answer.Unknown != "" {
			return all, answer.Unknown, nil
		}
		after = answer.Templates[len(answer.Templates)-1].Path
	}
}

func templateRows(vcenter string, templates []inquiry.Template) (rows []metav1.TableRow) {
	for _, t := range slices.SortedFunc(slices.Values(templates), func(a, b inquiry.Template) int { return strings.Compare(a.Name, b.Name) }) {
		clones := "full"
		switch {
		case t.Linked && t.Unfit != "":
			clones = "linked"
		case t.Linked:
			clones = "full, linked"
		case t.Unfit != "":
			clones = "none"
		}
		rows = append(rows, metav1.TableRow{Cells: []any{untrusted.Text(vcenter, 253), untrusted.Text(t.Name, 255), clones, untrusted.Text(t.Path, 600), untrusted.Text(t.Unfit, 200)}})
	}
	return rows
}
