//go:build unix

package crash

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// Mode is the fault at a point.
type Mode string

// Modes. All except the crashes leave the process alive; it is restarted when the spec is fulfilled.
const (
	// CrashBefore kills the manager when its call has arrived, before its execution.
	CrashBefore Mode = "crash-before"
	// CrashAfter kills the manager when the server has acted, before the response is read.
	CrashAfter Mode = "crash-after"
	// LoseReply lets the server act and cuts the connection instead of returning its response.
	LoseReply Mode = "lose-reply"
	// Error returns an error instead of letting the server act.
	Error Mode = "error"
	// Hang holds the call for some seconds, before or after the server has acted, and then cuts the connection.
	Hang Mode = "hang"
)

var modes = []Mode{CrashBefore, CrashAfter, LoseReply, Error, Hang}

// Server is the called server.
type Server string

// Servers.
const (
	Kubernetes Server = "kubernetes"
	VCenter    Server = "vcenter"
)

// Site is a kind of call, such as CloneVM_Task to vCenter or "patch vmgroups/status" to Kubernetes.
type Site struct {
	Server Server
	Name   string
	// Writes is false for calls that only read.
	Writes bool
}

// Point is the Nth call of a site within a scenario, counted from 1 in the order of arrival, and its fault.
type Point struct {
	Scenario string
	Site
	N    int
	Mode Mode
}

// String is the form that ParsePoint reads, without blanks: up-20/vcenter:CloneVM_Task#7/crash-after.
func (p Point) String() string {
	return fmt.Sprintf("%s/%s:%s#%d/%s", p.Scenario, p.Server, strings.NewReplacer(" ", "_", "/", ".").Replace(p.Name), p.N, p.Mode)
}

// Find returns the point of that name.
func Find(points []Point, name string) (Point, bool) {
	i := slices.IndexFunc(points, func(p Point) bool { return p.String() == name })
	if i < 0 {
		return Point{}, false
	}
	return points[i], true
}

// variation returns a number below n that depends on the point alone: a point is replayed by its name.
func (p Point) variation(n int) int {
	h := fnv.New64a()
	_, _ = h.Write([]byte(p.String()))
	return int(h.Sum64() % uint64(n))
}

// Enumerate returns the points of a scenario from the calls of one undisturbed run. A call that writes gets a point
// for each mode. One that reads changes nothing at the server, and gets one, whose mode differs from call to call.
func Enumerate(scenario string, trace []Site) []Point {
	var points []Point
	count := map[Site]int{}
	for _, site := range trace {
		count[site]++
		at := Point{Scenario: scenario, Site: site, N: count[site]}
		if !site.Writes {
			at.Mode = modes[(at.variation(len(modes))+at.N)%len(modes)]
			points = append(points, at)
			continue
		}
		for _, mode := range modes {
			at.Mode = mode
			points = append(points, at)
		}
	}
	return points
}

// Sample selects n points by a seed, or all if there are fewer. It distributes them evenly: no site and mode of a
// scenario gets a second point before each has one.
func Sample(points []Point, n int, seed uint64) []Point {
	type kind struct {
		scenario string
		site     Site
		mode     Mode
	}
	random := rand.New(rand.NewPCG(seed, 0))
	shuffled := slices.Clone(points)
	random.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	seen := map[kind]int{}
	rank := map[Point]int{}
	for _, p := range shuffled {
		k := kind{p.Scenario, p.Site, p.Mode}
		rank[p] = seen[k]
		seen[k]++
	}
	slices.SortStableFunc(shuffled, func(a, b Point) int { return cmp.Compare(rank[a], rank[b]) })
	return shuffled[:min(n, len(shuffled))]
}

// ParseSeed reads a seed; empty is the default one.
func ParseSeed(text string, standard uint64) (uint64, error) {
	if text == "" {
		return standard, nil
	}
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("the seed must be a number: %w", err)
	}
	return seed, nil
}
