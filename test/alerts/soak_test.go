package alerts

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

const (
	// soakLasts is the minimum duration of the soak of test/faults.
	soakLasts = 12 * time.Minute
	// soakEvery is the time between two of its scrapes, with a margin for delays.
	soakEvery = 15 * time.Second
	soakLate  = 15 * time.Second
)

// live replays scrapes at their original times. After the last one, its state stays.
type live struct {
	*replay
	// start is the moment of the recording at which the run begins, end that of its last scrape.
	start, end time.Time
}

func newLive(scrapes []recorded, list map[string]metric, offset time.Duration) *live {
	// A second later all replicas have had their first scrape.
	return &live{newReplay(scrapes, list, 0, 0), scrapes[0].at.Add(time.Second + offset), scrapes[len(scrapes)-1].at}
}

// next returns the samples of a moment: those of the last scrape of each replica.
func (l *live) next(since time.Duration) (out []sample) {
	now := l.start.Add(since)
	last := map[string]recorded{}
	var pods []string
	for _, s := range l.scrapes {
		if s.at.After(now) {
			break
		}
		if last[s.pod].pod == "" {
			pods = append(pods, s.pod)
		}
		last[s.pod] = s
	}
	for _, pod := range pods {
		for id, value := range last[pod].values {
			series, err := l.labelsOf(pod, id)
			if err != nil {
				l.err = err
				continue
			}
			if strings.HasSuffix(series.Get("__name__"), "_timestamp_seconds") && value > 0 {
				value += epoch.Sub(l.start).Seconds()
			}
			out = append(out, sample{series, value})
		}
	}
	return out
}

func soak(t *testing.T) []recorded {
	t.Helper()
	scrapes, err := readRecording(kindSoak, "soak")
	if err != nil {
		t.Fatal(err)
	}
	return scrapes
}

// TestTheSoakFiresNoAlert evaluates the rules over the reports of the whole product's healthy replicas, and over one
// more hour without changes. Prometheus scrapes at arbitrary moments, so both halves of the scrapes are evaluated.
func TestTheSoakFiresNoAlert(t *testing.T) {
	t.Parallel()
	list, err := listedMetrics()
	if err != nil {
		t.Fatal(err)
	}
	scrapes := soak(t)
	for _, offset := range []time.Duration{0, step / 2} {
		samples := newLive(scrapes, list, offset)
		length := samples.end.Sub(samples.start)
		results, err := play(samples, length+longerThanEveryFor, 0, rulesOf(t))
		if err := cmp.Or(err, samples.err); err != nil {
			t.Fatal(err)
		}
		if len(results[0].trace) > 0 {
			t.Errorf("from second %g on these fire:\n%s", offset.Seconds(), results[0].trace)
		}
	}
}

// total is the sum of a metric over the replicas, of the series with this text in their labels, for each round of scrapes.
func total(scrapes []recorded, metric, labels string) (sums []float64) {
	first := scrapes[0].pod
	for _, s := range scrapes {
		if s.pod == first {
			sums = append(sums, 0)
		}
		for id, value := range s.values {
			if name, rest, _ := strings.Cut(id, "{"); name == metric && strings.Contains(rest, labels) {
				sums[len(sums)-1] += value
			}
		}
	}
	return sums
}

// TestTheSoakHasItsEvents: a recording without events would fire no alert either.
func TestTheSoakHasItsEvents(t *testing.T) {
	t.Parallel()
	scrapes := soak(t)
	if lasts := scrapes[len(scrapes)-1].at.Sub(scrapes[0].at); lasts < soakLasts {
		t.Errorf("it lasts %s, want %s", lasts, soakLasts)
	}
	before, leaders, down := map[string]time.Time{}, map[string]bool{}, false
	for _, s := range scrapes {
		if gap := s.at.Sub(before[s.pod]); !before[s.pod].IsZero() && gap > soakEvery+soakLate {
			t.Errorf("%s is not scraped for %s", s.pod, gap)
		}
		before[s.pod] = s.at
		leaders[s.pod] = leaders[s.pod] || s.values["vmgroup_sharding_leader"] == 1
		down = down || len(s.values) == 0
	}
	if last := scrapes[len(scrapes)-1]; len(last.values) == 0 || len(leaders) != 2 || !down {
		t.Errorf("no replica was killed and came back: %v", leaders)
	}
	for pod, led := range leaders {
		if !led {
			t.Errorf("%s never leads: no takeover", pod)
		}
	}
	desired := total(scrapes, "vmgroup_vms_desired", `vcenter="default"`)
	if low, high := desired[0], slices.Max(desired); low != 10 || high != 60 {
		t.Errorf("it scales from %g to %g VMs, want 10 to 60", low, high)
	}
	if ready := total(scrapes, "vmgroup_vms", `state="ready",vcenter="default"`); ready[len(ready)-1] != 60 {
		t.Errorf("in the end %g VMs are ready", ready[len(ready)-1])
	}
	if updating := total(scrapes, "vmgroup_rollouts", `state="progressing"`); slices.Max(updating) == 0 || updating[len(updating)-1] != 0 {
		t.Errorf("no update begins and ends: %v", updating)
	}
	ends := map[string]bool{}
	for _, s := range scrapes {
		if len(s.values) > 0 {
			ends[fmt.Sprint(s.values["vmgroup_admission_serving_certificate_expiration_timestamp_seconds"])] = true
		}
	}
	if delete(ends, "0"); len(ends) < 2 {
		t.Errorf("no certificate is renewed: %v", ends)
	}
}
