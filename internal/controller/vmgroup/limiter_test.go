package vmgroup

import "testing"

func TestASilentMemberTakesNeitherEveryWorkerNorItsVCenter(t *testing.T) {
	l := newLimiter(8)
	var leave func()
	for i := range 4 {
		var ok bool
		if leave, ok = l.enter("silent", "x"); !ok {
			t.Fatalf("pass %d of a member was refused", i)
		}
	}
	if _, ok := l.enter("silent", "y"); ok {
		t.Error("more than half of the workers wait for one member")
	}
	if _, ok := l.enter("healthy", "x"); !ok {
		t.Error("the silent member keeps others out of the vCenter that they share")
	}
	leave()
	if _, ok := l.enter("silent", "x"); !ok {
		t.Error("a place that was left is not free")
	}
	if _, ok := l.enter("healthy", "x"); !ok {
		t.Error("the sixth pass of a vCenter was refused")
	}
	if _, ok := l.enter("third", "x"); ok {
		t.Error("more than three quarters of the workers wait for one vCenter")
	}
	if _, ok := l.enter("third", "y"); !ok {
		t.Error("another vCenter waits for the full one, or a refused pass took a place")
	}
}
