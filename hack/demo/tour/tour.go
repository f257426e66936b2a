// Package tour contains commands that users can try while the demo runs, and their kubeconfig.
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
		{"what is not well", "kubectl vmgroup status"},
		{"its groups", "kubectl vmgroup get --all-members"},
		{"one group", "kubectl vmgroup describe vg-1 --context team-a"},
		{"what an edit does", "kubectl vmgroup plan vg-1 --replicas 4 --context team-a"},
		{"the edit", "kubectl scale vmgroup vg-1 --replicas=4 --context team-a"},
		{"its end", "kubectl vmgroup rollout status vg-1 --context team-a"},
		{"what happened", "kubectl vmgroup events vg-1 --context team-a"},
		{"a refusal", "kubectl vmgroup plan vg-1 --cpu 16 --context team-a"},
		{"who does it", "kubectl vmgroup shards --of default/vg-1 --member team-a"},
		{"the vCenters", "kubectl vmgroup vcenter list"},
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
