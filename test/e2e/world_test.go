//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/hack/image/oci"
	"github.com/codeconnect/vmgroup-operator/hack/image/operator"
	"github.com/codeconnect/vmgroup-operator/test/failover"
	"github.com/codeconnect/vmgroup-operator/test/harness/assets"
	"github.com/codeconnect/vmgroup-operator/test/harness/kustomize"
	"github.com/codeconnect/vmgroup-operator/test/harness/localcluster"
	"github.com/codeconnect/vmgroup-operator/test/harness/localcluster/addons"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

// world contains the environment of all stories.
var world *setting

// setting is a hub with a node, two members and a simulated vCenter behind a recording proxy.
type setting struct {
	root, dir string
	hub       *hub
	members   []*stack.Cluster
	sim       *stack.VCenter
	proxy     *sim.Proxy
	person    *sim.Operator
	observer  *failover.Observer
	helm      *helm
	// plugins is a directory with kubectl-vmgroup of the tree.
	plugins string
	// this is the version of the tree, next one with another field; see overlay.
	this, next version

	// uninstalled is the time of the release's uninstallation, gone that of its last Pod's end.
	uninstalled, gone []time.Time

	logs  *logKeeper
	pulse *pulse
	mu    sync.Mutex
	said  []string
}

// hub is the cluster of the release, in the form for tests with plain clusters.
type hub struct {
	client.Client
	*localcluster.Hub
	cluster *stack.Cluster
}

// version of the product: an image that the node has, and a chart.
type version struct{ image, chart, values string }

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	ctx, cancel := context.WithTimeoutCause(context.Background(), 20*time.Minute, errors.New("the clusters were not up within 20 minutes"))
	defer cancel()
	if err := localcluster.InstallPackages(ctx, os.Stderr); err != nil {
		return 1, err
	}
	world = &setting{pulse: newPulse()}
	defer world.pulse.stop()
	began := time.Now()
	defer func() { err = errors.Join(err, world.stop()) }()
	if err := world.start(ctx); err != nil {
		return 1, err
	}
	fmt.Printf("e2e: clusters, images and charts took %s\n", time.Since(began).Round(100*time.Millisecond))
	return m.Run(), nil
}

func (w *setting) start(ctx context.Context) (err error) {
	if w.root, err = assets.Root(); err != nil {
		return err
	}
	step("starting a hub with a node")
	started, err := localcluster.StartHub(ctx, localcluster.HubOptions{Name: "hub", Audit: true})
	if err != nil {
		return err
	}
	cluster, err := stack.NewCluster(started.ControlPlane)
	if err != nil {
		return errors.Join(err, started.Stop())
	}
	w.hub = &hub{Client: cluster, Hub: started, cluster: cluster}
	// With the hub's files, which are also deleted when this process is killed.
	w.dir = filepath.Join(started.NodeDir(), "e2e")
	if err := os.MkdirAll(w.dir, 0o700); err != nil {
		return err
	}
	w.logs = keepLogs(filepath.Join(started.NodeDir(), "log", "pods"), filepath.Join(w.dir, "logs"))
	if w.helm, err = newHelm(ctx, cluster.KubeconfigFile, w.dir); err != nil {
		return err
	}
	step("starting two members and a vCenter; building two versions of the image; installing cert-manager")
	group, groupCtx := errgroup.WithContext(ctx)
	w.members = make([]*stack.Cluster, 2)
	for i, name := range []string{"team-a", "team-b"} {
		group.Go(func() error {
			plane, err := localcluster.StartControlPlane(groupCtx, localcluster.Options{Name: name, Address: started.HostAddress(), Audit: true})
			if err != nil {
				return err
			}
			w.members[i], err = stack.NewCluster(plane)
			return err
		})
	}
	group.Go(func() error { return w.startVCenter(groupCtx) })
	group.Go(func() error { return addons.InstallCertManager(groupCtx, started, os.Stderr) })
	w.plugins = filepath.Join(w.dir, "plugins")
	group.Go(func() error {
		return errors.Join(w.makeVersions(groupCtx), buildProgram(groupCtx, w.root, "kubectl-vmgroup", thisVersion, "", filepath.Join(w.plugins, "kubectl-vmgroup")))
	})
	if err := group.Wait(); err != nil {
		return err
	}
	for _, v := range []struct {
		*version
		tag string
	}{{&w.this, thisVersion}, {&w.next, nextVersion}} {
		v.values = filepath.Join(w.dir, "values-"+v.tag+".yaml")
		content := values("vmgroup-operator", v.tag, w.hub.NodeAddress(), w.proxy.URL)
		if err := os.WriteFile(v.values, []byte(content), 0o600); err != nil {
			return err
		}
	}
	w.observer, err = failover.Observe(cluster.Config, namespace)
	return err
}

func step(text string) { fmt.Println("e2e:", text) }

