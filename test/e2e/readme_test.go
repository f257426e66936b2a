//go:build e2e

package e2e

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/assets"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/clone"
	"github.com/codeconnect/vmgroup-operator/test/harness/commands"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
)

// theReadmeEndsWithARunningGroup runs the commands of the README's section Install unchanged: in a clone of the
// tree, with kubectl and Helm, against a registry from which the node pulls. Only the variables at
// their top have other values.
func theReadmeEndsWithARunningGroup(t *testing.T) {
	install, err := commands.Read(filepath.Join(world.root, "README.md"), "## Install")
	must(t, err)
	vcenter, err := url.Parse(world.proxy.URL)
	must(t, err)
	script, err := install.Script(map[string]string{
		"REGISTRY": startRegistry(t) + "/team", "PLATFORM": "linux/" + runtime.GOARCH, "VCENTER": vcenter.Host, "VC_USER": stack.Username, "VC_PASS": stack.Password,
		"VC_THUMBPRINT": thumbprint(t, vcenter.Host), "TEMPLATE": template,
	})
	must(t, err)
	dir := filepath.Join(world.dir, "clone")
	must(t, clone.Commit(t.Context(), world.root, dir))
	command := exec.CommandContext(t.Context(), "sh", "-c", script)
	command.Dir, command.Env = dir, peoplesEnvironment(t)
	out, err := command.CombinedOutput()
	world.heard(string(out))
	if err != nil {
		t.Fatalf("the README's commands: %v\n%s", err, out)
	}
	groups := &v1alpha1.VmGroupList{}
	must(t, world.hub.List(t.Context(), groups))
	if len(groups.Items) != 1 {
		t.Fatalf("the README's commands left %d groups", len(groups.Items))
	}
	group := &groups.Items[0]
	if problem := unfulfilled(group); problem != "" || group.Status.Phase != v1alpha1.PhaseRunning {
		t.Errorf("the commands ended before the group runs: %s", problem)
	}
	wanted := map[string]string{}
	for _, vm := range group.Status.VMs {
		wanted[group.Status.Folder.Path+"/"+vm.Name] = string(group.UID)
	}
	if wrong := wrongVMs(t.Context(), wanted); len(wanted) == 0 || len(wrong) > 0 {
		t.Errorf("group %s has %d VMs: %s", group.Name, len(wanted), strings.Join(wrong, "\n"))
	}
	untilThreeReady(t)
	removeForGood(t, group)
}

// removeForGood deletes the objects of the README's commands, in the order of docs/how-to/uninstall.md, for the release
// of the other stories.
func removeForGood(t *testing.T, group *v1alpha1.VmGroup) {
	t.Helper()
	for _, object := range []client.Object{
		group, &v1alpha1.MemberCluster{ObjectMeta: named(v1alpha1.LocalMember)}, &v1alpha1.VCenter{ObjectMeta: named("default")},
	} {
		must(t, world.hub.Delete(t.Context(), object))
		await.Until(t, fmt.Sprintf("%T %s to go", object, object.GetName()), func(ctx context.Context) (bool, error) {
			err := world.hub.Get(ctx, client.ObjectKeyFromObject(object), object)
			return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
		})
	}
	uninstallRelease(t, "vmgroup-operator")
	must(t, world.hub.Delete(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "vc-creds"}}))
}

// startRegistry serves a registry that the node pulls from, and returns its host and port.
func startRegistry(t *testing.T) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", world.hub.HostAddress()+":0")
	must(t, err)
	server := &http.Server{Handler: registry.New(registry.Logger(log.New(io.Discard, "", 0)))} //nolint:gosec // its only clients are the test's
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	address := listener.Addr().String()
	must(t, world.hub.UseRegistry(address))
	return address
}

// thumbprint is that of a server's certificate, as `openssl x509 -fingerprint -sha256` prints it.
func thumbprint(t *testing.T, address string) string {
	t.Helper()
	dialer := &tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}} // it is inspected, not trusted
	conn, err := dialer.DialContext(t.Context(), "tcp", address)
	must(t, err)
	defer func() { _ = conn.Close() }()
	sum := sha256.Sum256(conn.(*tls.Conn).ConnectionState().PeerCertificates[0].Raw)
	bytes := make([]string, 0, len(sum))
	for _, b := range sum {
		bytes = append(bytes, strings.ToUpper(hex.EncodeToString([]byte{b})))
	}
	return strings.Join(bytes, ":")
}

// peoplesEnvironment has kubectl, kubectl vmgroup and Helm on its path, and the hub as their cluster.
func peoplesEnvironment(t *testing.T) []string {
	t.Helper()
	kubectl, err := assets.Kubectl(t.Context(), os.Stderr)
	must(t, err)
	path := strings.Join([]string{world.plugins, filepath.Dir(world.helm.path), filepath.Dir(kubectl), os.Getenv("PATH")}, string(filepath.ListSeparator))
	// The variables that make passes to its commands, such as this test, are not theirs.
	inherited := slices.DeleteFunc(os.Environ(), func(variable string) bool {
		return strings.HasPrefix(variable, "MAKE") || strings.HasPrefix(variable, "MFLAGS=")
	})
	return append(inherited, append(world.helm.environment(), "PATH="+path, "KUBECACHEDIR="+t.TempDir(), "KUBECONFIG="+world.hub.cluster.KubeconfigFile)...)
}
