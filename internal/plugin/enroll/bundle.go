package enroll

import (
	"bytes"
	"regexp"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"

	"github.com/codeconnect/vmgroup-operator/internal/plugin/cluster"
)

// Identity is one of the two ServiceAccounts of the operator in a member.
type Identity string

// Identities. Their names are also the keys of the Secret on the hub.
const (
	// Member is the identity with which the operator serves VmGroups.
	Member Identity = "member"
	// Bootstrap is the identity with which the operator installs CRDs and admission objects.
	Bootstrap Identity = "bootstrap"
)

// identities in the order in which they get tokens.
var identities = []Identity{Member, Bootstrap}

// account is the name of the ServiceAccount.
func (i Identity) account() string { return "vmgroup-operator-" + string(i) }

// Bundle is everything that a hub needs to reach a member. It contains credentials.
type Bundle struct {
	metav1.TypeMeta `json:",inline"`
	cluster.Address `json:",inline"`
	// ClusterUID is the UID of the member's namespace kube-system.
	ClusterUID string `json:"clusterUID"`
	// Tokens by identity.
	Tokens map[Identity]string `json:"tokens"`
	// Expires is when the first of the tokens expires.
	Expires time.Time `json:"expires"`
}

// bundleType is the type of a bundle in a file.
var bundleType = metav1.TypeMeta{APIVersion: "plugin.vm.codeconnect.vmworld.com/v1alpha1", Kind: "MemberBundle"}

// Write returns the bundle as YAML.
func (b *Bundle) Write() ([]byte, error) {
	b.TypeMeta = bundleType
	return yaml.Marshal(b)
}

// plainUID is what MemberCluster.spec.clusterUID can be.
var plainUID = regexp.MustCompile(`^[0-9A-Za-z][-._0-9A-Za-z]{0,63}$`)

// ReadBundle returns the bundle of a file. It refuses a file of another kind, a bundle without tokens, and one that has expired. The error has no
// content of the file.
func ReadBundle(content []byte, now time.Time) (*Bundle, error) {
	b := &Bundle{}
	if err := yaml.UnmarshalStrict(bytes.TrimSpace(content), b); err != nil || b.TypeMeta != bundleType {
		return nil, cluster.Usage("The file is no bundle of `kubectl vmgroup member prepare`.")
	}
	for _, i := range identities {
		if b.Tokens[i] == "" {
			return nil, cluster.Usage("The bundle has no token of identity %q. Run `kubectl vmgroup member prepare` again.", i)
		}
	}
	if !plainUID.MatchString(b.ClusterUID) {
		return nil, cluster.Usage("The bundle does not name its cluster by a UID. Run `kubectl vmgroup member prepare` again.")
	}
	if !now.Before(b.Expires) {
		return nil, cluster.Usage("The tokens of the bundle expired at %s. Run `kubectl vmgroup member prepare` again.", b.Expires.UTC().Format(time.RFC3339))
	}
	return b, b.Check(true)
}

// kubeconfig returns the kubeconfig of an identity.
func (b *Bundle) kubeconfig(i Identity) ([]byte, error) {
	const name = "member"
	file := clientcmdapi.NewConfig()
	file.Clusters[name] = &clientcmdapi.Cluster{Server: b.Server, CertificateAuthorityData: b.CertificateAuthority, TLSServerName: b.TLSServerName}
	file.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: b.Tokens[i]}
	file.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	file.CurrentContext = name
	return clientcmd.Write(*file)
}
