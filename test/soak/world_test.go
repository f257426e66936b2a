//go:build unix && soak

package soak

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25/mo"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/localcluster"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

const (
	template, newer = "vm-operator-template", "debian-12"
	// residents is the namespace of the groups that stay as they are, and residentGroups their number in each member.
	residents, residentGroups = "residents", 14
	// replicas is the number of replicas. The first one lives all the time.
	replicas = 3
	patience = 3 * time.Minute
)

var members = []string{"team-a", "team-b"}

// world is the installation under test.
type world struct {
	*testing.T
	*stack.Stack
	http  *http.Client
	token string
	// faults counts the planted faults by the name of their error line.
	faults map[string]int
	// mayStay are folders of groups that no leader removes.
	mayStay map[string]bool
}

func newWorld(t *testing.T) *world {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	s, err := stack.Start(ctx, stack.Options{
		Members: members, Replicas: replicas, Admission: true, ManagerArgs: []string{"--metrics-secure", "--pprof"},
		Sim: sim.Options{Templates: []string{template, newer}, CloneDelay: 300 * time.Millisecond}, Out: os.Stderr,
	})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, Stack: s, faults: map[string]int{}, http: &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true, // each replica signs its own certificate
	}}}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the managers' last words:\n%s", s.LastWords(5))
		}
		if err := s.Stop(); err != nil {
			t.Errorf("clean up: %v", err)
		}
	})
	w.mayProfile(ctx)
	for _, name := range members {
		stop, err := s.Members[name].StartControllers(ctx, localcluster.ControllersOptions{Controllers: []string{"namespace"}})
		w.must(err)
		t.Cleanup(stop)
		w.must(s.UntilServed(ctx, name))
		w.must(s.Members[name].Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: residents}}))
		for i := range residentGroups {
			w.must(s.Members[name].Create(ctx, newGroup(residents, fmt.Sprintf("vg-%d", i), int32(1+i%3))))
		}
	}
	w.settled(ctx)
	return w
}

func newGroup(namespace, name string, vms int32) *v1alpha1.VmGroup {
	return &v1alpha1.VmGroup{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       v1alpha1.VmGroupSpec{CPU: 1, Memory: 1, Template: template, Replicas: &vms},
	}
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// until waits for a condition.
func (w *world) until(ctx context.Context, what string, limit time.Duration, condition func(context.Context) (bool, error)) {
	w.Helper()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if err := await.Condition(ctx, what, condition); err != nil {
		w.Fatal(err)
	}
}

// settled waits until the groups that stay have their VMs.
func (w *world) settled(ctx context.Context) {
	w.Helper()
	for name, member := range w.Members {
		w.until(ctx, "the groups of "+name+" that stay", patience, func(ctx context.Context) (bool, error) {
			list := &v1alpha1.VmGroupList{}
			err := member.List(ctx, list, client.InNamespace(residents))
			return err == nil && len(list.Items) == residentGroups && !slices.ContainsFunc(list.Items, func(g v1alpha1.VmGroup) bool {
				return !stack.IsReady(g.Status.Conditions) || g.Status.ReadyReplicas != *g.Spec.Replicas
			}), err
		})
	}
}

// mayProfile creates a token whose user can read metrics and profiles.
func (w *world) mayProfile(ctx context.Context) {
	w.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: stack.Namespace, Name: "soak"}}
	w.must(w.Hub.Create(ctx, account))
	w.must(w.Hub.Create(ctx, &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "soak"},
		Rules:      []rbacv1.PolicyRule{{NonResourceURLs: []string{"/metrics", "/debug/pprof/*"}, Verbs: []string{"get"}}},
	}))
	w.must(w.Hub.Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "soak"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "soak"},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: account.Namespace, Name: account.Name}},
	}))
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To[int64](24 * 3600)}}
	w.must(w.Hub.SubResource("token").Create(ctx, account, request))
	w.token = request.Status.Token
}

