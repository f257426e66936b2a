//go:build unix

package localcluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/client-go/rest"

	"github.com/codeconnect/vmgroup-operator/test/harness/assets"
)

const (
	// startPatience is the timeout of a control plane's start. Two busy cores need several times the usual 4 seconds.
	startPatience = 5 * time.Minute
	// attempts is the number of starts with other ports, if another program has taken a port.
	attempts = 3
)

// ControlPlane is a running etcd and kube-apiserver. Start one with [StartControlPlane] and end it with Stop.
type ControlPlane struct {
	// Config is for a client in group system:masters that trusts the cluster's authority and has no client-side rate limit. Copy it before
	// a change.
	Config *rest.Config
	// Name from the options.
	Name string

	dir       string
	unlock    func()
	keep      bool
	ca        *authority
	ports     [2]port // of kube-apiserver and etcd
	apiserver *process
	etcd      *process
	admin     []byte // kubeconfig
	http      *http.Client
}

// StartControlPlane starts etcd and kube-apiserver. It returns when the API is ready and the namespaces default and kube-system exist. ctx
// limits only the start. If the two programs must be built first, that takes minutes, and o.Progress receives the output. An error contains
// the last lines of the failed program's log. Nothing is running then.
func StartControlPlane(ctx context.Context, o Options) (*ControlPlane, error) {
	if o.Name == "" {
		o.Name = "cluster"
	}
	programs, err := o.Programs, error(nil)
	if programs == "" {
		programs, err = assets.Ensure(ctx, o.Progress)
	}
	if err != nil {
		return nil, fmt.Errorf("start cluster %s: %w", o.Name, err)
	}
	sweep()
	for attempt := 1; ; attempt++ {
		c, err := startOnce(ctx, o, programs)
		if err == nil {
			return c, nil
		}
		if attempt == attempts || !errors.Is(err, errEnded) {
			return nil, fmt.Errorf("start cluster %s: %w", o.Name, err)
		}
	}
}

func startOnce(ctx context.Context, o Options, programs string) (_ *ControlPlane, err error) {
	c := &ControlPlane{Name: o.Name, keep: o.Keep}
	defer func() {
		if err != nil {
			_ = c.Stop()
		}
	}()
	if c.dir, c.unlock, err = newDir(o.Name); err != nil {
		return nil, err
	}
	for i, host := range []string{o.address(), loopback} {
		if c.ports[i], err = reservePort(host); err != nil {
			return nil, err
		}
	}
	if c.ca, err = newAuthority(o.Name); err != nil {
		return nil, err
	}
	if err := c.writeFiles(o); err != nil {
		return nil, err
	}
	if err := c.connect(); err != nil {
		return nil, err
	}
	c.etcd = &process{
		name: "etcd", path: filepath.Join(programs, "etcd"), log: c.file("etcd.log"),
		args: mergeArgs(c.etcdArgs(), o.EtcdArgs),
	}
	c.apiserver = &process{
		name: "kube-apiserver", path: filepath.Join(programs, "kube-apiserver"), log: c.file("kube-apiserver.log"),
		args: mergeArgs(c.apiserverArgs(o), o.APIServerArgs),
	}
	if err := c.StartEtcd(ctx); err != nil {
		return nil, err
	}
	return c, c.StartAPIServer(ctx)
}

