//go:build unix && soak

package soak

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

const (
	// mostGroups of the churn exist at a time.
	mostGroups = 40
	// actEvery is the pause between two changes of groups.
	actEvery = 300 * time.Millisecond
)

// subject is a group of the churn.
type subject struct {
	member string
	key    types.NamespacedName
}

// churn changes everything that users, hub administrators and persons in vCenter can change.
type churn struct {
	*world
	random  *rand.Rand
	groups  []subject
	spaces  []subject // key.Name is empty
	created int
	turns   map[string]int // of the lives below

	mu       sync.Mutex
	counts   map[string]int
	failures map[string]int
	examples map[string]error
}

func newChurn(w *world, seed uint64) *churn {
	return &churn{world: w, random: rand.New(rand.NewPCG(seed, 0)), turns: map[string]int{}, counts: map[string]int{}, failures: map[string]int{}, examples: map[string]error{}}
}

// did counts an action. Some are refused because the object is being deleted or changed.
func (c *churn) did(what string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.counts[what]++; err != nil {
		kind := fmt.Sprintf("%s: %s", what, apierrors.ReasonForError(err))
		c.failures[kind]++
		c.examples[kind] = err
	}
}

// life is something that happens again and again. turn counts how often.
type life struct {
	name  string
	every time.Duration
	does  func(ctx context.Context, turn int)
}

// lives are those of a part of the churn, which ends replicas or not.
func (c *churn) lives(ends bool) []life {
	all := []life{
		{"rotate", 90 * time.Second, c.rotate}, {"visit", 3 * time.Minute, c.visit}, {"vcenter", 150 * time.Second, c.secondVCenter},
		{"policy", 3 * time.Minute, c.policy}, {"password", 200 * time.Second, c.password}, {"sessions", 7 * time.Minute, c.endSessions},
	}
	if ends {
		all = append(all, life{"restart", 4 * time.Minute, c.restart})
	}
	return all
}

// run changes things until ctx ends.
func (c *churn) run(ctx context.Context, lives []life) {
	var others sync.WaitGroup
	last := make([]int, len(lives))
	for i, l := range lives {
		last[i] = c.turns[l.name]
		others.Go(func() {
			tick := time.NewTicker(l.every)
			defer tick.Stop()
			for {
				select {
				case <-ctx.Done():
					return
				case <-tick.C:
					l.does(context.WithoutCancel(ctx), last[i]) // what has begun is finished
					last[i]++
				}
			}
		})
	}
	tick := time.NewTicker(actEvery)
	defer tick.Stop()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-tick.C:
			c.act(context.WithoutCancel(ctx))
		}
	}
	others.Wait()
	for i, l := range lives {
		c.turns[l.name] = last[i]
	}
}

// act makes one random change of a group.
func (c *churn) act(ctx context.Context) {
	dice := c.random.IntN(100)
	switch {
	case len(c.groups) == 0 || dice < 30 && len(c.groups) < mostGroups:
		c.create(ctx)
	case dice < 45:
		c.patch(ctx, "scale", fmt.Sprintf(`{"spec":{"replicas":%d}}`, 1+c.random.IntN(3)))
	case dice < 49:
		c.patch(ctx, "template", fmt.Sprintf(`{"spec":{"template":%q}}`, []string{template, newer}[c.random.IntN(2)]))
	case dice < 53:
		c.patch(ctx, "size", fmt.Sprintf(`{"spec":{"cpu":%d}}`, 1+c.random.IntN(2)))
	case dice < 55:
		c.patch(ctx, "power", fmt.Sprintf(`{"spec":{"powerState":%q}}`, []string{"PoweredOn", "PoweredOff"}[c.random.IntN(2)]))
	case dice < 60:
		c.patch(ctx, "pause", fmt.Sprintf(`{"spec":{"paused":%t}}`, c.random.IntN(2) == 0))
	case dice < 66:
		c.person(ctx)
	case dice < 70:
		c.deleteSpace(ctx)
	default:
		c.delete(ctx)
	}
}

func (c *churn) pick() (subject, *stack.Cluster) {
	s := c.groups[c.random.IntN(len(c.groups))]
	return s, c.Members[s.member]
}

