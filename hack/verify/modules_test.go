package main

import (
	"context"
	"os"
	"path/filepath"
	"testing"
)

func TestAnUpdateOfOneModuleOnlyIsFound(t *testing.T) {
	const (
		product = "module a\nrequire (\n golang.org/x/net v0.62.0\n golang.org/x/sys v0.50.0\n k8s.io/api v0.36.5\n" +
			" k8s.io/klog/v2 v2.140.0\n k8s.io/utils v0.0.0-20260210185600-b8788abfbbc2\n)\n"
		server = "module b\nrequire (\n k8s.io/kubernetes v1.36.5\n k8s.io/api v0.0.0 // indirect\n)\nreplace k8s.io/api => k8s.io/api "
	)
	for _, c := range []struct{ name, tool, want string }{
		{"the same release by its two names", server + "v0.36.5\n", ""},
		{"another minor has patches of its own", "module b\nrequire k8s.io/api v0.34.9\n", ""},
		{"modules that may differ", "module b\nrequire (\n golang.org/x/sys v0.49.0\n k8s.io/klog/v2 v2.130.1\n)\n", ""},
		{
			"x/net", "module b\nrequire golang.org/x/net v0.61.0 // indirect\n",
			"  golang.org/x/net has several versions, raise all to the newest:\n    v0.61.0 in b/go.mod\n    v0.62.0 in a/go.mod",
		},
		{
			"a patch, in a replacement", server + "v0.36.3\n",
			"  Kubernetes 1.36 has several versions, raise all to the newest:\n    1.36.3 in b/go.mod\n    1.36.5 in a/go.mod, b/go.mod",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			for name, content := range map[string]string{"a": product, "b": c.tool} {
				if err := os.Mkdir(filepath.Join(root, name), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(root, name, "go.mod"), []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			got := ""
			if err := oneVersion(context.Background(), root, []string{"a/go.mod", "b/go.mod", "b/go.sum"}); err != nil {
				got = err.Error()
			}
			if got != c.want {
				t.Errorf("got:\n%s\nwant:\n%s", got, c.want)
			}
		})
	}
}

func TestAnEvaluatorOfExpressionsInTheOperatorIsFound(t *testing.T) {
	if err := withoutCEL(t.Context(), "../..", nil); err != nil {
		t.Errorf("this repository: %v", err)
	}
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "cmd", "manager"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"go.mod": "module a\n\ngo 1.26\n\nrequire " + evaluator + " v0.26.0\n", "cmd/manager/main.go": "package main\n\nfunc main() {}\n",
	} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := withoutCEL(t.Context(), root, nil); err == nil {
		t.Error("a module that requires the evaluator passes")
	}
}

func TestAPartOfThePluginInTheOperatorIsFound(t *testing.T) {
	if err := withoutPlugin(t.Context(), "../..", nil); err != nil {
		t.Errorf("this repository: %v", err)
	}
	for _, part := range pluginParts {
		if err := linksNone(t.Context(), "../..", "./cmd/kubectl-vmgroup", []string{part}); err == nil {
			t.Errorf("the plugin itself does not link %s: its name is wrong", part)
		}
	}
}
