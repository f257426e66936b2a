package kubeconfig

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"
)

// testPair returns a PEM certificate and its key, both base64-encoded.
func testPair(t testing.TB) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"},
		NotBefore: time.Unix(0, 0), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	encode := func(kind string, der []byte) string {
		return base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
	}
	return encode("CERTIFICATE", der), encode("PRIVATE KEY", keyDER)
}

// kubeconfigWith assembles a kubeconfig; cluster and user are the fields in flow style.
func kubeconfigWith(current, cluster, user string) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: %s
contexts:
- {name: c, context: {cluster: k, user: u}}
clusters:
- {name: k, cluster: {%s}}
users:
- {name: u, user: {%s}}
`, current, cluster, user)
}

func TestParseRefusesWhatReachesOutsideTheFile(t *testing.T) {
	certificate, key := testPair(t)
	_, otherKey := testPair(t)
	const server, token = `server: "https://m.example.com:6443"`, `token: s3cr3t-canary`
	with := func(extra string) string { return server + ", " + extra }
	tests := []struct {
		name, content, field string
	}{
		{"empty", "", ""},
		{"too large", strings.Repeat("#", MaxBytes+1), ""},
		{"not YAML", "a: [s3cr3t-canary", ""},
		{"another kind", "apiVersion: v1\nkind: Secret\n", ""},
		{"no contexts", "apiVersion: v1\nkind: Config\n", "current-context"},
		{"several contexts, none chosen", strings.Replace(kubeconfigWith(`""`, server, token), "contexts:\n",
			"contexts:\n- {name: d, context: {cluster: k, user: u}}\n", 1), "current-context"},
		{"unknown context", kubeconfigWith("x", server, token), "current-context"},
		{"unknown cluster", strings.Replace(kubeconfigWith("c", server, token), "name: k,", "name: l,", 1), "contexts[].context.cluster"},
		{"unknown user", strings.Replace(kubeconfigWith("c", server, token), "name: u,", "name: v,", 1), "contexts[].context.user"},
		{"exec", kubeconfigWith("c", server, token+`, exec: {apiVersion: client.authentication.k8s.io/v1, command: /bin/sh, interactiveMode: Never}`), "users[].user.exec"},
		{"auth-provider", kubeconfigWith("c", server, `auth-provider: {name: oidc}`), "users[].user.auth-provider"},
		{"CA path", kubeconfigWith("c", with(`certificate-authority: /etc/ca`), token), "clusters[].cluster.certificate-authority"},
		{"certificate path", kubeconfigWith("c", server, token+`, client-certificate: /etc/c`), "users[].user.client-certificate"},
		{"key path", kubeconfigWith("c", server, token+`, client-key: /etc/k`), "users[].user.client-key"},
		{"token path", kubeconfigWith("c", server, `tokenFile: /var/run/secrets/kubernetes.io/serviceaccount/token`), "users[].user.tokenFile"},
		{"insecure", kubeconfigWith("c", with(`insecure-skip-tls-verify: true`), token), "clusters[].cluster.insecure-skip-tls-verify"},
		{"as", kubeconfigWith("c", server, token+`, as: admin`), "users[].user.as"},
		{"as-uid", kubeconfigWith("c", server, token+`, as-uid: x`), "users[].user.as-uid"},
		{"as-groups", kubeconfigWith("c", server, token+`, as-groups: ["system:masters"]`), "users[].user.as-groups"},
		{"as-user-extra", kubeconfigWith("c", server, token+`, as-user-extra: {a: [b]}`), "users[].user.as-user-extra"},
		{"proxy", kubeconfigWith("c", with(`proxy-url: "http://proxy:3128"`), token), "clusters[].cluster.proxy-url"},
		{"http", kubeconfigWith("c", `server: "http://m.example.com"`, token), "clusters[].cluster.server"},
		{"no scheme", kubeconfigWith("c", `server: "m.example.com:6443"`, token), "clusters[].cluster.server"},
		{"no host", kubeconfigWith("c", `server: "https://:6443"`, token), "clusters[].cluster.server"},
		{"no server", kubeconfigWith("c", ``, token), "clusters[].cluster.server"},
		{"password in the URL", kubeconfigWith("c", `server: "https://u:s3cr3t-canary@m.example.com"`, token), "clusters[].cluster.server"},
		{"query in the URL", kubeconfigWith("c", `server: "https://m.example.com?x=y"`, token), "clusters[].cluster.server"},
		{"CA without PEM", kubeconfigWith("c", with(`certificate-authority-data: Z2FyYmFnZQ==`), token), "clusters[].cluster.certificate-authority-data"},
		{"no credential", kubeconfigWith("c", server, ``), "users[].user"},
		{"token and user", kubeconfigWith("c", server, token+`, username: u, password: s3cr3t-canary`), "users[].user.username"},
		{"certificate without key", kubeconfigWith("c", server, `client-certificate-data: `+certificate), "users[].user.client-key-data"},
		{"key without certificate", kubeconfigWith("c", server, `client-key-data: `+key), "users[].user.client-certificate-data"},
		{"another certificate's key", kubeconfigWith("c", server, `client-certificate-data: `+certificate+`, client-key-data: `+otherKey), "users[].user.client-certificate-data"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			config, err := Parse([]byte(test.content))
			var refusal *RefusedError
			if !errors.As(err, &refusal) || config != nil {
				t.Fatalf("got %v, %v; want a refusal", config, err)
			}
			if refusal.Field != test.field {
				t.Errorf("field = %q, want %q (%v)", refusal.Field, test.field, err)
			}
			if strings.Contains(err.Error(), "s3cr3t-canary") {
				t.Errorf("the error contains a secret: %v", err)
			}
		})
	}
}

func TestParseAccepts(t *testing.T) {
	certificate, key := testPair(t)
	const server = `server: "https://m.example.com:6443/prefix"`
	t.Run("token, system authorities, the only context", func(t *testing.T) {
		config, err := Parse([]byte(kubeconfigWith(`""`, server, `token: t`)))
		if err != nil {
			t.Fatal(err)
		}
		if config.Host != "https://m.example.com:6443/prefix" || config.BearerToken != "t" || config.CAData != nil {
			t.Errorf("config = %+v", config)
		}
	})
	t.Run("client certificate, own authority, server name", func(t *testing.T) {
		config, err := Parse([]byte(kubeconfigWith("c",
			server+`, tls-server-name: api, certificate-authority-data: `+certificate,
			`client-certificate-data: `+certificate+`, client-key-data: `+key)))
		if err != nil {
			t.Fatal(err)
		}
		if config.ServerName != "api" || len(config.CAData) == 0 || len(config.CertData) == 0 || len(config.KeyData) == 0 {
			t.Errorf("config = %+v", config)
		}
	})
	t.Run("an unsafe user that is not used", func(t *testing.T) {
		content := strings.Replace(kubeconfigWith("c", server, `username: u, password: p`), "users:\n",
			"users:\n- {name: other, user: {tokenFile: /etc/passwd}}\n", 1)
		config, err := Parse([]byte(content))
		if err != nil {
			t.Fatal(err)
		}
		if config.Username != "u" || config.Password != "p" || config.BearerTokenFile != "" {
			t.Errorf("config = %+v", config)
		}
	})
}

func FuzzParse(f *testing.F) {
	certificate, key := testPair(f)
	f.Add([]byte(kubeconfigWith("c", `server: "https://h"`, `token: t`)))
	f.Add([]byte(kubeconfigWith("c", `server: "https://h", certificate-authority-data: `+certificate, `client-certificate-data: `+certificate+`, client-key-data: `+key)))
	f.Add([]byte("apiVersion: v1\nkind: Config\ncontexts: [{name: a, context: null}]\ncurrent-context: a\n"))
	f.Add([]byte("apiVersion: v1\nkind: Config\nclusters: [null]\nusers: [{}]\n"))
	f.Add([]byte("a: &a [*a]"))
	f.Fuzz(func(t *testing.T, content []byte) {
		config, err := Parse(content)
		if err != nil {
			if refusal := (*RefusedError)(nil); !errors.As(err, &refusal) || config != nil {
				t.Fatalf("config %v, error of type %T", config, err)
			}
			return
		}
		switch {
		case !strings.HasPrefix(strings.ToLower(config.Host), "https://"):
			t.Errorf("host %q", config.Host)
		case config.Insecure, config.ExecProvider != nil, config.AuthProvider != nil, config.BearerTokenFile != "",
			config.CAFile != "", config.CertFile != "", config.KeyFile != "", config.Proxy != nil, config.Impersonate.UserName != "":
			t.Errorf("unsafe configuration %+v", config)
		}
	})
}
