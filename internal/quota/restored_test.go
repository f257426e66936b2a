package quota_test

import (
	"math"
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
	"github.com/codeconnect/vmgroup-operator/internal/quota"
	"github.com/codeconnect/vmgroup-operator/internal/quota/quotatest"
)

// replace replaces the stored ledgers, as a user or a restored backup does.
func replace(t *testing.T, store *quotatest.Store, change func(map[quota.Key]quota.Entry)) {
	t.Helper()
	for key, stored := range store.Stored() {
		if key == "" || stored.Version == "" {
			continue
		}
		entries := stored.State.Entries()
		change(entries)
		state := quota.StateOf(entries)
		state.Set, state.Counted = stored.State.Set, stored.State.Counted
		if _, err := store.Write(t.Context(), key, state, stored.Version); err != nil {
			t.Fatal(err)
		}
	}
}

func TestALedgerThatWasLoweredByHandGrantsNoMoreThanThereIs(t *testing.T) {
	store := &quotatest.Store{}
	d := newDesk(t, store, vms(v1alpha1.QuotaNamespace, 5))
	d.grant(claim("one", "m", 0, 4, 1))
	d.groups = []quota.Group{group("one", "m", 4)}
	replace(t, store, func(entries map[quota.Key]quota.Entry) {
		e := entries[of("one")]
		e.Usage = policy.UsageOf(spec(1))
		entries[of("one")] = e
	})
	clear(d.notified)
	store.Tell(d.Observe)
	if d.notified[of("one")] == 0 {
		t.Error("the group whose entry was changed was not notified")
	}
	d.ask(claim("two", "m", 0, 3, 1), quota.Waiting)
	d.ask(claim("one", "m", 4, 4, 1), quota.Granted)
	d.flush()
	d.ask(claim("two", "m", 0, 3, 1), quota.Refused)
	if used := store.Entries()[of("one")].Usage.VMs; used != 4 {
		t.Errorf("the ledger says %d VMs of a group that has 4", used)
	}
}

func TestAnEntryThatIsTooHighIsGivenBackByItsHolder(t *testing.T) {
	store := &quotatest.Store{}
	a, b := newDesk(t, store, vms(v1alpha1.QuotaNamespace, 50)), newDesk(t, store, vms(v1alpha1.QuotaNamespace, 50))
	a.grant(claim("one", "m", 0, 4, 1))
	a.GiveBack(of("one"), policy.UsageOf(spec(2)), policy.UsageOf(spec(2)), v1alpha1.Epoch{Generation: 1, Number: 1})
	a.flush()
	b.flush()
	store.Tell(b.Observe)
	b.ask(claim("one", "m", 4, 4, 1), quota.Granted) // a former holder, whose cache is behind
	b.flush()
	if used := store.Entries()[of("one")].Usage.VMs; used != 4 {
		t.Fatalf("the ledger says %d VMs", used)
	}
	clear(a.notified)
	store.Tell(a.Observe)
	if a.notified[of("one")] == 0 {
		t.Error("the group was not notified of its excessive entry")
	}
}

// Unreachable members were counted for an earlier quota, and not for the current one.
func TestAQuotaThatComesBackCountsMembersAnew(t *testing.T) {
	for story, between := range map[string]v1alpha1.VmGroupPolicySpec{
		"each namespace meanwhile": vms(v1alpha1.QuotaNamespace, 50),
		"excluded meanwhile": {
			Match: v1alpha1.PolicyMatch{Exclude: []string{"a"}}, Quota: vms(v1alpha1.QuotaMatch, 50).Quota,
		},
	} {
		t.Run(story, func(t *testing.T) {
			store := &quotatest.Store{}
			d := newDesk(t, store, vms(v1alpha1.QuotaMatch, 5))
			far := claim("far", "other", 0, 4, 1)
			d.grant(far)
			d.groups = []quota.Group{group("far", "other", 4)}
			d.set = compile(between)
			far.Group = group("far", "other", 4)
			d.ask(far, quota.Granted)
			elsewhere := claim("elsewhere", "m", 0, 1, 1)
			elsewhere.Requester.Namespace = "b"
			d.grant(elsewhere)
			d.away["other"] = true
			d.set = compile(vms(v1alpha1.QuotaMatch, 5))
			c := claim("one", "m", 0, 4, 1)
			if answer := d.Ask(t.Context(), c); answer.Outcome == quota.Waiting {
				d.flush()
			}
			if answer := d.Ask(t.Context(), c); answer.Outcome == quota.Granted {
				t.Errorf("granted 4 of 5 VMs although an unreachable member has 4: %+v", store.Entries())
			}
		})
	}
}