// writeFiles writes the keys and certificates for kube-apiserver.
func (c *ControlPlane) writeFiles(o Options) error {
	addresses := []net.IP{net.IPv4(127, 0, 0, 1), net.ParseIP(o.address()), net.ParseIP(o.serviceAddress())}
	serving, err := c.ca.server(addresses, []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"})
	if err != nil {
		return err
	}
	tokens, _, err := newKey()
	if err != nil {
		return err
	}
	files := map[string][]byte{
		"ca.crt": c.ca.pem, "apiserver.crt": serving.certificate, "apiserver.key": serving.key, "sa.key": tokens,
	}
	if o.Audit {
		files["audit.yaml"] = []byte(auditPolicy)
	}
	if o.node != nil {
		client, err := c.ca.client("kube-apiserver-kubelet-client", []string{"system:masters"})
		if err != nil {
			return err
		}
		files["kubelet-client.crt"], files["kubelet-client.key"] = client.certificate, client.key
	}
	for name, content := range files {
		if err := os.WriteFile(c.file(name), content, 0o600); err != nil {
			return fmt.Errorf("write the files of cluster %s: %w", c.Name, err)
		}
	}
	return nil
}

const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules: [{level: Metadata}]
`

func (c *ControlPlane) etcdArgs() []string {
	return []string{
		"--name=default",
		"--data-dir=" + c.EtcdDataDir(),
		"--listen-client-urls=" + c.EtcdURL(),
		"--advertise-client-urls=" + c.EtcdURL(),
		"--listen-peer-urls=http://127.0.0.1:0",
		// The data need not survive a power failure, and syncing makes every write slow.
		"--unsafe-no-fsync",
		"--log-level=warn",
	}
}

func (c *ControlPlane) apiserverArgs(o Options) []string {
	args := []string{
		"--etcd-servers=" + c.EtcdURL(),
		"--bind-address=" + o.address(),
		"--advertise-address=" + o.address(),
		fmt.Sprintf("--secure-port=%d", c.ports[0].number),
		"--tls-cert-file=" + c.file("apiserver.crt"),
		"--tls-private-key-file=" + c.file("apiserver.key"),
		"--client-ca-file=" + c.file("ca.crt"),
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file=" + c.file("sa.key"),
		"--service-account-signing-key-file=" + c.file("sa.key"),
		"--service-cluster-ip-range=" + o.services(),
		"--allow-privileged=true",
		"--profiling=false",
	}
	if o.node == nil {
		args = append(args,
			"--authorization-mode=RBAC",
			// This plugin requires service accounts for pods, and no controller manager creates them here.
			"--disable-admission-plugins=ServiceAccount",
			// The endpoint of Service "kubernetes" would be a loopback address, which the API refuses.
			"--endpoint-reconciler-type=none")
	} else {
		args = append(args,
			"--authorization-mode=Node,RBAC",
			"--enable-admission-plugins=NodeRestriction",
			// Call webhooks at the addresses of their pods, because the rules of kube-proxy do not apply to this process.
			"--enable-aggregator-routing=true",
			"--kubelet-client-certificate="+c.file("kubelet-client.crt"),
			"--kubelet-client-key="+c.file("kubelet-client.key"),
			"--kubelet-certificate-authority="+c.file("ca.crt"),
			"--kubelet-preferred-address-types=InternalIP")
	}
	if o.Audit {
		args = append(args, "--audit-policy-file="+c.file("audit.yaml"), "--audit-log-path="+c.AuditLog())
	}
	return args
}

// StartEtcd starts etcd again after StopEtcd or KillEtcd, with the same data on the same port. It waits until etcd is healthy.
func (c *ControlPlane) StartEtcd(ctx context.Context) error {
	return c.startAndWait(ctx, c.etcd, func(ctx context.Context) error {
		return c.get(ctx, http.DefaultClient, c.EtcdURL()+"/health")
	})
}

// StartAPIServer starts kube-apiserver again after StopAPIServer or KillAPIServer, on the same port with the same certificates. It waits
// until kube-apiserver is ready. It needs a running etcd.
func (c *ControlPlane) StartAPIServer(ctx context.Context) error {
	return c.startAndWait(ctx, c.apiserver, func(ctx context.Context) error {
		for _, path := range []string{"/readyz", "/api/v1/namespaces/default", "/api/v1/namespaces/kube-system"} {
			if err := c.get(ctx, c.http, c.Config.Host+path); err != nil {
				return err
			}
		}
		return nil
	})
}

func (c *ControlPlane) startAndWait(ctx context.Context, p *process, ready func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startPatience,
		fmt.Errorf("not ready within %s of its start", startPatience))
	defer cancel()
	if err := p.start(); err != nil {
		return err
	}
	return p.waitUntil(ctx, ready)
}

// get sends a request. Any status except 200 is an error.
func (c *ControlPlane) get(ctx context.Context, client *http.Client, url string) error {
	// Many short requests observe a start. None can hang on a half-open connection.
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	body, _ := io.ReadAll(io.LimitReader(response.Body, 4096))
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s: %s", url, response.Status, strings.TrimSpace(string(body)))
	}
	return nil
}

// StopAPIServer ends kube-apiserver with SIGTERM and waits, so that it finishes the requests in flight. After two minutes, or when ctx
// ends, it kills kube-apiserver and returns an error.
func (c *ControlPlane) StopAPIServer(ctx context.Context) error { return c.apiserver.stop(ctx) }

// KillAPIServer ends kube-apiserver with SIGKILL and waits for its end.
func (c *ControlPlane) KillAPIServer() { c.apiserver.kill() }

// StopEtcd ends etcd as StopAPIServer ends kube-apiserver. The data stay.
func (c *ControlPlane) StopEtcd(ctx context.Context) error { return c.etcd.stop(ctx) }

// KillEtcd ends etcd with SIGKILL and waits for its end. Written data stay, because the kernel has them.
func (c *ControlPlane) KillEtcd() { c.etcd.kill() }

// Stop kills both programs and removes their directory. It can be called more than once. No graceful end is needed, because the data are
// not read again.
func (c *ControlPlane) Stop() error {
	for _, p := range []*process{c.apiserver, c.etcd} {
		if p != nil {
			p.kill()
		}
	}
	if c.http != nil {
		c.http.CloseIdleConnections()
	}
	for i := range c.ports {
		if c.ports[i].release != nil {
			c.ports[i].release()
			c.ports[i].release = nil
		}
	}
	if c.unlock == nil {
		return nil
	}
	defer func() { c.unlock(); c.unlock = nil }()
	if c.keep {
		return nil
	}
	if err := os.RemoveAll(c.dir); err != nil {
		return fmt.Errorf("remove the directory of cluster %s: %w", c.Name, err)
	}
	return nil
}

// Dir is the temporary directory with etcd.log, kube-apiserver.log and the data.
func (c *ControlPlane) Dir() string { return c.dir }

// AuditLog is the file with one line of JSON for each request, if the options enable it.
func (c *ControlPlane) AuditLog() string { return c.file("audit.log") }

// EtcdURL is the loopback URL of etcd for clients, without authentication.
func (c *ControlPlane) EtcdURL() string { return "http://" + c.ports[1].address() }

// EtcdDataDir is etcd's data directory. A copy of it, made while etcd is stopped, is a snapshot that can be restored.
func (c *ControlPlane) EtcdDataDir() string { return c.file("etcd") }

func (c *ControlPlane) file(name string) string { return filepath.Join(c.dir, name) }
