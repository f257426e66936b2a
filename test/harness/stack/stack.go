//go:build unix

package stack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/allkinds"
	"github.com/codeconnect/vmgroup-operator/test/harness/assets"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/localcluster"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

const (
	// Namespace of the operator on a hub.
	Namespace = "vmgroup-operator-system"

	// Username of the operator's account in every simulated vCenter.
	Username = "operator@vsphere.local"
	// Password of that account.
	Password = "a-simulated-password"

	credentials = "vc-creds"
)

// Options describe the stack to start. The zero value starts a hub alone.
type Options struct {
	// Members are the names of member clusters to start and join.
	Members []string
	// Unjoined starts the members without joining them. The caller joins them.
	Unjoined bool
	// Sim configures the simulated vCenter. Only Templates and CloneDelay are used.
	Sim sim.Options
	// MemberPrograms is a directory with kube-apiserver and etcd for the members. Empty means the programs of the hub.
	MemberPrograms string
	// HubAPIServerArgs are flags for the hub's kube-apiserver.
	HubAPIServerArgs []string
	// VCenter changes the VCenter "default" before it is created.
	VCenter func(*v1alpha1.VCenterSpec)
	// ManagerArgs extend the manager's flags.
	ManagerArgs []string
	// Replicas is the number of managers on the hub. 0 starts one as Stack.Manager, without its own proxy. Any other number starts that
	// many as Stack.Replicas, and Stack.Manager is nil. A negative number starts none.
	Replicas int
	// Admission serves the webhooks, with certificates from cert-manager on the hub.
	Admission bool
	// ProxyAPI puts a proxy in front of each API server for the manager's requests. See Cluster.Proxy.
	ProxyAPI bool
	// Program is the operator's binary, for example of another version. Managers run it, and it supplies the CRDs of the hub. Empty means
	// the build of this tree. Stack.Program can be changed later.
	Program string
	// Out receives the progress of builds and starts. Nil means standard error.
	Out io.Writer
}

// Stack is a running stack.
type Stack struct {
	Hub     *Cluster
	Members map[string]*Cluster
	// Sim is the simulated vCenter. Proxy counts its requests.
	Sim   *VCenter
	Proxy *sim.Proxy
	// Person is a user of a vSphere client, who acts without the operator and without Proxy.
	Person *sim.Operator
	// Manager is the operator on Hub, unless Options.Replicas is not 0.
	Manager *Process
	// Replicas are the managers on Hub with Options.Replicas, in the order of their addition.
	Replicas []*Replica
	// Admission contains the prerequisites of the webhooks. It is nil without Options.Admission and before StartAdmission.
	Admission *Admission
	// Program is the binary of later starts of managers. Empty means the build of this tree.
	Program string
	// Dir is the hub's directory, which also contains logs. Stop removes it. If this process is killed, the next start of a cluster removes
	// it.
	Dir string

	opts    Options
	copying sync.Mutex

	// vcenterPorts are kept until Stop: only the same vCenter can listen again on the port of an ended one.
	vcenters     sync.Mutex
	vcenterPorts []port
}

// Cluster is a control plane with a client for the operator's kinds.
type Cluster struct {
	*localcluster.ControlPlane
	client.Client
	// KubeconfigFile is a kubeconfig for users and, on a hub, for the manager.
	KubeconfigFile string
	// Proxy in front of the API server with Options.ProxyAPI, and nil otherwise. KubeconfigFile and MemberKubeconfig use it. Client does
	// not.
	Proxy *localcluster.APIProxy
}

// MemberKubeconfig returns the kubeconfig with which a hub connects to the cluster.
func (c *Cluster) MemberKubeconfig() ([]byte, error) {
	if c.Proxy == nil {
		return c.UserKubeconfig(localcluster.ProxyUser, "system:masters")
	}
	return c.Proxy.Kubeconfig()
}

// Stop ends the cluster and its proxy.
func (c *Cluster) Stop() error {
	if c.Proxy != nil {
		c.Proxy.Close()
	}
	return c.ControlPlane.Stop()
}

// Start starts everything and returns after the start of the manager. It does not wait for members to join. After an error nothing is
// running. ctx limits only the start.
func Start(ctx context.Context, opts Options) (_ *Stack, err error) {
	if opts.Out == nil {
		opts.Out = os.Stderr
	}
	s := &Stack{Members: map[string]*Cluster{}, Program: opts.Program, opts: opts}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Stop())
		}
	}()
	if err := s.startClusters(ctx); err != nil {
		return nil, err
	}
	if s.Sim, err = s.StartVCenter(ctx, "vcsim", opts.Sim); err != nil {
		return nil, fmt.Errorf("start the vCenter simulator: %w", err)
	}
	if s.Proxy, err = sim.NewProxy(s.Sim.URL); err != nil {
		return nil, fmt.Errorf("start the proxy before the vCenter simulator: %w", err)
	}
	if s.Person, err = sim.NewOperator(ctx, s.Sim.URL, sim.AdminUsername, sim.AdminPassword); err != nil {
		return nil, fmt.Errorf("log in to the vCenter simulator: %w", err)
	}
	s.Proxy.AskOwners(s.Person)
	if err := s.equipHub(ctx, s.Hub); err != nil {
		return nil, err
	}
	if opts.Admission {
		if err := s.StartAdmission(ctx); err != nil {
			return nil, err
		}
	}
	if err := s.joinMembers(ctx); err != nil {
		return nil, err
	}
	if opts.Replicas != 0 {
		return s, s.startReplicas(ctx)
	}
	s.Manager, err = s.StartManager(ctx, "manager", s.Hub, opts.ManagerArgs...)
	return s, err
}

