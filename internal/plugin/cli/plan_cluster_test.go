//go:build unix && !fast

package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	apiequality "k8s.io/apimachinery/pkg/api/equality"

	"github.com/codeconnect/vmgroup-operator/internal/plugin/cluster"
)

func TestPlanChangesNothing(t *testing.T) {
	i := newInterventions(t)
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(t.TempDir(), name)
		i.must(os.WriteFile(path, []byte(content), 0o600))
		return path
	}
	head := "apiVersion: vm.codeconnect.vmworld.com/v1alpha1\nkind: VmGroup\nmetadata: {name: %, namespace: intervened}\n"
	of := func(name, spec string) string {
		return file(name, strings.Replace(head, "%", strings.TrimSuffix(name, ".yaml"), 1)+"spec: "+spec+"\n")
	}
	before := i.spec()
	for line, test := range map[string]struct {
		has  string
		code int
	}{
		"plan web -n intervened --replicas 3 --cpu 4":                                                           {"now: 1 VM (1 CPU, 1 GiB, template debian-12)\n  · after the edit: 3 VMs (4 CPU, 1 GiB, template debian-12)", 0},
		"plan web -n intervened --cpu 4 --cores-per-socket 2 --root-disk 40":                                    {"after the edit: 1 VM (4 CPU in sockets of 2, 1 GiB, root disk 40 GiB, template debian-12)", 0},
		"plan web -n intervened --cpu 4 --cores-per-socket 3":                                                   {"✗ spec.coresPerSocket: ", cluster.ExitNotWell},
		"plan web -n intervened --root-disk 0":                                                                  {"✗ spec.disks.root.sizeGiB: ", cluster.ExitNotWell},
		"plan web -n intervened --replicas 0":                                                                   {"after the edit: 0 VMs", 0},
		"plan web -n intervened --template debian-13":                                                           {"the operator did not answer", 0},
		"plan web -n intervened --cpu 1":                                                                        {"spec does not change", 0},
		"plan web -n intervened --cpu 100000":                                                                   {"✗ spec.cpu: ", cluster.ExitNotWell},
		"plan none -n intervened --cpu 1":                                                                       {`no VmGroup "none"`, cluster.ExitUsage},
		"plan web -n intervened":                                                                                {"at least one of the flags", cluster.ExitUsage},
		"plan --cpu 1":                                                                                          {"Name a VmGroup", cluster.ExitUsage},
		"plan web -f x.yaml":                                                                                    {"Name a VmGroup", cluster.ExitUsage},
		"plan --cpu 2 -f x.yaml":                                                                                {"none of the others can be", cluster.ExitUsage},
		"plan -f " + dir + "/none.yaml":                                                                         {"cannot be read", cluster.ExitUsage},
		"plan -f " + file("pod.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: x}\n"):                       {"has no VmGroup", cluster.ExitUsage},
		"plan -f " + of("new.yaml", "{cpu: 1, memory: 2, template: a, replicas: 4}"):                            {"VmGroup \"intervened/new\": the API server accepts the edit.\n  · it is new: 4 VMs (1 CPU, 2 GiB, template a)", 0},
		"plan -f " + of("new.yaml", "{cpu: 1, memory: 2, template: a, replicas: 4}") + " -n default":            {`VmGroup "default/new": the API`, 0},
		"plan -f " + of("bad.yaml", "{cpu: 0, memory: 2, template: a}"):                                         {"✗ spec.cpu: ", cluster.ExitNotWell},
		"plan -f " + of("web.yaml", "{cpu: 2, memory: 1, template: debian-12}"):                                 {"after the edit: 1 VM (2 CPU", 0},
		"plan -f " + of("web.yaml", "{cpu: 1, memory: 1, template: debian-12, replicas: 1}") + " -n intervened": {"spec does not change", 0},
		"plan -f " + of("typo.yaml", "{cpu: 1, memory: 1, template: debian-12, replicsa: 0}"):                   {`unknown field "spec.replicsa"`, cluster.ExitNotWell},
		"plan -f " + of("new-typo.yaml", "{cpu: 1, memory: 2, template: a, replicsa: 4}") + " -n default":       {`unknown field "spec.replicsa"`, cluster.ExitNotWell},
		"quota -n intervened":                                                                                   {"The operator did not answer", cluster.ExitUnreachable},
		"templates -n intervened":                                                                               {"The operator did not answer", cluster.ExitUnreachable},
		"templates -n none":                                                                                     {`namespaces "none" not found`, cluster.ExitUsage},
		"quota --context edge":                                                                                  {"does not serve VmGroups", cluster.ExitUsage},
		"plan web -n intervened --cpu 2 --context edge":                                                         {"does not serve VmGroups", cluster.ExitUsage},
	} {
		t.Run(line, func(t *testing.T) {
			out, err := i.run(strings.Fields(line)...)
			if err != nil {
				out += err.Error()
			}
			if ExitCode(err) != test.code || !strings.Contains(out, test.has) {
				t.Errorf("exit code %d, want %d and %q:\n%s", ExitCode(err), test.code, test.has, out)
			}
		})
	}
	if now := i.spec(); !apiequality.Semantic.DeepEqual(now, before) {
		t.Errorf("spec became %+v", now)
	}
}

// TestPlanOfAFileIsTheEditOfKubectlApply for fields that were applied before, and for those of an autoscaler.
func TestPlanOfAFileIsTheEditOfKubectlApply(t *testing.T) {
	i := newInterventions(t)
	i.spec()
	i.group.Annotations = map[string]string{
		"kubectl.kubernetes.io/last-applied-configuration": `{"apiVersion":"vm.codeconnect.vmworld.com/v1alpha1","kind":"VmGroup","metadata":{"name":"web","namespace":"intervened"},` +
			`"spec":{"cpu":1,"memory":1,"template":"debian-12","vcenter":"","powerState":"PoweredOff"}}`,
	}
	i.group.Spec.Replicas, i.group.Spec.PowerState = new(int32(7)), "PoweredOff"
	i.must(i.hub.Update(t.Context(), i.group))
	path := filepath.Join(t.TempDir(), "web.yaml")
	i.must(os.WriteFile(path, []byte("apiVersion: vm.codeconnect.vmworld.com/v1alpha1\nkind: VmGroup\nmetadata: {name: web, namespace: intervened}\nspec: {cpu: 2, memory: 1, template: debian-12}\n"), 0o600))
	out, err := i.run("plan", "-f", path)
	i.must(err)
	if !strings.Contains(out, "now: 7 VMs (1 CPU, 1 GiB, template debian-12)\n  · after the edit: 7 VMs (2 CPU") {
		t.Errorf("the replicas of an autoscaler are lost:\n%s", out)
	}
}