// A policy that only warns holds no group back, also while the ledger cannot be written.
func TestAQuotaThatOnlyWarnsNeedsNoLedger(t *testing.T) {
	store := &quotatest.Store{OnWrite: func() quotatest.Fault { return quotatest.Refuse }}
	warning := vms(v1alpha1.QuotaNamespace, 2)
	warning.Mode = v1alpha1.PolicyWarn
	d := newDesk(t, store, warning)
	answer := d.ask(claim("one", "m", 0, 3, 1), quota.Granted)
	if err := d.Flush(t.Context()); len(answer.Violations) != 1 || answer.Violations[0].Enforced {
		t.Errorf("want one warning: %+v, %v", answer, err)
	}
	d.ask(claim("one", "m", 0, 3, 1), quota.Granted)
	store.OnWrite = nil
	d.ask(claim("one", "m", 3, 3, 1), quota.Granted)
	d.flush()
	d.ask(claim("one", "m", 3, 3, 1), quota.Granted)
	d.flush()
	if e := store.Entries()[of("one")]; e.Usage.VMs != 3 {
		t.Errorf("the ledger says %+v of a group with 3 VMs", e)
	}
}

// A user wrote a number into the ledger that no sum can hold. It is removed, and the entries of others stay known.
func TestAHugeEntryHidesNothingWhenItGoes(t *testing.T) {
	store := &quotatest.Store{}
	d := newDesk(t, store, vms(v1alpha1.QuotaNamespace, 5))
	d.leading = true
	d.grant(claim("one", "m", 0, 4, 1))
	d.groups = []quota.Group{group("one", "m", 4)}
	replace(t, store, func(entries map[quota.Key]quota.Entry) {
		e := entries[of("one")]
		e.Usage.VMs = math.MaxInt64
		entries[of("rubbish")] = e
	})
	store.Tell(d.Observe)
	for range 3 {
		d.now = d.now.Add(time.Minute)
		d.ask(claim("two", "m", 0, 3, 1), quota.Refused)
		d.Collect(t.Context())
	}
	// An event of another replica made the claim wait.
	b := newDesk(t, store, vms(v1alpha1.QuotaNamespace, 5))
	b.groups = d.groups
	b.ask(claim("two", "m", 0, 3, 1), quota.Waiting)
	store.Tell(b.Observe)
	b.GiveBack(of("rubbish"), policy.Usage{}, policy.Usage{}, v1alpha1.Epoch{Generation: 1, Number: 1})
	b.flush()
	b.ask(claim("two", "m", 0, 3, 1), quota.Refused)
	store.Tell(d.Observe)
	d.flush()
	if _, still := store.Entries()[of("rubbish")]; still {
		t.Error("the entry is not collected")
	}
}

// growAfterBackup makes a group grow to 4 of 5 VMs after a backup of the ledger, whose version it returns.
func growAfterBackup(t *testing.T, store *quotatest.Store, d *desk) (backup int) {
	t.Helper()
	d.grant(claim("one", "m", 0, 1, 1))
	backup = store.Version()
	d.grant(claim("one", "m", 1, 4, 1))
	d.groups = []quota.Group{group("one", "m", 4)}
	return backup
}

// A settled group never claims again. A claim of any other group counts it.
func TestARestoredLedgerGrantsNobodyWhatASettledGroupHas(t *testing.T) {
	for story, bump := range map[string]int{"to a lower version": 0, "with a revision bump": 1000} {
		t.Run(story, func(t *testing.T) {
			store := &quotatest.Store{}
			before := newDesk(t, store, vms(v1alpha1.QuotaNamespace, 5))
			store.GoBack(growAfterBackup(t, store, before), bump)
			fresh := newDesk(t, store, vms(v1alpha1.QuotaNamespace, 5))
			fresh.groups = before.groups
			for name, d := range map[string]*desk{"a new process": fresh, "one that ran": before} {
				if answer := d.Ask(t.Context(), claim("two", "m", 0, 4, 1)); answer.Outcome == quota.Waiting {
					d.flush()
				}
				if answer := d.Ask(t.Context(), claim("two", "m", 0, 4, 1)); answer.Outcome != quota.Refused {
					t.Errorf("%s answers %+v: 8 of 5 VMs\nledger %+v", name, answer, store.Entries())
				}
			}
			if used := store.Entries()[of("one")].Usage.VMs; used != 4 {
				t.Errorf("the ledger says %d VMs of a group that has 4", used)
			}
		})
	}
}

