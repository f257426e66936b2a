package quota

import (
	"context"
	"maps"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
)

// benchmarkGrant decides about one group among 20,000, encodes the ledger that it counts in, and decodes it like a watching replica.
func benchmarkGrant(b *testing.B, scope v1alpha1.QuotaScope) {
	most := int32(1 << 30)
	set := policy.Compile([]v1alpha1.VmGroupPolicy{{
		ObjectMeta: metav1.ObjectMeta{Name: "q"}, Spec: v1alpha1.VmGroupPolicySpec{Quota: &v1alpha1.PolicyQuota{VMs: &most, Scope: scope}},
	}})
	byTotal := map[string]map[Key]Entry{}
	byNamespace := map[string][]Group{}
	for id, e := range entriesOf(20000, func(int) []string { return nil }) {
		r := policy.Requester{Member: id.Member, Namespace: e.Namespace}
		e.Usage.Groups, e.Doubted, e.Keys = 1, false, keysOf(set.Quotas(r), r)
		if byTotal[e.Keys[0]] == nil {
			byTotal[e.Keys[0]] = map[Key]Entry{}
		}
		byTotal[e.Keys[0]][id] = e
		byNamespace[r.Member+"/"+r.Namespace] = append(byNamespace[r.Member+"/"+r.Namespace], Group{UID: id.UID, Name: e.Name, Requester: r, Holds: e.Usage, Granted: e.Usage})
	}
	groups := slices.Collect(maps.Values(byNamespace))
	asking := groups[0][0]
	key := keysOf(set.Quotas(asking.Requester), asking.Requester)[0]
	written := StateOf(byTotal[key])
	if _, err := encodeTotal(key, &written); err != nil {
		b.Fatal(err)
	}
	watched, n := written, int64(0)
	lister := all{set, groups, asking.Requester.Member}
	l := New(Options{Lister: lister})
	for b.Loop() {
		n++
		c := Claim{Group: asking, Wants: asking.Holds, Epoch: v1alpha1.Epoch{Generation: 9, Number: n}}
		c.Wants.VMs += n
		found, err := l.survey(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		f, of := found.of(key)
		d, answers := decide(Stored{State: written}, f, of, batch{claims: []Claim{c}}, true)
		if answers[c.Key()].Outcome != Granted || !d.changed {
			b.Fatalf("answered %+v", answers[c.Key()])
		}
		stored, err := encodeTotal(key, &d.state)
		if err != nil {
			b.Fatal(err)
		}
		next, err := decodeTotal(key, stored, &watched)
		if err != nil || len(changed(&watched, &next)) != 1 {
			b.Fatal(err)
		}
		totals(&next)
		written, watched = d.state, next
	}
	b.ReportMetric(float64(len(byTotal[key])), "entries")
	b.ReportMetric(float64(len(byTotal)), "ledgers")
}

func BenchmarkGrantAmong20000InOneTotal(b *testing.B) { benchmarkGrant(b, v1alpha1.QuotaMatch) }

func BenchmarkGrantAmong20000InTotalsOfNamespaces(b *testing.B) {
	benchmarkGrant(b, v1alpha1.QuotaNamespace)
}

// all is a Lister in whose members all groups are known.
type all struct {
	set    *policy.Set
	groups [][]Group
	member string
}

func (a all) Policies(context.Context) (*policy.Set, bool) { return a.set, true }
func (a all) Groups(context.Context) ([][]Group, error)    { return a.groups, nil }
func (a all) Remnants(context.Context) ([]Remnant, error)  { return nil, nil }
func (a all) Served(string) bool                           { return true }
func (a all) Members(context.Context) ([]string, error)    { return []string{a.member}, nil }
