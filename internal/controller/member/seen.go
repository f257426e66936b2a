package member

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/credential"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/link"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/membermetrics"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/remote"
	"github.com/codeconnect/vmgroup-operator/internal/group/allowance"
)

// standing is the hub's state of a MemberCluster that the connection does not have.
type standing struct {
	// config is the reason why there is no connection; nil if there is one.
	config *remote.Problem
	// held are the credentials of the kubeconfigs that could be read.
	held     []credential.Held
	previous v1alpha1.MemberClusterStatus
	object   metav1.ObjectMeta
}

// note keeps the hub's state of a MemberCluster, on every replica.
func (r *Reconciler) note(mc *v1alpha1.MemberCluster, config *remote.Problem, held []credential.Held) {
	is := standing{config: config, held: held, object: metav1.ObjectMeta{Annotations: maps.Clone(mc.Annotations)}}
	is.previous.Conditions = slices.Clone(mc.Status.Conditions)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.standings[mc.Name] = is
}

// Seen implements membermetrics.Source.
func (r *Reconciler) Seen() []membermetrics.Member {
	r.mu.Lock()
	standings := maps.Clone(r.standings)
	r.mu.Unlock()
	all := make([]membermetrics.Member, 0, len(standings))
	for _, name := range slices.Sorted(maps.Keys(standings)) {
		all = append(all, standings[name].member(name, r.provider.Observe(name), r.provider.Options().Renderer != nil, r.provider.Options().Now()))
	}
	return all
}

// member is this replica's view of a member, from its connection. admission: the operator manages admission objects.
func (s standing) member(name string, seen link.Observation, admission bool, now time.Time) membermetrics.Member {
	found := membermetrics.Member{
		Name: name, Up: s.config == nil && seen.State == link.Engaged,
		Reason: readyCondition(statusInput{config: s.config, seen: seen, previous: s.previous}).Reason,
	}
	if is := meta.FindStatusCondition(s.previous.Conditions, v1alpha1.ConditionAdmissionReady); admission && is != nil {
		found.Admission = new(is.Status == metav1.ConditionTrue)
	}
	until := allowance.Until(&s.object, v1alpha1.AllowMassDeletionAnnotation)
	if counts, _ := allowance.Counts(until, now); counts {
		found.AllowedUntil = until
	}
	if next := credential.Next(s.held, now); next != nil {
		found.Identity = next.Identity
		if next.Account == "" {
			found.Expires = next.Expires
		} else {
			found.Renews = next.Renews
		}
	}
	return found
}
