package quota

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/codeconnect/vmgroup-operator/internal/policy"
)

// collectInterval is how often the leader looks for entries of groups that are gone; an entry is one when its group
// was missing for absentFor.
const collectInterval, absentFor = 30 * time.Second, time.Minute

// askFor is for how long a member is asked about its groups at a time. Nothing waits for the answers, so a slow API server delays only what is given back of its own
// groups. The groups that were not asked about are asked about at the next collectInterval.
const askFor = 20 * time.Second

// unseenEvery is how often it is said of a vCenter that it cannot be looked at for groups that are gone.
const unseenEvery = 10 * time.Minute

// UnseenError says that nobody knows what is left of a group in a vCenter.
type UnseenError struct {
	VCenter string
	// Clones that run there may be making VMs of the group. Without any, the vCenter cannot be looked at.
	Clones []string
}

// Error implements error.
func (e *UnseenError) Error() string {
	if len(e.Clones) == 0 {
		return fmt.Sprintf("VCenter %q cannot be looked at", e.VCenter)
	}
	return fmt.Sprintf("clones that run in VCenter %q may be of the group: %s", e.VCenter, strings.Join(e.Clones[:min(len(e.Clones), mostClones)], ", "))
}

// mostClones bounds how many clones are named.
const mostClones = 3

// unseen are the groups that are charged since a vCenter does not show what is left of them, and why it does not.
type unseen struct {
	groups, why map[string][]string
	said        time.Time
	// counted are the numbers of groups by VCenter when all members had answered last. The mutex of the ledger guards it.
	counted map[string]int
}

func (u *unseen) add(e *UnseenError, group string) {
	u.groups[e.VCenter] = append(u.groups[e.VCenter], group)
	if !slices.Contains(u.why[e.VCenter], e.Error()) && len(u.why[e.VCenter]) < mostClones {
		u.why[e.VCenter] = append(u.why[e.VCenter], e.Error())
	}
}

// Collect makes, on the leader, the entries of groups that do not exist any more what is left of them. A group is gone only if a member
// that is served has not had it for a while, and says so when it is asked. A member without a MemberCluster has none. It also
// removes ledgers that nobody needs.
//
// On every replica it has ledgers read afresh of which the watch stays behind what is known.
//
// It returns once the members have answered, or were asked for long enough. [Ledger.Start] does not wait for that.
func (l *Ledger) Collect(ctx context.Context) { l.askMembers(ctx, l.collect(ctx)) }

// missingOf are the groups of each member that are missing there, with their largest entries.
type missingOf map[string]map[Key]Entry

// collect does what [Ledger.Collect] does without asking members, and returns the groups to ask about.
func (l *Ledger) collect(ctx context.Context) missingOf {
	l.mu.Lock()
	l.collected = true
	for _, b := range append(slices.Collect(maps.Values(l.books)), l.head) {
		if !b.behind.IsZero() && l.opts.Now().Sub(b.behind) >= catchesUp {
			b.known, b.behind = false, time.Time{}
			b.want()
		}
	}
	l.signal()
	l.mu.Unlock()
	if l.opts.Leader == nil || !l.opts.Leader.Leading() {
		return nil
	}
	l.tidy(ctx)
	found, err := l.survey(ctx)
	if err != nil {
		return nil
	}
	return l.findMissing(found)
}

// findMissing returns the groups with entries that have been missing in members for long enough to ask about them. It removes the entries of those whose member has no
// MemberCluster.
func (l *Ledger) findMissing(found *survey) missingOf {
	exist := map[Key]bool{}
	for _, of := range found.groups {
		for _, g := range of {
			exist[g.Key()] = true
		}
	}
	members := map[string]bool{}
	for _, m := range found.members {
		members[m] = true
	}
	now, missing, due := l.opts.Now(), map[Key]time.Time{}, missingOf{}
	for id, e := range l.entered() {
		if exist[id] || members[id.Member] && !found.served(id.Member) {
			continue
		}
		since, ok := l.missing[id]
		if !ok {
			since = now
		}
		missing[id] = since
		if now.Sub(since) < absentFor {
			continue
		}
		if !members[id.Member] {
			l.gone(id, policy.Usage{})
			continue
		}
		if due[id.Member] == nil {
			due[id.Member] = map[Key]Entry{}
		}
		due[id.Member][id] = e
	}
	l.missing = missing
	return due
}