// In the backup, one group has the quota that another has now.
func TestARestoredEntryIsNoGrant(t *testing.T) {
	for story, bump := range map[string]int{"to a lower version": 0, "with a revision bump": 1000} {
		t.Run(story, func(t *testing.T) {
			store := &quotatest.Store{}
			before := newDesk(t, store, vms(v1alpha1.QuotaNamespace, 5))
			before.grant(claim("one", "m", 0, 4, 1))
			backup := store.Version()
			before.GiveBack(of("one"), policy.UsageOf(spec(1)), policy.UsageOf(spec(1)), v1alpha1.Epoch{Generation: 1, Number: 1})
			before.flush()
			before.grant(claim("two", "m", 0, 4, 1))
			before.groups = []quota.Group{group("one", "m", 1), group("two", "m", 4)}
			again := claim("one", "m", 1, 4, 1)
			before.ask(again, quota.Refused)
			store.GoBack(backup, bump)
			store.Tell(before.Observe)
			before.now = before.now.Add(time.Minute)
			before.Collect(t.Context())
			fresh := newDesk(t, store, vms(v1alpha1.QuotaNamespace, 5))
			fresh.groups = before.groups
			for name, d := range map[string]*desk{"a new process": fresh, "one that ran": before} {
				c := again
				if d == fresh {
					c.Epoch.Number++
				}
				if answer := d.Ask(t.Context(), c); answer.Outcome == quota.Waiting {
					d.flush()
				}
				if answer := d.Ask(t.Context(), c); answer.Outcome != quota.Refused {
					t.Errorf("%s answers %+v: 8 of 5 VMs\nledger %+v", name, answer, store.Entries())
				}
				needs, some := d.Surplus(of("one"), policy.UsageOf(spec(1)), policy.UsageOf(spec(4)))
				if some {
					d.GiveBack(of("one"), policy.UsageOf(spec(1)), needs, c.Epoch)
					d.flush()
				}
			}
			if used := store.Entries()[of("one")].Usage.VMs; used != 1 {
				t.Errorf("the ledger says %d VMs of a group that has 1", used)
			}
		})
	}
}

// The watch reports the restored ledger, whose version is lower than the known one. It is no late event: no newer version
// follows.
func TestALedgerThatStaysBehindIsReadAfresh(t *testing.T) {
	store := &quotatest.Store{}
	d := newDesk(t, store, vms(v1alpha1.QuotaNamespace, 5))
	d.grant(claim("one", "m", 0, 1, 1))
	backup := store.Version()
	d.grant(claim("gone", "m", 0, 3, 1))
	d.ask(claim("two", "m", 0, 3, 1), quota.Refused)
	store.GoBack(backup, 0)
	store.Tell(d.Observe)
	d.ask(claim("two", "m", 0, 3, 1), quota.Refused) // it can be a late event
	d.now = d.now.Add(time.Minute)
	d.Collect(t.Context())
	d.flush()
	d.grant(claim("two", "m", 0, 3, 1))
}

// The second backup is of a ledger that was just detected as restored from the first one: the entries of both groups exceed the
// quota, and one is doubted. Since then the groups have changed places.
func TestALedgerWhoseDoubtsWereNotSettledGrantsNoRoomTwice(t *testing.T) {
	store := &quotatest.Store{}
	d := newDesk(t, store, vms(v1alpha1.QuotaNamespace, 5))
	d.grant(claim("one", "m", 0, 4, 1))
	backup := store.Version()
	d.GiveBack(of("one"), policy.UsageOf(spec(1)), policy.UsageOf(spec(1)), v1alpha1.Epoch{Generation: 1, Number: 1})
	d.flush()
	d.grant(claim("two", "m", 0, 4, 1))
	d.groups = []quota.Group{group("one", "m", 1), group("two", "m", 4)}
	store.GoBack(backup, 1000)
	store.Tell(d.Observe)
	d.ask(claim("three", "m", 0, 1, 1), quota.Waiting)
	d.flush()
	if e := store.Entries()[of("one")]; !e.Doubted || e.Usage.VMs != 4 {
		t.Fatalf("the grant from the backup is not doubted: %+v", e)
	}
	backup = store.Version()
	d.GiveBack(of("two"), policy.UsageOf(spec(1)), policy.UsageOf(spec(1)), v1alpha1.Epoch{Generation: 1, Number: 1})
	d.groups[1] = group("two", "m", 1)
	d.flush()
	d.grant(claim("one", "m", 1, 4, 1))
	d.groups[0] = group("one", "m", 4)
	store.GoBack(backup, 2000)
	store.Tell(d.Observe)
	for range 3 {
		d.Ask(t.Context(), claim("two", "m", 1, 4, 1))
		d.flush()
	}
	d.ask(claim("two", "m", 1, 4, 1), quota.Refused)
}

