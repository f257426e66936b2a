//go:build unix

package tenancy

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/hostileapi"
	"github.com/codeconnect/vmgroup-operator/test/harness/localcluster"
	"github.com/codeconnect/vmgroup-operator/test/harness/progress"
)

const (
	// mostMemory is half of the chart's limit: the maximum memory of the manager under the attackers of all stories
	// together.
	mostMemory = 512 << 20
	// oneList begins a list of one VmGroup, within an annotation.
	oneList = `{"kind":"VmGroupList","apiVersion":"vm.codeconnect.vmworld.com/v1alpha1","metadata":{"resourceVersion":"7"},"items":[` + oneGroup
	// oneGroup begins a VmGroup, within an annotation.
	oneGroup = `{"kind":"VmGroup","apiVersion":"vm.codeconnect.vmworld.com/v1alpha1","metadata":{"name":"bomb","namespace":"default","uid":"u","resourceVersion":"7","annotations":{"a":"`
	inList   = `{"kind":"VmGroupList","apiVersion":"vm.codeconnect.vmworld.com/v1alpha1","metadata":{"resourceVersion":"7"},"items":[`
)

// listener is a server of the attacker that is the target of redirects.
type listener struct {
	*httptest.Server
	mu   sync.Mutex
	seen []string
}

func listen(t *testing.T) *listener {
	t.Helper()
	l := &listener{}
	l.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.seen = append(l.seen, fmt.Sprintf("%s %s with %q", r.Method, r.URL.Path, r.Header.Get("Authorization")))
		http.NotFound(w, r)
	}))
	t.Cleanup(l.Close)
	return l
}

// heardNothing fails if the operator connected.
func (l *listener) heardNothing(t *testing.T) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.seen) > 0 {
		t.Errorf("the operator followed a redirect: %s", strings.Join(l.seen[:min(len(l.seen), 5)], "; "))
	}
}

// attackersWithTooMuch are excessive responses of API servers, by name: how, and the expected report.
func attackersWithTooMuch(elsewhere *listener) map[string]struct {
	attack   hostileapi.Attack
	reason   string
	mentions []string
} {
	const gigabyte = 1 << 30
	fallBack := hostileapi.Refuse(http.StatusUnprocessableEntity, "Invalid") // like API servers that do not stream lists
	// An empty text has three bytes and needs sixteen of memory, so half a MiB is sent at once.
	fat := func(i, texts int) string {
		return fmt.Sprintf(`{"kind":"VmGroup","apiVersion":%q,"metadata":{"name":"g-%d","namespace":"default","uid":"u-%d","resourceVersion":"7","finalizers":[""%s]}}`,
			v1alpha1.GroupVersion, i, i, strings.Repeat(`,""`, texts))
	}
	zeros := func(int) string { return strings.Repeat("0", 1<<15) }
	added := func(i int) string { return `{"type":"ADDED","object":` + fat(i, 1<<15) + "}\n" }
	type attack = struct {
		attack   hostileapi.Attack
		reason   string
		mentions []string
	}
	return map[string]attack{
		"bomb": {hostileapi.OnLists(groups, hostileapi.Compressed(oneList, gigabyte, `"}}}]}`), fallBack), v1alpha1.ReasonMemberUnreachable,
			[]string{`an answer has the encoding "gzip", which was not asked for`}},
		"long": {hostileapi.OnLists(groups, hostileapi.Endless(oneList, gigabyte, zeros, `"}}}]}`), fallBack), v1alpha1.ReasonLimitExceeded,
			[]string{"a page of the list of", "vmgroups is too large", "32 MiB", "annotations"}},
		"streamed": {hostileapi.OnLists(groups, fallBack, hostileapi.Endless(`{"type":"ADDED","object":`+oneGroup, 15<<20, zeros, `"}}}}`+"\n")), v1alpha1.ReasonLimitExceeded,
			[]string{"an event in the watch of", "vmgroups is too large", "3 MiB"}},
		"hollow": {hostileapi.OnLists(groups, hostileapi.Endless(inList+`{}`, 16<<20, func(int) string { return strings.Repeat(`,{}`, 1000) }, `]}`), fallBack),
			v1alpha1.ReasonLimitExceeded, []string{"a page of the list of"}},
		"many": {hostileapi.OnLists(groups, fallBack, hostileapi.Endless("", 64<<20, added, "")), v1alpha1.ReasonLimitExceeded, []string{"VmGroups and", "need more memory", "96 MiB", "--member-memory"}},
		"pages": {hostileapi.OnLists(groups, hostileapi.Endless(strings.Replace(inList, `"7"`, `"7","continue":"more"`, 1)+fat(0, 1<<13), 0, nil, `]}`), fallBack),
			v1alpha1.ReasonLimitExceeded, []string{"the list of VmGroups does not end"}},
		"headers": {func(call localcluster.APICall) http.HandlerFunc {
			return map[bool]http.HandlerFunc{true: hostileapi.LongHeaders(500)}[call.Resource == "namespaces"]
		}, v1alpha1.ReasonLimitExceeded, []string{"headers", "64 KiB"}},
		"redirect": {func(call localcluster.APICall) http.HandlerFunc {
			return map[bool]http.HandlerFunc{true: hostileapi.Elsewhere(elsewhere.URL, http.StatusFound)}[call.Resource == "namespaces"]
		}, v1alpha1.ReasonRedirectRefused, []string{elsewhere.URL, "not followed", "field server"}},
	}
}

