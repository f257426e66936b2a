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

// collectInterval is how often the leader searches for entries of deleted groups. A group counts as deleted if it was missing for absentFor.
const collectInterval, absentFor = 30 * time.Second, time.Minute

// askFor is the time limit for one series of questions to a member about its groups. No work waits for the answers, so a slow API server delays only
// the give-backs of its own groups. The remaining groups are asked about at the next collectInterval.
const askFor = 20 * time.Second

// unseenFor is how long a vCenter cannot be searched for VMs of deleted groups before the log names it: a new VCenter needs a moment, and clones need minutes. unseenEvery
// is the interval of the message.
const unseenFor, unseenEvery = 5 * time.Minute, 10 * time.Minute

// UnseenError means that the remaining VMs of a group in a vCenter are unknown.
type UnseenError struct {
	VCenter string
	// Clones in flight can be making VMs of the group. If Clones is empty, the vCenter cannot be read.
	Clones []string
}

// Error implements error.
func (e *UnseenError) Error() string {
	if len(e.Clones) == 0 {
		return fmt.Sprintf("VCenter %q cannot be checked", e.VCenter)
	}
	return fmt.Sprintf("clones that run in VCenter %q may be of the group: %s", e.VCenter, strings.Join(e.Clones[:min(len(e.Clones), mostClones)], ", "))
}

// mostClones is the maximum number of clones in a message.
const mostClones = 3

// unseen are the groups that stay charged because a vCenter does not show their remaining VMs, with the reasons.
type unseen struct {
	groups, why map[string][]string
	// since has the time at which each vCenter began to block, and named the last time at which the log named it.
	since, named map[string]time.Time
	// counted has the number of groups by VCenter after the last complete series of answers. The mutex of the ledger guards it.
	counted map[string]int
}

func (u *unseen) add(e *UnseenError, group string) {
	u.groups[e.VCenter] = append(u.groups[e.VCenter], group)
	if !slices.Contains(u.why[e.VCenter], e.Error()) && len(u.why[e.VCenter]) < mostClones {
		u.why[e.VCenter] = append(u.why[e.VCenter], e.Error())
	}
}

// Collect sets, on the leader, the entries of deleted groups to the usage of their remaining VMs. A group counts as deleted only if a served member
// has not had it for absentFor and confirms this when asked. A member without a MemberCluster has no groups. Collect also removes unused ledgers.
//
// On every replica, it schedules a fresh read of ledgers whose watch stays behind the known version.
//
// It returns once the members have answered or their time has ended. [Ledger.Start] does not wait for that.
func (l *Ledger) Collect(ctx context.Context) { l.askMembers(ctx, l.collect(ctx)) }

// missingOf has the missing groups of each member, with their largest entries.
type missingOf map[string]map[Key]Entry

// collect does the work of [Ledger.Collect] except for the questions to members, and returns the groups to ask about.
func (l *Ledger) collect(ctx context.Context) missingOf {
	l.mu.Lock()
	l.collected = true
	for _, b := range append(slices.Collect(maps.Values(l.books)), l.head) {
		if !b.behind.IsZero() && l.opts.Now().Sub(b.behind) >= catchesUp {
			b.known, b.behind = false, time.Time{}
			b.want()
		}
	}
	l.dropBooks(l.opts.Now())
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

// findMissing returns the groups with entries that have been missing in members for absentFor. It removes the entries of groups whose member has no
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

// askMembers asks all members at once about their missing groups, and reports the vCenters that block give-backs. Calls must not overlap.
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

// askMember corrects the entries of one member whose groups are confirmed as deleted. It stops at the first question without an answer. The order is
// random, so that over time every group is asked about.
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

// gone sets the entry of a deleted group to the usage of its remaining VMs.
func (l *Ledger) gone(id Key, left policy.Usage) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lower(id, giveBack{to: left, gone: true, settles: true})
	l.signal()
}

// entered returns all groups with entries, each with the largest of them.
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

