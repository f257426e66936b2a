//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
)

// eachQuestionHasOneCommand asks what people ask about a fleet. The answers come from the operator, its webhook and its objects.
func eachQuestionHasOneCommand(t *testing.T) {
	member, stuck := world.members[0], newGroup("stuck", 2)
	stuck.Spec.Template = "vm-operator-none"
	must(t, member.Create(t.Context(), stuck))
	defer func() { must(t, member.Delete(t.Context(), stuck)) }()
	defaultsInMember(t, member)
	config := filepath.Join(t.TempDir(), "kubeconfig")
	must(t, mergeKubeconfigs(config, member))
	loaded, err := clientcmd.LoadFromFile(config)
	must(t, err)
	hub := loaded.CurrentContext
	environment := append(peoplesEnvironment(t), "KUBECONFIG="+config)
	group := newGroup(groupName(0), 0)
	must(t, member.Get(t.Context(), ref(group.Namespace, group.Name), group))
	n := *group.Spec.Replicas
	for _, question := range []struct{ question, command, answer string }{
		{"Which groups of the fleet are not ready, and why?", "status", `default/stuck +TemplateNotFound, `},
		{"How many replicas are there, and do they hold all groups?", "status", `✔ Hub \S+ +3 replicas, (\d+) of (\d+) buckets held, leader vmgroup-operator-`},
		{"Which groups of a cluster are not ready, and why?", "get -A --not-ready --context M", `default +stuck .* TemplateNotFound`},
		{"Why does this group wait, and what must I do?", "describe stuck --context M", `(?s)TemplateNotFound\n.*vm-operator-none`},
		{"Which replica owns this group?", "shards --of default/vg-0 --member M", `default/vg-0 of \S+: bucket \d+, held by vmgroup-operator-\S+`},
		{"Which replica owns this group, and what happened to it?", "describe vg-0 --context M --hub-context " + hub, `(?s)Served +bucket \d+, held by vmgroup-operator-.*History .*VMsCreated`},
		{"What does this vCenter wait for?", "vcenter list", `default +True `},
		{"Will this vCenter work?", "vcenter check default --settle 0", `(?m)^ok +`},
		{"What would fewer VMs do?", fmt.Sprintf("plan vg-0 --replicas %d --context M", n-1), `(?s)policies and quotas allow the edit\..*\n +! destroys 1 VM, with the disks: vg-0-\d\n$`},
		{"What would more VMs do?", fmt.Sprintf("plan vg-0 --replicas %d --context M", n+1), `(?s)policies and quotas allow the edit\..*\n +· clones 1 VM\n$`},
		{"What would a larger VM do?", "plan vg-0 --memory 2 --context M", `(?s)policies and quotas allow the edit\..*\n +! (restarts|replaces) \d VMs?`},
		{"What would too large a VM do?", "plan vg-0 --cpu 100 --context M", `(?s)the edit is refused\.\n +✗ .*100`},
		{"Who changed this group last?", "describe stuck --context M", `Edits +\S+ ago +generation 1 +created, by admin`},
		{"Which credential expires first?", "status", `First credential to expire: that of member \S+, in `},
		{"Has the update ended?", "rollout status vg-0 --context M --timeout 1m", `complete: \d VMs?, with revision`},
		{"How much quota is left here?", "quota --context M", `(?m)^default +VMs +\d+ +100 +\d+ +this namespace +is refused$`},
		{"Which templates can I use here?", "templates --context M", `(?m)^VCENTER +TEMPLATE +CLONES.*(\n.*)*\ndefault +vm-operator-`},
		{"What happened in this namespace?", "events --context M", `VMsCreated +vg-0 `},
	} {
		t.Run(question.question, func(t *testing.T) {
			var last string
			await.Until(t, "the answer", func(ctx context.Context) (bool, error) {
				command := exec.CommandContext(ctx, "sh", "-c", "kubectl vmgroup "+strings.ReplaceAll(question.command, " M", " "+member.Name))
				command.Env = environment
				out, err := command.CombinedOutput()
				world.heard(string(out))
				last = fmt.Sprintf("%s: %v\n%s", question.command, err, out)
				return regexp.MustCompile(question.answer).MatchString(strings.ReplaceAll(string(out), "Nothing was changed.\n", "")), nil
			}, func() string { return last })
		})
	}
}

// defaultsInMember makes a policy whose defaults the member sets itself. They must not become a part of what a command asks.
func defaultsInMember(t *testing.T, member *stack.Cluster) {
	t.Helper()
	policy := &v1alpha1.VmGroupPolicy{ObjectMeta: metav1.ObjectMeta{Name: "questions"}}
	policy.Spec.Defaults = &v1alpha1.PolicyDefaults{Template: "vm-operator-template"}
	must(t, world.hub.Create(t.Context(), policy))
	t.Cleanup(func() { must(t, world.hub.Delete(context.Background(), policy)) })
	await.Until(t, "the defaults in the member", func(ctx context.Context) (bool, error) {
		group := newGroup("without-template", 1)
		group.Spec.Template = ""
		err := member.Create(ctx, group, client.DryRunAll)
		return group.Spec.Template != "", err
	})
}
