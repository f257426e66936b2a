package join

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/remote"
)

// mcOf makes a MemberCluster with its creation time in seconds, and a cluster in spec and in
// status.
func mcOf(name string, second int64, spec, status string) v1alpha1.MemberCluster {
	mc := v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.Unix(second, 0)}}
	mc.Spec.ClusterUID, mc.Status.ClusterUID = spec, status
	return mc
}

func TestAClusterIsGrantedToOneMemberCluster(t *testing.T) {
	const duplicate, byAnother = v1alpha1.ReasonDuplicateMember, v1alpha1.ReasonKnownByAnotherName
	for _, test := range []struct {
		name   string
		me     v1alpha1.MemberCluster
		take   string
		holder string
		others []v1alpha1.MemberCluster
		refuse string
	}{
		{"a cluster without a previous member", mcOf("me", 5, "", ""), "", "", nil, ""},
		{"its own, which has left and comes back", mcOf("me", 5, "", ""), "", "me", nil, ""},
		{"of one that was pinned, though this is older", mcOf("me", 5, "", ""), "", "other",
			[]v1alpha1.MemberCluster{mcOf("other", 9, "uid", "uid")}, duplicate},
		{"written by hand, of one that was pinned", mcOf("me", 5, "uid", ""), "", "other",
			[]v1alpha1.MemberCluster{mcOf("other", 9, "uid", "uid")}, duplicate},
		{"to be taken from one that is still there", mcOf("me", 5, "", ""), "uid", "other",
			[]v1alpha1.MemberCluster{mcOf("other", 9, "uid", "uid")}, duplicate},
		{"of one that left", mcOf("me", 5, "", ""), "", "other", nil, byAnother},
		{"of one that left, written by hand", mcOf("me", 5, "uid", ""), "", "other", nil, byAnother},
		{"of one that is another cluster now", mcOf("me", 5, "", ""), "", "other",
			[]v1alpha1.MemberCluster{mcOf("other", 9, "second", "second")}, byAnother},
		{"of one that left, the wrong one named", mcOf("me", 5, "", ""), "second", "other", nil, byAnother},
		{"of one that left, and it was named", mcOf("me", 5, "", ""), "uid", "other", nil, ""},
		{"granted before the hub's memory was restored", mcOf("me", 5, "uid", "uid"), "", "other", nil, ""},
		{"without the hub's memory, the older of two pins", mcOf("me", 5, "uid", "uid"), "", "", []v1alpha1.MemberCluster{mcOf("other", 9, "uid", "uid")}, ""},
		{"without the hub's memory, the younger of two pins", mcOf("me", 5, "uid", "uid"), "", "", []v1alpha1.MemberCluster{mcOf("other", 3, "uid", "uid")}, duplicate},
		{"without the hub's memory, a younger one is pinned", mcOf("me", 5, "", "uid"), "", "",
			[]v1alpha1.MemberCluster{mcOf("other", 9, "uid", "uid")}, duplicate},
		{"without the hub's memory, another has it in status only", mcOf("me", 5, "", ""), "", "", []v1alpha1.MemberCluster{mcOf("other", 3, "", "uid")}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.take != "" {
				test.me.Annotations = map[string]string{v1alpha1.TakeClusterUIDAnnotation: test.take}
			}
			refused := mayHave(&test.me, "uid", test.holder, append(test.others, test.me))
			if got := reasonOf(refused); got != test.refuse {
				t.Errorf("refused with %q (%v), want %q", got, refused, test.refuse)
			}
			if refused != nil && !strings.Contains(refused.Message, `"other"`) {
				t.Errorf("the message does not say whose it is: %s", refused.Message)
			}
		})
	}
}

func reasonOf(p *remote.Problem) string {
	if p == nil {
		return ""
	}
	return p.Reason
}

// Without a check by the leader, no replica can access a cluster.
func TestAPinCountsOnceTheLeaderHasGrantedIt(t *testing.T) {
	for _, test := range []struct{ name, spec, status, want string }{
		{"nothing yet", "", "", ""},
		{"in status only", "", "uid", ""},
		{"pinned", "uid", "uid", "uid"},
		{"written by hand, or restored without status", "uid", "", ""},
		{"a status that contradicts the pin", "uid", "other", ""},
	} {
		mc := mcOf("me", 1, test.spec, test.status)
		if got := Granted(&mc); got != test.want {
			t.Errorf("%s: granted %q, want %q", test.name, got, test.want)
		}
	}
}