func (s *Stack) startClusters(ctx context.Context) error {
	// Find or build the programs once, with progress, before several clusters need them at the same time.
	if _, err := assets.Ensure(ctx, s.opts.Out); err != nil {
		return err
	}
	clusters := make([]*Cluster, len(s.opts.Members)+1)
	group, groupCtx := errgroup.WithContext(ctx)
	for i, name := range append([]string{"hub"}, s.opts.Members...) {
		group.Go(func() (err error) {
			if i == 0 {
				clusters[i], err = s.startCluster(groupCtx, name, "", s.opts.HubAPIServerArgs...)
			} else {
				clusters[i], err = s.startCluster(groupCtx, name, s.opts.MemberPrograms)
			}
			return err
		})
	}
	err := group.Wait()
	if s.Hub = clusters[0]; s.Hub != nil {
		s.Dir = s.Hub.Dir()
	}
	for i, name := range s.opts.Members {
		if clusters[i+1] != nil {
			s.Members[name] = clusters[i+1]
		}
	}
	return err
}

// StartCluster starts another control plane. The caller stops it, unless it adds it to Members.
func (s *Stack) StartCluster(ctx context.Context, name string) (*Cluster, error) {
	return s.startCluster(ctx, name, "")
}

func (s *Stack) startCluster(ctx context.Context, name, programs string, args ...string) (*Cluster, error) {
	plane, err := localcluster.StartControlPlane(ctx, localcluster.Options{Name: name, Programs: programs, APIServerArgs: args, Progress: s.opts.Out})
	if err != nil {
		return nil, err
	}
	cluster := &Cluster{ControlPlane: plane}
	if err := s.equip(cluster); err != nil {
		return nil, errors.Join(err, cluster.Stop())
	}
	return cluster, nil
}

// NewCluster makes a Cluster of a running control plane. It has no proxy. On an error the caller stops the control plane.
func NewCluster(plane *localcluster.ControlPlane) (*Cluster, error) {
	cluster := &Cluster{ControlPlane: plane}
	return cluster, (&Stack{}).equip(cluster)
}

// equip creates the cluster's client, its proxy and its kubeconfig.
func (s *Stack) equip(c *Cluster) (err error) {
	if c.Client, err = newClient(c.ControlPlane); err != nil {
		return err
	}
	if s.opts.ProxyAPI {
		if c.Proxy, err = c.NewProxy(); err != nil {
			return err
		}
	}
	kubeconfig := c.Kubeconfig()
	if c.Proxy != nil {
		if kubeconfig, err = c.Proxy.Kubeconfig(); err != nil {
			return err
		}
	}
	c.KubeconfigFile = filepath.Join(c.Dir(), c.Name+".kubeconfig")
	return os.WriteFile(c.KubeconfigFile, kubeconfig, 0o600)
}

func newClient(plane *localcluster.ControlPlane) (client.Client, error) {
	return client.New(plane.Config, client.Options{Scheme: allkinds.Scheme()})
}

// equipHub creates the objects on a hub that `kubectl apply -k config/default` and a hub administrator create: CRDs, the operator's
// namespace, credentials and the VCenter "default".
func (s *Stack) equipHub(ctx context.Context, hub *Cluster) error {
	install := applyCRDs
	if s.Program != "" {
		install = s.CRDsOfProgram
	}
	if err := install(ctx, hub); err != nil {
		return err
	}
	vcenter := &v1alpha1.VCenter{
		ObjectMeta: metav1.ObjectMeta{Name: "default"},
		Spec: v1alpha1.VCenterSpec{
			Server:               s.Proxy.URL,
			CredentialsSecretRef: v1alpha1.LocalObjectReference{Name: credentials},
			TLS:                  &v1alpha1.TLSConfig{InsecureSkipVerify: true},
			Grants:               []v1alpha1.Grant{{MemberClusters: []string{"*"}, Templates: []string{"*"}}},
		},
	}
	if s.opts.VCenter != nil {
		s.opts.VCenter(&vcenter.Spec)
	}
	return createAll(ctx, hub, slices.Concat([]client.Object{operatorNamespace(), loginMemory(), credentialsSecret(), vcenter}, memberTokens())...)
}

