//go:build unix && !fast

package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/config/crd"
	"github.com/codeconnect/vmgroup-operator/internal/plugin/change"
	"github.com/codeconnect/vmgroup-operator/internal/plugin/cluster"
	"github.com/codeconnect/vmgroup-operator/test/harness/assets"
)

// interventions are objects of each kind on a hub that is also a member.
type interventions struct {
	*bench
	group    *v1alpha1.VmGroup
	kubectl  string
	settings []string
}

func newInterventions(t *testing.T) *interventions {
	t.Helper()
	i := &interventions{bench: newBench(t)}
	// It stays: without a namespace controller, a deleted namespace does not go.
	i.must(client.IgnoreAlreadyExists(i.hub.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "intervened"}})))
	i.group = i.newGroup("web")
	i.make(i.hub, i.group)
	i.make(i.hub, &v1alpha1.MemberCluster{
		ObjectMeta: metav1.ObjectMeta{Name: "intervened"}, Spec: v1alpha1.MemberClusterSpec{KubeconfigSecretRef: &v1alpha1.KubeconfigReference{Name: "intervened"}},
	})
	vc := &v1alpha1.VCenter{ObjectMeta: metav1.ObjectMeta{Name: "intervened"}, Spec: v1alpha1.VCenterSpec{Server: "https://vcenter.example.com"}}
	vc.Spec.CredentialsSecretRef.Name = "vc-creds"
	i.make(i.hub, vc)
	vc.Status.InstanceUUID = "0f6f1f0e-6c1f-4e6b-9df0-5a0d2f1c7c11"
	i.must(i.hub.Status().Update(t.Context(), vc))
	kubectl, err := assets.Kubectl(t.Context(), os.Stderr)
	i.must(err)
	file := filepath.Join(t.TempDir(), "config")
	i.must(clientcmd.WriteToFile(*i.file, file))
	i.kubectl, i.settings = kubectl, append(os.Environ(), "KUBECONFIG="+file)
	return i
}

func (i *interventions) newGroup(name string) *v1alpha1.VmGroup {
	replicas := int32(1)
	return &v1alpha1.VmGroup{
		ObjectMeta: metav1.ObjectMeta{Namespace: "intervened", Name: name, Labels: map[string]string{"app": name}},
		Spec:       v1alpha1.VmGroupSpec{CPU: 1, Memory: 1, Template: "debian-12", Replicas: &replicas},
	}
}

// annotation of an object as it is stored.
func (i *interventions) annotation(object client.Object, key string) string {
	i.Helper()
	i.must(i.hub.Get(i.Context(), client.ObjectKeyFromObject(object), object))
	return object.GetAnnotations()[key]
}

