package main

import (
	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/cog/variants"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/table"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
)

// Units of Grafana.
const (
	count     = "short"
	seconds   = "s"
	fraction  = "percentunit"
	perSecond = "ops"
	dataSize  = "bytes"
)

// shape is the form in which a panel shows its queries.
type shape int

const (
	lines shape = iota
	// areas are stacked lines.
	areas
	number
	grid
)

// panel shows the results of queries.
type panel struct {
	title, about string
	as           shape
	unit         string
	queries      []query
	// above and below are the limits from which values are coloured. A colour always means that someone must act.
	above, below *float64
	// width of 24 columns. Zero is the default of the shape.
	width uint32
}

// query is an expression with the legend of its series.
type query struct{ expr, legend string }

func (p panel) size() (width, height uint32) {
	width, height = 8, 8
	if p.as == number {
		width, height = 3, 4
	}
	if p.width > 0 {
		width = p.width
	}
	return width, height
}

func (p panel) targets(each func(*prometheus.DataqueryBuilder)) (all []cog.Builder[variants.Dataquery]) {
	for i, q := range p.queries {
		target := prometheus.NewDataqueryBuilder().Expr(q.expr).LegendFormat(q.legend).RefId(string(rune('A' + i))).Datasource(source)
		each(target)
		all = append(all, target)
	}
	return all
}

func (p panel) thresholds() cog.Builder[dashboard.ThresholdsConfig] {
	base := "green"
	if p.below != nil {
		base = "red"
	}
	steps := []dashboard.Threshold{{Color: base}}
	if p.below != nil {
		steps = append(steps, dashboard.Threshold{Value: p.below, Color: "green"})
	}
	if p.above != nil {
		steps = append(steps, dashboard.Threshold{Value: p.above, Color: "red"})
	}
	return dashboard.NewThresholdsConfigBuilder().Mode(dashboard.ThresholdsModeAbsolute).Steps(steps)
}

func (p panel) builder(id uint32) cog.Builder[dashboard.Panel] {
	switch p.as {
	case number:
		return p.stat().Id(id)
	case grid:
		return p.table().Id(id)
	default:
		return p.series().Id(id)
	}
}

func (p panel) stat() *stat.PanelBuilder {
	width, height := p.size()
	return stat.NewPanelBuilder().Title(p.title).Description(p.about).Datasource(source).Unit(p.unit).Span(width).Height(height).
		Targets(p.targets(func(q *prometheus.DataqueryBuilder) { q.Instant() })).
		Thresholds(p.thresholds()).
		GraphMode(common.BigValueGraphModeNone).
		ReduceOptions(common.NewReduceDataOptionsBuilder().Calcs([]string{"lastNotNull"}))
}

func (p panel) table() *table.PanelBuilder {
	width, height := p.size()
	hidden := dashboard.DataTransformerConfig{
		Id: "organize", Options: map[string]any{"excludeByName": map[string]bool{"Time": true}},
	}
	built := table.NewPanelBuilder().Title(p.title).Description(p.about).Datasource(source).Unit(p.unit).Span(width).Height(height).
		Targets(p.targets(func(q *prometheus.DataqueryBuilder) { q.Instant().Format(prometheus.PromQueryFormatTable) })).
		Thresholds(p.thresholds())
	if len(p.queries) > 1 {
		built.WithTransformation(dashboard.DataTransformerConfig{Id: "merge", Options: map[string]any{}})
	}
	built.WithTransformation(hidden)
	for i, q := range p.queries {
		name := "Value"
		if len(p.queries) > 1 {
			name += " #" + string(rune('A'+i))
		}
		built.OverrideByName(name, []dashboard.DynamicConfigValue{{Id: "displayName", Value: q.legend}})
	}
	return built
}

func (p panel) series() *timeseries.PanelBuilder {
	width, height := p.size()
	built := timeseries.NewPanelBuilder().Title(p.title).Description(p.about).Datasource(source).Unit(p.unit).Span(width).Height(height).Min(0).
		Targets(p.targets(func(q *prometheus.DataqueryBuilder) { q.Range() })).
		Legend(common.NewVizLegendOptionsBuilder().DisplayMode(common.LegendDisplayModeList).Placement(common.LegendPlacementBottom).ShowLegend(true)).
		Tooltip(common.NewVizTooltipOptionsBuilder().Mode(common.TooltipDisplayModeMulti)).
		Thresholds(p.thresholds())
	if p.above != nil || p.below != nil {
		built.ThresholdsStyle(common.NewGraphThresholdsStyleConfigBuilder().Mode(common.GraphThresholdsStyleModeLine))
	}
	if p.as == areas {
		built.FillOpacity(30).Stacking(common.NewStackingConfigBuilder().Mode(common.StackingModeNormal))
	}
	return built
}