func createAll(ctx context.Context, hub *Cluster, objects ...client.Object) error {
	for _, object := range objects {
		if err := hub.Create(ctx, object); client.IgnoreAlreadyExists(err) != nil {
			return fmt.Errorf("prepare hub %s: %w", hub.Name, err)
		}
	}
	return nil
}

func credentialsSecret() *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: credentials, Annotations: map[string]string{v1alpha1.VCenterHostsAnnotation: "127.0.0.1:*"}},
		StringData: map[string]string{"username": Username, "password": Password},
	}
}

func operatorNamespace() *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: Namespace}}
}

// loginMemory is the Secret in which the operator remembers logins. An installation creates it empty.
func loginMemory() *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: "vmgroup-operator-logins"}}
}

// memberTokens are the Secrets in which the operator keeps renewed tokens. An installation creates them empty.
func memberTokens() []client.Object {
	const shards = 8
	all := make([]client.Object, 0, shards)
	for n := range shards {
		all = append(all, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: fmt.Sprintf("vmgroup-operator-member-tokens-%d", n)}})
	}
	return all
}

func applyCRDs(ctx context.Context, hub *Cluster) error {
	root, err := assets.Root()
	if err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(root, "config", "crd", "bases", "*.yaml"))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("find the CRDs in config/crd/bases: %w", errors.Join(err, os.ErrNotExist))
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		definition := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(content, definition); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		if err := hub.Create(ctx, definition); client.IgnoreAlreadyExists(err) != nil {
			return fmt.Errorf("install %s on hub %s: %w", definition.Name, hub.Name, err)
		}
		if err := await.Condition(ctx, "CRD "+definition.Name+" to be served", func(ctx context.Context) (bool, error) {
			if err := hub.Get(ctx, client.ObjectKeyFromObject(definition), definition); err != nil {
				return false, err
			}
			for _, c := range definition.Status.Conditions {
				if c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue {
					return isServed(ctx, hub, definition)
				}
			}
			return false, nil
		}); err != nil {
			return err
		}
	}
	return nil
}

// isServed reports whether the kind can be discovered and listed. This takes effect a moment after the CRD is Established.
func isServed(ctx context.Context, hub *Cluster, definition *apiextensionsv1.CustomResourceDefinition) (bool, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{
		Group: definition.Spec.Group, Version: definition.Spec.Versions[0].Name, Kind: definition.Spec.Names.ListKind,
	})
	err := hub.List(ctx, list, client.Limit(1))
	return err == nil, err
}

func (s *Stack) joinMembers(ctx context.Context) error {
	if s.opts.Unjoined {
		return nil
	}
	for _, name := range s.opts.Members {
		kubeconfig, err := s.Members[name].MemberKubeconfig()
		if err != nil {
			return err
		}
		if err := s.Join(ctx, name, kubeconfig); err != nil {
			return err
		}
	}
	return nil
}

// Join creates a MemberCluster and its Secret on the hub.
func (s *Stack) Join(ctx context.Context, name string, kubeconfig []byte) error {
	return JoinHub(ctx, s.Hub, name, kubeconfig)
}

// JoinHub creates a MemberCluster and its Secret on a hub, or replaces the Secret's kubeconfig.
func JoinHub(ctx context.Context, hub *Cluster, name string, kubeconfig []byte) error {
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: name + "-kubeconfig"},
		Data:       map[string][]byte{"kubeconfig": kubeconfig},
	}
	if err := hub.Create(ctx, secret); apierrors.IsAlreadyExists(err) {
		err = hub.Update(ctx, secret)
		if err != nil {
			return fmt.Errorf("replace the kubeconfig of %s: %w", name, err)
		}
	} else if err != nil {
		return fmt.Errorf("store the kubeconfig of %s: %w", name, err)
	}
	member := &v1alpha1.MemberCluster{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       v1alpha1.MemberClusterSpec{KubeconfigSecretRef: &v1alpha1.KubeconfigReference{Name: secret.Name, Key: "kubeconfig"}},
	}
	if err := hub.Create(ctx, member); client.IgnoreAlreadyExists(err) != nil {
		return fmt.Errorf("join %s: %w", name, err)
	}
	return nil
}

// Stop ends everything that Start started.
func (s *Stack) Stop() error {
	var errs []error
	if s.Manager != nil {
		errs = append(errs, s.Manager.Stop())
	}
	s.endReplicas()
	errs = append(errs, s.Admission.stop())
	if s.Person != nil {
		s.Person.Close()
	}
	if s.Proxy != nil {
		s.Proxy.Close()
	}
	if s.Sim != nil {
		errs = append(errs, s.Sim.Stop())
	}
	for _, c := range s.Members {
		errs = append(errs, c.Stop())
	}
	if s.Hub != nil {
		errs = append(errs, s.Hub.Stop())
	}
	s.vcenters.Lock()
	defer s.vcenters.Unlock()
	for _, p := range s.vcenterPorts {
		p.free()
	}
	s.vcenterPorts = nil
	return errors.Join(errs...)
}