// TestEachVerbDoesWhatItsKubectlCommandDoes runs the command that each verb prints, and the verb.
func TestEachVerbDoesWhatItsKubectlCommandDoes(t *testing.T) {
	i := newInterventions(t)
	namespace, member, vcenter := &corev1.Namespace{}, &v1alpha1.MemberCluster{}, &v1alpha1.VCenter{}
	namespace.Name, member.Name, vcenter.Name = "intervened", "intervened", "intervened"
	definition := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: crd.VmGroupCRD().Name}}
	const uid = "5e2f0c6d-1f0a-4c57-9d1e-0a6f3b7c2d11"
	seen := map[string]bool{}
	for line, test := range map[string]struct {
		object client.Object
		key    string
		// value is empty for a time.
		value func() string
		back  string
	}{
		"pause web -n intervened":                             {i.group, v1alpha1.PausedAnnotation, func() string { return "true" }, "resume web -n intervened"},
		"confirm vmgroup -l app=web -n intervened":            {i.group, v1alpha1.ConfirmDeletionAnnotation, func() string { return string(i.group.UID) }, ""},
		"keep --all -n intervened":                            {i.group, v1alpha1.ReleaseAnnotation, func() string { return string(i.group.UID) }, ""},
		"forget web -n intervened":                            {i.group, v1alpha1.ForgetAnnotation, func() string { return string(i.group.UID) }, ""},
		"adopt web -n intervened --from " + uid:               {i.group, v1alpha1.AdoptAnnotation, func() string { return uid }, "adopt web -n intervened --undo"},
		"adopt web -n intervened --legacy":                    {i.group, v1alpha1.AdoptAnnotation, func() string { return v1alpha1.AdoptLegacy }, "adopt web -n intervened --undo"},
		"adopt web -n intervened --abandon":                   {i.group, v1alpha1.AdoptAnnotation, func() string { return v1alpha1.AdoptAbandon }, "adopt web -n intervened --undo"},
		"confirm namespace intervened":                        {namespace, v1alpha1.ConfirmDeletionAnnotation, func() string { return string(namespace.UID) }, ""},
		"confirm crd":                                         {definition, v1alpha1.ConfirmDeletionAnnotation, func() string { return string(definition.UID) }, ""},
		"confirm member intervened":                           {member, v1alpha1.ConfirmDeletionAnnotation, func() string { return string(member.UID) }, ""},
		"confirm vcenter intervened":                          {vcenter, v1alpha1.ConfirmDeletionAnnotation, func() string { return string(vcenter.UID) }, ""},
		"allow mass-deletion --member intervened":             {member, v1alpha1.AllowMassDeletionAnnotation, nil, ""},
		"allow adoption --member intervened":                  {member, v1alpha1.AllowAdoptionAnnotation, nil, ""},
		"allow admitted --member intervened":                  {member, v1alpha1.AcceptAdmittedAnnotation, nil, ""},
		"allow forget --member intervened":                    {member, v1alpha1.AllowForgetAnnotation, nil, ""},
		"allow forget --vcenter intervened":                   {vcenter, v1alpha1.AllowForgetAnnotation, nil, ""},
		"accept empty-inventory --vcenter intervened":         {vcenter, v1alpha1.AcceptEmptyAnnotation, func() string { return vcenter.Status.InstanceUUID }, ""},
		"accept instance " + uid + " --vcenter intervened":    {vcenter, v1alpha1.AcceptInstanceAnnotation, func() string { return uid }, "accept instance --vcenter intervened --undo"},
		"accept cluster-uid " + uid + " --member intervened":  {member, v1alpha1.TakeClusterUIDAnnotation, func() string { return uid }, "accept cluster-uid --member intervened --undo"},
		"accept predecessor " + uid + " --member intervened":  {member, v1alpha1.PredecessorAnnotation, func() string { return uid }, "accept predecessor --member intervened --undo"},
		"accept predecessor " + uid + " --vcenter intervened": {vcenter, v1alpha1.PredecessorAnnotation, func() string { return uid }, "accept predecessor --vcenter intervened --undo"},
	} {
		t.Run(line, func(t *testing.T) {
			args, back := strings.Fields(line), strings.Fields(test.back)
			if len(back) == 0 {
				back = append(strings.Fields(line), "--undo")
			}
			is := func(after string) {
				t.Helper()
				value := i.annotation(test.object, test.key)
				if test.value == nil {
					until, err := time.Parse(time.RFC3339, value)
					if in := time.Until(until); err != nil || in < 29*time.Minute || in > 31*time.Minute {
						t.Errorf("after %s, %s is %q", after, test.key, value)
					}
				} else if value != test.value() {
					t.Errorf("after %s, %s is %q, want %q", after, test.key, value, test.value())
				}
			}
			isNot := func(after string) {
				t.Helper()
				if value := i.annotation(test.object, test.key); value != "" {
					t.Errorf("after %s, %s is %q", after, test.key, value)
				}
			}
			run := func(args ...string) string {
				t.Helper()
				out, err := i.run(args...)
				if err != nil {
					t.Fatalf("%v: %v\n%s", args, err, out)
				}
				return out
			}
			// The other commands of a kind differ in words only.
			kind := fmt.Sprintf("with a namespace: %t, a time: %t", test.object.GetNamespace() != "", test.value == nil)
			whole := everyCommand || !seen[kind]
			seen[kind] = true
			command := run(append(args, "--dry-run=client")...)
			isNot("a dry run of the client")
			typed := func(line string) {
				t.Helper()
				shell := exec.CommandContext(t.Context(), "sh", "-ec", strings.ReplaceAll(line, "kubectl ", i.kubectl+" "))
				shell.Env = i.settings
				if out, err := shell.CombinedOutput(); err != nil {
					t.Fatalf("%s: %v\n%s", line, err, out)
				}
			}
			undo := run(append(back, "--dry-run=client")...)
			if !strings.Contains(command, test.key+"=") || !strings.Contains(undo, test.key+"-") {
				t.Errorf("the printed commands are %s and %s", command, undo)
			}
			if whole {
				run(append(args, "--dry-run=server")...)
				isNot("a dry run of the server")
				typed(command)
				is("the printed command")
				typed(undo)
				isNot("the printed command that takes it back")
			}
			run(args...)
			is("the verb")
			if whole {
				if out := run(args...); test.value != nil && !strings.Contains(out, "nothing to change") {
					t.Errorf("a second time:\n%s", out)
				}
			}
			run(back...)
			isNot("taking it back")
		})
	}
}

