//go:build unix

package stack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/assets"
	"github.com/codeconnect/vmgroup-operator/test/localcluster"
	"github.com/codeconnect/vmgroup-operator/test/vcsim/sim"
)

const (
	// Namespace of the operator on a hub.
	Namespace = "vmgroup-operator-system"

	username, password = "operator@vsphere.local", "a-simulated-password"
	credentials        = "vc-creds"
)

// Options say what to start. The zero value starts a hub alone.
type Options struct {
	// Members are the names of member clusters to start and join.
	Members []string
	// Sim configures the simulated vCenter; only Templates and CloneDelay are used.
	Sim sim.Options
	// VCenter changes the VCenter "default" before it is created.
	VCenter func(*v1alpha1.VCenterSpec)
	// ManagerArgs are added to the manager's flags.
	ManagerArgs []string
	// Out is told what is being built and started; nil means standard error.
	Out io.Writer
}

// Stack is what runs.
type Stack struct {
	Hub     *Cluster
	Members map[string]*Cluster
	// Sim is the simulated vCenter, Proxy counts what goes to it.
	Sim   *VCenter
	Proxy *sim.Proxy
	// Person is somebody with a vSphere client, who acts behind the operator's back and not through Proxy.
	Person *sim.Operator
	// Manager is the operator on Hub.
	Manager *Process
	// Dir is the hub's directory, which holds logs as well. Stop removes it, or the next start of a cluster if
	// this process is killed.
	Dir string

	opts Options
}

// Cluster is a control plane with a client that knows the operator's kinds.
type Cluster struct {
	*localcluster.ControlPlane
	client.Client
	// KubeconfigFile is a kubeconfig for people.
	KubeconfigFile string
}

// Start starts everything and returns when the manager was started; it does not wait for members to be joined.
// On an error nothing is left running. ctx bounds the start only.
func Start(ctx context.Context, opts Options) (_ *Stack, err error) {
	if opts.Out == nil {
		opts.Out = os.Stderr
	}
	s := &Stack{Members: map[string]*Cluster{}, opts: opts}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Stop())
		}
	}()
	if err := s.startClusters(ctx); err != nil {
		return nil, err
	}
	if s.Sim, err = s.startVCenter(ctx, opts.Sim); err != nil {
		return nil, fmt.Errorf("start the vCenter simulator: %w", err)
	}
	if s.Proxy, err = sim.NewProxy(s.Sim.URL); err != nil {
		return nil, fmt.Errorf("start the proxy before the vCenter simulator: %w", err)
	}
	if s.Person, err = sim.NewOperator(ctx, s.Sim.URL, username, password); err != nil {
		return nil, fmt.Errorf("log in to the vCenter simulator: %w", err)
	}
	if err := s.equipHub(ctx, s.Hub); err != nil {
		return nil, err
	}
	for _, name := range opts.Members {
		if err := s.Join(ctx, name, s.Members[name].Kubeconfig()); err != nil {
			return nil, err
		}
	}
	s.Manager, err = s.StartManager(ctx, "manager", s.Hub, opts.ManagerArgs...)
	return s, err
}

func (s *Stack) startClusters(ctx context.Context) error {
	// Found or built once, with progress, before several clusters ask for it at once.
	if _, err := assets.Ensure(ctx, s.opts.Out); err != nil {
		return err
	}
	clusters := make([]*Cluster, len(s.opts.Members)+1)
	group, groupCtx := errgroup.WithContext(ctx)
	for i, name := range append([]string{"hub"}, s.opts.Members...) {
		group.Go(func() (err error) {
			clusters[i], err = s.StartCluster(groupCtx, name)
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

// StartCluster starts one more control plane. The caller stops it, unless it is put into Members.
func (s *Stack) StartCluster(ctx context.Context, name string) (*Cluster, error) {
	plane, err := localcluster.StartControlPlane(ctx, localcluster.Options{Name: name, Progress: s.opts.Out})
	if err != nil {
		return nil, err
	}
	c, err := newClient(plane)
	if err != nil {
		return nil, errors.Join(err, plane.Stop())
	}
	file := filepath.Join(plane.Dir(), name+".kubeconfig")
	if err := os.WriteFile(file, plane.Kubeconfig(), 0o600); err != nil {
		return nil, errors.Join(err, plane.Stop())
	}
	return &Cluster{ControlPlane: plane, Client: c, KubeconfigFile: file}, nil
}

func newClient(plane *localcluster.ControlPlane) (client.Client, error) {
	scheme := runtime.NewScheme()
	err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme), apiextensionsv1.AddToScheme(scheme))
	if err != nil {
		return nil, err
	}
	return client.New(plane.Config, client.Options{Scheme: scheme})
}

// equipHub creates on a hub what `kubectl apply -k config/default` and a platform engineer would: CRDs, the
// operator's namespace, credentials and the VCenter "default".
func (s *Stack) equipHub(ctx context.Context, hub *Cluster) error {
	if err := applyCRDs(ctx, hub); err != nil {
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
	return createAll(ctx, hub, operatorNamespace(), credentialsSecret(), vcenter)
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
		ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: credentials},
		StringData: map[string]string{"username": username, "password": password},
	}
}

func operatorNamespace() *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: Namespace}}
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
		if err := WaitFor(ctx, "CRD "+definition.Name+" to be established", func(ctx context.Context) (bool, error) {
			if err := hub.Get(ctx, client.ObjectKeyFromObject(definition), definition); err != nil {
				return false, err
			}
			for _, c := range definition.Status.Conditions {
				if c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue {
					return true, nil
				}
			}
			return false, nil
		}); err != nil {
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
	return errors.Join(errs...)
}
