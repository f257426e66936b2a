package link

import (
	"testing"

	"k8s.io/client-go/rest"

	"github.com/codeconnect/vmgroup-operator/internal/controller/member/settings"
)

// TestIncarnationsOfAMemberShareAPace, and no two members do, whether their names are equal or not: a server must gain nothing by ending its
// incarnations.
func TestIncarnationsOfAMemberShareAPace(t *testing.T) {
	p, err := NewProvider(settings.Options{Namespace: "operator", InstallationUID: "one", Fleet: newFleet()})
	if err != nil {
		t.Fatal(err)
	}
	at := settings.Target{Name: "alpha", UID: "a", Config: &rest.Config{Host: "https://alpha.example.com"}}
	first := newConnection(p, at, nil)
	for range 2 { // attempts
		apis, err := first.provider.opts.APIs(&first.target, first.pace, first)
		if err != nil {
			t.Fatal(err)
		}
		apis.End()
		if apis.Guard.Pace != first.pace {
			t.Error("an attempt has a pace of its own")
		}
	}
	rotated := at
	rotated.Fingerprint = "another kubeconfig"
	second := newConnection(p, rotated, first)
	if second.pace != first.pace {
		t.Error("another kubeconfig has a pace of its own")
	}
	anew := at
	anew.UID = "b"
	if newConnection(p, anew, second).pace == first.pace {
		t.Error("a MemberCluster that was made anew has the pace of the one before")
	}
}