// TestAPIServersThatSendTooMuchCostNobodyElseAnything: all of them at once, repeatedly. The status of each member names
// the exceeded limit, the operator stays small and does not restart, and another member is served.
func TestAPIServersThatSendTooMuchCostNobodyElseAnything(t *testing.T) {
	w := shared.enter(t)
	g := newGuarded(t, w, "flood")
	elsewhere := listen(t)
	defer w.isSmall(t)
	defer elsewhere.heardNothing(t)
	all := attackersWithTooMuch(elsewhere)
	names := make([]string, 0, len(all))
	attackers := map[string]*attacker{}
	for name, how := range all {
		names = append(names, name)
		a := newAttacker(t, w, name, g.namespace)
		a.Attack(how.attack)
		a.join()
		attackers[name] = a
	}
	patcher := newAttacker(t, w, "patcher", fresh("patcher")).joined() // it redirects writes, including their bodies
	patcher.Attack(func(call localcluster.APICall) http.HandlerFunc {
		return map[bool]http.HandlerFunc{true: hostileapi.Elsewhere(elsewhere.URL, http.StatusPermanentRedirect)}[call.Writes()]
	})
	patcher.apply("led-astray", 1, false)
	patcher.untilItSays(v1alpha1.ReasonRedirectRefused, elsewhere.URL)
	slices.Sort(names)
	for _, name := range names {
		attackers[name].untilItSays(all[name].reason, all[name].mentions...)
	}
	g.served("while API servers send too much")
	if err := w.UntilServed(t.Context(), victim); err != nil {
		t.Error(err)
	}
}

// memoryLimit is that of the manager, in bytes.
func memoryLimit() int64 {
	if os.Getenv(progress.RaceVariable) != "" {
		return 6 * mostMemory // the race detector uses five to ten times as much
	}
	return mostMemory
}

// isSmall fails if the manager has ever been large.
func (w *world) isSmall(t *testing.T) {
	t.Helper()
	most := memoryLimit()
	peak, ok := w.Manager.PeakMemory()
	if !w.Manager.Alive() || ok && peak > most {
		t.Errorf("the manager runs: %t; its memory was %d MiB at most, and may be %d MiB", w.Manager.Alive(), peak>>20, most>>20)
	}
	t.Logf("the manager's memory was %d MiB at most", peak>>20)
}
