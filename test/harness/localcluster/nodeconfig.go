//go:build unix

package localcluster

import (
	"fmt"
	"net"
	"os"
	"path/filepath"

	"github.com/codeconnect/vmgroup-operator/test/harness/localcluster/machine"
)

// Paths inside of the node.
const (
	containerdSocket = "/run/containerd/containerd.sock"
	containerdState  = "/run/node/containerd"
	containerdRoot   = "/var/lib/containerd"
)

// containerdConfig has placeholders for the snapshotter, the address of the pause image, and the directories for the Pods' network and for
// registries.
const containerdConfig = `version = 3
root = "` + containerdRoot + `"
# Not below /run/containerd, where the shims and runc keep theirs: the two can be lost apart.
state = "` + containerdState + `"
[grpc]
address = "` + containerdSocket + `"
[plugins.'io.containerd.internal.v1.opt']
path = "` + containerdRoot + `/opt"
[plugins.'io.containerd.cri.v1.images']
snapshotter = "%[1]s"
[plugins.'io.containerd.cri.v1.images'.pinned_images]
sandbox = "%[2]s"
[plugins.'io.containerd.cri.v1.images'.registry]
config_path = "%[4]s"
[plugins.'io.containerd.cri.v1.runtime']
# Some machines refuse a lower score; runc would fail.
restrict_oom_score_adj = true
[plugins.'io.containerd.cri.v1.runtime'.cni]
bin_dirs = ["` + machine.CNIPlugins + `"]
conf_dir = "%[3]s"
[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
SystemdCgroup = false
`

// cniConfig gives each Pod its own link to the node instead of a bridge. Then all traffic, also between two Pods, passes the rules of
// kube-proxy, even if the kernel does not apply the rules to bridged packets.
const cniConfig = `{"cniVersion": "1.0.0", "name": "pods", "plugins": [{
  "type": "ptp", "ipMasq": false,
  "ipam": {"type": "host-local", "ranges": [[{"subnet": "%s"}]], "routes": [{"dst": "0.0.0.0/0"}]}
}]}
`

const kubeletConfig = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: %[1]s/ca.crt}}
authorization: {mode: Webhook}
tlsCertFile: %[1]s/kubelet.crt
tlsPrivateKeyFile: %[1]s/kubelet.key
containerRuntimeEndpoint: unix://` + containerdSocket + `
cgroupDriver: cgroupfs
# Each node has a place of its own: kubelet ends what it finds there and does not know.
cgroupRoot: /%[2]s
failCgroupV1: false
failSwapOn: false
enforceNodeAllocatable: []
evictionHard: {memory.available: 100Mi, nodefs.available: "1%%", imagefs.available: "1%%"}
# Images came from archives; none could be loaded again.
imageGCHighThresholdPercent: 100
resolvConf: ""
volumePluginDir: /var/lib/kubelet/volumeplugins
healthzBindAddress: %[3]s
`

const proxyConfig = `apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: iptables
clientConnection: {kubeconfig: %[1]s/kube-proxy.kubeconfig}
clusterCIDR: %[2]s
hostnameOverride: %[3]s
conntrack: {maxPerCore: 0}
`

// writeFiles writes the files for the programs of the node.
func (n *node) writeFiles(plane *ControlPlane) error {
	serving, err := plane.ca.server([]net.IP{n.net.node.AsSlice()}, []string{n.name})
	if err != nil {
		return err
	}
	n.snapshotter = "overlayfs"
	if onOverlay, err := stacked(n.dir); err != nil {
		return err
	} else if onOverlay {
		n.snapshotter = "native"
	}
	files := map[string][]byte{
		"ca.crt": plane.ca.pem, "kubelet.crt": serving.certificate, "kubelet.key": serving.key,
		"containerd.toml":   fmt.Appendf(nil, containerdConfig, n.snapshotter, pauseImage, n.file("cni"), n.file(registries)),
		"cni/pods.conflist": fmt.Appendf(nil, cniConfig, n.net.pods),
		"kubelet.yaml":      fmt.Appendf(nil, kubeletConfig, n.dir, n.cgroup, n.net.node),
		"kube-proxy.yaml":   fmt.Appendf(nil, proxyConfig, n.dir, n.net.pods, n.name),
	}
	users := map[string][]string{
		"kubelet":                 {"system:node:" + n.name, "system:nodes"},
		"kube-proxy":              {"system:kube-proxy"},
		"kube-scheduler":          {"system:kube-scheduler"},
		"kube-controller-manager": {"system:kube-controller-manager"},
	}
	for program, user := range users {
		if files[program+".kubeconfig"], err = plane.UserKubeconfig(user[0], user[1:]...); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(n.file("cni"), 0o700); err != nil {
		return fmt.Errorf("write the files of node %s: %w", n.name, err)
	}
	for name, content := range files {
		if err := os.WriteFile(n.file(name), content, 0o600); err != nil {
			return fmt.Errorf("write the files of node %s: %w", n.name, err)
		}
	}
	return nil
}

func (n *node) file(name string) string { return filepath.Join(n.dir, name) }