func TestAShellCompletesNames(t *testing.T) {
	i := newInterventions(t)
	for line, want := range map[string]string{
		"describe -n intervened":               "web\n:4\n",
		"describe -n intervened web":           ":4\n",
		"pause -n intervened other":            "web\n:4\n",
		"rollout status -n intervened":         "web\n:4\n",
		"confirm vcenter":                      "intervened\n:4\n",
		"confirm member":                       "intervened\n:4\n",
		"vcenter check":                        "intervened\n:4\n",
		"member check":                         "intervened\n:4\n",
		"allow mass-deletion --member":         "intervened\n:4\n",
		"get --context":                        "edge\nhub\n:4\n",
		"describe --context edge":              ":4\n", // it serves no VmGroups
		"vcenter check --hub-context edge":     ":4\n",
		"describe --kubeconfig /dev/null/none": ":4\n",
	} {
		out, err := i.run(append(append([]string{"__complete"}, strings.Fields(line)...), "")...)
		if got, _, _ := strings.Cut(out, "Completion ended"); err != nil || got != want {
			t.Errorf("%s: %v\n%s", line, err, out)
		}
	}
	if out, _ := i.run("__complete", "get", "-n", ""); !strings.Contains(out, "intervened\n") {
		t.Errorf("namespaces: %s", out)
	}
}