// askMembers asks all members at once about groups that are missing there, and reports what vCenters hold up. It is called once at a time.
func (l *Ledger) askMembers(ctx context.Context, due missingOf) {
	if due == nil {
		return
	}
	l.mu.Lock()
	l.unseen.groups, l.unseen.why = map[string][]string{}, map[string][]string{}
	l.mu.Unlock()
	var asking sync.WaitGroup
	for _, entries := range due {
		asking.Go(func() { l.askMember(ctx, entries) })
	}
	asking.Wait()
	l.report(ctx, l.opts.Now())
}

// askMember corrects those entries of one member whose groups are certainly gone. One question without an answer is enough. It asks in no order, so that all are
// asked about in time.
func (l *Ledger) askMember(ctx context.Context, entries map[Key]Entry) {
	ctx, cancel := context.WithTimeout(ctx, askFor)
	defer cancel()
	for id, e := range entries {
		left, gone, err := l.opts.Inspector.Left(ctx, id, e.Namespace, e.Name)
		var blind *UnseenError
		switch {
		case errors.As(err, &blind):
			l.mu.Lock()
			l.unseen.add(blind, fmt.Sprintf("%s/%s of member %s", e.Namespace, e.Name, id.Member))
			l.mu.Unlock()
		case err != nil:
			return
		case gone:
			l.gone(id, left)
		}
	}
}

// gone makes the entry of a group that does not exist any more what is left of it.
func (l *Ledger) gone(id Key, left policy.Usage) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lower(id, giveBack{to: left, gone: true, settles: true})
	l.signal()
}

// entered are all groups with entries, each with the largest of them.
func (l *Ledger) entered() map[Key]Entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := map[Key]Entry{}
	for id, books := range l.where {
		for _, b := range books {
			if e, ok := b.entry(id); ok {
				e.Usage = e.Usage.Max(all[id].Usage)
				all[id] = e
			}
		}
	}
	return all
}

// report names the vCenters because of which quota is not given back.
func (l *Ledger) report(ctx context.Context, now time.Time) {
	counted := map[string]int{}
	for vcenter, groups := range l.unseen.groups {
		counted[vcenter] = len(groups)
	}
	l.mu.Lock()
	l.unseen.counted = counted
	l.mu.Unlock()
	if len(l.unseen.groups) == 0 || !l.unseen.said.IsZero() && now.Sub(l.unseen.said) < unseenEvery {
		return
	}
	l.unseen.said = now
	for _, vcenter := range slices.Sorted(maps.Keys(l.unseen.groups)) {
		groups := l.unseen.groups[vcenter]
		slices.Sort(groups)
		log.FromContext(ctx).Error(errors.New(strings.Join(l.unseen.why[vcenter], "; ")), "Deleted groups still count in quotas, since it is not known what is left of them in their VCenter. "+
			"If clones run there, wait for them, or cancel in vCenter those that hang. Otherwise see why the VCenter is not Ready (kubectl describe vcenter), or delete it if it is not used any more",
			"vcenter", vcenter, "groups", len(groups), "amongThem", strings.Join(groups[:min(len(groups), 3)], ", "))
	}
}

// tidy removes the ledgers of totals that have had no entry for a whole interval, and those that are left over from another set.
func (l *Ledger) tidy(ctx context.Context) {
	policies, ok := l.opts.Lister.Policies(ctx)
	if !ok {
		return
	}
	marks := map[string]bool{}
	for _, p := range policies.Policies() {
		marks[markOf(p)] = p.HasQuota() && together(p)
	}
	l.mu.Lock()
	idle := map[string]string{}
	for key, b := range l.books {
		counts := slices.ContainsFunc(slices.Collect(maps.Keys(b.stored.State.Counted)), func(mark string) bool { return marks[mark] })
		if l.set != "" && b.known && !b.due && b.raw.Version != "" && b.stored.State.empty() && !counts {
			idle[key] = b.raw.Version
		}
	}
	before, set := l.idle, l.set
	l.idle = idle
	l.mu.Unlock()
	for _, key := range slices.Sorted(maps.Keys(idle)) {
		if before[key] != idle[key] {
			continue
		}
		if err := l.confirm(ctx, set); err != nil {
			return
		}
		requestCtx, cancel := context.WithTimeout(ctx, requestTimeout)
		err := l.opts.Store.Delete(requestCtx, key, idle[key])
		cancel()
		if err != nil && !errors.Is(err, ErrConflict) {
			log.FromContext(ctx).Error(err, "The ledger of a total that nobody needs cannot be removed; it is tried again", "ledger", nameOf(key))
		}
	}
}
