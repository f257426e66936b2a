// Package admission keeps the objects that enforce policy at admission in an engaged member: it applies the hub's version and reverts changes
// by others.
package admission

import (
	"context"
	"slices"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/config/crd"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/install"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/remote"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/settings"
	"github.com/codeconnect/vmgroup-operator/internal/crds"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

// patience is the number of unanswered passes in a row after which the condition reports it.
const patience = 2

// Member is a connection whose admission objects are kept.
type Member interface {
	// Commission returns whether the operator can write to the member now, and the term in which it can. In an earlier term,
	// another replica can have written.
	Commission() (term int, mayWrite bool)
	// AdmissionSettings returns the newest settings.
	AdmissionSettings() settings.Admission
	// PublishAdmission has status written, unless the term has ended: the next leader can have written since.
	PublishAdmission(term int, result Outcome)
}

// Keeper keeps the admission objects of one incarnation of a member up to date while it is engaged. It applies them when they
// change, every Timings.Reapply, and when it finds one changed or deleted. It checks for that every Timings.Inspect. It does
// nothing on a replica that does not lead. It has its own goroutine, so that neither the engagement nor the health checks wait
// for it.
type Keeper struct {
	options *settings.Options
	of      *settings.Target
	member  Member
	log     logr.Logger
	poke    chan struct{}
}

// NewKeeper returns a Keeper, which keeps no objects if Options.Renderer is nil.
func NewKeeper(o *settings.Options, of *settings.Target, member Member, log logr.Logger) *Keeper {
	return &Keeper{options: o, of: of, member: member, log: log, poke: make(chan struct{}, 1)}
}

// Wake has the objects applied soon; it never blocks.
func (k *Keeper) Wake() {
	select {
	case k.poke <- struct{}{}:
	default:
	}
}

// Keep starts a goroutine for one engagement. The caller must call end, which waits for the goroutine.
func (k *Keeper) Keep(ctx context.Context, apis remote.APIs, uid string) (end func()) {
	if k.options.Renderer == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	of := &keeping{Keeper: k, apis: apis, uid: uid, retry: k.options.Timings.Retry()}
	go func() {
		defer close(done)
		of.run(ctx)
	}()
	return func() {
		cancel()
		<-done
	}
}

// keeping is the state of one engagement.
type keeping struct {
	*Keeper
	apis remote.APIs
	uid  string

	// serves is true if the member serves MutatingAdmissionPolicies.
	serves bool
	// schemaLag is how long the schema of the VmGroup CRD can still be unknown to MutatingAdmissionPolicies.
	schemaLag time.Duration
	// usernames of the operator in the member, requested once per incarnation.
	usernames []string
	// versions of the objects as last applied in this term; nil causes another apply.
	versions map[install.Object]string
	term     int
	// due is the latest time of the next apply.
	due        time.Time
	retry      wait.Backoff
	unanswered int
}

func (k *keeping) run(ctx context.Context) {
	changed := true
	for ctx.Err() == nil {
		timer := time.NewTimer(k.round(ctx, changed))
		select {
		case <-ctx.Done():
		case <-timer.C:
			changed = false
		case <-k.poke:
			changed = true
			k.retry = k.options.Timings.Retry()
		}
		timer.Stop()
	}
}

// round does the work that is due and returns the pause before the next round.
func (k *keeping) round(ctx context.Context, changed bool) time.Duration {
	opts := k.options
	term, mayWrite := k.member.Commission()
	if !mayWrite || term != k.term {
		k.term, k.versions = term, nil
	}
	if !mayWrite {
		return opts.Timings.Inspect
	}
	if !changed && k.versions != nil {
		left := k.due.Sub(opts.Now())
		if left > 0 && k.intact(ctx) {
			return min(opts.Timings.Inspect, left)
		}
	}
	result := k.pass(ctx)
	if ctx.Err() != nil {
		return 0
	}
	k.versions = result.versions
	k.publish(result)
	if result.versions == nil {
		return k.retry.Step()
	}
	k.retry = opts.Timings.Retry()
	reapply := opts.Timings.Reapply
	if k.of.Manage == v1alpha1.ManageNone {
		reapply = opts.Timings.Recheck // for changes by others
	}
	reapply = settings.Spread(reapply) // spreads the writes to members
	if k.schemaLag > 0 {
		reapply = min(reapply, k.schemaLag)
	}
	k.due = opts.Now().Add(reapply)
	return min(opts.Timings.Inspect, reapply)
}

// intact reports whether the objects are as last applied. An object that cannot be read counts as intact: the health check
// reports that the member does not answer, and a pass would fail as well.
func (k *keeping) intact(ctx context.Context) bool {
	for object, version := range k.versions {
		current, err := install.VersionIn(ctx, k.apis.Bootstrap, object)
		if err != nil {
			k.log.V(1).Info("An admission object cannot be checked", "object", object.String(), "error", err.Error())
			return true
		}
		if current != version {
			k.log.Info("An admission object in the member was changed or deleted; the operator restores it", "object", object.String())
			return false
		}
	}
	return true
}

// Outcome of a pass.
type Outcome struct {
	Finding Finding
	// Acknowledged is set if the member's webhook configurations are known to contain that bundle.
	Acknowledged *string
	// Segment is the period of the path segment in them, if Acknowledged is set.
	Segment int64
	// versions of the objects if all are in place, nil if another pass is needed soon.
	versions map[install.Object]string
	// silent: the member did not answer.
	silent bool
	// void: there is nothing to publish.
	void bool
}

// pass updates the member's admission objects, or only checks them if the operator does not manage them.
func (k *keeping) pass(ctx context.Context) Outcome {
	if err := k.mine(ctx); err != nil {
		return k.failed(err)
	}
	target, err := k.target(ctx)
	if err != nil {
		return k.failed(err)
	}
	bundle, err := k.options.Renderer.Objects(target)
	if err != nil {
		return Outcome{Finding: Finding{metav1.ConditionFalse, v1alpha1.ReasonAdmissionFailed,
			"The admission objects cannot be made; the member keeps those that it has: " + untrusted.Text(err.Error(), 500)}}
	}
	if k.of.Manage == v1alpha1.ManageNone {
		return k.compare(ctx, bundle)
	}
	return k.apply(ctx, bundle)
}

// mine checks that this is still the operator's member, as the health check does: the member can have been unreachable since.
func (k *keeping) mine(ctx context.Context) error {
	api := k.apis.Bootstrap
	if err := k.apis.SameCluster(ctx, k.uid); err != nil {
		return err
	}
	if !k.apis.Separate() {
		if found, err := api.ClusterUID(ctx, k.options.Timings.Request); err != nil {
			return err
		} else if found != k.uid {
			return errAnotherCluster
		}
	}
	ctx, cancel := api.Bounded(ctx)
	defer cancel()
	return install.CheckClaim(ctx, api.Client, k.options.InstallationUID)
}

func (k *keeping) target(ctx context.Context) (install.Target, error) {
	if k.usernames == nil {
		var names []string
		for _, api := range []*remote.API{k.apis.Runtime, k.apis.Bootstrap} {
			name, err := api.Username(ctx)
			if err != nil {
				return install.Target{}, err
			}
			names = append(names, name)
		}
		k.usernames = exempt(names...)
	}
	var err error
	if k.serves, err = k.apis.Bootstrap.ServesMutatingPolicies(ctx); err != nil {
		return install.Target{}, err
	}
	if k.schemaLag, err = k.lag(ctx); err != nil {
		return install.Target{}, err
	}
	is := k.member.AdmissionSettings()
	return install.Target{
		Name: k.of.Name, UID: k.of.UID, URL: is.URL, FailurePolicy: is.FailurePolicy,
		Exempt: k.usernames, ServesMutatingPolicies: k.serves && k.schemaLag == 0,
		NotOurs: k.of.Manage == v1alpha1.ManageNone,
	}, nil
}

// lag returns how long MutatingAdmissionPolicies can still miss the schema of the VmGroup CRD. It compares the clocks of two
// machines. If one is wrong, new groups are refused for a moment, or a member has no defaults while the hub is unreachable.
func (k *keeping) lag(ctx context.Context) (time.Duration, error) {
	opts := k.options
	ctx, cancel := context.WithTimeout(ctx, opts.Timings.Request)
	defer cancel()
	definition, err := crds.Get(ctx, k.apis.Bootstrap.Client, crd.VmGroupName)
	if err != nil || definition == nil {
		return 0, err
	}
	age := opts.Now().Sub(definition.CreationTimestamp.Time)
	if age < 0 {
		return 0, nil
	}
	return max(opts.Timings.SchemaLag-age, 0), nil
}

// apply installs the objects of the bundle, and before them the CRD of one of them.
func (k *keeping) apply(ctx context.Context, bundle install.Bundle) Outcome {
	crd, err := k.limitsCRD(ctx)
	if err != nil {
		return k.failed(err)
	}
	result, err := install.Apply(ctx, k.apis.Bootstrap, bundle)
	if err != nil {
		return k.failed(err)
	}
	out := Outcome{}
	if result.Webhooks {
		out.Acknowledged, out.Segment = &bundle.CABundleHash, bundle.SegmentPeriod
	}
	switch {
	case !crd.OK:
		out.Finding = Finding{metav1.ConditionFalse, v1alpha1.ReasonAdmissionFailed, crd.Message}
	case len(result.Refused) > 0:
		out.Finding = k.refusedFinding(result.Refused)
	default:
		out.Finding, out.versions = installedFinding(bundle, k.serves, k.schemaLag), result.Versions
	}
	return out
}

func (k *keeping) limitsCRD(ctx context.Context) (install.Finding, error) {
	opts := k.options
	ctx, cancel := context.WithTimeout(ctx, 3*opts.Timings.Request+opts.Timings.Establish)
	defer cancel()
	result, err := install.EnsureCRD(ctx, k.apis.Bootstrap.Client, crd.VmGroupLimitsCRD(), k.of.Manage, opts.Timings.Establish)
	return result.Finding, err
}

// publish publishes the outcome, unless it is void.
func (k *keeping) publish(result Outcome) {
	if result.void {
		return
	}
	if !result.silent {
		k.unanswered = 0
	} else if k.unanswered++; k.unanswered < patience {
		return
	}
	k.member.PublishAdmission(k.term, result)
}

// exempt sorts usernames and removes duplicates.
func exempt(usernames ...string) []string {
	slices.Sort(usernames)
	return slices.Compact(usernames)
}
