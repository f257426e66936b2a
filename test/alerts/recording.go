package alerts

import (
	"bufio"
	"compress/gzip"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"
)

// recordings is where test/faults stores the reports of the whole product's replicas.
var recordings = flag.String("alerts.recordings", "testdata", "folder of the recordings of test/faults")

// kindFaults are the recordings with three phases, before, during and after a fault; kindSoak has one phase.
const kindFaults, kindSoak = "faults", "soak"

// recorded is one scrape of one replica. A replica that did not respond has no values.
type recorded struct {
	phase, pod string
	at         time.Time
	values     map[string]float64
}

// readRecording reads the scrapes of a story.
func readRecording(kind, name string) (all []recorded, err error) {
	file, err := os.Open(filepath.Join(*recordings, kind, name+".txt.gz"))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	zip, err := gzip.NewReader(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file.Name(), err)
	}
	return parseRecording(zip)
}

func parseRecording(from io.Reader) (all []recorded, err error) {
	lines := bufio.NewScanner(from)
	for lines.Scan() {
		line := lines.Text()
		if head, ok := strings.CutPrefix(line, "# "); ok {
			one := recorded{values: map[string]float64{}}
			var at int64
			var state string
			if _, err := fmt.Sscan(head, &one.phase, &at, &one.pod, &state); err != nil {
				return nil, fmt.Errorf("%q: %w", line, err)
			}
			one.at = time.UnixMilli(at)
			all = append(all, one)
			continue
		}
		end := strings.LastIndexByte(line, ' ')
		if end < 0 || len(all) == 0 {
			return nil, fmt.Errorf("%q is no series of a scrape", line)
		}
		value, err := strconv.ParseFloat(line[end+1:], 64)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", line, err)
		}
		all[len(all)-1].values[line[:end]] = value
	}
	return all, lines.Err()
}

// replay stretches the scrapes of a fault over the time of a run. Gauges keep the value of the last scrape of a phase.
// At the beginning of a phase, counters jump to the value of its first scrape. During the phase, they grow at the rate
// between its two scrapes. Timestamps keep their distance from the present moment, except for the start of the running task.
type replay struct {
	scrapes []recorded
	list    map[string]metric
	// begins and ends of the fault.
	begins, ends time.Duration

	parsed map[string]labels.Labels
	// totals are the values in the run, and reached those of the last scrape.
	totals, reached map[string]float64
	// phase is that of the moment before.
	phase string
	err   error
}

func newReplay(scrapes []recorded, list map[string]metric, before, hold time.Duration) *replay {
	return &replay{scrapes: scrapes, list: list, begins: before, ends: before + hold, parsed: map[string]labels.Labels{}, totals: map[string]float64{}, reached: map[string]float64{}}
}

func (r *replay) phaseAt(since time.Duration) string {
	switch {
	case since < r.begins:
		return "before"
	case since < r.ends:
		return "during"
	default:
		return "after"
	}
}

// next returns the samples of a moment; moments are one step apart.
func (r *replay) next(since time.Duration) (out []sample) {
	phase := r.phaseAt(since)
	entered := phase != r.phase
	r.phase = phase
	byPod := map[string][]recorded{}
	var pods []string
	for _, s := range r.scrapes {
		if s.phase == phase {
			if byPod[s.pod] == nil {
				pods = append(pods, s.pod)
			}
			byPod[s.pod] = append(byPod[s.pod], s)
		}
	}
	for _, pod := range pods {
		scrapes := byPod[pod]
		first, last := scrapes[0], scrapes[len(scrapes)-1]
		for id, value := range last.values {
			series, err := r.labelsOf(pod, id)
			if err != nil {
				r.err = err
				continue
			}
			name := series.Get("__name__")
			switch {
			case r.counts(name):
				value = r.count(pod+" "+id, first, last, id, entered)
			case name == "vmgroup_vcenter_task_oldest_seconds" && value > 0 && phase == "during":
				value += (since - r.begins).Seconds()
			case strings.HasSuffix(name, "_timestamp_seconds") && value > 0:
				value += epoch.Add(since).Sub(last.at).Seconds()
			}
			out = append(out, sample{series, value})
		}
	}
	return out
}

// count is the next value of a counter.
func (r *replay) count(key string, first, last recorded, id string, entered bool) float64 {
	began, there := first.values[id]
	if !there {
		began = last.values[id]
	}
	total, known := r.totals[key]
	switch {
	case entered && (!known || began < r.reached[key]):
		// It is new, or its process was restarted.
		total = began
	case entered:
		total += began - r.reached[key]
	default:
		if took := last.at.Sub(first.at).Seconds(); took > 0 && last.values[id] > began {
			total += (last.values[id] - began) / took * step.Seconds()
		}
	}
	r.totals[key], r.reached[key] = total, last.values[id]
	return total
}

// counts reports whether the metric is a counter or a part of a histogram.
func (r *replay) counts(name string) bool {
	if m, ok := ofLibraries[name]; ok {
		return m.Type == "counter"
	}
	_, m, ok := family(name, r.list)
	return ok && m.Type != "gauge"
}

func (r *replay) labelsOf(pod, id string) (labels.Labels, error) {
	key := pod + " " + id
	if known, ok := r.parsed[key]; ok {
		return known, nil
	}
	series, _, err := syntax.ParseSeriesDesc(id + " 0")
	if err != nil {
		return labels.EmptyLabels(), fmt.Errorf("%s: %w", id, err)
	}
	series = labels.NewBuilder(series).Set("namespace", namespace).Set("pod", pod).Labels()
	r.parsed[key] = series
	return series, nil
}

// recordedFaults are the faults with scrapes.
func recordedFaults() ([]string, error) {
	files, err := filepath.Glob(filepath.Join(*recordings, kindFaults, "*.txt.gz"))
	if err != nil {
		return nil, err
	}
	for i, file := range files {
		files[i] = strings.TrimSuffix(filepath.Base(file), ".txt.gz")
	}
	slices.Sort(files)
	return files, nil
}
