package budget

import "testing"

func TestAGroupAloneHasTheWholeWidth(t *testing.T) {
	r := newRig(t, Limits{Tasks: 16, TasksPerHost: 16})
	r.asks("giant", "h", 48, 16)
}

func TestANewcomerNeedNotWaitForTheClonesOfAGiant(t *testing.T) {
	r := newRig(t, Limits{Tasks: 16, TasksPerHost: 16})
	r.asks("another", "", 0, 0) // has all that it wants
	r.start("giant", "h", 14)
	r.asks("giant", "h", 34, 0)
	one := r.start("one", "h", 1)
	r.start("two", "h", 1)
	r.asks("three", "h", 1, 0)
	if r.Running() != 16 {
		t.Errorf("%d run, want the limit of 16", r.Running())
	}
	r.told()
	one[0](true)
	r.told("three")
}

func TestANewcomerNeedNotWaitForTheHostOfItsTemplate(t *testing.T) {
	r := newRig(t, Limits{Tasks: 16, TasksPerHost: 4})
	r.asks("another", "", 0, 0)
	r.start("giant", "h", 3)
	r.asks("giant", "h", 45, 0)
	r.asks("giant", "i", 45, 3)
	r.start("one", "h", 1)
}

func TestHeadroomIsTakenFromWhoHasTooMuchBeforeTheOthersCame(t *testing.T) {
	r := newRig(t, Limits{Tasks: 8})
	ends := r.start("giant", "h", 8) // was alone
	r.asks("giant", "h", 40, 0)
	r.asks("one", "h", 1, 0)
	ends[0](true)
	r.told("one")
	r.start("one", "h", 1)[0](true)
	r.asks("giant", "h", 40, 0)
	r.start("two", "h", 1)
}

func TestHeadroomIsKeptOnlyWhileThereAreOthers(t *testing.T) {
	r := newRig(t, Limits{Tasks: 8})
	r.asks("other", "", 0, 0)
	r.start("giant", "h", 7)
	r.asks("giant", "h", 41, 0)
	r.told()
	r.Forget("other")
	r.told("giant") // for the slot that no other group can want any more
	r.asks("other", "", 0, 0)
	r.asks("giant", "h", 41, 0)
	r.Forget("other")
	r.start("giant", "h", 1)
}

func TestHeadroomIsOneOfEight(t *testing.T) {
	for slots, want := range map[int]int{-1: 0, 0: 0, 3: 0, 4: 1, 8: 1, 15: 1, 16: 2, 64: 8} {
		if got := headroom(slots); got != want {
			t.Errorf("of %d slots %d are kept, want %d", slots, got, want)
		}
	}
}