// A backup from before all ledgers, restored without a revision bump, uses the numbers of versions again. The version that this
// replica knew differs from the one stored under the same number now. The event that other ledgers count does not show that.
func TestALedgerThatStaysBehindIsReadAfreshAlsoOnceOtherLedgersCount(t *testing.T) {
	store := &quotatest.Store{}
	d, other := newDesk(t, store, vms(v1alpha1.QuotaNamespace, 5)), newDesk(t, store, vms(v1alpha1.QuotaNamespace, 5))
	if err := store.MakeHead(t.Context()); err != nil {
		t.Fatal(err)
	}
	store.Lose("")
	backup := store.Version()
	d.grant(claim("gone", "m", 0, 1, 1))
	store.GoBack(backup, 0)
	store.Tell(d.Observe)
	other.grant(claim("two", "m", 0, 4, 1))
	d.Observe("", store.Stored()[""])
	d.now = d.now.Add(time.Minute)
	d.Collect(t.Context())
	c := claim("three", "m", 0, 3, 1) // a cache that does not show group two yet
	d.ask(c, quota.Waiting)
	d.flush()
	d.ask(c, quota.Refused)
	if used := store.Entries()[of("two")].Usage.VMs; used != 4 {
		t.Errorf("the ledger says %d VMs of a group that was granted 4", used)
	}
}

// During the correction of a restored ledger, a member was unreachable. The grant of its group can be from the time of the
// backup, when another group had less.
func TestAnOldGrantOfAMemberThatWasAwayIsNoGrant(t *testing.T) {
	store := &quotatest.Store{}
	d := newDesk(t, store, vms(v1alpha1.QuotaMatch, 5))
	d.grant(claim("far", "other", 0, 4, 1))
	backup := store.Version()
	d.groups = []quota.Group{group("far", "other", 1)}
	d.GiveBack(quota.Key{Member: "other", UID: "far"}, policy.UsageOf(spec(1)), policy.UsageOf(spec(1)), v1alpha1.Epoch{Generation: 1, Number: 1})
	d.flush()
	d.grant(claim("one", "m", 0, 4, 1))
	store.GoBack(backup, 1000)

	fresh := newDesk(t, store, vms(v1alpha1.QuotaMatch, 5))
	fresh.groups = []quota.Group{group("one", "m", 4)}
	fresh.away["other"] = true
	fresh.ask(claim("two", "m", 0, 1, 1), quota.Waiting)
	fresh.flush()
	delete(fresh.away, "other")
	fresh.groups = append(fresh.groups, group("far", "other", 1))
	for range 3 {
		fresh.Ask(t.Context(), claim("far", "other", 1, 4, 1))
		fresh.flush()
	}
	fresh.ask(claim("far", "other", 1, 4, 1), quota.Refused)
}

// changedPlaces returns a store whose ledger is from a backup: group one had 4 of 5 VMs then, and has 1 now, since group two
// has 4. Replica a has seen that ledger, and not its correction by another replica since.
func changedPlaces(t *testing.T) (store *quotatest.Store, a *desk) {
	t.Helper()
	store = &quotatest.Store{}
	a = newDesk(t, store, vms(v1alpha1.QuotaNamespace, 5))
	a.grant(claim("one", "m", 0, 4, 1))
	backup := store.Version()
	a.GiveBack(of("one"), policy.UsageOf(spec(1)), policy.UsageOf(spec(1)), v1alpha1.Epoch{Generation: 1, Number: 1})
	a.flush()
	a.grant(claim("two", "m", 0, 4, 1))
	a.groups = []quota.Group{group("one", "m", 1), group("two", "m", 4)}
	store.GoBack(backup, 1000)
	store.Tell(a.Observe)
	other := newDesk(t, store, vms(v1alpha1.QuotaNamespace, 5))
	other.groups = a.groups
	other.ask(claim("three", "m", 0, 1, 1), quota.Waiting)
	other.flush()
	if e := store.Entries()[of("one")]; !e.Doubted || e.Usage.VMs != 4 {
		t.Fatalf("the grant from the backup is not doubted: %+v", e)
	}
	return store, a
}