func (c *churn) create(ctx context.Context) {
	c.created++
	if len(c.spaces) == 0 || c.random.IntN(5) == 0 {
		space := subject{members[c.random.IntN(len(members))], types.NamespacedName{Namespace: fmt.Sprintf("churn-%d", c.created)}}
		err := c.Members[space.member].Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: space.key.Namespace}})
		if c.did("create a namespace", err); err != nil {
			return
		}
		c.spaces = append(c.spaces, space)
	}
	space := c.spaces[c.random.IntN(len(c.spaces))]
	g := newGroup(space.key.Namespace, fmt.Sprintf("vg-%d", c.created), int32(1+c.random.IntN(3)))
	err := c.Members[space.member].Create(ctx, g)
	if c.did("create a group", err); err == nil {
		c.groups = append(c.groups, subject{space.member, client.ObjectKeyFromObject(g)})
	}
}

func (c *churn) patch(ctx context.Context, what, patch string) {
	s, cluster := c.pick()
	c.did(what, cluster.Patch(ctx, objectOf(s.key), client.RawPatch(types.MergePatchType, []byte(patch))))
}

func objectOf(key types.NamespacedName) *v1alpha1.VmGroup {
	return &v1alpha1.VmGroup{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
}

// delete deletes a group. Some keep their VMs, and of some, a user removes the finalizer.
func (c *churn) delete(ctx context.Context) {
	s, cluster := c.pick()
	c.groups = slices.DeleteFunc(c.groups, func(other subject) bool { return other == s })
	g := objectOf(s.key)
	if err := cluster.Get(ctx, s.key, g); err != nil {
		c.did("delete a group", err)
		return
	}
	what := "delete a group"
	switch c.random.IntN(40) {
	case 0, 1:
		what = "delete a group whose VMs stay"
		patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, v1alpha1.ReleaseAnnotation, g.UID)
		if err := cluster.Patch(ctx, g, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
			c.did(what, err)
			return
		}
	case 2: // the operator removes the folders of such groups at 18 a minute
		what = "delete a group without its finalizer"
	}
	err := cluster.Delete(ctx, g)
	if err == nil && strings.HasSuffix(what, "finalizer") {
		err = cluster.Patch(ctx, g, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))
	}
	c.did(what, err)
}

func (c *churn) deleteSpace(ctx context.Context) {
	if len(c.spaces) == 0 {
		return
	}
	space := c.spaces[c.random.IntN(len(c.spaces))]
	in := func(s subject) bool { return s.member == space.member && s.key.Namespace == space.key.Namespace }
	c.unpause(ctx, c.groups, in)
	c.spaces, c.groups = slices.DeleteFunc(c.spaces, in), slices.DeleteFunc(c.groups, in)
	c.did("delete a namespace", c.Members[space.member].Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: space.key.Namespace}}))
}

// unpause ends the pause of groups, whose deletion would wait for it.
func (c *churn) unpause(ctx context.Context, groups []subject, which func(subject) bool) {
	for _, s := range groups {
		if which(s) {
			err := c.Members[s.member].Patch(ctx, objectOf(s.key), client.RawPatch(types.MergePatchType, []byte(`{"spec":{"paused":false}}`)))
			c.did("end a pause", client.IgnoreNotFound(err))
		}
	}
}

// person changes a VM of a group in vCenter. The group has recorded the VM: one that is renamed before is a copy for the operator.
func (c *churn) person(ctx context.Context) {
	s, cluster := c.pick()
	g := objectOf(s.key)
	if err := cluster.Get(ctx, s.key, g); err != nil || len(g.Status.VMs) == 0 {
		return
	}
	all, err := c.Person.VMs(ctx)
	if err != nil {
		c.did("list VMs", err)
		return
	}
	recorded := g.Status.VMs[c.random.IntN(len(g.Status.VMs))]
	for path, vm := range all {
		if vm.Ref.Value != recorded.MoRef {
			continue
		}
		switch c.random.IntN(3) {
		case 0:
			c.did("destroy a VM in vCenter", c.Person.Destroy(ctx, path))
		case 1:
			c.did("power off a VM in vCenter", c.Person.PowerOff(ctx, path))
		default:
			c.did("rename a VM in vCenter", c.Person.Rename(ctx, path, fmt.Sprintf("renamed-%d", c.random.IntN(1<<20))))
		}
	}
}

// rotate replaces the credentials of a member.
func (c *churn) rotate(ctx context.Context, i int) {
	name := members[i%len(members)]
	kubeconfig, err := c.Members[name].MemberKubeconfig()
	if err == nil {
		err = c.replaceSecret(ctx, name+"-kubeconfig", map[string][]byte{"kubeconfig": kubeconfig})
	}
	c.did("rotate the credentials of a member", err)
}

