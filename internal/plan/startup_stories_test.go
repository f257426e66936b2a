package plan

import (
	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// startupSagas are about VMs that are not ready, and whose time can be over.
var startupSagas = []sagaTest{
	{"undo-beside-a-vm-that-never-was-ready", 2, func(s *saga) {
		s.boots["debian-12"] = -1
		s.replicas(3)
		s.looks(10)
		s.broken("debian-13")
		s.until(reason(v1alpha1.ReasonRolloutStopped))
		s.note("undo: web-2 had had its time before, so it stops nothing and is not waited for; web-3 leaves")
		s.template("debian-12")
		s.looks(5)
		s.note("somebody mends web-2")
		s.byName("web-2").boot = 1
		s.until(settled)
	}},
	{"network-that-mends", 3, func(s *saga) {
		s.boots["debian-12"] = -1
		s.replicas(4)
		s.looks(10)
		s.note("web-3 was never ready in its network, and boots 30 seconds after it gets another")
		s.byName("web-3").boot = s.byName("web-3").up + 4
		s.spec.Placement = &v1alpha1.Placement{Network: "dmz"}
		s.until(settled)
	}},
	{"hot-while-guests-boot", 2, func(s *saga) {
		s.strategy(nil, nil).Resize = v1alpha1.ResizeHot
		s.hotAdd = true
		s.boots["debian-12"] = 12
		s.replicas(4)
		s.looks(9)
		s.note("they have had their time when they get more; that is another start")
		s.hot("web-0", "web-1")
		s.spec.CPU = 4
		s.until(settled)
	}},
	{"change-that-fails", 2, func(s *saga) {
		s.spec.Readiness.MinReadySeconds = 30
		s.until(settled)
		s.hot("web-0", "web-1")
		s.denies = true
		s.note("vCenter refuses to change VMs that are on and ready: they are as available as before")
		s.spec.CPU = 4
		s.looks(12)
		s.denies = false
		s.until(settled)
	}},
	{"neither-more-nor-less", 2, func(s *saga) {
		s.strategy(number(0), number(0))
		s.template("debian-13")
		s.looks(3)
		s.note("text that is no percentage comes to 0, too")
		s.strategy(percent("none"), percent("0%"))
		s.looks(1)
		s.note("back: nothing is left, and nothing is wrong with an edit of the network, which takes nobody away")
		s.template("debian-12")
		s.until(settled)
		s.spec.Placement = &v1alpha1.Placement{Network: "dmz"}
		s.until(settled)
		s.spec.CPU = 4
		s.looks(1)
		s.strategy(number(0), number(1))
		s.until(settled)
	}},
	{"host-away-while-a-guest-boots", 2, func(s *saga) {
		s.broken("debian-13")
		s.until(updated(1))
		s.looks(3)
		s.byName("web-2").Connection = vsphere.Disconnected
		s.looks(8)
		s.note("the host is back; what web-2 did meanwhile, nobody saw")
		s.byName("web-2").Connection, s.byName("web-2").boot, s.boots["debian-13"] = vsphere.Connected, s.byName("web-2").up+3, 1
		s.until(settled)
	}},
}
