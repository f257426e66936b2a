package summary

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/fleet/tally"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

// longest is the maximum length of a name in the hub's API.
const longest = 253

// side is the owner of the status: a member or a VCenter.
type side bool

const (
	ofMember  side = true
	ofVCenter side = false
)

// fields returns the status fields of a summary; nil is a summary without groups.
func fields(s *tally.Summary, whose side) (ready, desired int32, notReady *v1alpha1.NotReadyGroups) {
	if s == nil {
		return 0, 0, nil
	}
	if s.NotReady > 0 {
		notReady = &v1alpha1.NotReadyGroups{Groups: int32(s.NotReady)}
		for _, g := range s.Worst {
			notReady.Worst = append(notReady.Worst, group(g, whose))
		}
		if len(notReady.Worst) > 0 {
			notReady.Oldest = &notReady.Worst[0].Since
		}
	}
	return int32(s.Ready), int32(s.Desired), notReady
}

// group returns the names of a group for status. Users of members can name groups and vCenters as they like,
// so it sanitizes names.
func group(g tally.NotReady, whose side) v1alpha1.NotReadyGroup {
	is := v1alpha1.NotReadyGroup{
		Namespace: untrusted.Text(g.Namespace, longest), Name: untrusted.Text(g.Name, longest), Reason: g.Reason,
		// The API keeps seconds; more precision would look like a change after each round trip.
		Since: metav1.NewTime(g.Since.Truncate(time.Second)),
	}
	if whose == ofMember {
		is.VCenter = untrusted.Text(g.VCenter, longest)
	} else {
		is.Member = g.Member
	}
	return is
}
