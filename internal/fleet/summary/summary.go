package summary

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/fleet/tally"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

// longest is the length of the longest name that the API of the hub takes.
const longest = 253

// side is whose status it is.
type side bool

const (
	ofMember  side = true
	ofVCenter side = false
)

// fields returns what status shows of a summary; nil is one of no groups.
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

// group names a group as its member does, and users of members can name groups and vCenters as they like.
func group(g tally.NotReady, whose side) v1alpha1.NotReadyGroup {
	is := v1alpha1.NotReadyGroup{
		Namespace: untrusted.Text(g.Namespace, longest), Name: untrusted.Text(g.Name, longest), Reason: g.Reason,
		// Seconds are what the API keeps; more would look like a change after each round trip.
		Since: metav1.NewTime(g.Since.Truncate(time.Second)),
	}
	if whose == ofMember {
		is.VCenter = untrusted.Text(g.VCenter, longest)
	} else {
		is.Member = g.Member
	}
	return is
}
