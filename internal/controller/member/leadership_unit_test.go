package member

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	clientfake "sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/config/crd"
)

func TestWhatAReplicaThatDoesNotLeadMakesOfACRD(t *testing.T) {
	scheme, err := newBootstrapScheme()
	if err != nil {
		t.Fatal(err)
	}
	with := func(change func(*apiextensionsv1.CustomResourceDefinition)) *apiextensionsv1.CustomResourceDefinition {
		installed := crd.VmGroupCRD()
		installed.Status.Conditions = []apiextensionsv1.CustomResourceDefinitionCondition{
			{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue},
		}
		change(installed)
		return installed
	}
	for _, test := range []struct {
		story     string
		installed *apiextensionsv1.CustomResourceDefinition
		waits, ok bool
	}{
		{"none", nil, true, false},
		{"the same", with(func(*apiextensionsv1.CustomResourceDefinition) {}), false, true},
		{"an older one that serves", with(func(d *apiextensionsv1.CustomResourceDefinition) {
			d.Annotations[crd.VersionAnnotation] = "1"
		}), false, true},
		{"an older one that does not serve", with(func(d *apiextensionsv1.CustomResourceDefinition) {
			d.Annotations[crd.VersionAnnotation] = "1"
			d.Spec.Versions[0].Name = "v0"
		}), true, false},
		{"the original operator's", with(func(d *apiextensionsv1.CustomResourceDefinition) { d.Annotations = nil }), true, false},
		{"a foreign one", with(func(d *apiextensionsv1.CustomResourceDefinition) { d.Spec.Names.Kind = "Other" }), false, false},
	} {
		t.Run(test.story, func(t *testing.T) {
			builder := clientfake.NewClientBuilder().WithScheme(scheme)
			if test.installed != nil {
				builder = builder.WithObjects(test.installed)
			}
			under := builder.Build()
			member := leaderClient{Reader: under, writer: under, mayWrite: func() bool { return false }}
			timings := Timings{}.withDefaults()
			result, err := ensureCRD(t.Context(), member, crd.VmGroupCRD(), v1alpha1.ManageCRDsAndAdmission, timings)
			if errors.Is(err, errNotLeading) != test.waits || (err != nil && !test.waits) || result.finding.ok != test.ok {
				t.Errorf("finding %+v, error %v", result.finding, err)
			}
			after, err := getCRD(t.Context(), under, crd.VmGroupName)
			if err != nil || (after == nil) != (test.installed == nil) {
				t.Fatalf("afterwards: %v, %v", after, err)
			}
			if after != nil && after.ResourceVersion != "999" {
				t.Errorf("the CRD was written: resource version %s", after.ResourceVersion)
			}
		})
	}
}

func TestWithoutLeadershipNothingIsWrittenToAMember(t *testing.T) {
	scheme, err := newBootstrapScheme()
	if err != nil {
		t.Fatal(err)
	}
	leads := false
	under := clientfake.NewClientBuilder().WithScheme(scheme).Build()
	member := leaderClient{Reader: under, writer: under, mayWrite: func() bool { return leads }}
	ctx := context.Background()
	if err := takeClaim(ctx, member, "one", "hub"); !errors.Is(err, errNotLeading) {
		t.Errorf("taking the claim: %v", err)
	}
	leads = true
	if err := takeClaim(ctx, member, "one", "hub"); err != nil {
		t.Fatal(err)
	}
	leads = false
	if err := takeClaim(ctx, member, "one", "hub"); err != nil {
		t.Errorf("a claim that is ours already: %v", err)
	}
	if err := releaseClaim(ctx, member, "one"); !errors.Is(err, errNotLeading) {
		t.Errorf("releasing the claim: %v", err)
	}
	var foreign *problem
	if err := takeClaim(ctx, member, "two", "hub"); !errors.As(err, &foreign) || foreign.reason != v1alpha1.ReasonClaimedByAnotherHub {
		t.Errorf("a foreign claim: %v", err)
	}
	if err := under.Get(ctx, claimKey, &corev1.ConfigMap{}); err != nil {
		t.Errorf("the claim is gone: %v", err)
	}
}

// Replica A reaches both names of a cluster, replica B only the younger one. What A finds comes to B by the status.
func TestAReplicaLearnsFromStatusWhichMemberClusterGoesFirst(t *testing.T) {
	p, err := NewProvider(Options{Namespace: "operator", InstallationUID: "one"})
	if err != nil {
		t.Fatal(err)
	}
	at := func(second int64) time.Time { return time.Unix(second, 0) }
	connect := func(name string, created time.Time) *connection {
		c := newConnection(p, target{name: name, created: created}, p.connections[name])
		p.connections[name] = c
		return c
	}
	younger := connect("younger", at(2))
	if err := p.acquire(younger, "uid"); err != nil {
		t.Fatal(err)
	}
	p.seed("older", identity{"", at(1)}) // not known to the leader either
	if elder := p.elder(younger, "uid"); elder != "" {
		t.Fatalf("elder = %q", elder)
	}
	p.seed("older", identity{"uid", at(1)})
	select {
	case <-younger.poke:
	default:
		t.Error("the younger one is not woken")
	}
	if elder := p.elder(younger, "uid"); elder != "older" {
		t.Errorf("elder = %q, the leader serves the older one", elder)
	}
	p.seed("older", identity{"another", at(1)}) // it leads to another cluster now
	if elder := p.elder(younger, "uid"); elder != "" {
		t.Errorf("elder = %q, which is another cluster now", elder)
	}

	// What a connection found itself goes before a status that may be older, until it is replaced.
	own := connect("older", at(1))
	if err := p.acquire(own, "third"); err != nil {
		t.Fatal(err)
	}
	p.seed("older", identity{"uid", at(1)})
	if elder := p.elder(younger, "uid"); elder != "" {
		t.Errorf("elder = %q by an old status", elder)
	}
	connect("older", at(1))
	p.seed("older", identity{"uid", at(1)})
	if elder := p.elder(younger, "uid"); elder != "older" {
		t.Errorf("elder = %q, the status counts until the new connection is through", elder)
	}
}

// With pauses of minutes nobody would want to wait for the next look.
func TestANewLeaderWakesItsConnections(t *testing.T) {
	leads := constantLeadership(true)
	p, err := NewProvider(Options{Namespace: "operator", InstallationUID: "one", Leadership: &leads})
	if err != nil {
		t.Fatal(err)
	}
	c := newConnection(p, target{name: "alpha"}, nil)
	p.connections["alpha"] = c
	woken := func() bool {
		select {
		case <-c.poke:
			return true
		default:
			return false
		}
	}
	p.ensure(c.target, false)
	if woken() || c.mayWrite() {
		t.Error("before the finalizer is there the member is written to")
	}
	p.ensure(c.target, true)
	if !woken() || !c.mayWrite() {
		t.Error("the connection is not told that it has to bootstrap the member")
	}
	p.ensure(c.target, true)
	if woken() {
		t.Error("each pass of the leader wakes the connection")
	}
	leads = false
	if c.mayWrite() {
		t.Error("a replica writes between the loss of the leadership and its next pass")
	}
}

type constantLeadership bool

func (l *constantLeadership) Leading() bool { return bool(*l) }