// report names the vCenters that block give-backs of quota.
func (l *Ledger) report(ctx context.Context, now time.Time) {
	counted := map[string]int{}
	for vcenter, groups := range l.unseen.groups {
		counted[vcenter] = len(groups)
	}
	l.mu.Lock()
	l.unseen.counted = counted
	l.mu.Unlock()
	since, named := map[string]time.Time{}, map[string]time.Time{}
	for _, vcenter := range slices.Sorted(maps.Keys(l.unseen.groups)) {
		if since[vcenter] = l.unseen.since[vcenter]; since[vcenter].IsZero() {
			since[vcenter] = now
		}
		named[vcenter] = l.unseen.named[vcenter]
		if now.Sub(since[vcenter]) < unseenFor || now.Sub(named[vcenter]) < unseenEvery {
			continue
		}
		named[vcenter] = now
		groups := l.unseen.groups[vcenter]
		slices.Sort(groups)
		log.FromContext(ctx).Error(errors.New(strings.Join(l.unseen.why[vcenter], "; ")), "Deleted groups still count in quotas, since it is not known what is left of them in their VCenter. "+
			"If clones run there, wait for them, or cancel in vCenter those that hang. Otherwise see why the VCenter is not Ready (kubectl describe vcenter), or delete it if it is not used any more",
			"vcenter", vcenter, "groups", len(groups), "amongThem", strings.Join(groups[:min(len(groups), 3)], ", "))
	}
	l.unseen.since, l.unseen.named = since, named
}

// dropAfter is how long a replica remembers that a ledger does not exist. It is longer than [catchesUp].
const dropAfter = time.Minute

// abandonedFor is how long a ledger stays whose policy does not exist, or has no such quota. A paused group keeps its entry there, and a policy that
// soon exists again counts with it.
const abandonedFor = 10 * time.Minute

// unused is a ledger that counts for no policy: the version that was seen without entries, or "", and since when it has been unused.
type unused struct {
	empty string
	since time.Time
}

// dropBooks forgets totals without a ledger: otherwise each namespace that ever had a group under a quota would stay in memory. Until then, a watch
// that is behind can still report the deleted ledger.
func (l *Ledger) dropBooks(now time.Time) {
	for key, b := range l.books {
		switch {
		case !b.spare():
			b.unneeded = time.Time{}
		case b.unneeded.IsZero():
			b.unneeded = now
		case now.Sub(b.unneeded) >= dropAfter:
			delete(l.books, key)
		}
	}
}

// tidy removes the ledgers of totals without an entry for a whole interval, those of another set, and those of totals that have not existed for
// abandonedFor. Of the latter, a total that exists again has lost its ledger, which then is filled as a new one.
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
	now, before, idle, due := l.opts.Now(), l.idle, map[string]unused{}, map[string]string{}
	for key, b := range l.books {
		counts := slices.ContainsFunc(slices.Collect(maps.Keys(b.stored.State.Counted)), func(mark string) bool { return marks[mark] })
		if l.set == "" || !b.known || b.due || b.raw.Version == "" || counts || has(policies, key, &b.stored.State) {
			continue
		}
		is, was := unused{since: now}, before[key]
		if !was.since.IsZero() {
			is.since = was.since
		}
		if b.stored.State.empty() {
			is.empty = b.raw.Version
		}
		if idle[key] = is; is.empty != "" && is.empty == was.empty || now.Sub(is.since) >= abandonedFor {
			due[key] = b.raw.Version
		}
	}
	set := l.set
	l.idle = idle
	l.mu.Unlock()
	for _, key := range slices.Sorted(maps.Keys(due)) {
		if err := l.confirm(ctx, set); err != nil {
			return
		}
		requestCtx, cancel := context.WithTimeout(ctx, requestTimeout)
		err := l.opts.Store.Delete(requestCtx, key, due[key])
		cancel()
		if err != nil && !errors.Is(err, ErrConflict) {
			log.FromContext(ctx).Error(err, "Failed to remove the ledger of an unneeded total; the operator retries", "ledger", nameOf(key))
		}
	}
}

// has reports whether a policy has the total of a ledger with entries. All of them have the same requesters or the same policy.
func has(policies *policy.Set, key string, s *State) bool {
	for id, e := range s.all() {
		return slices.ContainsFunc(policies.Policies(), func(p *policy.Policy) bool {
			return p.HasQuota() && keyOf(p, policy.Requester{Member: id.Member, Namespace: e.Namespace}) == key
		})
	}
	return false
}
