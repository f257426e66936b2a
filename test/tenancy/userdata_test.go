//go:build unix

package tenancy

import (
	"encoding/base64"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

// cloudConfig is user data, and jewel a secret that no VM must contain.
const cloudConfig, jewel = "#cloud-config\nruncmd: [true]\n", "what-opens-the-cluster"

// theCommand is the remedy at the end of a message.
var theCommand = regexp.MustCompile(`: kubectl label secret (\S+) -n (\S+) ([^\s=]+)=(\S+)$`)

// TestAVMGetsUserDataAndNoOtherSecret: a Secret that is not marked as user data is not passed to VMs, and the group
// names the command that marks it. A Secret of another type is not passed, nor is any if the member does not allow it.
func TestAVMGetsUserDataAndNoOtherSecret(t *testing.T) {
	w := shared.enter(t)
	h := &handsOut{newAttacker(t, w, "userdata", fresh("userdata")).joined()}
	h.secret("cloud-init", corev1.SecretTypeOpaque, "userdata", cloudConfig)
	h.secret("marked", v1alpha1.UserDataType, "userdata", cloudConfig)
	h.secret("sa-token", corev1.SecretTypeServiceAccountToken, "userdata", jewel)
	h.secret("keys", corev1.SecretTypeOpaque, "password", jewel)

	h.group("denied", "marked")
	h.untilRefused("denied", v1alpha1.ReasonUserDataDenied, h.member, "userDataSecrets: Allow")
	h.allow()
	h.group("thief", "sa-token")
	h.group("burglar", "keys")
	h.group("own", "cloud-init")
	h.group("typed", "marked")

	told := h.untilRefused("own", v1alpha1.ReasonUserDataDenied, `"cloud-init"`, "not marked as user data")
	h.run(meta.FindStatusCondition(told.Status.Conditions, v1alpha1.ConditionStalled).Message, "cloud-init")
	h.scale("own", 2) // otherwise the operator reads the Secret again within half a minute
	marked := h.until("its VMs to run", "own", func(g *v1alpha1.VmGroup) bool { return runs(g, 2) })
	h.has("own", marked.Status.VMs...)

	typed := h.untilRunning("from a Secret of the type", "typed", 1)
	h.has("typed", typed.Status.VMs...)
	h.untilRefused("thief", v1alpha1.ReasonUserDataDenied, `"sa-token"`, "of type "+string(corev1.SecretTypeServiceAccountToken))
	h.untilRefused("burglar", v1alpha1.ReasonUserDataNotFound, `"keys"`, `no key "userdata"`)
	h.hasNoVM("thief")
	h.hasNoVM("burglar")
}

// handsOut is a member whose groups pass Secrets to their VMs.
type handsOut struct{ *attacker }

func (h *handsOut) secret(name string, of corev1.SecretType, key, value string) {
	h.t.Helper()
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: h.namespace, Name: name}, Type: of, StringData: map[string]string{key: value}}
	if of == corev1.SecretTypeServiceAccountToken {
		s.Annotations = map[string]string{corev1.ServiceAccountNameKey: "default"}
	}
	if err := h.cluster.Create(h.t.Context(), s); err != nil {
		h.t.Fatal(err)
	}
}

func (h *handsOut) group(name, secret string) {
	h.t.Helper()
	one := int32(1)
	h.applySpec(name, v1alpha1.VmGroupSpec{CPU: 1, Memory: 1, Template: template, Replicas: &one, UserDataSecretRef: &v1alpha1.LocalObjectReference{Name: secret}})
}

// allow makes a hub administrator allow groups of the member to pass Secrets. The operator learns of it some time
// later.
func (h *handsOut) allow() {
	h.t.Helper()
	mc := &v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: h.member}}
	patch := fmt.Appendf(nil, `{"spec":{"userDataSecrets":%q}}`, v1alpha1.UserDataAllow)
	if err := h.w.Hub.Patch(h.t.Context(), mc, client.RawPatch(types.MergePatchType, patch)); err != nil {
		h.t.Fatal(err)
	}
}

// untilRefused waits until a group has no VM for a reason, in a message that mentions its subject. Until the operator
// learns that Secrets are allowed, it refuses for that reason. It fails as soon as a VM exists.
func (h *handsOut) untilRefused(name, reason string, mentions ...string) *v1alpha1.VmGroup {
	h.t.Helper()
	mentions = append(mentions, reason)
	g := h.until(fmt.Sprintf("to be refused with %q", mentions), name, func(g *v1alpha1.VmGroup) bool {
		said := stack.Words(g.Status.Conditions)
		return g.Status.ReadyReplicas > 0 || !slices.ContainsFunc(mentions, func(m string) bool { return !strings.Contains(said, m) })
	})
	h.hasNoVM(name)
	return g
}

// run runs the command in a message.
func (h *handsOut) run(message, secret string) {
	h.t.Helper()
	command := theCommand.FindStringSubmatch(message)
	if command == nil || command[1] != secret || command[2] != h.namespace || !strings.Contains(message, fmt.Sprintf("Secret %q", secret)) {
		h.t.Fatalf("no command for Secret %s in %s ends the message: %s", secret, h.namespace, message)
	}
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: command[2], Name: command[1]}}
	patch := fmt.Appendf(nil, `{"metadata":{"labels":{%q:%q}}}`, command[3], command[4])
	if err := h.cluster.Patch(h.t.Context(), s, client.RawPatch(types.MergePatchType, patch)); err != nil {
		h.t.Fatal(err)
	}
}

// has fails if the VMs of a group do not have the user data that cloud-init reads.
func (h *handsOut) has(name string, vms ...v1alpha1.VMStatus) {
	h.t.Helper()
	extra := map[string]map[string]string{}
	for _, vm := range h.vms() {
		extra[vm.Ref.Value] = vm.Extra
	}
	for _, vm := range vms {
		if got := extra[vm.MoRef]["guestinfo.userdata"]; got != encoded(cloudConfig) {
			h.t.Errorf("VM %s of %s has user data %q, want %q", vm.Name, name, got, encoded(cloudConfig))
		}
	}
}

// hasNoVM fails if there is a VM of a group, or if any VM contains the Secret of the service account.
func (h *handsOut) hasNoVM(name string) {
	h.t.Helper()
	for path, vm := range h.vms() {
		if strings.Contains(path, "/"+h.member+"/") && strings.HasPrefix(path[strings.LastIndex(path, "/")+1:], name+"-") {
			h.t.Errorf("%s was cloned", path)
		}
		for key, value := range vm.Extra {
			if strings.Contains(value, jewel) || strings.Contains(value, encoded(jewel)) {
				h.t.Errorf("%s has a Secret that is no user data in its %s", path, key)
			}
		}
	}
}

func (h *handsOut) vms() map[string]sim.VM {
	h.t.Helper()
	all, err := h.w.Person.VMs(h.t.Context())
	if err != nil {
		h.t.Fatal(err)
	}
	return all
}

func encoded(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