func TestVerbsRefuseWhatTheyCannotDo(t *testing.T) {
	i := newInterventions(t)
	for line, test := range map[string]struct {
		code int
		says string
	}{
		"pause":                                                      {cluster.ExitUsage, "Choose VmGroups"},
		"pause web --all -n intervened":                              {cluster.ExitUsage, "Choose VmGroups"},
		"pause none -n intervened":                                   {cluster.ExitUsage, `no VmGroup "none"`},
		"pause -l app=none -n intervened":                            {cluster.ExitUsage, "no such VmGroup"},
		"pause -l app=( -n intervened":                               {cluster.ExitUsage, "--selector"},
		"pause web -n intervened --dry-run=yes":                      {cluster.ExitUsage, "--dry-run"},
		"pause web --context edge":                                   {cluster.ExitUsage, "does not serve VmGroups"},
		"adopt web -n intervened":                                    {cluster.ExitUsage, "from"},
		"adopt web -n intervened --from a;b":                         {cluster.ExitUsage, "no UID"},
		"adopt web -n intervened --legacy --from a":                  {cluster.ExitUsage, "legacy"},
		"confirm namespace":                                          {cluster.ExitUsage, "at least 1"},
		"confirm namespace none":                                     {cluster.ExitUsage, `no Namespace "none"`},
		"confirm vcenter none":                                       {cluster.ExitUsage, `no VCenter "none"`},
		"vcenter check":                                              {cluster.ExitUsage, "accepts 1 arg"},
		"vcenter check none":                                         {cluster.ExitUsage, `no VCenter "none"`},
		"vcenter check intervened --operator-namespace intervened":   {cluster.ExitUsage, `no Deployment "vmgroup-operator"`},
		"allow mass-deletion":                                        {cluster.ExitUsage, "member"},
		"allow mass-deletion --member none":                          {cluster.ExitUsage, `no MemberCluster "none"`},
		"allow mass-deletion --member intervened --for 2h":           {cluster.ExitUsage, "at most 1h"},
		"allow mass-deletion --member intervened --for -1m":          {cluster.ExitUsage, "at most 1h"},
		"allow forget --member intervened --vcenter intervened":      {cluster.ExitUsage, "vcenter"},
		"allow mass-deletion --member intervened --hub-context edge": {cluster.ExitUsage, "not a hub"},
		"accept instance --vcenter intervened":                       {cluster.ExitUsage, "usage"},
		"accept instance $(id) --vcenter intervened":                 {cluster.ExitUsage, "is no UID"},
		"accept instance bad --vcenter intervened":                   {cluster.ExitUsage, "is no UID"},
		"accept cluster-uid bad --member intervened":                 {cluster.ExitUsage, "is no UID"},
		"adopt web -n intervened --from bad":                         {cluster.ExitUsage, "is no UID"},
		"adopt web -n intervened --from=":                            {cluster.ExitUsage, "is no UID"}, // of a shell variable that is not set
		"get -n A/B":                                                 {cluster.ExitUsage, `"A/B" is no name of an object`},
		"describe ../.. -n intervened":                               {cluster.ExitUsage, "is no name of an object"},
		"pause .. -n intervened":                                     {cluster.ExitUsage, "is no name of an object"},
		"rollout status web -n intervened --timeout -5s":             {cluster.ExitUsage, "must not be negative"},
		"get --kubeconfig /dev/null":                                 {cluster.ExitUsage, "No kubeconfig with a context was found in /dev/null"},
		"accept empty-inventory x --vcenter intervened":              {cluster.ExitUsage, "usage"},
	} {
		t.Run(line, func(t *testing.T) {
			if out, err := i.run(strings.Fields(line)...); ExitCode(err) != test.code || !strings.Contains(err.Error(), test.says) {
				t.Errorf("exit code %d, error %v\n%s", ExitCode(err), err, out)
			}
		})
	}
	if _, err := i.run("describe", "", "-n", "intervened"); ExitCode(err) != cluster.ExitUsage || !strings.Contains(err.Error(), "name is empty") {
		t.Errorf("an empty name: %v", err)
	}
	if value := i.annotation(i.group, v1alpha1.PausedAnnotation); value != "" {
		t.Errorf("the group is paused: %q", value)
	}
}

// TestACommandThatIsShownReachesTheSameCluster, although another context is the current one.
func TestACommandThatIsShownReachesTheSameCluster(t *testing.T) {
	i := newInterventions(t)
	i.file.CurrentContext = "edge"
	for line, want := range map[string]string{
		"pause web web -n intervened --context hub":                                   "kubectl vmgroup resume web -n intervened --context hub\n",
		"rollout pause web -n intervened --context hub":                               "kubectl vmgroup rollout resume web -n intervened --context hub\n",
		"keep web -n intervened --context hub":                                        " -n intervened --context hub\n",
		"resume web -n intervened --context hub --as u --as-group g --dry-run=client": "kubectl --context hub --kubeconfig ",
	} {
		out, err := i.run(append(strings.Fields(line), "--as", "admin", "--as-group", "system:masters")...)
		if err != nil || !strings.Contains(out, want) || strings.Count(out, want) > 1 {
			t.Errorf("%s: %v\n%s\nwant %q", line, err, out, want)
		}
		if strings.Contains(line, "dry-run") && !strings.Contains(out, " --as admin --as-group g --as-group system:masters annotate ") {
			t.Errorf("another user: %s", out)
		}
	}
}