func (c *churn) replaceSecret(ctx context.Context, name string, data map[string][]byte) error {
	secret := &corev1.Secret{}
	if err := c.Hub.Get(ctx, types.NamespacedName{Namespace: stack.Namespace, Name: name}, secret); err != nil {
		return err
	}
	maps.Copy(secret.Data, data)
	return c.Hub.Update(ctx, secret)
}

// visit lets another cluster join, gives it groups, deletes them, and lets it leave.
func (c *churn) visit(ctx context.Context, i int) {
	name := fmt.Sprintf("guest-%d", i)
	cluster, err := c.StartCluster(ctx, name)
	if err != nil {
		c.did("start a cluster", err)
		return
	}
	defer func() { c.did("stop a cluster", cluster.Stop()) }()
	if err := c.Join(ctx, name, cluster.Kubeconfig()); err != nil {
		c.did("join a cluster", err)
		return
	}
	mc := &v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if !c.comes(ctx, name+" to be ready", func(ctx context.Context) (bool, error) {
		err := c.Hub.Get(ctx, client.ObjectKeyFromObject(mc), mc)
		return err == nil && stack.IsReady(mc.Status.Conditions), err
	}) {
		return
	}
	c.did("create a namespace of a guest", cluster.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}))
	c.guests(ctx, cluster, newGroup("shop", "web", 2))
	c.did("leave a member", c.Hub.Delete(ctx, mc))
	c.comes(ctx, name+" to leave", func(ctx context.Context) (bool, error) { return gone(ctx, c.Hub, mc) })
	c.did("delete a Secret", c.Hub.Delete(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: stack.Namespace, Name: name + "-kubeconfig"}}))
}

// guests creates a group, waits for its VMs, and deletes it.
func (c *churn) guests(ctx context.Context, cluster *stack.Cluster, g *v1alpha1.VmGroup) {
	if err := cluster.Create(ctx, g); err != nil {
		c.did("create a group of a guest", err)
		return
	}
	c.comes(ctx, g.Namespace+"/"+g.Name+" of "+cluster.Name, func(ctx context.Context) (bool, error) {
		err := cluster.Get(ctx, client.ObjectKeyFromObject(g), g)
		return err == nil && stack.IsReady(g.Status.Conditions) && g.Status.ReadyReplicas == *g.Spec.Replicas, err
	})
	c.did("delete a group of a guest", cluster.Delete(ctx, g))
	c.comes(ctx, "the deletion of "+g.Namespace+"/"+g.Name, func(ctx context.Context) (bool, error) { return gone(ctx, cluster, g) })
}

// comes waits, and reports a failure without an end of the churn.
func (c *churn) comes(ctx context.Context, what string, condition func(context.Context) (bool, error)) bool {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := awaitCondition(ctx, what, condition); err != nil {
		c.Errorf("churn: %v", err)
		return false
	}
	return true
}

// secondVCenter adds another VCenter with a group, and deletes both.
func (c *churn) secondVCenter(ctx context.Context, i int) {
	name := "second"
	if i%2 == 1 {
		name = fmt.Sprintf("second-%d", i)
	}
	first := &v1alpha1.VCenter{}
	if err := c.Hub.Get(ctx, types.NamespacedName{Name: "default"}, first); err != nil {
		c.did("read a VCenter", err)
		return
	}
	vc := &v1alpha1.VCenter{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: *first.Spec.DeepCopy()}
	vc.Spec.Folder = name
	if err := c.Hub.Create(ctx, vc); err != nil {
		c.did("create a VCenter", err)
		return
	}
	c.did("create a VCenter", nil)
	g := newGroup(residents, name, 1)
	g.Spec.VCenter = name
	c.guests(ctx, c.Members[members[i%len(members)]], g)
	c.did("delete a VCenter", c.Hub.Delete(ctx, vc))
	c.comes(ctx, "the deletion of VCenter "+name, func(ctx context.Context) (bool, error) { return gone(ctx, c.Hub, vc) })
}