// The holder of a group shrinks a grant to the current wish of the group, and has not observed yet that the grant is doubted.
func TestAHolderThatHasNotHeardOfADoubtDoesNotSettleIt(t *testing.T) {
	store, a := changedPlaces(t)
	again := claim("one", "m", 1, 3, 1)
	needs, some := a.Surplus(of("one"), again.Holds, again.Wants)
	if !some || needs != again.Wants {
		t.Fatalf("the holder needs %+v, %v", needs, some)
	}
	a.GiveBack(of("one"), again.Holds, needs, again.Epoch)
	a.flush()
	for range 3 {
		a.Ask(t.Context(), again)
		a.flush()
	}
	if a.ask(again, quota.Refused); store.Entries()[of("two")].Usage.VMs != 4 {
		t.Errorf("the ledger has %+v", store.Entries())
	}
}

func TestAHolderThatGivesBackAllThatItsGroupDoesNotHaveSettlesTheDoubt(t *testing.T) {
	store, a := changedPlaces(t)
	one := claim("one", "m", 1, 1, 1)
	a.GiveBack(of("one"), one.Holds, one.Holds, one.Epoch)
	a.flush()
	if e := store.Entries()[of("one")]; e.Doubted || e.Usage != one.Holds {
		t.Errorf("the entry is %+v", e)
	}
}

// A new holder's cache shows 1 VM of a group that has 4. The entry is doubted, and correct.
func TestAClaimFromAnOldCacheLowersNoDoubtedEntry(t *testing.T) {
	for story, wants := range map[string]int32{"it wants what the cache shows": 1, "it wants more": 2} {
		t.Run(story, func(t *testing.T) {
			store := &quotatest.Store{}
			before := newDesk(t, store, vms(v1alpha1.QuotaNamespace, 5))
			before.grant(claim("one", "m", 0, 4, 1))
			replace(t, store, func(entries map[quota.Key]quota.Entry) {
				e := entries[of("one")]
				e.Doubted = true
				entries[of("one")] = e
			})
			d := newDesk(t, store, vms(v1alpha1.QuotaNamespace, 5))
			d.groups = []quota.Group{group("one", "m", 1)}
			one := claim("one", "m", 1, wants, 2)
			for range 3 {
				d.Ask(t.Context(), one)
				d.flush()
			}
			if d.ask(one, quota.Granted); d.notified[of("one")] == 0 {
				t.Error("the group was not notified")
			}
			two := claim("two", "m", 0, 2, 1)
			d.ask(two, quota.Refused)
			if e := store.Entries()[of("one")]; e.Usage.VMs != 4 || e.Doubted {
				t.Errorf("the entry is %+v", e)
			}
			// The API server confirms the cache.
			needs, some := d.Surplus(of("one"), one.Holds, one.Wants)
			if !some || needs != one.Wants {
				t.Fatalf("the group needs %+v, %v", needs, some)
			}
			d.GiveBack(of("one"), one.Holds, needs, one.Epoch)
			d.flush()
			d.grant(two)
		})
	}
}

// No give-back was written when the ledger is restored from a backup, in which the group has less.
func TestWhatIsGivenBackDoesNotHideTheGroup(t *testing.T) {
	for story, epoch := range map[string]int64{"by its holder": 1, "by a former holder": 2} {
		t.Run(story, func(t *testing.T) {
			store := &quotatest.Store{}
			d := newDesk(t, store, vms(v1alpha1.QuotaNamespace, 5))
			d.grant(claim("one", "m", 0, 4, 1))
			d.groups = []quota.Group{group("one", "m", 3)}
			d.GiveBack(of("one"), policy.UsageOf(spec(3)), policy.UsageOf(spec(3)), v1alpha1.Epoch{Generation: 1, Number: 1})
			replace(t, store, func(entries map[quota.Key]quota.Entry) {
				e := entries[of("one")]
				e.Usage, e.Epoch.Number = policy.UsageOf(spec(1)), epoch
				entries[of("one")] = e
			})
			store.Tell(d.Observe)
			two := claim("two", "m", 0, 3, 1)
			for range 3 {
				d.Ask(t.Context(), two)
				d.flush()
			}
			d.ask(two, quota.Refused)
			if used := store.Entries()[of("one")].Usage.VMs; used != 3 {
				t.Errorf("the ledger says %d VMs of a group that has 3", used)
			}
		})
	}
}
