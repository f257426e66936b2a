package alerts

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"os"
	"slices"
	"time"

	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/rules"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
)

// step is the interval of scrapes and of evaluations, as the chart's ServiceMonitor and Prometheus' own default have it.
const step = 30 * time.Second

// epoch is the start of each run. Nothing waits: the clock of a run is the time of its samples.
var epoch = time.Unix(1_800_000_000, 0).UTC()

// engine evaluates rules over samples, in the process, on a virtual clock.
type engine struct {
	dir     string
	db      *tsdb.DB
	query   rules.QueryFunc
	options *rules.ManagerOptions
	// present are the series of the last scrape: a series missing in the next one is marked as stale, as in Prometheus.
	present map[uint64]labels.Labels
}

func newEngine() (*engine, error) {
	dir, err := os.MkdirTemp("", "vmgroup-alerts-*")
	if err != nil {
		return nil, err
	}
	options := tsdb.DefaultOptions()
	options.StripeSize = 512
	options.WALSegmentSize = -1
	day := (24 * time.Hour).Milliseconds()
	options.MinBlockDuration, options.MaxBlockDuration = day, day
	log := promslog.NewNopLogger()
	db, err := tsdb.Open(dir, log, nil, options, nil)
	if err != nil {
		return nil, fmt.Errorf("open the storage: %w", err)
	}
	db.DisableCompactions()
	calculator := promql.NewEngine(promql.EngineOpts{
		Logger: log, MaxSamples: 5_000_000, Timeout: time.Minute, Parser: syntax, LookbackDelta: 5 * time.Minute,
	})
	e := &engine{dir: dir, db: db, query: rules.EngineQueryFunc(calculator, db), present: map[uint64]labels.Labels{}}
	e.options = &rules.ManagerOptions{
		QueryFunc: e.query, AppendableV2: db, Queryable: db, Context: context.Background(), Logger: log, Parser: syntax,
		NotifyFunc: func(context.Context, string, ...*rules.Alert) {},
	}
	// The manager fills in the rest of the options that groups need.
	rules.NewManager(e.options)
	return e, nil
}

func (e *engine) close() {
	_ = e.db.Close()
	_ = os.RemoveAll(e.dir)
}

// sample is the value of a series at a moment.
type sample struct {
	series labels.Labels
	value  float64
}

// scrape stores the samples of all targets at a moment. A series with the value NaN does not exist.
func (e *engine) scrape(at time.Time, samples []sample) error {
	appender := e.db.Appender(context.Background())
	seen := make(map[uint64]labels.Labels, len(samples))
	refs := func(series labels.Labels, v float64) error {
		_, err := appender.Append(storage.SeriesRef(0), series, at.UnixMilli(), v)
		return err
	}
	for _, s := range samples {
		if math.IsNaN(s.value) {
			continue
		}
		seen[s.series.Hash()] = s.series
		if err := refs(s.series, s.value); err != nil {
			return fmt.Errorf("%s at %s: %w", s.series, at, err)
		}
	}
	for hash, series := range e.present {
		if seen[hash].IsEmpty() {
			if err := refs(series, math.Float64frombits(value.StaleNaN)); err != nil {
				return fmt.Errorf("%s at %s: %w", series, at, err)
			}
		}
	}
	e.present = seen
	return appender.Commit()
}

// ruleSet is a set of rules that are evaluated together. Alerts of several sets are independent.
type ruleSet struct {
	group  *rules.Group
	alerts map[string]*rules.AlertingRule
}

// load prepares rules. name is that of the set. Alerts that are not stored have no series ALERTS; this is necessary
// for several sets with the same alerts.
func (e *engine) load(name string, list []rulefmt.Rule, stored bool) (*ruleSet, error) {
	set := &ruleSet{alerts: map[string]*rules.AlertingRule{}}
	var all []rules.Rule
	for _, r := range list {
		expr, err := syntax.ParseExpr(r.Expr)
		if err != nil {
			return nil, fmt.Errorf("%s%s: %w", r.Alert, r.Record, err)
		}
		if r.Record != "" {
			all = append(all, rules.NewRecordingRule(r.Record, expr, labels.FromMap(r.Labels)))
			continue
		}
		alert := rules.NewAlertingRule(r.Alert, expr, holdOf(r), time.Duration(r.KeepFiringFor), labels.FromMap(r.Labels),
			labels.FromMap(r.Annotations), labels.EmptyLabels(), "", stored, promslog.NewNopLogger())
		set.alerts[r.Alert] = alert
		all = append(all, alert)
	}
	set.group = rules.NewGroup(rules.GroupOptions{Name: name, File: name, Interval: step, Rules: all, Opts: e.options})
	return set, nil
}

// fired is an alert that fires.
type fired struct{ alert, labels, summary string }

func (f fired) String() string { return f.alert + ": " + f.summary }

// eval evaluates the rules at a moment and returns the firing alerts, sorted by name and labels.
func (s *ruleSet) eval(at time.Time) (firing []fired, err error) {
	s.group.Eval(context.Background(), at)
	for _, r := range s.group.Rules() {
		if err := r.LastError(); err != nil {
			return nil, fmt.Errorf("%s: %w", r.Name(), err)
		}
	}
	for name, rule := range s.alerts {
		for _, alert := range rule.ActiveAlerts() {
			if alert.State == rules.StateFiring {
				firing = append(firing, fired{name, alert.Labels.String(), alert.Annotations.Get("summary")})
			}
		}
	}
	slices.SortFunc(firing, func(a, b fired) int { return cmp.Or(cmp.Compare(a.alert, b.alert), cmp.Compare(a.labels, b.labels)) })
	return firing, nil
}
