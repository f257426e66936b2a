//go:build unix

package localcluster

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/codeconnect/vmgroup-operator/test/harness/assets"
)

// ControllersOptions say which controllers of Kubernetes work for a control plane.
type ControllersOptions struct {
	// Controllers are their names, as in the flag --controllers of kube-controller-manager; no other ones run.
	Controllers []string
	// Args are more flags of kube-controller-manager, handled as in [Options].
	Args []string
	// Progress is told when the program has to be built first; nil means standard error.
	Progress io.Writer
}

// StartControllers starts kube-controller-manager beside a control plane. Each controller acts as its own service account, with the
// rights that it has in any cluster. They try again by themselves until the API server serves, so nobody waits for them here. The
// caller ends them with stop, before the control plane. ctx bounds the build of the program, which is for Linux only.
func (c *ControlPlane) StartControllers(ctx context.Context, o ControllersOptions) (stop func(), err error) {
	programs, err := assets.Programs(ctx, "kube-node", o.Progress)
	if err != nil {
		return nil, fmt.Errorf("start controllers for cluster %s: %w", c.Name, err)
	}
	kubeconfig, err := c.UserKubeconfig("system:kube-controller-manager")
	if err != nil {
		return nil, err
	}
	file := c.file("kube-controller-manager.kubeconfig")
	if err := os.WriteFile(file, kubeconfig, 0o600); err != nil {
		return nil, fmt.Errorf("start controllers for cluster %s: %w", c.Name, err)
	}
	p := &process{
		name: "kube-controller-manager", path: filepath.Join(programs, "kube-controller-manager"), log: c.file("kube-controller-manager.log"),
		args: mergeArgs([]string{
			"--kubeconfig=" + file, "--leader-elect=false", "--use-service-account-credentials=true",
			"--controllers=" + strings.Join(o.Controllers, ","),
			"--secure-port=0", // nobody asks it anything
		}, o.Args),
	}
	return p.kill, p.start()
}
