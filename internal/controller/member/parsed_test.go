package member

import (
	"fmt"
	"testing"

	"github.com/codeconnect/vmgroup-operator/internal/controller/member/credential"
)

// A pass of a MemberCluster comes with each change of its number of VMs.
func TestAKubeconfigIsParsedOnceUntilItsContentChanges(t *testing.T) {
	var p parsed
	kubeconfig := func(port int) []byte {
		return []byte(fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: x, contexts: [{name: x, context: {cluster: x, user: x}}],
clusters: [{name: x, cluster: {server: "https://127.0.0.1:%d"}}], users: [{name: x, user: {token: t}}]}`, port))
	}
	first, second := kubeconfig(1), kubeconfig(2)
	parse := func(content []byte) (host, token string) {
		t.Helper()
		config, err := p.parse("m", credential.Member, content)
		if err != nil {
			t.Fatal(err)
		}
		host, token = config.Host, config.BearerToken
		config.BearerToken = "" // the caller takes it out
		return host, token
	}
	host, token := parse(first)
	if again, same := parse(first); again != host || same != token || token == "" {
		t.Errorf("host %q with token %q, and then %q with %q", host, token, again, same)
	}
	if n := testing.AllocsPerRun(10, func() { parse(first) }); n > 10 {
		t.Errorf("a known kubeconfig costs %.0f allocations, so it is parsed again", n)
	}
	if other, _ := parse(second); other == host {
		t.Errorf("a changed kubeconfig leads to %q as before", other)
	}
	if _, err := p.parse("m", credential.Member, []byte("no kubeconfig")); err == nil || len(p.of) != 0 {
		t.Errorf("a refused kubeconfig has error %v, and %d are kept", err, len(p.of))
	}
	parse(first)
	if p.forget("m"); len(p.of) != 0 {
		t.Errorf("%d kubeconfigs of a deleted member are kept", len(p.of))
	}
}
