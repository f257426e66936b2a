//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/assets"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
)

// theCommandsOfRunbooksWork runs each block of commands of each alert's runbook, with the variables of
// docs/runbooks/README.md. Commands that change an object are sent as dry runs: the API server and the webhooks decide
// about them, and nothing is stored. Annotations would end what the next stories need, for example a paused group.
func theCommandsOfRunbooksWork(t *testing.T) {
	pages, err := filepath.Glob(filepath.Join(world.root, "docs", "runbooks", "*.md"))
	must(t, err)
	block, blocks := regexp.MustCompile("(?s)```sh\n(.*?)```"), 0
	variables, before := runbookVariables(t), annotationsOfRunbooks(t)
	for _, page := range pages {
		name := filepath.Base(page)
		switch name {
		case "README.md", "crd-deleted.md", "disaster-recovery.md", "foreign-disk.md", "restore.md", "troubleshooting.md", "vcenter-lost.md": // the index, and runbooks without an alert
			continue
		}
		content, err := os.ReadFile(page)
		must(t, err)
		for _, commands := range block.FindAllStringSubmatch(string(content), -1) {
			blocks++
			command := exec.CommandContext(t.Context(), "sh", "-euc", commands[1])
			command.Env = variables
			out, err := command.CombinedOutput()
			world.heard(string(out))
			if err != nil {
				t.Errorf("%s: %v\n%s\n%s", name, err, commands[1], out)
			}
		}
	}
	if after := annotationsOfRunbooks(t); !reflect.DeepEqual(after, before) {
		t.Errorf("the commands left the annotations %v, before them there were %v", after, before)
	}
	if blocks < len(pages) {
		t.Errorf("%d runbooks have %d blocks of commands", len(pages), blocks)
	}
}

// annotationsOfRunbooks are the annotations of the objects that the variables of a runbook's reader name.
func annotationsOfRunbooks(t *testing.T) []map[string]string {
	t.Helper()
	group, member, vcenter := &v1alpha1.VmGroup{}, &v1alpha1.MemberCluster{}, &v1alpha1.VCenter{}
	must(t, world.members[0].Get(t.Context(), ref("default", groupName(0)), group))
	must(t, world.hub.Get(t.Context(), ref("", world.members[0].Name), member))
	must(t, world.hub.Get(t.Context(), ref("", "default"), vcenter))
	return []map[string]string{group.Annotations, member.Annotations, vcenter.Annotations}
}

// runbookVariables is the environment of a runbook's reader.
func runbookVariables(t *testing.T) []string {
	t.Helper()
	member := world.members[0]
	config := filepath.Join(t.TempDir(), "kubeconfig")
	must(t, mergeKubeconfigs(config, member))
	path := strings.Join([]string{dryRuns(t), world.plugins, os.Getenv("PATH")}, string(filepath.ListSeparator))
	return append(peoplesEnvironment(t), "PATH="+path, "KUBECONFIG="+config,
		"VCENTER=default", "MEMBER="+member.Name, "NAMESPACE=default", "NAME="+groupName(0), "POD="+pods(t)[0].Name)
}

// mergeKubeconfigs writes a kubeconfig with the hub as its current context, and a member as a context of its name.
func mergeKubeconfigs(file string, member *stack.Cluster) error {
	merged, err := clientcmd.LoadFromFile(world.hub.cluster.KubeconfigFile)
	if err != nil {
		return err
	}
	other, err := clientcmd.LoadFromFile(member.KubeconfigFile)
	if err != nil {
		return err
	}
	current := other.Contexts[other.CurrentContext].DeepCopy()
	merged.Clusters[member.Name], merged.AuthInfos[member.Name] = other.Clusters[current.Cluster], other.AuthInfos[current.AuthInfo]
	current.Cluster, current.AuthInfo = member.Name, member.Name
	merged.Contexts[member.Name] = current
	return clientcmd.WriteToFile(*merged, file)
}

// dryRuns returns a folder with a kubectl that changes nothing.
func dryRuns(t *testing.T) string {
	t.Helper()
	kubectl, err := assets.Kubectl(t.Context(), os.Stderr)
	must(t, err)
	script := fmt.Sprintf(`#!/bin/sh
if [ "$1" = vmgroup ]; then
%[2]s
	exec %[1]q "$@"
fi
for word in "$@"; do
	case "$word" in
	annotate | patch | delete) exec %[1]q "$@" --dry-run=server ;;
	get | logs | exec | events | auth) break ;;
	esac
done
exec %[1]q "$@"
`, kubectl, dryPlugin)
	folder := t.TempDir()
	must(t, os.WriteFile(filepath.Join(folder, "kubectl"), []byte(script), 0o700))
	return folder
}
