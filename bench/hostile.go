//go:build unix

package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/hostileapi"
	"github.com/codeconnect/vmgroup-operator/test/harness/localcluster"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
)

const (
	// hostileWindows are measured alternately with and without hostile members, each with this number of groups.
	hostileWindows, hostileGroups = 3, 15
	// floodedGroups is the number of a hostile member's groups that change all the time.
	floodedGroups = 200
)

// hostileMembers measures the wait of groups of one VM while the API servers of other members send as much as they can. For
// comparison, it also measures the wait without them.
func hostileMembers(ctx context.Context, s *session, r *rig) error {
	attackers, err := r.hostileNeighbours(ctx)
	if err != nil {
		return err
	}
	var calm, attacked []float64
	for i := range hostileWindows {
		a, err := r.onesAfterAnother(ctx, fmt.Sprintf("calm-%d", i))
		if err != nil {
			return err
		}
		for _, attacker := range attackers {
			if err := attacker.begin(ctx, r); err != nil {
				return err
			}
		}
		b, err := r.onesAfterAnother(ctx, fmt.Sprintf("attacked-%d", i))
		if err != nil {
			return err
		}
		for _, attacker := range attackers {
			attacker.end()
		}
		s.say("  window %d of %d: median %.0f ms without hostile members, %.0f ms with %d", i+1, hostileWindows, median(a), median(b), len(attackers))
		calm, attacked = append(calm, a...), append(attacked, b...)
	}
	where := fmt.Sprintf("one-VM groups of another member, one after the other; apply until vCenter runs the VM; clones of %s; %d groups each; %d hostile members",
		r.setup.taskTime, len(calm), len(attackers))
	s.add("hostile/calm", median(calm), "ms", noGoal, "%s", where)
	s.add("hostile/median", median(attacked)/median(calm), "x calm", atMost(1.2), "%s", where)
	s.add("hostile/p90", percentile(attacked, 90)/percentile(calm, 90), "x calm", noGoal, "%s", where)
	if peak, ok := r.Manager.PeakMemory(); ok {
		s.add("hostile/memory", float64(peak)/(1<<20), "MiB", atMost(512), "peak of the manager")
	}
	return nil
}

// onesAfterAnother returns the durations of several groups of one VM in milliseconds.
func (r *rig) onesAfterAnother(ctx context.Context, prefix string) ([]float64, error) {
	var took []float64
	for i := range hostileGroups {
		name := fmt.Sprintf("%s-%d", prefix, i)
		began := time.Now()
		if err := r.product.apply(ctx, name, 1); err != nil {
			return nil, err
		}
		if err := await.Condition(ctx, "the VM of "+name+" to run", func(ctx context.Context) (bool, error) {
			running, err := r.running(ctx, name)
			return running == 1, err
		}); err != nil {
			return nil, err
		}
		took = append(took, float64(time.Since(began))/float64(time.Millisecond))
		if err := r.product.remove(ctx, name); err != nil {
			return nil, err
		}
	}
	return took, nil
}

// neighbor is a member whose API server becomes hostile.
type neighbor struct {
	*hostileapi.Server
	name   string
	proxy  *localcluster.APIProxy
	attack hostileapi.Attack
	// refused is true if the operator does not serve the member while it is hostile.
	refused bool
}

// hostileNeighbours joins hostile members. Each is a proxy in front of the second member, with its own cluster UID.
func (r *rig) hostileNeighbours(ctx context.Context) ([]*neighbor, error) {
	invalid := hostileapi.Refuse(http.StatusUnprocessableEntity, "Invalid")
	list := fmt.Sprintf(`{"kind":"VmGroupList","apiVersion":%q,"metadata":{"resourceVersion":"7"},"items":[`, v1alpha1.GroupVersion)
	all := []*neighbor{
		{name: "bomb", refused: true, attack: hostileapi.OnLists("vmgroups", hostileapi.Endless(list+`{"metadata":{"annotations":{"a":"`, 1<<30,
			func(int) string { return strings.Repeat("0", 1<<15) }, `"}}}]}`), invalid)},
		{name: "hollow", refused: true, attack: hostileapi.OnLists("vmgroups",
			hostileapi.Endless(list+`{}`, 1<<30, func(int) string { return strings.Repeat(`,{}`, 1000) }, `]}`), invalid)},
		{name: "gone", attack: hostileapi.OnLists("vmgroups", nil, hostileapi.Refuse(http.StatusGone, "Expired"))},
		{name: "flood", attack: hostileapi.OnLists("vmgroups", nil, hostileapi.Endless("", 1<<40, changed, ""))},
	}
	for _, n := range all {
		proxy, err := r.Members[r.setup.members[1]].NewProxy()
		if err != nil {
			return nil, err
		}
		n.proxy, n.Server = proxy, hostileapi.Before(proxy)
		uid := string(uuid.NewUUID())
		n.Lie(func(shown hostileapi.Shown) bool {
			if shown.Resource == "namespaces" && shown.Name == metav1.NamespaceSystem {
				hostileapi.Set(shown.Object, uid, "metadata", "uid")
			}
			return shown.Resource != "vmgroups"
		})
		kubeconfig, err := proxy.Kubeconfig()
		if err != nil {
			return nil, err
		}
		mc := &v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: n.name}, Spec: v1alpha1.MemberClusterSpec{
			KubeconfigSecretRef: &v1alpha1.KubeconfigReference{Name: n.name + "-kubeconfig", Key: "kubeconfig"}, Manage: v1alpha1.ManageNone,
		}}
		if err := r.Hub.Create(ctx, mc); err != nil { // the second member's own MemberCluster installs the objects
			return nil, fmt.Errorf("make member %s: %w", n.name, err)
		}
		if err := r.Join(ctx, n.name, kubeconfig); err != nil {
			return nil, err
		}
		if err := n.until(ctx, r, "to be served", stack.IsReady); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// changed is an event of one of the groups that change all the time. Each group's first event is its initial state.
func changed(i int) string {
	return fmt.Sprintf(`{"type":"MODIFIED","object":{"kind":"VmGroup","apiVersion":%q,"metadata":{"name":"flood-%d","namespace":"default","uid":"flood-%d","resourceVersion":"%d"},`+
		`"spec":{"cpu":1,"memory":1,"template":%q,"replicas":0},"status":{"lastMessage":"%d %s"}}}`+"\n",
		v1alpha1.GroupVersion, i%floodedGroups, i%floodedGroups, i+10, template, i, strings.Repeat("m", 1000))
}

// begin makes the member hostile. If the operator can detect it, begin waits for that.
func (n *neighbor) begin(ctx context.Context, r *rig) error {
	n.Attack(n.attack)
	n.proxy.CutConnections()
	if !n.refused {
		return nil
	}
	return n.until(ctx, r, "to be refused", func(c []metav1.Condition) bool { return !stack.IsReady(c) })
}

func (n *neighbor) end() {
	n.Attack(nil)
	n.proxy.CutConnections()
}

func (n *neighbor) until(ctx context.Context, r *rig, what string, wanted func([]metav1.Condition) bool) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return await.Condition(ctx, "member "+n.name+" "+what, func(ctx context.Context) (bool, error) {
		mc := &v1alpha1.MemberCluster{}
		err := r.Hub.Get(ctx, client.ObjectKey{Name: n.name}, mc)
		return err == nil && wanted(mc.Status.Conditions), err
	})
}
