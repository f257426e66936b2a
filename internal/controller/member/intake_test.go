package member

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/remote"
)

// TestEventsOfAnotherKindAreRefused: client-go would write a line into the log for each.
func TestEventsOfAnotherKindAreRefused(t *testing.T) {
	for _, kind := range []watch.EventType{watch.Added, watch.Modified, watch.Deleted, watch.Bookmark} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer synctest.Wait()
			defer cancel()
			server := &apiserver{watch: func(ctx context.Context, _ metav1.ListOptions) (watch.Interface, error) {
				w := watch.NewRaceFreeFake()
				context.AfterFunc(ctx, w.Stop)
				w.Action(kind, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop", ResourceVersion: "7"}})
				return w, nil
			}}
			f, _ := informed(ctx, server, remote.DefaultLimits())
			after(time.Second)
			var another *remote.KindError
			if err := f.guard.Err(); !errors.As(err, &another) {
				t.Fatalf("%s: refused was %v", kind, err)
			}
			p := remote.AsProblem("https://member", another)
			if p.Reason != v1alpha1.ReasonMemberUnreachable || !p.Lasting || !strings.Contains(p.Message, "the watch of VmGroups tells of objects of another kind") {
				t.Errorf("the problem is %+v", p)
			}
		})
	}
}