func TestAnEmptyListIsAnEmptyListForAProgram(t *testing.T) {
	i := newInterventions(t)
	for _, command := range []string{"get", "events"} {
		if out, err := i.run(command, "-n", "default", "-o", "json"); err != nil || !strings.Contains(out, `"items": []`) {
			t.Errorf("%s: %v\n%s", command, err, out)
		}
	}
}

// TestAConfirmationDoesNotReachAnotherObjectOfTheName that was created after the one that a person saw.
func TestAConfirmationDoesNotReachAnotherObjectOfTheName(t *testing.T) {
	i := newInterventions(t)
	seen := i.newGroup("again")
	i.must(i.hub.Create(t.Context(), seen))
	of := change.Annotation{Object: seen, Resource: resourceGroup, Key: v1alpha1.ConfirmDeletionAnnotation, Value: string(seen.UID)}
	i.must(i.hub.Delete(t.Context(), seen))
	other := i.newGroup("again")
	i.make(i.hub, other)
	hub, err := cluster.New("hub", i.servers.hub.Config)
	i.must(err)
	if err := of.Apply(t.Context(), hub, false); err == nil {
		t.Error("the change was applied to another object")
	}
	if value := i.annotation(other, v1alpha1.ConfirmDeletionAnnotation); value != "" {
		t.Errorf("the new object has the annotation %q", value)
	}
}

func TestVerbsTellWhenTheyHaveNoEffectYet(t *testing.T) {
	i := newInterventions(t)
	out, err := i.run("keep", "web", "-n", "intervened")
	i.must(err)
	if !strings.Contains(out, "The group is not being deleted.") {
		t.Errorf("keep:\n%s", out)
	}
	i.must(i.hub.Get(t.Context(), client.ObjectKeyFromObject(i.group), i.group))
	i.group.Spec.Paused = true
	i.must(i.hub.Update(t.Context(), i.group))
	out, err = i.run("resume", "web", "-n", "intervened")
	i.must(err)
	if !strings.Contains(out, "spec.paused is true") {
		t.Errorf("resume:\n%s", out)
	}
}

func TestVerbsChooseTheGroupsThatAreBeingDeleted(t *testing.T) {
	i := newInterventions(t)
	if _, err := i.run("keep", "--deleting", "-n", "intervened"); ExitCode(err) != cluster.ExitUsage || !strings.Contains(err.Error(), "no such VmGroup") {
		t.Errorf("no group is being deleted: %v", err)
	}
	leaving := i.newGroup("leaving")
	leaving.Finalizers = []string{v1alpha1.VmGroupFinalizer}
	i.make(i.hub, leaving)
	i.must(i.hub.Delete(t.Context(), leaving))
	_, err := i.run("keep", "--deleting", "-n", "intervened")
	i.must(err)
	if value := i.annotation(leaving, v1alpha1.ReleaseAnnotation); value != string(leaving.UID) {
		t.Errorf("the group that is being deleted has the annotation %q", value)
	}
	if value := i.annotation(i.group, v1alpha1.ReleaseAnnotation); value != "" {
		t.Errorf("the other group has the annotation %q", value)
	}
	if _, err := i.run("keep", "--deleting", "--all", "-n", "intervened"); ExitCode(err) != cluster.ExitUsage {
		t.Errorf("both selections: %v", err)
	}
	i.must(i.hub.Get(t.Context(), client.ObjectKeyFromObject(leaving), leaving))
	leaving.Finalizers = nil
	i.must(i.hub.Update(t.Context(), leaving))
}
