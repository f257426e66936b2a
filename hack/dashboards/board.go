package main

import (
	"fmt"

	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

// board is a dashboard: rows of panels.
type board struct {
	name, title, about string
	// filters are the labels that users can filter by.
	filters []filter
	rows    []row
}

type row struct {
	title  string
	panels []panel
}

// filter is a label, and a metric that has all values of the label.
type filter struct{ label, title, metric string }

var (
	byVCenter = filter{"vcenter", "vCenter", "vmgroup_vcenter_up"}
	byMember  = filter{"member", "Member", "vmgroup_member_up"}
)

func cite[T any](of T) *T { return &of }

// source is the Prometheus that the user selects.
var source = common.DataSourceRef{Type: cite("prometheus"), Uid: cite("${datasource}")}

func (b board) build() (dashboard.Dashboard, error) {
	built := dashboard.NewDashboardBuilder(b.title).
		Uid("vmgroup-operator-"+b.name).
		Description(b.about).
		Tags([]string{"vmgroup-operator"}).
		Readonly().
		Tooltip(dashboard.DashboardCursorSyncCrosshair).
		Time("now-6h", "now").
		Refresh("1m").
		Link(dashboard.NewDashboardLinkBuilder("VmGroups").Type(dashboard.DashboardLinkTypeDashboards).
			Tags([]string{"vmgroup-operator"}).KeepTime(true).IncludeVars(true)).
		WithVariable(dashboard.NewDatasourceVariableBuilder("datasource").Label("Prometheus").Type("prometheus")).
		WithVariable(variable("namespace", "Namespace", "label_values(vmgroup_build_info, namespace)"))
	for _, f := range b.filters {
		query := fmt.Sprintf(`label_values(%s{namespace="$namespace"}, %s)`, f.metric, f.label)
		all := dashboard.VariableOption{
			Selected: cite(true),
			Text:     dashboard.StringOrArrayOfString{ArrayOfString: []string{"All"}},
			Value:    dashboard.StringOrArrayOfString{ArrayOfString: []string{"$__all"}},
		}
		built.WithVariable(variable(f.label, f.title, query).Multi(true).IncludeAll(true).AllValue(".*").Current(all))
	}
	var id uint32
	next := func() uint32 { id++; return id }
	for _, r := range b.rows {
		built.WithRow(dashboard.NewRowBuilder(r.title).Id(next()))
		for _, p := range r.panels {
			built.WithPanel(p.builder(next()))
		}
	}
	return built.Build()
}

func variable(name, label, query string) *dashboard.QueryVariableBuilder {
	return dashboard.NewQueryVariableBuilder(name).Label(label).Datasource(source).
		Query(dashboard.StringOrMap{String: cite(query)}).
		Refresh(dashboard.VariableRefreshOnTimeRangeChanged).
		Sort(dashboard.VariableSortAlphabeticalAsc)
}
