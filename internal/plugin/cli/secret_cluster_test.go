//go:build unix && !fast

package cli

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/codeconnect/vmgroup-operator/internal/plugin/cluster"
)

// joinFrom joins the cluster of a Secret of the hub, which has this content.
func (b *bench) joinFrom(secret string, data map[string][]byte) (string, error) {
	b.Helper()
	b.make(b.hub, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "edge"}, Data: data})
	return b.run("member", "join", "from-secret", "--from-secret", secret, "--server", b.servers.member.Config.Host, "--wait", "0")
}

// stored is the kubeconfig of the member, as a program stores it.
func (b *bench) stored() []byte {
	b.Helper()
	file := b.file.DeepCopy()
	file.CurrentContext = "edge"
	content, err := clientcmd.Write(*file)
	b.must(err)
	return content
}

func TestAMemberWhoseKubeconfigIsInASecretOfTheHubJoins(t *testing.T) {
	b := newBench(t)
	out, err := b.joinFrom("default/edge", map[string][]byte{"value": b.stored()})
	b.must(err)
	if user := b.userOf("from-secret", "member"); user != "system:serviceaccount:vmgroup-operator:vmgroup-operator-member" || !strings.Contains(out, "MemberCluster from-secret   (created)") {
		t.Errorf("the kubeconfig is of %s:\n%s", user, out)
	}
}

func TestASecretThatCannotBeUsedLeavesNoObject(t *testing.T) {
	b := newBench(t)
	before := b.versions()
	b.file.AuthInfos["edge"] = &clientcmdapi.AuthInfo{Exec: &clientcmdapi.ExecConfig{
		Command: "/bin/true", APIVersion: "client.authentication.k8s.io/v1", InteractiveMode: clientcmdapi.NeverExecInteractiveMode,
	}}
	program := b.stored()
	for story, test := range map[string]struct {
		secret, key string
		says        string
	}{
		"no such Secret":      {"default/none", "value", `no Secret "none" in namespace "default"`},
		"no namespace":        {"edge", "value", "NAMESPACE/NAME"},
		"no kubeconfig":       {"default/edge", "other", "neither key value nor kubeconfig"},
		"it starts a program": {"default/edge", "value", "users[].user.exec starts a program"},
	} {
		t.Run(story, func(t *testing.T) {
			b := &bench{TB: t, hub: b.hub, member: b.member, file: b.file, servers: b.servers}
			_, err := b.joinFrom(test.secret, map[string][]byte{test.key: program})
			if ExitCode(err) != cluster.ExitUsage || !strings.Contains(err.Error(), test.says) {
				t.Errorf("exit code %d, %v", ExitCode(err), err)
			}
			b.same(story, before, b.versions())
		})
	}
}
