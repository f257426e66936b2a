package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/plugin/cluster"
	"github.com/codeconnect/vmgroup-operator/internal/plugin/enroll"
)

// reached is a member of the hub that a context of the kubeconfig reaches.
type reached struct {
	member string
	*cluster.Cluster
}

// reach finds the contexts of the hub's members by the UIDs of their clusters, whatever their names. missing are the members without such a context, each with that reason.
func (o *Options) reach(c *cobra.Command) (members []reached, missing []string, err error) {
	contexts, err := cluster.Load(c.Context(), o.flags)
	if err != nil {
		return nil, nil, err
	}
	contexts.Warn(o.ErrOut)
	hub, err := o.findHub(c, contexts)
	if err != nil {
		return nil, nil, err
	}
	list := &v1alpha1.MemberClusterList{}
	if err := hub.List(c.Context(), list); err != nil {
		return nil, nil, cluster.Explain(hub.Context, hub.Config.Host, err)
	}
	byUID := map[string]*cluster.Cluster{}
	for _, f := range o.roles(c.Context(), contexts, asked) {
		if f.UID != "" && byUID[f.UID] == nil {
			byUID[f.UID] = f.Cluster
		}
	}
	for i := range list.Items {
		mc := &list.Items[i]
		of := byUID[enroll.UIDOf(mc)]
		if uid := enroll.UIDOf(mc); uid == "" || of == nil {
			missing = append(missing, mc.Name+": no context of the kubeconfig reaches it")
			continue
		}
		members = append(members, reached{mc.Name, of})
	}
	slices.SortFunc(members, func(a, b reached) int { return strings.Compare(a.member, b.member) })
	slices.Sort(missing)
	return members, missing, nil
}

// askAll asks all members at a time, and returns those that did not answer, each with the reason.
func askAll(ctx context.Context, members []reached, question func(ctx context.Context, of reached) error) (unasked []string) {
	failures := make([]error, len(members))
	ask := errgroup.Group{}
	ask.SetLimit(concurrentContexts)
	for i, of := range members {
		ask.Go(func() error {
			ctx, cancel := context.WithTimeout(ctx, askTime)
			defer cancel()
			failures[i] = question(ctx, of)
			return nil
		})
	}
	_ = ask.Wait() // the functions return no error
	for i, err := range failures {
		if err != nil {
			unasked = append(unasked, fmt.Sprintf("%s: %v", members[i].member, cluster.Explain(members[i].Context, members[i].Config.Host, err)))
		}
	}
	return unasked
}

// unknownMembers is the failure of a command that could not ask each member, or nil.
func unknownMembers(unasked []string) error {
	if len(unasked) == 0 {
		return nil
	}
	return &cluster.Failure{Code: cluster.ExitUnreachable, Sentence: "The VmGroups of these members are not known. " + strings.Join(unasked, "; ")}
}