// policy creates a policy with a quota, and deletes the one before.
func (c *churn) policy(ctx context.Context, i int) {
	named := func(i int) *v1alpha1.VmGroupPolicy {
		p := &v1alpha1.VmGroupPolicy{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("quota-%d", i)}}
		p.Spec.Quota = &v1alpha1.PolicyQuota{VMs: ptr.To[int32](1000), Scope: []v1alpha1.QuotaScope{v1alpha1.QuotaNamespace, v1alpha1.QuotaMatch}[i%2]}
		return p
	}
	c.did("create a policy", c.Hub.Create(ctx, named(i)))
	if i > 0 {
		c.did("delete a policy", c.Hub.Delete(ctx, named(i-1)))
	}
}

// password stores a wrong password of vCenter, and the right one again.
func (c *churn) password(ctx context.Context, _ int) {
	c.did("store a wrong password", c.replaceSecret(ctx, "vc-creds", map[string][]byte{"password": []byte("wrong")}))
	vc := &v1alpha1.VCenter{}
	c.comes(ctx, "the report of the wrong password", func(ctx context.Context) (bool, error) {
		err := c.Hub.Get(ctx, types.NamespacedName{Name: "default"}, vc)
		return err == nil && slices.ContainsFunc(vc.Status.Conditions, func(condition metav1.Condition) bool {
			return condition.Type == v1alpha1.ConditionCredentialsValid && condition.Status == metav1.ConditionFalse
		}), err
	})
	c.did("store the right password", c.replaceSecret(ctx, "vc-creds", map[string][]byte{"password": []byte(stack.Password)}))
}

// restart ends a replica other than the first one, and starts it again.
func (c *churn) restart(ctx context.Context, i int) {
	r := c.Replicas[1+i%(replicas-1)]
	if i%3 == 2 {
		r.Kill()
		c.did("kill a replica", nil)
	} else {
		c.did("stop a replica", r.Stop())
	}
	c.did("start a replica", r.Restart(ctx))
}

func (c *churn) endSessions(ctx context.Context, _ int) {
	_, err := c.Person.TerminateSessions(ctx)
	c.did("end all sessions at vCenter", err)
}

// clear deletes everything of the churn.
func (c *churn) clear(ctx context.Context) {
	c.Helper()
	c.unpause(ctx, c.groups, func(subject) bool { return true })
	for _, name := range members {
		cluster := c.Members[name]
		list := &v1alpha1.VmGroupList{}
		c.must(cluster.List(ctx, list))
		for i := range list.Items {
			if g := &list.Items[i]; g.Namespace != residents { // also those that were deleted while paused
				c.unpause(ctx, []subject{{name, client.ObjectKeyFromObject(g)}}, func(subject) bool { return true })
				c.must(client.IgnoreNotFound(cluster.Delete(ctx, g)))
			}
		}
		c.until(ctx, "the groups of the churn in "+name+" to be deleted", 3*patience, func(ctx context.Context) (bool, error) {
			list := &v1alpha1.VmGroupList{}
			err := cluster.List(ctx, list)
			return err == nil && len(list.Items) == residentGroups, err
		})
		spaces := &corev1.NamespaceList{}
		c.must(cluster.List(ctx, spaces))
		for i := range spaces.Items {
			if space := &spaces.Items[i]; strings.HasPrefix(space.Name, "churn-") {
				c.must(client.IgnoreNotFound(cluster.Delete(ctx, space)))
			}
		}
		c.until(ctx, "the namespaces of the churn in "+name+" to be deleted", patience, func(ctx context.Context) (bool, error) {
			spaces := &corev1.NamespaceList{}
			err := cluster.List(ctx, spaces)
			return err == nil && !slices.ContainsFunc(spaces.Items, func(s corev1.Namespace) bool { return strings.HasPrefix(s.Name, "churn-") }), err
		})
	}
	policies := &v1alpha1.VmGroupPolicyList{}
	c.must(c.Hub.List(ctx, policies))
	for i := range policies.Items {
		c.must(client.IgnoreNotFound(c.Hub.Delete(ctx, &policies.Items[i])))
	}
	for path, vm := range c.others(ctx) {
		c.must(c.Person.Destroy(ctx, path))
		c.Logf("a person destroyed %s, which was left (%s)", path, vm.Ref.Value)
	}
}

// others are the VMs that belong to no group that stays.
func (c *churn) others(ctx context.Context) map[string]sim.VM {
	c.Helper()
	all, err := c.Person.VMs(ctx)
	c.must(err)
	maps.DeleteFunc(all, func(path string, _ sim.VM) bool {
		return !strings.Contains(path, "/churn-") && !strings.Contains(path, "/shop/")
	})
	return all
}
