package vmgroup

import "testing"

func TestASilentMemberCannotTakeEveryWorker(t *testing.T) {
	l := newLanes(2)
	leave, _ := l.enter("member a", "vcenter x")
	if _, ok := l.enter("member a", "vcenter y"); !ok {
		t.Fatal("the second pass of a member was refused")
	}
	if _, ok := l.enter("member a", "vcenter z"); ok {
		t.Error("a third pass of one member was let in")
	}
	if _, ok := l.enter("member b", "vcenter z"); !ok {
		t.Error("another member waits for the full one, or a refused pass took a place")
	}
	leave()
	if _, ok := l.enter("member a", "vcenter z"); !ok {
		t.Error("a place that was left is not free")
	}
	if _, ok := l.enter("member c", "vcenter z"); ok {
		t.Error("a third pass of one vCenter was let in")
	}
}
