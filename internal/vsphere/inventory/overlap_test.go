package inventory

import (
	"slices"
	"testing"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

func with(s Seen, change func(*vsphere.VM)) Seen {
	s.VM = clone(s.VM)
	change(&s.VM)
	return s
}

func switchedOff(vm *vsphere.VM) { vm.Power = vsphere.PoweredOff }

func switchedOn(vm *vsphere.VM) { vm.Power = vsphere.PoweredOn }

// TestTheFirstAnswerOfAStreamWinsOverReadsThatBeganBeforeItArrived: a VM is read while vCenter creates the filter; it
// is powered off before vCenter evaluates the filter.
func TestTheFirstAnswerOfAStreamWinsOverReadsThatBeganBeforeItArrived(t *testing.T) {
	on, off := with(vm(1, groupID), switchedOn), with(vm(1, groupID), switchedOff)
	for name, apply := range map[string]func(x *Index, stream, read Moment){
		"the read arrives before it": func(x *Index, stream, read Moment) {
			x.Upsert(read, []Seen{on}, nil)
			x.ApplyStream(stream, []Seen{off}, []vsphere.Folder{folder})
		},
		"the read arrives after it": func(x *Index, stream, read Moment) {
			x.ApplyStream(stream, []Seen{off}, []vsphere.Folder{folder})
			x.Upsert(read, []Seen{on}, nil)
		},
	} {
		x, _ := newIndex(0)
		x.list(on)
		apply(x, x.Begin(), x.Begin())
		if got, state := x.VM(on.Ref); state != Present || got.Power != vsphere.PoweredOff {
			t.Errorf("%s: the VM is %s in state %d", name, got.Power, state)
		}
	}
}

// TestAVMThatIsDestroyedWhileAStreamBeginsIsLookedUp: it was read after vCenter created the filter, and is not in the
// first response.
func TestAVMThatIsDestroyedWhileAStreamBeginsIsLookedUp(t *testing.T) {
	x, _ := newIndex(0)
	a, b := vm(1, groupID), vm(2, groupID)
	x.list(a, b)
	stream, read := x.Begin(), x.Begin()
	x.Upsert(read, []Seen{a}, nil)
	x.ApplyStream(stream, nil, []vsphere.Folder{folder})
	if got := x.Doubted(); !slices.Equal(got, []vsphere.Ref{a.Ref}) {
		t.Errorf("to be looked up are %v, want %s", got, a.Ref.Value)
	}
	if got := x.Suspects(); !slices.Equal(got, []vsphere.Ref{b.Ref}) {
		t.Errorf("suspects are %v, want the VM that no read has shown since, %s", got, b.Ref.Value)
	}
	if x.Applied() != stream {
		t.Error("operations conclude from a moment that is not that before the filter")
	}
}

// TestWhatIsDestroyedBetweenALookUpAndTheFirstAnswerOfAStreamIsLookedUpAgain: the stream begins after the look-up of a new VM and a new folder, and its first answer
// arrives before the look-up does. It lacks both, which are destroyed by then, and the stream never reports that they left.
func TestWhatIsDestroyedBetweenALookUpAndTheFirstAnswerOfAStreamIsLookedUpAgain(t *testing.T) {
	a, sub := vm(1, groupID), vsphere.Folder{Ref: vsphere.FolderRef("group-2"), Name: "sub", Parent: folder.Ref}
	both := []vsphere.Ref{sub.Ref, a.Ref}
	for name, read := range map[string]func(x *Index, began Moment){
		"by a look-up":                func(x *Index, began Moment) { x.Upsert(began, []Seen{a}, []vsphere.Folder{sub}) },
		"by a look-up, and by a call": func(x *Index, began Moment) { x.Made(began, sub); x.Upsert(began, []Seen{a}, nil) },
	} {
		x, _ := newIndex(0)
		began, stream := x.Begin(), x.Begin()
		x.ApplyStream(stream, nil, []vsphere.Folder{folder})
		read(x, began)
		if got := x.Doubted(); !slices.Equal(got, both) {
			t.Errorf("%s: to be looked up again are %v, want %v", name, got, both)
		}
		x.Missed(x.Begin(), both...)
		if got := x.Suspects(); !slices.Equal(got, both) {
			t.Errorf("%s: after a look-up that misses them the suspects are %v, want %v", name, got, both)
		}
	}
}

// TestALookUpThatNoListingOverlapsIsNotRepeated: it begins after the last listing arrived, or arrives before the first one.
func TestALookUpThatNoListingOverlapsIsNotRepeated(t *testing.T) {
	a, b := vm(1, groupID), vm(2, groupID)
	sub := vsphere.Folder{Ref: vsphere.FolderRef("group-2"), Name: "sub", Parent: folder.Ref}
	x, _ := newIndex(0)
	x.Upsert(x.Begin(), []Seen{a}, []vsphere.Folder{folder})
	x.list(a)
	x.Upsert(x.Begin(), []Seen{b}, []vsphere.Folder{sub})
	if got := x.Doubted(); len(got) != 0 {
		t.Errorf("to be looked up again are %v, want nothing", got)
	}
}

// TestOfOverlappingReadsThatDifferNoneIsBelieved: the read that began later can be answered earlier, and hold a stamp
// that was replaced since.
func TestOfOverlappingReadsThatDifferNoneIsBelieved(t *testing.T) {
	x, n := newIndex(0)
	bare := with(vm(1, groupID), func(vm *vsphere.VM) { vm.Stamp, vm.ChangeVersion = nil, "0" })
	stamped := vm(1, groupID)
	x.list(bare)
	early, late := x.Begin(), x.Begin()
	x.Upsert(early, []Seen{stamped}, nil)
	n.groups = nil
	x.Upsert(late, []Seen{bare}, nil)
	if g := x.Group(query()); len(g.VMs) != 1 || g.VMs[0].Stamp == nil {
		t.Fatalf("the VM that was seen with its stamp is shown without: %+v", g.VMs)
	}
	if got := x.Doubted(); !slices.Equal(got, []vsphere.Ref{stamped.Ref}) {
		t.Errorf("to be read again are %v", got)
	}
	if got := x.Doubted(); len(got) != 0 {
		t.Errorf("it is to be read twice: %v", got)
	}
	x.Upsert(x.Begin(), []Seen{bare}, nil)
	if g := x.Group(query()); len(g.VMs) != 1 || g.VMs[0].Stamp != nil {
		t.Errorf("a read that began later does not decide: %+v", g.VMs)
	}
}

// TestConfigurationThatAStreamShowsOlderIsReadAgain: its first response takes the configuration from the index, and a
// concurrent read returns another.
func TestConfigurationThatAStreamShowsOlderIsReadAgain(t *testing.T) {
	x, _ := newIndex(0)
	bare := with(vm(1, groupID), func(vm *vsphere.VM) { vm.Stamp, vm.ChangeVersion = nil, "0" })
	x.list(bare)
	stream, read := x.Begin(), x.Begin()
	x.Upsert(read, []Seen{vm(1, groupID)}, nil)
	x.ApplyStream(stream, []Seen{with(bare, switchedOn)}, []vsphere.Folder{folder})
	got, _ := x.VM(bare.Ref)
	if got.Stamp == nil || got.Power != vsphere.PoweredOn {
		t.Errorf("the VM is %+v; want the stamp that was read and the power that the stream shows", got)
	}
	if doubted := x.Doubted(); !slices.Equal(doubted, []vsphere.Ref{bare.Ref}) {
		t.Errorf("to be read again are %v", doubted)
	}
}

// TestALookUpOutsideThatOverlapsAMoveInDoesNotTakeTheVMAway: the verdict is from before the move.
func TestALookUpOutsideThatOverlapsAMoveInDoesNotTakeTheVMAway(t *testing.T) {
	x, _ := newIndex(0)
	a := vm(1, groupID)
	x.list()
	asked := x.Begin()
	x.list(a)
	x.ConfirmElsewhere(asked, Outside{Seen: with(a, func(vm *vsphere.VM) { vm.Folder = vsphere.FolderRef("group-out") })})
	if _, state := x.VM(a.Ref); state != Present {
		t.Errorf("the VM is in state %d", state)
	}
	if got := x.Doubted(); !slices.Equal(got, []vsphere.Ref{a.Ref}) {
		t.Errorf("to be looked up are %v", got)
	}
}

func TestWhatLeftIsNotThereAgainByAReadThatWasUnderWay(t *testing.T) {
	a, sub := vm(1, groupID), vsphere.Folder{Ref: vsphere.FolderRef("group-2"), Name: "sub", Parent: folder.Ref}
	for name, known := range map[string]bool{"known": true, "never seen before": false} {
		x, _ := newIndex(0)
		if x.list(); known {
			x.ApplyListing(x.Begin(), []Seen{a}, []vsphere.Folder{folder, sub})
		}
		listing, read, call := x.Begin(), x.Begin(), x.Begin()
		x.Left(a.Ref, sub.Ref)
		x.Upsert(read, []Seen{a}, []vsphere.Folder{sub})
		x.ApplyListing(listing, []Seen{a}, []vsphere.Folder{folder, sub})
		x.Made(call, sub)
		if got := x.Suspects(); !slices.Equal(got, []vsphere.Ref{sub.Ref, a.Ref}) {
			t.Errorf("%s: suspects are %v, want the VM and the folder", name, got)
		}
		if g := x.Group(query()); len(g.VMs) != 0 || len(g.Suspects) != 1 {
			t.Errorf("%s: the group has VMs %v and suspects %v; want the VM to be a suspect of the group", name, g.VMs, g.Suspects)
		}
		x.Upsert(x.Begin(), []Seen{a}, []vsphere.Folder{sub})
		if got := x.Suspects(); len(got) != 0 {
			t.Errorf("%s: a read that began later leaves suspects %v", name, got)
		}
	}
}

// TestWhatALookUpMissesIsASuspectUnlessAReadThatOverlapsItShowsIt: it can have moved between the two.
func TestWhatALookUpMissesIsASuspectUnlessAReadThatOverlapsItShowsIt(t *testing.T) {
	x, _ := newIndex(0)
	a, b := vm(1, groupID), vm(2, groupID)
	x.list(b)
	began := x.Begin()
	x.list(a, b)
	x.Missed(began, a.Ref)
	x.Missed(x.Begin(), b.Ref)
	if doubted, suspects := x.Doubted(), x.Suspects(); !slices.Equal(doubted, []vsphere.Ref{a.Ref}) || !slices.Equal(suspects, []vsphere.Ref{b.Ref}) {
		t.Errorf("to be looked up are %v, suspects %v", doubted, suspects)
	}
}

// TestWhatAStreamHasToldIsNotTakenBackByAReadThatBeganBefore, except for the configuration, which the stream does not
// report.
func TestWhatAStreamHasToldIsNotTakenBackByAReadThatBeganBefore(t *testing.T) {
	x, _ := newIndex(0)
	a := with(vm(1, groupID), switchedOn)
	x.list(a)
	read := x.Begin()
	if unread := x.Show([]vsphere.VM{with(a, switchedOff).VM}); len(unread) != 0 {
		t.Fatalf("%v have to be read whole", unread)
	}
	x.Upsert(read, []Seen{with(a, func(vm *vsphere.VM) { vm.CPU, vm.ChangeVersion = 8, "2" })}, nil)
	if got, _ := x.VM(a.Ref); got.Power != vsphere.PoweredOff || got.CPU != 8 {
		t.Errorf("the VM is %s with %d CPUs, want off with 8", got.Power, got.CPU)
	}
}

// TestWhatAReadSawAndTheStreamDoesNotShowIsFound: powered on and off between two responses, or created and destroyed.
func TestWhatAReadSawAndTheStreamDoesNotShowIsFound(t *testing.T) {
	x, _ := newIndex(0)
	off, passing := with(vm(1, groupID), switchedOff), vm(2, groupID)
	s := NewShown()
	s.PutVM(off.VM)
	s.PutFolder(folder)
	s.PutFolder(vsphere.Folder{Ref: vsphere.FolderRef("group-7"), Name: "outside", Parent: vsphere.FolderRef("group-out")})
	x.list(off)
	x.Upsert(x.Begin(), []Seen{with(off, switchedOn), passing}, nil)
	if got := x.Differences(s); len(got) != 0 {
		t.Errorf("before the first answer is complete there are differences: %v", got)
	}
	s.Completed()
	got := x.Differences(s)
	if len(got) != 2 || got[0].Ref != off.Ref || !got[0].Both || got[1].Ref != passing.Ref || got[1].Both {
		t.Fatalf("differences are %+v", got)
	}
	x.Upsert(x.Begin(), []Seen{off}, nil)
	x.Confirm(x.Begin(), passing.Ref, Gone)
	if got := x.Differences(s); len(got) != 0 {
		t.Errorf("after they were looked up there are differences: %v", got)
	}
	x.ConfirmElsewhere(x.Begin(), Outside{Seen: off})
	if got := x.Differences(s); len(got) != 1 || got[0].Both {
		t.Errorf("a VM that the stream shows, and a verdict does not: %v", got)
	}
}

// TestTheAlarmEndsWhenAVMThatVanishedIsBackOnAHostThatIsAway: vCenter does not show its owner then.
func TestTheAlarmEndsWhenAVMThatVanishedIsBackOnAHostThatIsAway(t *testing.T) {
	x, _ := newIndex(0)
	a, b := vm(1, groupID), vm(2, groupID)
	x.list(a, b)
	x.list()
	x.Confirm(x.Begin(), a.Ref, Gone)
	dark := Seen{VM: vsphere.VM{Ref: a.Ref, Name: a.Name, Folder: folder.Ref}, Unread: true}
	if x.list(dark); x.SuddenlyEmpty() {
		t.Error("the alarm is on, though a VM that had vanished is there")
	}
}

// TestAConversionToATemplateWhoseReadFailedIsReadAgainUntilItIsKnown: the index has the change version that the stream shows, but not the template flag or the UUID.
func TestAConversionToATemplateWhoseReadFailedIsReadAgainUntilItIsKnown(t *testing.T) {
	x, _ := newIndex(0)
	a := vm(1, groupID)
	for name, convert := range map[string]func(*vsphere.VM){
		"template": func(vm *vsphere.VM) { vm.IsTemplate = true },
		"UUID":     func(vm *vsphere.VM) { vm.InstanceUUID = "another" },
	} {
		x.list(a)
		converted := with(a, convert)
		s := NewShown()
		s.PutVM(converted.VM)
		s.PutFolder(folder)
		s.Completed()
		x.Upsert(x.Begin(), []Seen{with(converted, func(vm *vsphere.VM) { vm.Stamp, vm.ChangeVersion = nil, "" }).unreadable()}, nil)
		if got := x.Differences(s); len(got) != 1 || !got[0].Both || !got[0].Unread {
			t.Errorf("%s: differences are %+v, want the VM, to be read until it can be", name, got)
		}
		if x.Upsert(x.Begin(), []Seen{converted}, nil); len(x.Differences(s)) != 0 {
			t.Errorf("%s: after it was read, differences are %+v", name, x.Differences(s))
		}
	}
}

func (s Seen) unreadable() Seen {
	s.Unread = true
	return s
}
