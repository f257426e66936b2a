package member

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/install"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/remote"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

// departure is how a member was left.
type departure struct {
	// cleaned: the member was the operator's, and was cleaned up.
	cleaned bool
	// letGo is the number of groups that lost our finalizer.
	letGo int
	// leftBehind says what could not be cleaned up and what to do about it, "" if nothing.
	leftBehind string
}

// leaving cleans up a member that is removed, so that it stays usable without the operator: first what calls or needs
// the operator at the member's door, then our finalizer on its groups, then the parameters, then the claim. CRDs, groups and
// VMs stay. Every step can be repeated, and the claim comes last: as long as it is held, no other hub begins.
type leaving struct {
	c     *connection
	letGo map[types.UID]struct{}
	// letGoBytes is about what letGo needs in memory.
	letGoBytes int64
	// kept are admission objects that are somebody else's to remove (spec.manage None).
	kept []string
	// pageSize is how many groups are listed at a time.
	pageSize int64
}

// leave is run of a leaving incarnation. The incarnation before it has ended, so this replica acts on the member no
// more. A member that cannot be reached does not hold up its removal for ever: after Timings.Leave it is let go, and
// leftBehind tells a person so. A replica that does not lead any more gives up; the next leader begins anew.
func (c *connection) leave() {
	if c.target.KnownUID == "" {
		c.setLeft(departure{}) // it never had a cluster, so nothing anywhere is its own
		return
	}
	if c.target.Config == nil {
		c.setLeft(departure{leftBehind: c.leftBehind("There is no usable kubeconfig.")})
		return
	}
	if sibling := c.provider.sibling(c.target.Name); sibling != "" {
		c.log.Info("The claim on the member stays: another MemberCluster is the same cluster", "other", sibling)
		c.setLeft(departure{})
		return
	}
	ctx, cancel := context.WithTimeout(c.ctx, c.provider.opts.Timings.Leave)
	defer cancel()
	pause := c.provider.opts.Timings.Retry()
	var last error
	l := &leaving{c: c, letGo: map[types.UID]struct{}{}, pageSize: remote.PageSize}
	for {
		err := l.attempt(ctx)
		var known *remote.Problem
		switch {
		case err == nil:
			c.log.Info("The member was left", "groups", len(l.letGo))
			c.setLeft(l.departure(""))
			return
		case errors.Is(err, remote.ErrNotLeading):
			return
		case errors.As(err, &known) && known.Reason == v1alpha1.ReasonClaimedByAnotherHub:
			c.setLeft(departure{}) // nothing there is ours
			return
		}
		c.log.Error(err, "The member could not be cleaned up")
		if ctx.Err() == nil || last == nil {
			last = err // and not that our own time was up
		}
		wait := pause.Step()
		deadline, _ := ctx.Deadline()
		tooLate := ctx.Err() != nil || c.provider.opts.Now().Add(wait).After(deadline) || !c.pause(wait)
		if c.ctx.Err() != nil {
			return // the operator stops: the next process goes on, the finalizer is still there
		}
		if tooLate {
			l.giveUp(last)
			return
		}
	}
}

// giveUp ends the leaving with what could not be done. A member that answers at least gets a new owner.
func (l *leaving) giveUp(err error) {
	c := l.c
	var known *remote.Problem
	why := ""
	switch {
	case errors.As(err, &known):
		why = known.Message
	case remote.Answered(err):
		why = fmt.Sprintf("%s answers: %s.", c.target.Config.Host, strings.TrimSuffix(remote.AnswerOf(err), "."))
		if err := l.withAPIs(func(apis remote.APIs) error { return l.release(c.ctx, apis) }); err != nil {
			c.log.Error(err, "The claim on the member could not be released")
		}
	default:
		why = remote.AsProblem(c.target.Config.Host, err).Message
	}
	c.setLeft(l.departure(why))
}

// attempt goes through all steps.
func (l *leaving) attempt(ctx context.Context) error {
	return l.withAPIs(func(apis remote.APIs) error {
		defer context.AfterFunc(ctx, apis.End)()
		if err := l.mine(ctx, apis); err != nil {
			return err
		}
		bundle, err := l.bundle()
		if err != nil {
			return err
		}
		l.kept = nil
		// An API server goes by a policy for a moment after its binding was deleted, and refuses every write of a group when
		// the parameter is gone by then. A refused object must not keep the groups from being let go.
		doors, parameters := splitParameters(bundle.Known)
		if err := errors.Join(l.removeObjects(ctx, apis, doors), l.letGroupsGo(ctx, apis)); err != nil {
			return err
		}
		if err := l.removeObjects(ctx, apis, parameters); err != nil {
			return err
		}
		return l.release(ctx, apis)
	})
}

func (l *leaving) withAPIs(do func(remote.APIs) error) error {
	apis, err := l.c.provider.opts.APIs(&l.c.target, l.c.pace, l.c)
	if err != nil {
		return err
	}
	defer apis.End()
	return do(apis)
}