// startVCenter starts a simulated vCenter that pods reach through the recording proxy only.
func (w *setting) startVCenter(ctx context.Context) (err error) {
	starter := &stack.Stack{Dir: w.dir}
	if w.sim, err = starter.StartVCenter(ctx, "vcsim", sim.Options{Templates: []string{template}, CloneDelay: 300 * time.Millisecond}); err != nil {
		return err
	}
	if w.proxy, err = sim.NewProxyAt(w.sim.URL, w.hub.HostAddress()+":0"); err != nil {
		return err
	}
	if w.person, err = sim.NewOperator(ctx, w.sim.URL, sim.AdminUsername, sim.AdminPassword); err != nil {
		return err
	}
	w.proxy.AskOwners(w.person)
	return nil
}

// makeVersions builds this version and the next, loads both images into the node and packs both charts.
func (w *setting) makeVersions(ctx context.Context) error {
	next, err := newOverlay(w.root, w.dir)
	if err != nil {
		return fmt.Errorf("make the next version: %w", err)
	}
	overlayFile, err := next.file()
	if err != nil {
		return err
	}
	nextChart, err := next.chart(ctx)
	if err != nil {
		return fmt.Errorf("make the next version: %w", err)
	}
	for _, v := range []struct {
		*version
		tag, overlay, chart string
	}{{&w.this, thisVersion, "", filepath.Join(w.root, "charts", "vmgroup-operator")}, {&w.next, nextVersion, overlayFile, nextChart}} {
		binary := filepath.Join(w.dir, "manager-"+v.tag)
		if err := buildProgram(ctx, w.root, "manager", v.tag, v.overlay, binary); err != nil {
			return err
		}
		v.image = "vmgroup-operator:" + v.tag
		archive := filepath.Join(w.dir, "image-"+v.tag+".tar")
		if err := writeImage(binary, v.image, archive); err != nil {
			return fmt.Errorf("make image %s: %w", v.image, err)
		}
		if err := w.hub.LoadImage(ctx, archive); err != nil {
			return err
		}
		if v.version.chart, err = w.helm.pack(ctx, v.chart, v.tag, v.tag, w.dir); err != nil {
			return err
		}
	}
	return nil
}

// writeImage writes the operator's image, as `make image` builds it, into an archive.
func writeImage(binary, name, archive string) error {
	_, tag, _ := strings.Cut(name, ":")
	bundle, err := oci.New(name, operator.Image(binary, "", operator.Release{Version: tag}))
	if err != nil {
		return err
	}
	return bundle.WriteArchive(archive)
}

// stop ends all processes, and removes all files.
func (w *setting) stop() error {
	step("stopping")
	var errs []error
	if w.observer != nil {
		w.observer.Close()
	}
	if w.logs != nil {
		w.logs.stop()
	}
	if w.person != nil {
		w.person.Close()
	}
	if w.proxy != nil {
		w.proxy.Close()
	}
	if w.sim != nil {
		errs = append(errs, w.sim.Stop())
	}
	for _, member := range w.members {
		if member != nil {
			errs = append(errs, member.Stop())
		}
	}
	if w.hub != nil {
		errs = append(errs, w.hub.Stop())
	}
	return errors.Join(errs...)
}

// heard records the messages that users got, for noPasswordAnywhere.
func (w *setting) heard(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.said = append(w.said, text)
}

func (w *setting) texts() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.said)
}

// apply applies a kustomization of the repository, as `kubectl apply -k` does.
func (w *setting) apply(ctx context.Context, cluster *stack.Cluster, directory string) error {
	return w.applyDirectory(ctx, cluster, filepath.Join(w.root, directory))
}

func (w *setting) applyDirectory(ctx context.Context, cluster *stack.Cluster, directory string) error {
	content, err := kustomize.Render(ctx, directory)
	if err != nil {
		return err
	}
	return cluster.ApplyYAML(ctx, content)
}

// logFiles are the logs of all past containers, and the audit logs of all clusters.
func (w *setting) logFiles(t *testing.T) map[string][]string {
	t.Helper()
	containers, err := w.logs.files()
	must(t, err)
	audits := append(make([]string, 0, 3), w.hub.AuditLog())
	for _, member := range w.members {
		audits = append(audits, member.AuditLog())
	}
	return map[string][]string{"container's log": containers, "audit log": audits}
}

// explain adds debug information to a failure.
func (w *setting) explain(t *testing.T) {
	t.Helper()
	for _, what := range [][]string{{"get", "pods", "-A", "-o", "wide"}, {"get", "events", "-n", namespace}, {"get", "vcenters,memberclusters", "-o", "wide"}} {
		out, err := exec.Command("kubectl", append(what, "--kubeconfig="+w.hub.cluster.KubeconfigFile)...).CombinedOutput() //nolint:noctx // the test's context can be over
		t.Logf("kubectl %s (%v):\n%s", strings.Join(what, " "), err, out)
	}
	files, err := w.logs.files()
	if err != nil {
		return
	}
	for _, file := range files {
		if !strings.Contains(file, "vmgroup-operator") {
			continue
		}
		content, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		lines := strings.Split(strings.TrimRight(string(content), "\n"), "\n")
		t.Logf("the last words in %s:\n%s", filepath.Base(file), strings.Join(lines[max(0, len(lines)-25):], "\n"))
	}
}