func (w *world) read(ctx context.Context, r *stack.Replica, path string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+r.MetricsAddress()+path, nil)
	if err != nil {
		return "", err
	}
	request.Header.Set("Authorization", "Bearer "+w.token)
	response, err := w.http.Do(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s of %s: %s", path, r.Name, response.Status)
	}
	return string(body), err
}

// heapPath is the profile of the heap after a collection.
const heapPath = "/debug/pprof/heap?gc=1&debug=1"

// process returns the figures of one replica.
func (w *world) process(ctx context.Context, r *stack.Replica) (Figures, error) {
	f := Figures{}
	for _, part := range []struct {
		path string
		add  func(string) error
	}{
		{"/metrics", func(text string) error { f.AddSeries(text); return nil }},
		{"/debug/pprof/goroutine?debug=2", f.AddGoroutines},
		{heapPath, f.AddHeap}, // what the others left in pools is freed by the second collection
		{heapPath, f.AddHeap},
	} {
		text, err := w.read(ctx, r, part.path)
		if err == nil {
			err = part.add(text)
		}
		if err != nil {
			return nil, fmt.Errorf("read %s of %s: %w", part.path, r.Name, err)
		}
	}
	if open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", r.PID())); err == nil { // only Linux has it
		f[Descriptors] = float64(len(open))
	}
	return f, nil
}

// Names of figures of the world.
const (
	hubKeys, memberKeys     = "keys in etcd of the hub", "keys in etcd of the members"
	configMaps, configBytes = "ConfigMaps of the operator", "bytes in ConfigMaps of the operator"
	secrets, leases         = "Secrets of the operator", "Leases of the operator"
	sessions, vms           = "sessions at vCenter", "VMs"
	folders, groupFolders   = "folders", "folders of groups"
	logLines, logErrors     = "lines of logs", "lines of logs at level error"
)

var groupFolder = regexp.MustCompile(`^.+\.[0-9a-f]{8}$`)

// shared returns the figures of everything outside the replicas.
func (w *world) shared(ctx context.Context) (Figures, error) {
	f := Figures{}
	if err := w.keys(ctx, f); err != nil {
		return nil, err
	}
	maps := &corev1.ConfigMapList{}
	secretList, mine := &corev1.SecretList{}, client.InNamespace(stack.Namespace)
	if err := w.Hub.List(ctx, maps, mine); err != nil {
		return nil, err
	}
	for i := range maps.Items {
		part := maps.Items[i].Labels["app.kubernetes.io/component"]
		if part == "" {
			part = maps.Items[i].Name
		}
		f[configMaps]++
		f[configMaps+": "+part]++
		for _, text := range maps.Items[i].Data {
			f[configBytes] += float64(len(text))
			f[configBytes+": "+part] += float64(len(text))
		}
		for _, data := range maps.Items[i].BinaryData {
			f[configBytes] += float64(len(data))
			f[configBytes+": "+part] += float64(len(data))
		}
	}
	if err := w.Hub.List(ctx, secretList, mine); err != nil {
		return nil, err
	}
	f[secrets] = float64(len(secretList.Items))
	open, err := w.Person.Sessions(ctx)
	if err != nil {
		return nil, err
	}
	f[sessions] = float64(len(open))
	names, err := w.folderNames(ctx)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		f[folders]++
		if w.counts(name) {
			f[groupFolders]++
		}
	}
	all, err := w.Person.VMs(ctx)
	if err != nil {
		return nil, err
	}
	f[vms] = float64(len(all))
	return f, w.logs(f)
}

// counts reports whether a folder is a group's that must be removed with its group.
func (w *world) counts(folder string) bool {
	return groupFolder.MatchString(folder) && !w.mayStay[folder]
}

// letStay excepts the folders of groups that are empty now: a leader removes only folders in which it has seen a VM, and it may have been elected just now. The
// name of a folder has the UID of its group.
func (w *world) letStay(ctx context.Context) {
	w.Helper()
	names, err := w.folderNames(ctx)
	w.must(err)
	vms, err := w.Person.VMs(ctx)
	w.must(err)
	w.mayStay = map[string]bool{}
	for _, name := range names {
		w.mayStay[name] = groupFolder.MatchString(name)
	}
	for vm := range vms {
		w.mayStay[path.Base(path.Dir(vm))] = false
	}
}

