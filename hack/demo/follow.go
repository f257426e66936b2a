//go:build unix

package main

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// follow passes every state of a member's groups to the reel until ctx ends. It watches, because polling would miss short-lived states. It
// retries after errors, for example if a member does not serve VmGroups yet.
func follow(ctx context.Context, member string, c client.WithWatch, to *reel) {
	const again = 200 * time.Millisecond
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		groups := &v1alpha1.VmGroupList{}
		if err := c.List(ctx, groups); err != nil {
			return
		}
		there := map[string]bool{}
		for i := range groups.Items {
			there[groups.Items[i].Name] = true
			to.put(newRow(member, &groups.Items[i]))
		}
		to.keep(member, there)
		events, err := c.Watch(ctx, &v1alpha1.VmGroupList{}, &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: groups.ResourceVersion}})
		if err != nil {
			return
		}
		defer events.Stop()
		for event := range events.ResultChan() {
			group, ok := event.Object.(*v1alpha1.VmGroup)
			switch {
			case !ok:
				return // an expired resource version, or the server ends the watch
			case event.Type == watch.Deleted:
				to.remove(member, group.Name)
			default:
				to.put(newRow(member, group))
			}
		}
	}, again)
}