// mine makes sure that the member is the one that was joined, and ours. A claim that is missing is taken: between two
// owners nobody may remove anything. That of a predecessor is not: who removes a MemberCluster takes nothing over.
func (l *leaving) mine(ctx context.Context, apis remote.APIs) error {
	c, opts := l.c, &l.c.provider.opts
	uid, err := apis.Runtime.ClusterUID(ctx, opts.Timings.Request)
	if err != nil {
		return err
	}
	if uid != c.target.KnownUID {
		return c.target.AnotherCluster(uid)
	}
	if err := apis.SameCluster(ctx, uid); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, opts.Timings.Request)
	defer cancel()
	by := opts.Claimant(&c.target)
	by.Predecessor = ""
	err = install.TakeClaim(ctx, apis.Bootstrap.Client, by)
	if err != nil && !errors.Is(err, install.ErrClaimMissing) {
		return apis.BootstrapProblem(err)
	}
	return err
}

// bundle has the admission objects in their order of removal.
func (l *leaving) bundle() (install.Bundle, error) {
	c := l.c
	if c.provider.admission == nil {
		return install.Bundle{}, nil
	}
	bundle, err := c.provider.admission.Objects(install.Target{Name: c.target.Name, UID: c.target.UID,
		FailurePolicy: c.target.Admission.FailurePolicy, Leaving: true})
	if err != nil {
		return install.Bundle{}, fmt.Errorf("list the admission objects: %w", err)
	}
	return bundle, nil
}

// splitParameters takes the parameters of policies out of what is to be removed. The order stays.
func splitParameters(known []install.Object) (doors, parameters []install.Object) {
	for _, object := range known {
		if object.IsParameter() {
			parameters = append(parameters, object)
		} else {
			doors = append(doors, object)
		}
	}
	return doors, parameters
}

// removeObjects removes admission objects in the order given. It goes on after a refusal.
func (l *leaving) removeObjects(ctx context.Context, apis remote.APIs, objects []install.Object) error {
	if l.c.target.Manage == v1alpha1.ManageNone {
		return l.keepObjects(ctx, apis, objects)
	}
	refused, err := install.Remove(ctx, apis.Bootstrap, objects)
	if err != nil {
		return apis.BootstrapProblem(err)
	}
	if len(refused) > 0 {
		return fmt.Errorf("remove %s: %w", refused[0].Object, refused[0].Err)
	}
	return nil
}

// keepObjects notes the admission objects that somebody else has to remove.
func (l *leaving) keepObjects(ctx context.Context, apis remote.APIs, objects []install.Object) error {
	for _, object := range objects {
		version, err := install.VersionIn(ctx, apis.Bootstrap, object)
		if version != "" {
			l.kept = append(l.kept, object.String())
		}
		if err != nil && !apierrors.IsForbidden(err) {
			return apis.BootstrapProblem(err)
		}
	}
	return nil
}

// release deletes the claim.
func (l *leaving) release(ctx context.Context, apis remote.APIs) error {
	ctx, cancel := context.WithTimeout(ctx, l.c.provider.opts.Timings.Request)
	defer cancel()
	if err := install.ReleaseClaim(ctx, apis.Bootstrap.Client, l.c.provider.opts.InstallationUID); err != nil {
		return apis.BootstrapProblem(err)
	}
	return nil
}

// departure sums up; why says what kept the member from being cleaned up, and is empty if nothing did.
func (l *leaving) departure(why string) departure {
	result := departure{cleaned: why == "", letGo: len(l.letGo)}
	switch {
	case why != "":
		result.leftBehind = l.c.leftBehind(why)
	case len(l.kept) > 0:
		result.leftBehind = fmt.Sprintf("spec.manage is None, so the admission objects stay in the member (%s) and go on to "+
			"refuse VmGroups. `manager render --leave --member %s` prints how to remove them.", strings.Join(l.kept, ", "), l.c.target.Name)
	}
	return result
}

// leftBehind tells a person what to do in a member that could not be cleaned up.
func (c *connection) leftBehind(why string) string {
	return fmt.Sprintf("The member could not be cleaned up: %s Its admission objects, the finalizer %s on its VmGroups, or the "+
		"claim (ConfigMap %s in namespace %s) may still be there. Run in the member what `manager render --leave --member %s` "+
		"prints; before, VmGroups and their namespaces cannot be deleted there, and another hub cannot serve it.",
		untrusted.Text(why, 400), v1alpha1.VmGroupFinalizer, install.ClaimName, metav1.NamespaceSystem, c.target.Name)
}

// setLeft ends the leaving.
func (c *connection) setLeft(how departure) {
	c.provider.mu.Lock()
	defer c.provider.mu.Unlock()
	c.left, c.departure = true, how
}