// folderNames returns the names of all folders in vCenter. If one is removed during the listing, it lists again.
func (w *world) folderNames(ctx context.Context) (names []string, err error) {
	c := w.Person.Client()
	err = awaitCondition(ctx, "the folders in vCenter", func(ctx context.Context) (bool, error) {
		all, err := view.NewManager(c).CreateContainerView(ctx, c.ServiceContent.RootFolder, []string{"Folder"}, true)
		if err != nil {
			return false, err
		}
		defer func() { _ = all.Destroy(ctx) }()
		var listed []mo.Folder
		if err := all.Retrieve(ctx, []string{"Folder"}, []string{"name"}, &listed); err != nil {
			return false, err
		}
		names = nil
		for i := range listed {
			names = append(names, listed[i].Name)
		}
		return true, nil
	})
	return names, err
}

// keys counts the keys in etcd, without Events, which expire after an hour.
func (w *world) keys(ctx context.Context, f Figures) error {
	clusters := map[string][]*stack.Cluster{hubKeys: {w.Hub}, memberKeys: slices.Collect(maps.Values(w.Members))}
	for figure, of := range clusters {
		for _, cluster := range of {
			keys, err := w.keysOf(ctx, cluster)
			if err != nil {
				return err
			}
			for key, n := range keys {
				if key != "events" {
					f[figure] += n
					f[figure+": "+key] += n
				}
			}
		}
	}
	return nil
}

// keysOf returns the number of keys in a cluster's etcd, by the part after /registry/.
func (w *world) keysOf(ctx context.Context, c *stack.Cluster) (map[string]float64, error) {
	first, end := base64.StdEncoding.EncodeToString([]byte("/registry/")), base64.StdEncoding.EncodeToString([]byte("/registry0"))
	body := fmt.Sprintf(`{"key":%q,"range_end":%q,"keys_only":true}`, first, end)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.EtcdURL()+"/v3/kv/range", strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	response, err := w.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	var answer struct {
		KVs []struct {
			Key []byte `json:"key"`
		} `json:"kvs"`
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return nil, fmt.Errorf("read the keys of %s: %w", c.Name, err)
	}
	keys := map[string]float64{}
	for _, kv := range answer.KVs {
		part, _, _ := strings.Cut(strings.TrimPrefix(string(kv.Key), "/registry/"), "/")
		keys[part]++
	}
	return keys, nil
}

// logs counts the lines of all replicas' logs, and those at level error by message.
func (w *world) logs(f Figures) error {
	for _, r := range w.Replicas {
		log, err := os.ReadFile(r.Log)
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(log)) {
			f[logLines]++
			if message, is := errorLine(line); is {
				f[logErrors]++
				f[logErrors+": "+message]++
			}
		}
	}
	return nil
}

// errorLine returns the message of a log line at level error, with its reason if it has one.
func errorLine(line string) (message string, is bool) {
	var got struct{ Level, Msg, Reason string }
	if json.Unmarshal([]byte(line), &got) != nil || got.Level != "error" {
		return "", false
	}
	if got.Reason != "" {
		return got.Msg + " " + got.Reason, true
	}
	return got.Msg, true
}

// mainFigures is one line with the main figures.
func mainFigures(process, shared Figures) string {
	show := func(f Figures, names ...string) (text string) {
		for _, name := range names {
			text += fmt.Sprintf(", %s %s", name, strconv.FormatFloat(f[name], 'f', -1, 64))
		}
		return text
	}
	return fmt.Sprintf("heap %.2f MiB", process[Heap]/(1<<20)) + show(process, Goroutines, Descriptors, Series) +
		show(shared, hubKeys, memberKeys, configMaps, configBytes, secrets, sessions, vms, folders, groupFolders, logLines, logErrors)
}

// gone reports whether an object does not exist.
func gone(ctx context.Context, c client.Client, object client.Object) (bool, error) {
	err := c.Get(ctx, client.ObjectKeyFromObject(object), object)
	return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
}
