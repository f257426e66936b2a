package member

import (
	"context"
	"time"

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

// patienceWithAdmission is how many passes in a row must go unanswered before the condition says so.
const patienceWithAdmission = 2

// admissionKeeper keeps the admission objects of an engaged member as they should be: it applies them when they change,
// every Timings.Reapply, and when one of them is found changed or deleted, which it looks at every Timings.Inspect.
// It does nothing on a replica that does not lead. It has a goroutine of its own, so that neither the engagement nor
// the health checks wait for it.
type admissionKeeper struct {
	c    *connection
	apis remote.APIs
	uid  string

	// serves says that the member serves MutatingAdmissionPolicies.
	serves bool
	// schemaLag is how long the schema of the VmGroup CRD may still be unknown to MutatingAdmissionPolicies.
	schemaLag time.Duration
	// usernames of the operator in the member, asked for once in an incarnation.
	usernames []string
	// versions of the objects as they were applied last in this term; nil has them applied anew.
	versions map[install.Object]string
	term     int
	// due is when they are applied anew at the latest.
	due        time.Time
	retry      wait.Backoff
	unanswered int
}

// keepAdmission starts the keeper; the caller must call end, which waits for its end.
func (c *connection) keepAdmission(ctx context.Context, apis remote.APIs, uid string) (end func()) {
	opts := &c.provider.opts
	if c.provider.admission == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	k := &admissionKeeper{c: c, apis: apis, uid: uid, retry: opts.Timings.Retry()}
	go func() {
		defer close(done)
		k.run(ctx)
	}()
	return func() {
		cancel()
		<-done
	}
}

func (k *admissionKeeper) run(ctx context.Context) {
	changed := true
	for ctx.Err() == nil {
		timer := time.NewTimer(k.round(ctx, changed))
		select {
		case <-ctx.Done():
		case <-timer.C:
			changed = false
		case <-k.c.admissionPoke:
			changed = true
			k.retry = k.c.provider.opts.Timings.Retry()
		}
		timer.Stop()
	}
}

// round does what is due and returns the pause before the next one.
func (k *admissionKeeper) round(ctx context.Context, changed bool) time.Duration {
	opts := &k.c.provider.opts
	term, mayWrite := k.c.commission()
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
	if k.c.target.Manage == v1alpha1.ManageNone {
		reapply = opts.Timings.Recheck // for somebody else's change
	}
	reapply = settings.Spread(reapply) // members are not all written to at once
	if k.schemaLag > 0 {
		reapply = min(reapply, k.schemaLag)
	}
	k.due = opts.Now().Add(reapply)
	return min(opts.Timings.Inspect, reapply)
}

// intact reports whether the objects are as they were applied. What cannot be looked at counts as intact: the health
// check says that the member does not answer, and a pass would get no further.
func (k *admissionKeeper) intact(ctx context.Context) bool {
	for object, version := range k.versions {
		current, err := install.VersionIn(ctx, k.apis.Bootstrap, object)
		if err != nil {
			k.c.log.V(1).Info("An admission object cannot be looked at", "object", object.String(), "error", err.Error())
			return true
		}
		if current != version {
			k.c.log.Info("Somebody changed or deleted an admission object in the member; it is put back", "object", object.String())
			return false
		}
	}
	return true
}

// outcome of a pass.
type outcome struct {
	finding admissionFinding
	// acknowledged is set when the member's webhook configurations are known to carry that bundle.
	acknowledged *string
	// segment is the period of the path segment in them, if acknowledged is set.
	segment int64
	// versions of the objects if all is in place, nil if another pass is needed soon.
	versions map[install.Object]string
	// silent: the member did not answer.
	silent bool
	// void: there is nothing to say.
	void bool
}

// pass brings the member's admission objects up to date, or only looks at them where somebody else keeps them.
func (k *admissionKeeper) pass(ctx context.Context) outcome {
	if err := k.mine(ctx); err != nil {
		return k.failed(err)
	}
	target, err := k.target(ctx)
	if err != nil {
		return k.failed(err)
	}
	bundle, err := k.c.provider.admission.Objects(target)
	if err != nil {
		return outcome{finding: admissionFinding{metav1.ConditionFalse, v1alpha1.ReasonAdmissionFailed,
			"The admission objects cannot be made; the member keeps those that it has: " + untrusted.Text(err.Error(), 500)}}
	}
	if k.c.target.Manage == v1alpha1.ManageNone {
		return k.compare(ctx, bundle)
	}
	return k.apply(ctx, bundle)
}

// mine checks that this still is our member, as the health check does: it may have been away in between.
func (k *admissionKeeper) mine(ctx context.Context) error {
	api := k.apis.Bootstrap
	if err := k.apis.SameCluster(ctx, k.uid); err != nil {
		return err
	}
	if !k.apis.Separate() {
		if found, err := api.ClusterUID(ctx, k.c.provider.opts.Timings.Request); err != nil {
			return err
		} else if found != k.uid {
			return errAnotherCluster
		}
	}
	ctx, cancel := api.Bounded(ctx)
	defer cancel()
	return install.CheckClaim(ctx, api.Client, k.c.provider.opts.InstallationUID)
}

func (k *admissionKeeper) target(ctx context.Context) (install.Target, error) {
	c := k.c
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
	c.provider.mu.RLock()
	is := c.admission
	c.provider.mu.RUnlock()
	return install.Target{
		Name: c.target.Name, UID: c.target.UID, URL: is.URL, FailurePolicy: is.FailurePolicy,
		Exempt: k.usernames, ServesMutatingPolicies: k.serves && k.schemaLag == 0,
		NotOurs: c.target.Manage == v1alpha1.ManageNone,
	}, nil
}

// lag returns how long MutatingAdmissionPolicies may not know the VmGroup CRD yet. By the clocks of two machines: one that is
// wrong has new groups refused for a moment, or a member without defaults while the hub is away.
func (k *admissionKeeper) lag(ctx context.Context) (time.Duration, error) {
	opts := &k.c.provider.opts
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

// apply has the objects of the bundle installed, and first the CRD of one of them.
func (k *admissionKeeper) apply(ctx context.Context, bundle install.Bundle) outcome {
	crd, err := k.limitsCRD(ctx)
	if err != nil {
		return k.failed(err)
	}
	result, err := install.Apply(ctx, k.apis.Bootstrap, bundle)
	if err != nil {
		return k.failed(err)
	}
	out := outcome{}
	if result.Webhooks {
		out.acknowledged, out.segment = &bundle.CABundleHash, bundle.SegmentPeriod
	}
	switch {
	case !crd.OK:
		out.finding = admissionFinding{metav1.ConditionFalse, v1alpha1.ReasonAdmissionFailed, crd.Message}
	case len(result.Refused) > 0:
		out.finding = k.refusedFinding(result.Refused)
	default:
		out.finding, out.versions = installedFinding(bundle, k.serves, k.schemaLag), result.Versions
	}
	return out
}

func (k *admissionKeeper) limitsCRD(ctx context.Context) (install.Finding, error) {
	opts := &k.c.provider.opts
	ctx, cancel := context.WithTimeout(ctx, 3*opts.Timings.Request+opts.Timings.Establish)
	defer cancel()
	result, err := install.EnsureCRD(ctx, k.apis.Bootstrap.Client, crd.VmGroupLimitsCRD(), k.c.target.Manage, opts.Timings.Establish)
	return result.Finding, err
}

// publish has status written. What was found in an earlier term counts no more: the next leader may have written since.
func (k *admissionKeeper) publish(result outcome) {
	if result.void {
		return
	}
	if !result.silent {
		k.unanswered = 0
	} else if k.unanswered++; k.unanswered < patienceWithAdmission {
		return
	}
	p := k.c.provider
	p.mu.Lock()
	current := k.c.term == k.term && !k.c.ending
	if current {
		k.c.seen.admission = &result.finding
		if result.acknowledged != nil {
			k.c.seen.acknowledged, k.c.seen.segment = result.acknowledged, result.segment
		}
	}
	p.mu.Unlock()
	if current {
		p.notify(k.c.target.Name)
	}
}
