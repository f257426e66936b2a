//go:build unix

package stack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

// SecondHub is another installation of the operator with the same vCenter, behind its own proxy.
type SecondHub struct {
	Hub     *Cluster
	Proxy   *sim.Proxy
	Manager *Process

	restart func(context.Context) (*Process, error)
}

// StartHub starts another hub with its own manager, which can serve the hub itself as member "local". args extend its flags. The hub has no
// VCenter yet: see AddVCenter. The caller stops it.
func (s *Stack) StartHub(ctx context.Context, name string, args ...string) (_ *SecondHub, err error) {
	second := &SecondHub{}
	second.restart = func(ctx context.Context) (*Process, error) {
		return s.StartManager(ctx, name, second.Hub, append([]string{"--enable-local-member"}, args...)...)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, second.Stop())
		}
	}()
	if second.Proxy, err = sim.NewProxy(s.Sim.URL); err != nil {
		return nil, err
	}
	if second.Hub, err = s.StartCluster(ctx, name); err != nil {
		return nil, err
	}
	if err := applyCRDs(ctx, second.Hub); err != nil {
		return nil, err
	}
	if err := createAll(ctx, second.Hub, operatorNamespace(), loginMemory()); err != nil {
		return nil, err
	}
	return second, second.RestartManager(ctx)
}

// RestartManager starts the manager, also after it was stopped or killed.
func (h *SecondHub) RestartManager(ctx context.Context) (err error) {
	h.Manager, err = h.restart(ctx)
	return err
}

// ApplyCRDs installs the operator's CRDs that are missing.
func (h *SecondHub) ApplyCRDs(ctx context.Context) error { return applyCRDs(ctx, h.Hub) }

// AddVCenter creates the VCenter "default" without grants, with its own root folder.
func (h *SecondHub) AddVCenter(ctx context.Context, folder string) error {
	return createAll(ctx, h.Hub, credentialsSecret(), &v1alpha1.VCenter{
		ObjectMeta: metav1.ObjectMeta{Name: "default"},
		Spec: v1alpha1.VCenterSpec{
			Server: h.Proxy.URL, Folder: folder,
			CredentialsSecretRef: v1alpha1.LocalObjectReference{Name: credentials},
			TLS:                  &v1alpha1.TLSConfig{InsecureSkipVerify: true},
		},
	})
}

// Stop ends the second hub.
func (h *SecondHub) Stop() error {
	var errs []error
	if h.Manager != nil {
		errs = append(errs, h.Manager.Stop())
	}
	if h.Hub != nil {
		errs = append(errs, h.Hub.Stop())
	}
	if h.Proxy != nil {
		h.Proxy.Close()
	}
	return errors.Join(errs...)
}

// RestartManager starts the manager again after it was stopped or killed.
func (s *Stack) RestartManager(ctx context.Context) error {
	manager, err := s.StartManager(ctx, "manager", s.Hub, s.opts.ManagerArgs...)
	if err != nil {
		return err
	}
	s.Manager = manager
	return nil
}

// Raw reads a path of the cluster's API server.
func (c *Cluster) Raw(ctx context.Context, path string) (string, error) {
	transport, err := rest.HTTPClientFor(c.Config)
	if err != nil {
		return "", err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.Config.Host+path, nil)
	if err != nil {
		return "", err
	}
	response, err := transport.Do(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s: %s", path, response.Status)
	}
	body, err := io.ReadAll(response.Body)
	return string(body), err
}

// ContainsPassword reports whether text contains the password of the simulated vCenter.
func ContainsPassword(text string) bool { return strings.Contains(text, Password) }
