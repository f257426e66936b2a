package link

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/codeconnect/vmgroup-operator/internal/controller/member/admission"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/settings"
	"github.com/codeconnect/vmgroup-operator/internal/sharding/shardingtest"
)

func TestWhatWasAcknowledgedInAnEarlierTermCountsNoMore(t *testing.T) {
	leads := shardingtest.Leader(true)
	p, err := NewProvider(settings.Options{Namespace: "operator", InstallationUID: "one", Fleet: newFleet(), Leader: &leads})
	if err != nil {
		t.Fatal(err)
	}
	c := newConnection(p, settings.Target{Name: "alpha"}, nil)
	p.connections["alpha"] = c
	p.Ensure(c.target, true)
	term, _ := c.Commission()
	found := admission.Outcome{Finding: admission.Finding{Status: metav1.ConditionTrue}, Acknowledged: ptr.To("hash"), Segment: 5}
	c.PublishAdmission(term, found)
	if seen := p.Observe("alpha"); seen.Acknowledged == nil || *seen.Acknowledged != "hash" || seen.Segment != 5 {
		t.Fatalf("seen: %+v", seen)
	}
	p.Ensure(c.target, false)
	p.Ensure(c.target, true)
	if seen := p.Observe("alpha"); seen.Acknowledged != nil || seen.Admission != nil {
		t.Errorf("after another leader's term: %+v", seen)
	}
	c.PublishAdmission(term, found) // a pass that started earlier and has not ended
	if seen := p.Observe("alpha"); seen.Acknowledged != nil || seen.Admission != nil {
		t.Errorf("a pass of the earlier term is published: %+v", seen)
	}
}
