// Package tour contains kubectl commands that users can try while the demo runs, and their kubeconfig.
package tour

import (
	"fmt"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

const (
	// Hub is the context of the hub.
	Hub = "hub"
	// Spare is the context of a cluster that has not joined.
	Spare = "team-c"
)

// Command is a shell command, with a description of its output.
type Command struct{ Shows, Line string }

// Commands must run in their order, with KUBECONFIG set to a file of [Kubeconfig]. They use group vg-1 of member team-a.
func Commands() []Command {
	return []Command{
		{"the groups of a team", "kubectl --context team-a get vmgroups"},
		{"the group with another number of VMs", "kubectl --context team-a scale vmgroup vg-1 --replicas=4"},
		{"VMs, conditions and events of the group", "kubectl --context team-a describe vmgroup vg-1"},
		{"a refusal: no group may have 16 CPUs", `kubectl --context team-a patch vg vg-1 --type=merge -p '{"spec":{"cpu":16}}'`},
		{"the objects of the hub administrator", "kubectl --context hub get vcenters,memberclusters,vmgrouppolicies"},
	}
}

// Kubeconfig merges the kubeconfigs of clusters. Each cluster has a context with its name, and that of the hub is the current one. namespace is the
// default namespace.
func Kubeconfig(namespace string, clusters map[string][]byte) ([]byte, error) {
	joined := clientcmdapi.NewConfig()
	joined.CurrentContext = Hub
	for name, content := range clusters {
		config, err := clientcmd.Load(content)
		if err != nil {
			return nil, fmt.Errorf("the kubeconfig of %s: %w", name, err)
		}
		current, there := config.Contexts[config.CurrentContext]
		if !there {
			return nil, fmt.Errorf("the kubeconfig of %s has no current context", name)
		}
		joined.Clusters[name], joined.AuthInfos[name] = config.Clusters[current.Cluster], config.AuthInfos[current.AuthInfo]
		joined.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name, Namespace: namespace}
	}
	content, err := clientcmd.Write(*joined)
	if err != nil {
		return nil, fmt.Errorf("write the kubeconfig of all clusters: %w", err)
	}
	return content, nil
}
