package member

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/membermetrics"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/remote"
	"github.com/codeconnect/vmgroup-operator/internal/group/allowance"
)

// standing is what the hub has of a MemberCluster, and what the connection does not know.
type standing struct {
	// config says why there is no connection; nil when there is one.
	config   *remote.Problem
	previous v1alpha1.MemberClusterStatus
	object   metav1.ObjectMeta
}

// note keeps what the hub has of a MemberCluster, on every replica.
func (p *Provider) note(mc *v1alpha1.MemberCluster, config *remote.Problem) {
	is := standing{config: config, object: metav1.ObjectMeta{Annotations: maps.Clone(mc.Annotations)}}
	is.previous.Conditions = slices.Clone(mc.Status.Conditions)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.standings[mc.Name] = is
}

// Seen implements membermetrics.Source.
func (p *Provider) Seen() []membermetrics.Member {
	p.mu.RLock()
	standings := maps.Clone(p.standings)
	p.mu.RUnlock()
	all := make([]membermetrics.Member, 0, len(standings))
	for _, name := range slices.Sorted(maps.Keys(standings)) {
		is := standings[name]
		seen, _ := p.observe(name)
		found := membermetrics.Member{
			Name: name, Up: is.config == nil && seen.phase == phaseEngaged && seen.problem == nil,
			Reason: readyCondition(statusInput{config: is.config, seen: seen, previous: is.previous}).Reason,
		}
		if admission := meta.FindStatusCondition(is.previous.Conditions, v1alpha1.ConditionAdmissionReady); p.admission != nil && admission != nil {
			found.Admission = new(admission.Status == metav1.ConditionTrue)
		}
		until := allowance.Until(&is.object, v1alpha1.AllowMassDeletionAnnotation)
		if counts, _ := allowance.Counts(until, p.opts.Now()); counts {
			found.AllowedUntil = until
		}
		all = append(all, found)
	}
	return all
}
