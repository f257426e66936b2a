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

// ControllersOptions select the Kubernetes controllers for a control plane.
type ControllersOptions struct {
	// Controllers are the only controllers to run, as in flag --controllers of kube-controller-manager.
	Controllers []string
	// Args are more flags of kube-controller-manager, handled as in [Options].
	Args []string
	// Progress receives the output if the program must be built first. Nil means standard error.
	Progress io.Writer
}

// StartControllers starts kube-controller-manager beside a control plane. Each controller uses its own service account, with the usual
// rights. The controllers retry until the API server serves, so StartControllers does not wait for them. The caller ends them with stop,
// before the control plane. ctx limits the build of the program, which runs only on Linux.
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
			"--secure-port=0", // no client calls it
		}, o.Args),
	}
	return p.kill, p.start()
}
