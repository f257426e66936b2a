package soak

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Figures are numbers by name, at one moment. A name can have a part after a colon, for example "goroutines: net/http.(*Server).Serve".
type Figures map[string]float64

// Names of figures.
const (
	Heap        = "heap bytes"
	Goroutines  = "goroutines"
	Descriptors = "descriptors"
	Series      = "series"
	// Objects are the members, vCenters, policies and namespaces that series name.
	Objects = "objects named in series"
)

// objectLabel finds the labels whose values are names of objects. Reviews of the hub's own objects have no member. The values of other labels are a list in the code of the operator.
var objectLabel = regexp.MustCompile(`[{,](member|vcenter|policy|namespace)="([^"]+)"`)

var (
	heapAlloc = regexp.MustCompile(`(?m)^# HeapAlloc = (\d+)$`)
	createdBy = regexp.MustCompile(`(?m)^created by (\S+)( in goroutine \d+)?$`)
	goroutine = regexp.MustCompile(`(?m)^goroutine \d+ `)
)

// AddHeap reads the allocated bytes from /debug/pprof/heap?gc=1&debug=1.
func (f Figures) AddHeap(profile string) error {
	found := heapAlloc.FindStringSubmatch(profile)
	if found == nil {
		return fmt.Errorf("the heap profile has no HeapAlloc: %.100q", profile)
	}
	bytes, err := strconv.ParseFloat(found[1], 64)
	f[Heap] = bytes
	return err
}

// AddGoroutines counts goroutines by the function that started them, from /debug/pprof/goroutine?debug=2.
func (f Figures) AddGoroutines(profile string) error {
	f[Goroutines] = float64(len(goroutine.FindAllString(profile, -1)))
	if f[Goroutines] == 0 {
		return fmt.Errorf("the profile has no goroutines: %.100q", profile)
	}
	for _, found := range createdBy.FindAllStringSubmatch(profile, -1) {
		f[Goroutines+": "+found[1]]++
	}
	return nil
}

// AddSeries counts metric series, in total and by metric, and the objects that they name.
func (f Figures) AddSeries(metrics string) {
	for line := range strings.Lines(metrics) {
		name := line[:max(0, strings.IndexAny(line, "{ "))]
		if name == "" || strings.HasPrefix(line, "#") {
			continue
		}
		f[Series]++
		f[Series+": "+name]++
		for _, found := range objectLabel.FindAllStringSubmatch(line, -1) {
			object := fmt.Sprintf("%s: %s %s", Objects, found[1], found[2])
			if f[object] == 0 {
				f[Objects]++
			}
			f[object] = 1
		}
	}
}

// Bound limits how much a figure can exceed its reference: a share of the reference, and an absolute number.
type Bound struct {
	Figure       string
	Share, Above float64
}

// Grown returns a line for each figure that exceeds its bound, with the parts of the figure that grew most.
func Grown(bounds []Bound, reference, end Figures) (lines []string) {
	for _, b := range bounds {
		was, is := reference[b.Figure], end[b.Figure]
		if most := was*(1+b.Share) + b.Above; is > most {
			lines = append(lines, fmt.Sprintf("%s: %.0f, at most %.0f (reference %.0f)%s", b.Figure, is, most, was, parts(b.Figure, reference, end)))
		}
	}
	return lines
}

// parts names the parts of a figure that grew, the largest first.
func parts(figure string, reference, end Figures) (text string) {
	const most = 10
	grew := func(part string) float64 { return end[part] - reference[part] }
	of := slices.DeleteFunc(slices.Sorted(maps.Keys(end)), func(part string) bool {
		return !strings.HasPrefix(part, figure+": ") || grew(part) <= 0
	})
	slices.SortStableFunc(of, func(a, b string) int { return int(grew(b) - grew(a)) })
	for _, part := range of[:min(len(of), most)] {
		text += fmt.Sprintf("\n  %+.0f %s", grew(part), strings.TrimPrefix(part, figure+": "))
	}
	return text
}
